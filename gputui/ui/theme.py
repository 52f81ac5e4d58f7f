"""Roles as colours. Colour means state and nothing else; every state has a word as well, so that nothing is lost
without colour.

Colours are members of the 256-colour cube, which is what a terminal over SSH has; the `ansi` palette keeps the
terminal's own sixteen and its background.
"""

from __future__ import annotations

from rich.style import Style
from textual.theme import Theme

ROLES = (
    "value",
    "label",
    "tail",
    "title",
    "selected",
    "rule",
    "spark",
    "good",
    "warn",
    "bad",
    "old",
    "dim",
    "key",
    "note",
)

_DARK = {
    "ground": "#121212",
    "value": "#e4e4e4",
    "label": "#8a8a8a",
    "tail": "#b2b2b2",
    "title": "bold #e4e4e4",
    "selected": "bold #5fafff",
    "rule": "#444444",
    "spark": "#87afd7",
    "good": "#87d787",
    "warn": "bold #ffaf5f",
    "bad": "bold #ff5f5f",
    "old": "#6c6c6c",
    "dim": "#6c6c6c",
    "key": "bold #5fafff",
    "note": "#ffd787",
}
_LIGHT = {
    "ground": "#ffffff",
    "value": "#121212",
    "label": "#6c6c6c",
    "tail": "#4e4e4e",
    "title": "bold #121212",
    "selected": "bold #005faf",
    "rule": "#bcbcbc",
    "spark": "#005f87",
    "good": "#005f00",
    "warn": "bold #af5f00",
    "bad": "bold #d70000",
    "old": "#9e9e9e",
    "dim": "#9e9e9e",
    "key": "bold #005faf",
    "note": "#875f00",
}
_CONTRAST = {
    "ground": "#000000",
    "value": "bold #ffffff",
    "label": "#ffffff",
    "tail": "#ffffff",
    "title": "bold #ffffff",
    "selected": "bold reverse #ffffff",
    "rule": "#ffffff",
    "spark": "#ffffff",
    "good": "bold #5fff5f",
    "warn": "bold #ffff00",
    "bad": "bold reverse #ff5f5f",
    "old": "#b2b2b2",
    "dim": "#d0d0d0",
    "key": "bold #ffff00",
    "note": "bold #ffff00",
}
_ANSI = {
    "ground": "default",
    "value": "default",
    "label": "bright_black",
    "tail": "default",
    "title": "bold",
    "selected": "bold cyan",
    "rule": "bright_black",
    "spark": "cyan",
    "good": "green",
    "warn": "bold yellow",
    "bad": "bold red",
    "old": "bright_black",
    "dim": "bright_black",
    "key": "bold cyan",
    "note": "yellow",
}
PALETTES: dict[str, dict[str, str]] = {
    "dark": _DARK,
    "light": _LIGHT,
    "high-contrast": _CONTRAST,
    "ansi": _ANSI,
}
NAMES = tuple(PALETTES)


def styles(name: str) -> dict[str, Style]:
    """Role to rich style, each with its ground: a segment without a style ends textual under NO_COLOR."""
    palette = PALETTES[name]
    ground = palette["ground"]
    return {role: Style.parse(f"{palette[role]} on {ground}") for role in ROLES}


def textual_name(name: str) -> str:
    """Textual's theme beside one of ours: its own for the terminal's sixteen colours."""
    return "ansi-dark" if name == "ansi" else f"gputui-{name}"


def textual_theme(name: str) -> Theme:
    """The textual theme of the same colours, for what textual draws itself. Not for `ansi`."""
    palette = PALETTES[name]

    def colour(role: str) -> str:
        return palette[role].split()[-1]

    return Theme(
        name=textual_name(name),
        primary=colour("key"),
        secondary=colour("spark"),
        warning=colour("warn"),
        error=colour("bad"),
        success=colour("good"),
        accent=colour("key"),
        foreground=colour("value"),
        background=palette["ground"],
        surface=palette["ground"],
        panel=palette["ground"],
        dark=name != "light",
    )
