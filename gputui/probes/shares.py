"""A result as a renter reads it: how much of what was paid for, how much of what healthy cards give."""

from __future__ import annotations

from dataclasses import dataclass

from gputui.findings.evidence import ProbeResult
from gputui.findings.rules.probe import PRECISIONS
from gputui.findings.view import match_of
from gputui.model.card import Card
from gputui.reference.health import grade
from gputui.reference.links import pcie_rate


@dataclass(frozen=True)
class Shares:
    """of_nominal: the field's "utilization of the compute paid for". of_healthy: of the median of healthy cards, or of
    the low end for a link. 1.0 is all of it; None where the reference has nothing.
    """

    of_nominal: float | None = None
    of_healthy: float | None = None


def shares(card: Card, result: ProbeResult) -> Shares:
    """Against the reference of this card; nothing for a card that is not known for certain."""
    if result.value is None:
        return Shares()
    if result.id == "pcie":
        generation, lanes = result.detail.get("generation"), result.detail.get("lanes")
        rate = pcie_rate(generation, lanes)
        if rate is None:
            return Shares()
        healthy = None if rate.healthy_gbs is None else result.value / rate.healthy_gbs[0]
        return Shares(result.value / rate.line_gbs, healthy)
    match = match_of(card)
    if not match.certain:
        return Shares()
    graded = grade(result.value, match.spec, PRECISIONS.get(result.dtype, result.dtype), result.runs_agreeing)
    return Shares(graded.share_of_nominal, graded.share_of_healthy_median)
