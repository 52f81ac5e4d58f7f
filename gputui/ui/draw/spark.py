"""Sparklines with a fixed domain: 0 is the floor, the limit is the top, a gap is a blank. Never scaled to the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gputui.model.history import History
from gputui.model.reasons import Cause

LEVELS = "▁▂▃▄▅▆▇█"
GAP = " "
BUCKET_S = 5
SETTLING_S = 30
"""While the history is shorter than this, the youngest unfinished bucket is drawn too, so that a newcomer sees life
at once. Later a sparkline moves only when a bucket closes: a moving row is what a slow link feels."""


def bucket_s(interval_s: float, wanted: int = BUCKET_S) -> int:
    """Whole seconds a cell stands for: as wanted, or as long as it takes to have a sample in each."""
    return max(wanted, -int(-interval_s // 1))


def end_of(history: History, now: float, size_s: int) -> float:
    """The moment up to which cells are drawn."""
    return now + size_s if history.span_s < SETTLING_S else now


class Cells:
    """Sparklines of one card, remembered until their bucket closes: most ticks draw the same cells again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[float, float, str]] = {}

    def values(
        self,
        history: History,
        name: str,
        count: int,
        size_s: int,
        now: float,
        top: float,
        band: tuple[int, int] = (0, 1),
    ) -> str:
        """The sparkline of a reading over `count` cells up to now; band: which row of how many, from the top."""
        end = end_of(history, now, size_s)
        draw = partial(history.buckets, name, count, size_s, end)
        key = name if band == (0, 1) else f"{name} {band}"
        return self._get(history, key, count, size_s, now, top, lambda: spark(draw(), top, band=band))

    def causes(self, history: History, count: int, size_s: int, now: float) -> str:
        """The WHY strip of the same cells."""
        end = end_of(history, now, size_s)
        return self._get(history, "why", count, size_s, now, 0.0, lambda: strip(history.causes(count, size_s, end)))

    def _get(
        self, history: History, name: str, count: int, size_s: int, now: float, top: float, draw: Callable[[], str]
    ) -> str:
        bucket = now // size_s
        kept = self._kept.get((name, count))
        # A sample that is a moment late may still fall into the bucket that has just closed.
        settled = history.span_s >= SETTLING_S + 2 * size_s and now - bucket * size_s >= 1.5
        if kept is not None and settled and kept[:2] == (bucket, top):
            return kept[2]
        drawn = draw()
        self._kept[(name, count)] = (bucket, top, drawn)
        return drawn


def spark(values: Sequence[float | None], top: float, floor: float = 0.0, band: tuple[int, int] = (0, 1)) -> str:
    """One cell a value. band: one row of a sparkline of several, (row from the top, rows)."""
    span = top - floor
    if span <= 0:
        return GAP * len(values)
    out = []
    for value in values:
        if value is None:
            out.append(GAP)
            continue
        share = min(1.0, max(0.0, (value - floor) / span))
        row, rows = band
        below = (rows - 1 - row) * len(LEVELS)
        level = min(len(LEVELS) * rows - 1, int(share * len(LEVELS) * rows)) - below
        out.append(GAP if level < 0 else LEVELS[min(len(LEVELS) - 1, level)])
    return "".join(out)


def strip(causes: Sequence[Cause | None]) -> str:
    """The WHY strip: the letter of what held the clock, one cell a bucket; a gap is a blank."""
    return "".join(GAP if cause is None else cause.value for cause in causes)
