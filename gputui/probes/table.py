"""The probes there are: what each measures, how long it takes, and what it does to the card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gputui.text import _


@dataclass(frozen=True)
class Probe:
    """One probe.

    key: the dashboard's key that opens its sheet. seconds: of measurement; warm_s before it. heavy: it loads the card
    to its power limit and is refused on a card that somebody uses. unit: of its result.
    """

    id: str
    key: str
    title: Callable[[], str]
    measures: Callable[[], str]
    seconds: float
    warm_s: float
    heavy: bool
    unit: str

    @property
    def total_s(self) -> float:
        """Estimate for one card, with the start of the interpreter."""
        return self.seconds + self.warm_s + START_S


START_S = 6.0
"""Importing torch and making a context take 3 to 10 s."""
SPARE_S = 60.0
"""On top of the estimate before a probe ends itself."""

PROBES: dict[str, Probe] = {
    probe.id: probe
    for probe in (
        Probe(
            "matmul",
            "m",
            lambda: _("matmul"),
            lambda: _("how fast the card multiplies large matrices, against healthy cards of its model"),
            20.0,
            5.0,
            True,
            "TFLOPS",
        ),
        Probe(
            "stress",
            "s",
            lambda: _("stress"),
            lambda: _("whether it keeps that speed and computes right while it gets hot"),
            60.0,
            5.0,
            True,
            "TFLOPS",
        ),
        Probe(
            "bandwidth",
            "b",
            lambda: _("memory bandwidth"),
            lambda: _("how fast the card's own memory moves data"),
            5.0,
            2.0,
            True,
            "GB/s",
        ),
        Probe(
            "pcie",
            "B",
            lambda: _("copies to the card"),
            lambda: _("how fast data reach the card, and the link under that load"),
            6.0,
            1.0,
            True,
            "GB/s",
        ),
    )
}
