"""The processes of all cards, and the way to end one."""

from __future__ import annotations

from gputui.text import _
from gputui.ui.draw.host import host_row
from gputui.ui.draw.processes import Entry, entries, entry_row, heading, silent_rows
from gputui.ui.draw.rows import Row
from gputui.ui.screens.base import Page

ABOVE = 3
"""Lines before the first process."""


class ProcessesScreen(Page):
    """One line a process."""

    place = "processes"

    def __init__(self) -> None:
        self._key: tuple[str, int, float | None] | None = None
        super().__init__()

    @property
    def selected(self) -> Entry | None:
        """The process that is selected."""
        found = entries(self.dashboard.shown)
        return next((entry for entry in found if entry.key == self._key), found[0] if found else None)

    def rows(self, width: int) -> list[Row]:
        """The machine, then the processes."""
        frame = self.dashboard.shown
        chosen = self.selected
        self._key = chosen.key if chosen else None
        found = entries(frame)
        out: list[Row] = [host_row(frame.host, width), (), heading(width)]
        out += [entry_row(entry, frame.time, entry.key == self._key, width) for entry in found]
        if not found:
            out.append(((_(" none that can be seen from here"), "label"),))
        return out + silent_rows(frame, width)

    def move(self, lines: int) -> None:
        """Select another process."""
        found = entries(self.dashboard.shown)
        if not found:
            return
        at = next((n for n, entry in enumerate(found) if entry.key == self._key), 0)
        at = min(len(found) - 1, max(0, at + lines))
        self._key = found[at].key
        scroller = self.scroller()
        y = at + ABOVE
        if at == 0:
            scroller.scroll_home(animate=False)
        elif y < scroller.scroll_offset.y:
            scroller.scroll_to(y=y, animate=False)
        elif y >= scroller.scroll_offset.y + scroller.size.height:
            scroller.scroll_to(y=y + 1 - scroller.size.height, animate=False)
        self.dashboard.draw_soon()

    def page(self, pages: int) -> None:
        """A page of processes on."""
        self.move(pages * max(1, self.scroller().size.height - 1))

    def edge(self, last: bool) -> None:
        """The first or last process."""
        self.move(100_000 if last else -100_000)
