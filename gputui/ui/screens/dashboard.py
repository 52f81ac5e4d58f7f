"""The main screen: header, headline, cards or table, own cost, footer."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input

from gputui.text import _
from gputui.ui.draw.bars import headline_row, no_match_rows, notice_rows
from gputui.ui.draw.rows import Row, fit
from gputui.ui.screens.base import CLOCK, SMALLEST, Place
from gputui.ui.widgets.asking import FilterInput
from gputui.ui.widgets.cards import CardsView, Scene, TableView
from gputui.ui.widgets.lines import Lines, Seamed

MOST_CARDS = 8
"""More than so many cards start as a table."""


class DashboardScreen(Place):
    """Cards or table."""

    place = "dashboard"
    DEFAULT_CSS = """
    DashboardScreen > #headline, DashboardScreen > #heading, DashboardScreen > #cost { display: none; }
    DashboardScreen > #headline.shown, DashboardScreen > #heading.shown { display: block; }
    DashboardScreen > #cost.shown, DashboardScreen > #said.shown { display: block; }
    DashboardScreen > #said { display: none; }
    DashboardScreen > #notice { height: 1fr; }
    DashboardScreen > CardsView, DashboardScreen > TableView { display: none; }
    DashboardScreen > CardsView.shown, DashboardScreen > TableView.shown { display: block; }
    """

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield Seamed(left=-CLOCK, id="header")
        yield Lines(id="headline")
        yield Lines(id="notice")
        yield Lines(id="heading")
        yield CardsView()
        yield TableView()
        yield Lines(id="cost")
        yield Lines(id="said")
        yield FilterInput()
        yield Lines(id="footer")

    def on_mount(self) -> None:
        """Draw at once."""
        ascii_only = self.dashboard.ascii_only
        self.query_one(CardsView).set_class(ascii_only, "ascii")
        self.query_one(TableView).set_class(ascii_only, "ascii")
        self.call_after_refresh(self.draw)

    @property
    def as_table(self) -> bool:
        """Which of the two views is shown: what the person chose, else what fits."""
        app = self.dashboard
        if app.view is not None:
            return app.view == "table"
        count, room = len(app.shown.cards), self.size.height - 3
        if count <= 1:
            return False
        if count > MOST_CARDS:
            return True
        return not self.query_one(CardsView).fits(count, self.size.width, room + 6) and count > 2

    def draw(self) -> None:
        """Draw what the app shows now."""
        width, height = self.size
        if width < SMALLEST[0] or height < SMALLEST[1]:
            self._alone([((fit("too small", max(1, width)), "warn"),)])
            return
        app = self.dashboard
        self.draw_bars()
        headline = headline_row(app.findings, width) if height >= 8 else ()
        self._show("headline", [headline] if headline else [])
        extra = app.cost_rows(width)
        self._show("cost", extra)
        self.query_one("#cost").styles.height = max(1, len(extra))
        notice = notice_rows(app.shown, width, app.can_simulate)
        if notice:
            self._alone(notice)
            return
        if not app.choice.cards:
            self._alone(no_match_rows(app.choice.filter.typed, width))
            return
        self.query_one("#notice").display = False
        scene = Scene(
            app.shown, app.choice.cards, app.histories, app.findings_by_card, app.selected, app.settings.bucket
        )
        table = self.as_table
        cards_view, table_view = self.query_one(CardsView), self.query_one(TableView)
        cards_view.set_class(not table, "shown")
        table_view.set_class(table, "shown")
        self._show("heading", [table_view.heading(width)] if table else [])
        if table:
            if not table_view.draw(scene):
                self.dashboard.draw_after_layout()
        else:
            room = height - 2 - (1 if headline else 0) - (1 if self.asking else 0) - len(extra)
            cards_view.lay_out(len(scene.cards), width, room)
            cards_view.draw(scene)
            if any(panel.size.width == 0 for panel in cards_view.panels):
                self.dashboard.draw_after_layout()

    def _show(self, id: str, rows: list[Row]) -> None:
        widget = self.query_one(f"#{id}", Lines)
        widget.set_class(bool(rows), "shown")
        if rows:
            widget.show(rows)

    def _alone(self, rows: list[Row]) -> None:
        """A notice in the place of the cards."""
        notice = self.query_one("#notice", Lines)
        notice.display = True
        for view in (self.query_one(CardsView), self.query_one(TableView)):
            view.remove_class("shown")
        self._show("heading", [])
        notice.show(rows)

    @property
    def asking(self) -> bool:
        """Whether a filter is being typed."""
        return self.query_one(FilterInput).has_class("shown")

    def ask_filter(self, typed: str) -> None:
        """Open the line for a filter."""
        line = self.query_one(FilterInput)
        line.value = typed
        line.cursor_position = len(typed)
        self._ask(True)
        line.focus()
        self._explain(typed)

    def stop_asking(self) -> None:
        """Close the line; the filter stays as it is."""
        self._ask(False)
        self._show("said", [])
        self.set_focus(None)

    def _ask(self, on: bool) -> None:
        self.query_one(FilterInput).set_class(on, "shown")
        self.query_one("#footer").display = not on

    def _explain(self, typed: str) -> bool:
        """Filter by what is typed so far; say what is wrong with it, or what can be typed. True when it is right."""
        why = self.dashboard.set_filter(typed)
        words = why or _("Filter, such as temp>80 or state!=ok or reason=heat. enter keeps it, esc shows all.")
        self._show("said", [((fit(" " + words, self.size.width), "warn" if why else "label"),)])
        return not why

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        if self.asking:
            self._explain(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter, unless it cannot be understood."""
        if self._explain(event.value):
            self.stop_asking()
            self.dashboard.draw_soon()

    def scroller(self) -> VerticalScroll:
        """The view that is shown."""
        return self.query_one(TableView) if self.as_table else self.query_one(CardsView)

    def move(self, lines: int) -> None:
        """Select the card before or after."""
        self.dashboard.select_by(lines)

    def page(self, pages: int) -> None:
        """Select the card a page away."""
        view = self.scroller()
        step = max(1, view.size.height - 1) if self.as_table else max(1, view.size.height // 6)
        self.dashboard.select_by(pages * step)

    def edge(self, last: bool) -> None:
        """Select the first or last card."""
        self.dashboard.select_by(10_000 if last else -10_000)

    def reveal(self, position: int) -> None:
        """Scroll so that the card at this position can be seen."""
        (self.query_one(TableView) if self.as_table else self.query_one(CardsView)).reveal(position)
