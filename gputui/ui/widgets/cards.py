"""The cards, as panels or as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Click

from gputui.model.card import Card, Frame
from gputui.model.finding import Finding
from gputui.model.history import History
from gputui.ui.draw.card import COMPACT_ROWS, FULL_ROWS, LABEL, Picture, card_rows
from gputui.ui.draw.spark import Cells
from gputui.ui.draw.table import heading_row, table_row
from gputui.ui.widgets.lines import Lines, Seamed

TWO_COLUMNS = 116
"""Cells from which two panels fit side by side."""
FEW, TALLEST = 2, 44
"""So few cards share the whole window, up to so many rows each."""


@dataclass(frozen=True)
class Scene:
    """What the cards are drawn from. cards: those to show, in their order."""

    frame: Frame
    cards: Sequence[Card]
    histories: Mapping[str, History]
    findings: Mapping[str, Sequence[Finding]]
    selected: str | None
    bucket: int


class CardPanel(Seamed):
    """One card."""

    def __init__(self) -> None:
        super().__init__(left=1 + LABEL)
        self.card_uuid = ""
        self._cells = Cells()

    def draw(self, card: Card, scene: Scene, rows: int) -> None:
        """Show the card; a mistake in drawing costs this panel only."""
        if self.card_uuid != card.uuid:
            self.card_uuid, self._cells = card.uuid, Cells()
        width = self.size.width
        if width < 8:
            return
        picture = Picture(
            card,
            scene.histories.get(card.uuid),
            scene.frame,
            scene.findings.get(card.uuid, ()),
            card.uuid == scene.selected,
            width,
            rows,
            self._cells,
            scene.bucket,
        )
        try:
            self.show(card_rows(picture))
        except Exception as error:
            self.log.error(f"card {card.index}: {error!r}")
            self.dashboard.draw_errors.append(repr(error))
            self.show([((f" {card.index} draw error", "bad"),)])

    def on_click(self, event: Click) -> None:
        """Select; a second click opens."""
        self.dashboard.choose(self.card_uuid, event.chain > 1)


class CardsView(VerticalScroll, can_focus=False):
    """A panel a card, in one column or two."""

    DEFAULT_CSS = """
    CardsView { layout: grid; grid-size: 1; grid-gutter: 0 2; scrollbar-size-vertical: 1; height: 1fr; }
    CardsView.ascii { scrollbar-size-vertical: 0; }
    """

    def __init__(self) -> None:
        super().__init__(id="cards")
        self._rows = FULL_ROWS
        self._columns = 1

    def compose(self) -> ComposeResult:
        yield from ()

    @property
    def panels(self) -> list[CardPanel]:
        """The panels, in order."""
        return list(self.query(CardPanel))

    def fits(self, count: int, width: int, height: int) -> bool:
        """Whether so many full panels can be seen at once."""
        columns = 2 if width >= TWO_COLUMNS and count > 1 else 1
        return -(-count // columns) * FULL_ROWS <= height

    def lay_out(self, count: int, width: int, height: int) -> None:
        """As many panels as cards, at the size that suits the window."""
        panels = self.panels
        for _missing in range(count - len(panels)):
            self.mount(CardPanel())
        for panel in panels[count:]:
            panel.remove()
        columns = 2 if width >= TWO_COLUMNS and count > 1 else 1
        rows = FULL_ROWS if height >= FULL_ROWS * min(count, 2) or height >= 14 else COMPACT_ROWS
        if count <= FEW:
            rows = max(rows, min(height // (1 if columns >= count else count), TALLEST))
        if (rows, columns) != (self._rows, self._columns) or len(panels) != count:
            self._rows, self._columns = rows, columns
            self.styles.grid_size_columns = columns
            self.styles.grid_rows = str(rows)

    def draw(self, scene: Scene) -> None:
        """Show every panel that can be seen."""
        top, height = self.scroll_offset.y, self.size.height
        for position, (card, panel) in enumerate(zip(scene.cards, self.panels, strict=False)):
            y = position // self._columns * self._rows
            if panel.styles.height is None or panel.styles.height.value != self._rows:
                panel.styles.height = self._rows
            if y < top + height and y + self._rows > top:
                panel.draw(card, scene, self._rows)

    def reveal(self, position: int) -> None:
        """Scroll so that the card at this position can be seen."""
        y = position // self._columns * self._rows
        if y < self.scroll_offset.y:
            self.scroll_to(y=y, animate=False)
        elif y + self._rows > self.scroll_offset.y + self.size.height:
            self.scroll_to(y=y + self._rows - self.size.height, animate=False)


class TableBody(Lines):
    """The lines of the table."""

    def on_click(self, event: Click) -> None:
        """Select the card of the line; a second click opens it."""
        cards = self.dashboard.choice.cards
        if 0 <= event.y < len(cards):
            self.dashboard.choose(cards[event.y].uuid, event.chain > 1)


class TableView(VerticalScroll, can_focus=False):
    """One line a card."""

    DEFAULT_CSS = """
    TableView { height: 1fr; scrollbar-size-vertical: 1; }
    TableView.ascii { scrollbar-size-vertical: 0; }
    """

    def __init__(self) -> None:
        super().__init__(id="table")
        self._cells: dict[str, Cells] = {}

    def compose(self) -> ComposeResult:
        yield TableBody(grows=True)

    def draw(self, scene: Scene) -> bool:
        """Show the lines. False when the view has just been opened and has no size yet."""
        body = self.query_one(TableBody)
        width = body.size.width
        if width < 8:
            return False
        body.show(
            [
                table_row(
                    card,
                    scene.histories.get(card.uuid),
                    scene.frame,
                    scene.findings.get(card.uuid, ()),
                    card.uuid == scene.selected,
                    width,
                    self._cells.setdefault(card.uuid, Cells()),
                    scene.bucket,
                )
                for card in scene.cards
            ]
        )
        return True

    def heading(self, width: int) -> tuple[tuple[str, str], ...]:
        """The line above."""
        return heading_row(width)

    def reveal(self, position: int) -> None:
        """Scroll so that the card at this position can be seen."""
        if position < self.scroll_offset.y:
            self.scroll_to(y=position, animate=False)
        elif position >= self.scroll_offset.y + self.size.height:
            self.scroll_to(y=position + 1 - self.size.height, animate=False)
