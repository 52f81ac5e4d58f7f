"""Sparklines with a fixed domain: 0 is the floor, the limit is the top, a gap is a blank. Never scaled to the data."""

from __future__ import annotations

from collections.abc import Sequence

from gputui.model.history import History
from gputui.model.reasons import Cause

LEVELS = "▁▂▃▄▅▆▇█"
GAP = " "
BUCKET_S = 5
SETTLING_S = 30
"""While the history is shorter than this, the youngest unfinished bucket is drawn too, so that a newcomer sees life
at once. Later a sparkline moves only when a bucket closes: a moving row is what a slow link feels."""


def bucket_s(interval_s: float) -> int:
    """Whole seconds a cell stands for: five, or as long as it takes to have a sample in each."""
    return max(BUCKET_S, -int(-interval_s // 1))


def end_of(history: History, now: float, size_s: int) -> float:
    """The moment up to which cells are drawn."""
    return now + size_s if history.span_s < SETTLING_S else now


def spark(values: Sequence[float | None], top: float, floor: float = 0.0) -> str:
    """One cell a value."""
    span = top - floor
    if span <= 0:
        return GAP * len(values)
    out = []
    for value in values:
        if value is None:
            out.append(GAP)
            continue
        share = min(1.0, max(0.0, (value - floor) / span))
        out.append(LEVELS[min(len(LEVELS) - 1, int(share * len(LEVELS)))])
    return "".join(out)


def strip(causes: Sequence[Cause | None]) -> str:
    """The WHY strip: the letter of what held the clock, one cell a bucket; a gap is a blank."""
    return "".join(GAP if cause is None else cause.value for cause in causes)
