"""The chart of one card: which reading over which time. It is drawn again only when one of its points has closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gputui.model.card import Card
from gputui.model.history import History
from gputui.model.reading import number
from gputui.model.tiers import DayTier, series
from gputui.text import _
from gputui.ui.draw.chart import axis_width, chart, legend, reasons_band
from gputui.ui.draw.format import ago
from gputui.ui.draw.rows import Row, fit, joined

MINUTE, TEN, HOUR, SESSION = 60.0, 600.0, 3600.0, 0.0
"""Spans in seconds; SESSION is as long as there is history."""
_SESSIONS = (600.0, 1800.0, 3600.0, 7200.0, 4 * 3600.0, 8 * 3600.0, 12 * 3600.0, 24 * 3600.0)
"""The session grows in steps, so that its points do not change their size at every sample."""
LEAST_POINT_S = 2
"""A point of one second would draw the whole chart at every sample, which is more than 5 kB/s."""


@dataclass(frozen=True)
class Chart:
    """A reading that can be charted. top: the scale's end. limit: a reading with a line of its own, and its name."""

    name: str
    title: Callable[[], str]
    unit: str
    top: Callable[[Card], float | None]
    limit: str = ""
    limit_title: Callable[[], str] = lambda: ""


def _value(*names: str) -> Callable[[Card], float | None]:
    return lambda card: next((found for name in names if (found := number(card.get(name)))), None)


def _hottest(card: Card) -> float:
    """A round figure above the temperature at which the card slows down."""
    slowdown = number(card.get("temperature.threshold.slowdown"))
    return 100.0 if slowdown is None or slowdown < 100 else 120.0


CHARTS: tuple[Chart, ...] = (
    Chart("clocks.current.sm", lambda: _("SM clock"), "MHz", _value("clocks.max.sm")),
    Chart(
        "power.draw",
        lambda: _("Power"),
        "W",
        lambda card: max(
            (
                value
                for name in ("enforced.power.limit", "power.default_limit")
                if (value := number(card.get(name))) is not None
            ),
            default=number(card.get("power.max_limit")),
        ),
        "enforced.power.limit",
        lambda: _("limit"),
    ),
    Chart(
        "temperature.gpu",
        lambda: _("Temperature"),
        "°C",
        _hottest,
        "temperature.threshold.slowdown",
        lambda: _("slows here"),
    ),
    Chart("utilization.gpu", lambda: _("Utilization"), "%", lambda _card: 100.0),
    Chart("memory.used", lambda: _("Memory"), "MiB", _value("memory.total")),
)


@dataclass(frozen=True)
class Pane:
    """What a chart is drawn from. mono: monotonic time now. height: rows of the chart without title and band."""

    card: Card
    history: History | None
    tier: DayTier | None
    mono: float
    width: int
    height: int
    ascii: bool


class Charts:
    """What is charted, and the last picture."""

    def __init__(self, span_s: float = TEN) -> None:
        self.span_s = span_s
        self._at = 0
        self._key: tuple[object, ...] = ()
        self._rows: list[Row] = []

    @property
    def chart(self) -> Chart:
        """The chart that is shown."""
        return CHARTS[self._at]

    def step(self, places: int) -> None:
        """The chart so many places on, round and round."""
        self._at = (self._at + places) % len(CHARTS)

    def span(self, tier: DayTier | None) -> float:
        """Seconds from the left edge to now."""
        if self.span_s != SESSION:
            return self.span_s
        held = tier.held_s if tier is not None else 0.0
        return next((step for step in _SESSIONS if step >= held), _SESSIONS[-1])

    def rows(self, pane: Pane) -> list[Row]:
        """Title, chart, and the reasons below it."""
        one, span_s = self.chart, self.span(pane.tier)
        top = one.top(pane.card)
        if top is None or pane.history is None or pane.width < 8:
            return [
                self._title(span_s, pane.width),
                ((_(" no scale: this card does not say its highest value"), "label"),),
            ]
        limit = number(pane.card.get(one.limit)) if one.limit else None
        left = axis_width((0.0, top), one.unit, limit) if pane.width >= 24 else 0
        room = min(pane.width - left, int(span_s // LEAST_POINT_S))
        size = max(LEAST_POINT_S, -int(-span_s // max(1, room)))
        key = (
            one.name,
            span_s,
            top,
            limit,
            pane.card.uuid,
            pane.width,
            pane.height,
            pane.ascii,
            int(pane.mono // size),
        )
        if key != self._key:
            self._key = key
            found = series(pane.history, pane.tier, one.name, span_s, room, pane.mono)
            drawn = chart(
                found.points,
                pane.width,
                pane.height,
                (0.0, top),
                ascii=pane.ascii,
                unit=one.unit,
                span_s=span_s,
                limit=limit,
                limit_text=one.limit_title(),
            )
            band = reasons_band(found.causes, pane.width, left, pane.ascii)
            words = ((fit(" " * left + legend(), pane.width), "label"),)
            self._rows = [*drawn[:-1], band, *drawn[-1:], words]
        return [self._title(span_s, pane.width), *self._rows]

    def _title(self, span_s: float, width: int) -> Row:
        """The reading, the span, and the readings beside it."""
        one = self.chart
        what = _("whole session, {age}") if self.span_s == SESSION else "{age}"
        head = f" {one.title()} · {what.format(age=ago(span_s))}   "
        others = "  ".join(f"[{chart.title()}]" if chart is one else chart.title() for chart in CHARTS)
        return joined(((head, "title"), (fit(others, max(0, width - len(head))), "label")))
