"""User-visible text goes through gettext; the source language is English.

Catalogues live in `gputui/locale/LANG/LC_MESSAGES/gputui.mo`. The language is chosen once, by `choose()` or at first
use from LANGUAGE, LC_ALL, LC_MESSAGES and LANG, the order gettext itself documents. JSON, logs and file formats never
pass here.
"""

from __future__ import annotations

import gettext as _gettext
from pathlib import Path

_FOLDER = Path(__file__).parent / "locale"
_catalogue: _gettext.NullTranslations | None = None


def choose(language: str | None = None) -> None:
    """Load the catalogue for `language` (such as `zh_CN`), or the one the environment asks for when None."""
    global _catalogue
    languages = [language] if language else None
    _catalogue = _gettext.translation("gputui", _FOLDER, languages=languages, fallback=True)


def _current() -> _gettext.NullTranslations:
    if _catalogue is None:
        choose()
    assert _catalogue is not None
    return _catalogue


def _(message: str) -> str:
    """The message in the user's language, or as it stands."""
    return _current().gettext(message)


def ngettext(singular: str, plural: str, count: int) -> str:
    """The singular or plural form that fits `count`, in the user's language."""
    return _current().ngettext(singular, plural, count)
