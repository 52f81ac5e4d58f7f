"""Filter and sort order."""

from __future__ import annotations

from gputui.text import _
from gputui.ui.filter import ConditionError, Filter
from gputui.ui.parts.base import Part
from gputui.ui.screens.dashboard import DashboardScreen


class Choosing(Part):
    """Which cards, and in what order."""

    def choose_cards(self) -> None:
        """Take filter and order into account, and keep the selection among what is shown."""
        self.choice.look(self.shown, self.findings)
        cards = self.choice.cards
        if all(card.uuid != self.selected for card in cards):
            self.selected = cards[0].uuid if cards else None

    def set_filter(self, typed: str) -> str:
        """Filter by a typed line; gives back the sentence that says why it cannot be, and then changes nothing."""
        try:
            self.choice.filter = Filter.of(typed)
        except ConditionError as error:
            return str(error)
        self.choice.forget()
        self.choose_cards()
        self.draw_soon()
        return ""

    def select_by(self, step: int) -> None:
        """Select the card so many places on."""
        cards = self.choice.cards
        if not cards:
            return
        at = next((n for n, card in enumerate(cards) if card.uuid == self.selected), 0)
        position = min(len(cards) - 1, max(0, at + step))
        self.selected = cards[position].uuid
        if isinstance(self.screen, DashboardScreen):
            self.screen.reveal(position)
        self.draw_soon()

    def action_filter(self) -> None:
        """Open the line for a filter."""
        if isinstance(self.screen, DashboardScreen):
            self.screen.ask_filter(self.choice.filter.typed)

    def action_clear_filter(self) -> None:
        """Show all cards, and close the line."""
        if isinstance(self.screen, DashboardScreen):
            self.screen.stop_asking()
            self.set_filter("")

    def _sort_by(self, places: int) -> None:
        self.choice.step(places)
        self._sorted()

    def _sorted(self) -> None:
        self.choose_cards()
        self.say(_("sorted {how}").format(how=self.choice.order_words() or _("by index")))

    def action_sort_next(self) -> None:
        """The next order."""
        self._sort_by(1)

    def action_sort_previous(self) -> None:
        """The order before."""
        self._sort_by(-1)

    def action_sort_turn(self) -> None:
        """The other direction."""
        self.choice.turn()
        self._sorted()
