"""The line at the bottom in which a filter is typed."""

from __future__ import annotations

from textual.binding import Binding
from textual.widgets import Input


class FilterInput(Input):
    """A line of text. The cursor stands still: a blinking one costs bytes twice a second."""

    DEFAULT_CSS = """
    FilterInput { display: none; height: 1; border: none; padding: 0; background: $background; color: $foreground; }
    FilterInput:focus { border: none; background: $background; background-tint: transparent 0%; }
    FilterInput.shown { display: block; }
    """
    BINDINGS = [  # noqa: RUF012 - textual's own form
        Binding("escape", "app.clear_filter", show=False),
        Binding("ctrl+c", "app.leave", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="filter", compact=True, select_on_focus=False)
        self.cursor_blink = False
