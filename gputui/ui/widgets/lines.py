"""A widget that shows rows. `render_line` gives out a cached strip: it computes nothing and cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gputui.ui.draw.rows import Row, first_difference_from_right, plain, split

if TYPE_CHECKING:
    from gputui.ui.app import DashboardApp


class Lines(Widget):
    """Rows of text and roles, one terminal line each."""

    DEFAULT_CSS = """
    Lines { height: 1; width: 1fr; }
    """
    ALLOW_SELECT = False

    def __init__(self, id: str | None = None, grows: bool = False) -> None:
        super().__init__(id=id)
        self._rows: list[Row] = []
        self._strips: list[Strip] = []
        self._grows = grows
        self._palette = ""

    @property
    def dashboard(self) -> DashboardApp:
        """The app, as what it is."""
        from gputui.ui.app import DashboardApp

        return cast(DashboardApp, self.app)

    def show(self, rows: Sequence[Row]) -> None:
        """Draw these rows. Only rows that changed are drawn again, and of those only up to the last changed cell."""
        app = self.dashboard
        if self._palette != app.palette_name:
            self._palette = app.palette_name
            self._rows = []
        regions = []
        strips = self._strips[: len(rows)]
        old = self._rows
        for y, row in enumerate(rows):
            before = old[y] if y < len(old) else None
            if before == row and y < len(strips):
                continue
            strip = self._strip(row)
            if y < len(strips):
                strips[y] = strip
            else:
                strips.append(strip)
            end = strip.cell_length if before is None else first_difference_from_right(before, row)
            regions.append(Region(0, y, max(1, end), 1))
        shrunk = len(old) > len(rows)
        grown = len(old) != len(rows)
        self._rows, self._strips = list(rows), strips
        if self._grows and grown:
            self.styles.height = max(1, len(rows))
        if shrunk or not old:
            self.refresh()
        elif regions:
            self.refresh(*regions)

    def _strip(self, row: Row) -> Strip:
        app = self.dashboard
        styles = app.role_styles
        segments = [
            Segment(plain(text) if app.ascii_only else text, styles.get(role, styles["value"])) for text, role in row
        ]
        return Strip(segments)

    def render_line(self, y: int) -> Strip:
        """The cached strip, padded to the widget's width."""
        style = self.dashboard.role_styles["value"]
        if y < len(self._strips):
            return self._strips[y].adjust_cell_length(self.size.width, style)
        return Strip.blank(self.size.width, style)

    def forget(self) -> None:
        """Draw everything again next time."""
        self._rows = []


class Seamed(Horizontal):
    """Rows that are drawn as two pieces, side by side, so that the piece that never changes is never sent again.

    The terminal layer writes a changed row from the left edge of its widget (textual #5625), so the edge is put where
    the changes begin. left: cells of the left piece, or minus those of the right one.
    """

    DEFAULT_CSS = """
    Seamed { height: 1; width: 1fr; }
    Seamed > Lines { height: 100%; }
    """
    ALLOW_SELECT = False

    def __init__(self, left: int, id: str | None = None) -> None:
        super().__init__(id=id)
        self._left = left
        self._pieces = (Lines(), Lines())

    def compose(self) -> ComposeResult:
        """The two pieces."""
        fixed = self._pieces[0] if self._left > 0 else self._pieces[1]
        fixed.styles.width = abs(self._left)
        yield from self._pieces

    @property
    def dashboard(self) -> DashboardApp:
        """The app, as what it is."""
        return self._pieces[0].dashboard

    def show(self, rows: Sequence[Row]) -> None:
        """Draw these rows; see `Lines.show`."""
        at = self._left if self._left > 0 else max(0, self.size.width + self._left)
        halves = [split(row, at) for row in rows]
        for piece, number in zip(self._pieces, (0, 1), strict=True):
            piece.show([half[number] for half in halves])
