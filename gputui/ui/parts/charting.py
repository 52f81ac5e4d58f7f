"""The chart of the detail view: which reading, how far back."""

from __future__ import annotations

from gputui.ui.charts import HOUR, MINUTE, SESSION, TEN
from gputui.ui.parts.base import Part


class Charting(Part):
    """What the chart shows."""

    def action_chart_next(self) -> None:
        """The next reading."""
        self.charts.step(1)
        self.draw_soon()

    def action_chart_previous(self) -> None:
        """The reading before."""
        self.charts.step(-1)
        self.draw_soon()

    def _span(self, span_s: float) -> None:
        self.charts.span_s = span_s
        self.draw_soon()

    def action_span_minute(self) -> None:
        """One minute."""
        self._span(MINUTE)

    def action_span_ten(self) -> None:
        """Ten minutes."""
        self._span(TEN)

    def action_span_hour(self) -> None:
        """One hour."""
        self._span(HOUR)

    def action_span_session(self) -> None:
        """All there is."""
        self._span(SESSION)
