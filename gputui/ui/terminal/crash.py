"""What is said, and what is kept, when the screen ends because of a mistake of ours."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from gputui import __version__
from gputui.text import _


def crash_sentence(error: BaseException) -> str:
    """Write the traceback where it can be found, and say so in one sentence."""
    path = _write(_report(error))
    if path is None:
        return _("gputui ended because of a mistake of its own: {what}.").format(what=repr(error))
    return _("gputui ended because of a mistake of its own ({what}); please report {path}.").format(
        what=type(error).__name__, path=path
    )


def _report(error: BaseException) -> str:
    """The traceback and the versions. The home folder becomes ~: its name is a person's."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    home = os.environ.get("HOME", "")
    if len(home) > 1:
        trace = trace.replace(home, "~")
    try:
        textual = metadata.version("textual")
    except metadata.PackageNotFoundError:
        textual = "?"
    term = os.environ.get("TERM", "")
    return f"gputui {__version__}, Python {platform.python_version()}, textual {textual}, TERM {term}\n\n{trace}"


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where a program keeps what it notes down (XDG base directories; a relative path there counts as none)."""
    given = environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path("~/.local/state").expanduser()
    return base / "gputui"


def _write(text: str) -> Path | None:
    try:
        path = state_folder(os.environ) / "crash.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
    except (OSError, RuntimeError):  # RuntimeError: no home folder is known
        pass
    try:
        # Not a name that can be foreseen: somebody else may have laid a link there.
        descriptor, name = tempfile.mkstemp(prefix="gputui-crash-", suffix=".log")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return Path(name)
    except OSError:
        return None


def say(sentence: str) -> None:
    """On standard error, in whatever characters it has."""
    stream = sys.stderr
    if stream is not None:
        encoding = stream.encoding or "ascii"
        stream.write(sentence.encode(encoding, "replace").decode(encoding) + "\n")
