"""What every screen has: a header, a body, a footer made from the registry, and a place name for its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.containers import VerticalScroll
from textual.screen import Screen

from gputui.text import _
from gputui.ui import actions
from gputui.ui.draw.bars import HeaderFacts, footer_row, header_row
from gputui.ui.draw.rows import Row
from gputui.ui.widgets.lines import Lines, Seamed

if TYPE_CHECKING:
    from gputui.ui.app import DashboardApp

SMALLEST = (20, 3)
CLOCK = 9
"""Cells of the time at the end of the header: what changes there each second."""


class Place(Screen[None]):
    """A screen of the dashboard."""

    place = "dashboard"
    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        for binding in actions.bindings(self.place):
            for key in binding.key.split(","):
                self._bindings.key_to_bindings.pop(key, None)  # textual's own meaning of tab, say
            self._bindings.bind(binding.key, binding.action, binding.description, show=False, priority=binding.priority)

    @property
    def dashboard(self) -> DashboardApp:
        """The app, as what it is."""
        from gputui.ui.app import DashboardApp

        return cast(DashboardApp, self.app)

    def draw(self) -> None:
        """Draw what the app shows now."""

    def draw_bars(self) -> None:
        """Header and footer."""
        app, width = self.dashboard, self.size.width
        choice = [app.choice.count_words(len(app.shown.cards)), app.choice.order_words()]
        if app.is_quiet:
            choice.append(_("quiet"))
        facts = HeaderFacts(app.wall(), app.paused_s, worker_gone=app.reader_gone, choice=choice)
        self.query_one("#header", Seamed).show([header_row(app.shown, app.findings, facts, width)])
        keys = actions.footer_keys(self.place, app.allowed)
        self.query_one("#footer", Lines).show([footer_row(keys, width, app.note)])

    def on_resize(self) -> None:
        """Everything has another width now."""
        self.dashboard.draw_soon()

    def scroller(self) -> VerticalScroll:
        """What the movement keys scroll."""
        return self.query_one(VerticalScroll)

    def move(self, lines: int) -> None:
        """One line up (-1) or down (1)."""
        self.scroller().scroll_relative(y=lines, animate=False)
        self.dashboard.draw_soon()

    def page(self, pages: int) -> None:
        """One page up or down."""
        scroller = self.scroller()
        scroller.scroll_relative(y=pages * max(1, scroller.size.height - 1), animate=False)
        self.dashboard.draw_soon()

    def edge(self, last: bool) -> None:
        """To the first or the last line."""
        if last:
            self.scroller().scroll_end(animate=False)
        else:
            self.scroller().scroll_home(animate=False)
        self.dashboard.draw_soon()


class Page(Place):
    """A screen of text that scrolls."""

    DEFAULT_CSS = """
    Page > VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    Page.ascii > VerticalScroll { scrollbar-size-vertical: 0; }
    """

    def compose(self):  # type: ignore[no-untyped-def]
        """Header, text, footer."""
        yield Seamed(left=-CLOCK, id="header")
        with VerticalScroll(can_focus=False):
            yield Lines(id="text", grows=True)
        yield Lines(id="footer")

    def on_mount(self) -> None:
        """Draw at once."""
        self.set_class(self.dashboard.ascii_only, "ascii")
        self.call_after_refresh(self.draw)

    def rows(self, width: int) -> list[Row]:
        """The text."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the text and the bars."""
        text = self.query_one("#text", Lines)
        if text.size.width >= 8:
            text.show(self.rows(text.size.width))
        self.draw_bars()
