"""What the terminal can do, decided from the environment, and what textual is told about it."""

from __future__ import annotations

import codecs
import os
import re
import sys
import unicodedata
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from gputui.text import _

_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")
_MANY_COLORS = frozenset({"xterm-kitty", "alacritty", "foot", "wezterm", "xterm-ghostty", "rio", "contour"})
"""Terminals of 256 colours and more whose name does not say so."""
_ASCII_ERRORS = "gputui-ascii"


@dataclass(frozen=True)
class Plan:
    """What the terminal can do.

    color_system: "256", "standard" (16) or None. why: one sentence when no screen can be drawn.
    """

    usable: bool
    why: str = ""
    ascii: bool = False
    color_system: str | None = "256"
    mouse: bool = True
    ssh: bool = False


def plan_here(ascii_asked: bool = False, mouse_asked: bool | None = None) -> Plan:
    """The plan for this process's own terminal. Textual reads standard input and draws on standard error."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    shown = all(stream is not None and stream.isatty() for stream in streams)
    return plan({**os.environ, **_locale_given()}, shown, ascii_asked, mouse_asked)


def _locale_given() -> dict[str, str]:
    """The locale variables this process was started with.

    Python itself sets LC_CTYPE=C.UTF-8 when the locale is C or unknown (PEP 538), which would hide what the person
    said.
    """
    given = dict.fromkeys(_LOCALE, "")
    try:
        start = Path("/proc/self/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {name: os.environ.get(name, "") for name in given}
    for entry in start.split("\0"):
        name, _equals, value = entry.partition("=")
        if name in given:
            given[name] = value
    return given


def plan(environ: Mapping[str, str], tty: bool, ascii_asked: bool = False, mouse_asked: bool | None = None) -> Plan:
    """Decide from the environment alone."""
    term = environ.get("TERM", "")
    if not tty:
        return Plan(False, _("not a terminal"))
    if term == "dumb":
        return Plan(False, _("TERM=dumb cannot show a dashboard"))
    ssh = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"))
    # The Linux console's fonts have the full block, not its eighths.
    ascii_only = ascii_asked or term == "linux" or _plain_locale(environ)
    return Plan(
        True,
        ascii=ascii_only,
        color_system=_colors(environ, term),
        mouse=(not ssh) if mouse_asked is None else mouse_asked,
        ssh=ssh,
    )


def _plain_locale(environ: Mapping[str, str]) -> bool:
    """Whether the locale says, in so many words, that it is not UTF-8. Unset says nothing: most containers set none."""
    name = next((environ[key] for key in _LOCALE if environ.get(key)), "")
    if name in ("C", "POSIX"):
        return True
    charset = re.sub(r"[^a-z0-9]", "", name.partition(".")[2].partition("@")[0].lower())
    return bool(charset) and charset != "utf8"


def _colors(environ: Mapping[str, str], term: str) -> str | None:
    """How many colours. Our palette lies in the 256-colour cube, so true colour would only cost bytes."""
    if environ.get("NO_COLOR"):
        return None
    if "256color" in term or term.endswith("-direct") or environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "256"
    return "256" if term in _MANY_COLORS else "standard"


def theme_for(plan: Plan, asked: str | None) -> str:
    """The theme a person asked for, or what suits the colours there are."""
    return asked or ("dark" if plan.color_system == "256" else "ansi")


def prepare_environment(plan: Plan, environ: MutableMapping[str, str] | None = None) -> None:
    """Set what textual reads when it is imported, and the encoding it draws in."""
    environ = os.environ if environ is None else environ
    environ["TEXTUAL_ANIMATIONS"] = "none"
    environ["TEXTUAL_COLOR_SYSTEM"] = plan.color_system or "standard"
    environ.setdefault("TEXTUAL_FPS", "15" if plan.ssh else "30")
    environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")
    if plan.color_system is None:
        # Under another theme at its start, textual answers NO_COLOR with shades of grey, which are colours too.
        environ["TEXTUAL_THEME"] = "ansi-dark"
    if _window_has_a_size():
        # `docker exec -e COLUMNS=… -e LINES=…` would hold the size for ever, whatever the window does.
        for name in ("COLUMNS", "LINES"):
            environ.pop(name, None)
    _set_encoding(plan)


def _window_has_a_size() -> bool:
    try:
        return min(os.get_terminal_size(0)) > 0
    except OSError:
        return False


def _set_encoding(plan: Plan) -> None:
    """Textual draws on standard error, in whatever encoding Python gave that."""
    stream = sys.__stderr__
    reconfigure = getattr(stream, "reconfigure", None)
    if stream is None or reconfigure is None:
        return
    if plan.ascii:
        codecs.register_error(_ASCII_ERRORS, _as_ascii)
        reconfigure(encoding="ascii", errors=_ASCII_ERRORS)
    elif (stream.encoding or "").lower().replace("-", "") != "utf8":
        reconfigure(encoding="utf-8", errors="replace")


def _as_ascii(error: UnicodeError) -> tuple[str, int]:
    """What textual's own widgets (palette, scrollbar, borders) draw outside ASCII, in as many cells."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_ascii_cells(char) for char in error.object[error.start : error.end]), error.end


def _ascii_cells(char: str) -> str:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn"):
        return ""
    if "\u2500" <= char <= "\u257f":  # box drawing
        return "|" if char in "│┃║" else "-" if char in "─━═" else "+"
    if "\u2580" <= char <= "\u259f":  # block elements
        return "#" if char == "█" else " "
    return "??" if unicodedata.east_asian_width(char) in ("W", "F") else "?"
