"""The probe screen: the sheet before, the run during, the result after."""

from __future__ import annotations

from gputui.probes.shares import Shares, shares
from gputui.ui.draw.probe import run_rows, sheet_rows
from gputui.ui.draw.rows import Row
from gputui.ui.screens.base import Page


class ProbeScreen(Page):
    """One probe on one or all cards."""

    place = "probe"

    def rows(self, width: int) -> list[Row]:
        """The sheet, or the runs."""
        app = self.dashboard
        if app.sheet is None:
            return []
        if not app.runs:
            return sheet_rows(app.sheet, width)
        cards = {card.uuid: card for card in app.shown.cards}
        out: list[Row] = [((f" {app.sheet.probe.title()}", "title"),), ()]
        for run in app.runs:
            card, result = cards.get(run.gpu_uuid), run.as_result()
            of = shares(card, result) if card is not None and result is not None and run.state == "done" else Shares()
            out += run_rows(run, card, of, width)
        return out
