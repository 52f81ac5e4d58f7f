"""Which cards are shown and in what order: the filter and the sort order of the screen."""

from __future__ import annotations

from collections.abc import Sequence

from gputui.model.card import Card, Frame
from gputui.model.finding import Finding
from gputui.text import _
from gputui.ui.filter import ORDERS, Filter, sort

RESORT_S = 5.0
"""Rows that change places at every sample cannot be read, and each move draws a row again."""


class Choice:
    """The filter and the order, and the cards they gave at the last look."""

    def __init__(self, typed: str = "", by: str = "index", falling: bool | None = None) -> None:
        self.filter = Filter.of(typed)
        self.by, self.falling = by, falling
        self.cards: tuple[Card, ...] = ()
        self._order: tuple[str, ...] = ()
        self._looked: float | None = None
        self._present: tuple[object, ...] = ()

    def forget(self) -> None:
        """Look again at the next frame, whatever the time."""
        self._looked = None

    def look(self, frame: Frame, findings: Sequence[Finding]) -> None:
        """Take a frame. The order changes every few seconds, and at once when a card comes, goes or changes state."""
        present = tuple((card.uuid, card.state) for card in frame.cards)
        if self._looked is None or frame.mono - self._looked >= RESORT_S or present != self._present:
            self._looked, self._present = frame.mono, present
            kept = self.filter.apply(frame.cards, findings)
            if self.by != "index" or self.falling:
                kept = sort(kept, ORDERS[self.by], findings, self.falling)
            self._order = tuple(card.uuid for card in kept)
        by_uuid = {card.uuid: card for card in frame.cards}
        self.cards = tuple(by_uuid[uuid] for uuid in self._order)

    def step(self, places: int) -> None:
        """The order so many places on, round and round, in its own direction."""
        names = list(ORDERS)
        self.by, self.falling = names[(names.index(self.by) + places) % len(names)], None
        self.forget()

    def turn(self) -> None:
        """The other way round."""
        self.falling = not (ORDERS[self.by].falling if self.falling is None else self.falling)
        self.forget()

    def order_words(self) -> str:
        """The order as the header says it; nothing for the usual one."""
        falling = ORDERS[self.by].falling if self.falling is None else self.falling
        if self.by == "index" and not falling:
            return ""
        return _("by {what} {arrow}").format(what=ORDERS[self.by].title(), arrow="↓" if falling else "↑")

    def count_words(self, all_cards: int) -> str:
        """How many of all cards are shown; nothing while no filter is set."""
        if self.filter.condition is None:
            return ""
        return _("{n} of {all} shown").format(n=len(self.cards), all=all_cards)
