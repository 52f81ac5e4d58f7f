"""The table's filter line and its sort orders. No textual here: functions from text and cards to cards.

The language of the filter is the one of gputui.alerts.condition: `temp>80`, `state!=ok`, `reason=heat or power>95%`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gputui.alerts.condition import Condition, ConditionError
from gputui.alerts.fields import near
from gputui.alerts.parse import parse
from gputui.model.card import Card, State
from gputui.model.finding import Finding, Severity
from gputui.model.fleet import memory_share
from gputui.model.reading import number, text
from gputui.model.reasons import Cause, cause
from gputui.text import _

__all__ = ["ORDERS", "ConditionError", "Filter", "Order", "order", "sort"]


@dataclass(frozen=True)
class Filter:
    """Which cards to show. An empty line shows all. A card whose reading is absent is not shown by a comparison of it,
    whichever way it compares.
    """

    typed: str = ""
    condition: Condition | None = None

    @classmethod
    def of(cls, typed: str) -> Filter:
        """The filter of a typed line. Raises ConditionError: one sentence, `column` and `hint`."""
        typed = typed.strip()
        return cls(typed, parse(typed) if typed else None)

    def shows(self, card: Card, findings: Sequence[Finding] = ()) -> bool:
        """Whether this card is to be shown. findings: all of them, or the card's own."""
        return self.condition is None or self.condition.judge(card, findings) is True

    def apply(self, cards: Sequence[Card], findings: Sequence[Finding] = ()) -> list[Card]:
        """The cards to show, in their order."""
        return [card for card in cards if self.shows(card, findings)]


Figure = float | str | None
"""What a card is ordered by; None when there is nothing to order by."""


@dataclass(frozen=True)
class Order:
    """One way to sort. falling: the direction people mean first (the hottest on top)."""

    id: str
    title: Callable[[], str]
    figure: Callable[[Card, Sequence[Finding]], Figure]
    falling: bool = True


def _reading(name: str) -> Callable[[Card, Sequence[Finding]], Figure]:
    return lambda card, _findings: number(card.get(name))


def _power_share(card: Card, _findings: Sequence[Finding]) -> Figure:
    """Percent of the enforced limit, so that a table of different cards sorts by strain."""
    power, limit = number(card.get("power.draw")), number(card.get("enforced.power.limit"))
    return 100.0 * power / limit if power is not None and limit else None


def _pstate(card: Card, _findings: Sequence[Finding]) -> Figure:
    word = text(card.get("pstate")) or ""
    return float(word[1:]) if word[:1] == "P" and word[1:].isdecimal() else None


_CAUSES = tuple(Cause)
_SEVERITIES = {Severity.INFO: 1.0, Severity.UNKNOWN: 2.0, Severity.WARN: 3.0, Severity.FAIL: 4.0}
_STATES = {state: float(rank) for rank, state in enumerate((State.OK, State.ASLEEP))}


def _why(card: Card, _findings: Sequence[Finding]) -> Figure:
    mask = number(card.get("clocks_event_reasons.mask"))
    return None if mask is None else float(_CAUSES.index(cause(int(mask))))


def _worst(card: Card, findings: Sequence[Finding]) -> Figure:
    """The worst finding; a card without one is 0, which is a statement and not a gap."""
    return max((_SEVERITIES[f.severity] for f in findings if f.gpu_uuid == card.uuid), default=0.0)


ORDERS: dict[str, Order] = {
    one.id: one
    for one in (
        Order("index", lambda: _("index"), lambda card, _f: float(card.index), falling=False),
        Order("name", lambda: _("name"), lambda card, _f: card.name.lower() or None, falling=False),
        Order("state", lambda: _("state"), lambda card, _f: _STATES.get(card.state, 9.0)),
        Order("clock", lambda: _("SM clock"), _reading("clocks.current.sm")),
        Order("power", lambda: _("power"), _reading("power.draw")),
        Order("power-share", lambda: _("power of limit"), _power_share),
        Order("temp", lambda: _("temperature"), _reading("temperature.gpu")),
        Order("util", lambda: _("utilization"), _reading("utilization.gpu")),
        Order("mem", lambda: _("memory"), _reading("memory.used")),
        Order("mem-share", lambda: _("memory of total"), lambda card, _f: memory_share(card)),
        Order("pstate", lambda: _("P-state"), _pstate, falling=False),
        Order("fan", lambda: _("fan"), _reading("fan.speed")),
        Order("reason", lambda: _("reason"), _why),
        Order("finding", lambda: _("worst finding"), _worst),
    )
}
"""In the order in which the sort keys go through them."""


def order(name: str) -> Order:
    """The order of this name. Raises ValueError with one sentence."""
    if name in ORDERS:
        return ORDERS[name]
    close = near(name)
    guess = close if close in ORDERS else None
    hint = _("did you mean {close}?").format(close=guess) if guess else ", ".join(ORDERS)
    raise ValueError(_("{name} is no order to sort by: {hint}").format(name=name, hint=hint))


def sort(cards: Sequence[Card], by: Order, findings: Sequence[Finding] = (), falling: bool | None = None) -> list[Card]:
    """The cards in order. A card without the reading comes last in both directions; equal ones keep their index.

    falling None takes the order's own direction.
    """
    steady = sorted(cards, key=lambda card: (card.index, card.uuid))
    figures: Mapping[str, Figure] = {card.uuid: by.figure(card, findings) for card in steady}
    known = [card for card in steady if figures[card.uuid] is not None]
    unknown = [card for card in steady if figures[card.uuid] is None]
    down = by.falling if falling is None else falling
    # Sorting upside down keeps equal ones as they stand (`reverse` is stable), which negated keys of text cannot.
    known.sort(key=lambda card: figures[card.uuid], reverse=down)  # type: ignore[arg-type,return-value]
    return known + unknown
