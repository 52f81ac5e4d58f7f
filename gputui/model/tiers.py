"""The long history of one card: lowest, mean and highest of every ten seconds for a day, beside `history.History`.

Only what explains a slow day is kept: SM clock, power, temperature, utilization and the reasons. Memory comes in blocks
of an hour, made when the first sample of that hour arrives and dropped a day later: a short session pays for an hour, a
gap for nothing. A full day is 25 blocks of 21.6 kB, 540 kB a card; 8 cards take 4.3 MB, 64 cards 35 MB.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from gputui.model import reasons
from gputui.model.history import KEPT as HISTORY_KEPT
from gputui.model.history import SLOT_S, History
from gputui.model.reading import Reading, number

SLOT = 10
"""Seconds of a bucket of this tier."""
BLOCK = 360
"""Buckets of a block: an hour."""
DAY_S = 24 * 3600
KEPT: tuple[str, ...] = ("clocks.current.sm", "power.draw", "temperature.gpu", "utilization.gpu")
"""Readings with a day of history."""

_INF = math.inf

Point = tuple[float, float, float]
"""Lowest, mean and highest."""


class _Column:
    """One reading in one block. Gaps hold neutral numbers, so that a range needs no loop: min, max and sum suffice."""

    __slots__ = ("high", "low", "mean", "seen")

    def __init__(self) -> None:
        self.low = array("f", [_INF]) * BLOCK
        self.mean = array("f", [0.0]) * BLOCK
        self.high = array("f", [-_INF]) * BLOCK
        self.seen = bytearray(BLOCK)


class _Block:
    """An hour. read: which buckets had their reasons read; masks are 0 elsewhere."""

    __slots__ = ("columns", "masks", "read")

    def __init__(self) -> None:
        self.columns = {name: _Column() for name in KEPT}
        self.masks = array("Q", [0]) * BLOCK
        self.read = bytearray(BLOCK)


class DayTier:
    """The last day of one card. Time comes in; nothing blocks."""

    def __init__(self, span_s: int = DAY_S) -> None:
        self.span_s = span_s
        self._blocks: dict[int, _Block] = {}
        self._open: int | None = None
        self._first: int | None = None
        self._sums: dict[str, tuple[float, int]] = {}

    @property
    def newest(self) -> float | None:
        """Monotonic time at which the newest bucket begins; None before the first sample."""
        return None if self._open is None else float(self._open * SLOT)

    @property
    def held_s(self) -> float:
        """Seconds from the oldest bucket still held to the end of the newest."""
        if self._open is None or self._first is None:
            return 0.0
        return float((self._open - self._oldest() + 1) * SLOT)

    @property
    def blocks(self) -> int:
        """How many blocks of memory there are."""
        return len(self._blocks)

    def _oldest(self) -> int:
        """The oldest bucket that counts as held: a day before the newest, whatever older a block still has."""
        assert self._open is not None
        assert self._first is not None
        return max(self._first, self._open - self.span_s // SLOT + 1)

    def add(self, mono: float, readings: Mapping[str, Reading]) -> None:
        """Take the sample of monotonic time `mono`. One older than the open bucket is dropped: its mean is closed."""
        slot = int(mono // SLOT)
        if self._open is None or slot > self._open:
            self._advance(slot)
        elif slot < self._open:
            return
        block = self._blocks.get(slot // BLOCK)
        if block is None:
            block = self._blocks[slot // BLOCK] = _Block()
        at = slot % BLOCK
        for name, column in block.columns.items():
            value = number(readings.get(name))
            if value is not None and math.isfinite(value):
                self._take(name, column, at, value)
        mask = number(readings.get("clocks_event_reasons.mask"))
        if mask is not None and 0 <= mask < 1 << 64:
            block.masks[at] |= int(mask)
            block.read[at] = 1

    def _take(self, name: str, column: _Column, at: int, value: float) -> None:
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = total + value, count + 1
        column.low[at] = min(column.low[at], value)
        column.high[at] = max(column.high[at], value)
        # Rounded to float32 apart from its bounds, a mean could leave them by one last digit.
        column.mean[at] = min(max((total + value) / (count + 1), column.low[at]), column.high[at])
        column.seen[at] = 1

    def _advance(self, slot: int) -> None:
        """Open a later bucket and drop the blocks that have left the day."""
        self._sums.clear()
        if self._first is None:
            self._first = slot
        self._open = slot
        oldest = self._oldest() // BLOCK
        for gone in [number_ for number_ in self._blocks if number_ < oldest]:
            del self._blocks[gone]

    def _pieces(self, since: int, until: int) -> Iterator[tuple[_Block, int, int]]:
        """(block, first, end) for the held buckets in [since, until)."""
        if self._open is None:
            return
        since, until = max(since, self._oldest()), min(until, self._open + 1)
        while since < until:
            number_, first = divmod(since, BLOCK)
            end = min(BLOCK, first + until - since)
            block = self._blocks.get(number_)
            if block is not None:
                yield block, first, end
            since += end - first

    def point(self, name: str, start: float, end: float) -> Point | None:
        """Lowest, mean and highest over the buckets whose start lies in [start, end); None for a gap.

        Raises KeyError for a reading that is not kept for a day.
        """
        low, high, total, seen = _INF, -_INF, 0.0, 0
        for block, first, last in self._pieces(math.ceil(start / SLOT), math.ceil(end / SLOT)):
            column = block.columns[name]
            count = sum(column.seen[first:last])
            if count:
                seen += count
                total += sum(column.mean[first:last])
                low = min(low, *column.low[first:last])
                high = max(high, *column.high[first:last])
        return (low, min(max(total / seen, low), high), high) if seen else None

    def points(self, name: str, count: int, size_s: int, end: float) -> list[Point | None]:
        """The `count` buckets of `size_s` seconds that end with the one before `end`'s, oldest first.

        Aligned to multiples of size_s as in History, so a closed bucket never changes again. size_s: a multiple of
        ten.
        """
        first = int(end // size_s) - count
        return [self.point(name, at * size_s, (at + 1) * size_s) for at in range(first, first + count)]

    def buckets(self, name: str, count: int, size_s: int, end: float) -> list[float | None]:
        """The means of the same buckets, as `History.buckets` gives them."""
        return [None if point is None else point[1] for point in self.points(name, count, size_s, end)]

    def causes(self, count: int, size_s: int, end: float) -> list[reasons.Cause | None]:
        """The worst cause within each of the same buckets; None where reasons were not read."""
        first = int(end // size_s) - count
        out: list[reasons.Cause | None] = []
        for at in range(first, first + count):
            joined, read = 0, False
            for block, start, stop in self._pieces(math.ceil(at * size_s / SLOT), math.ceil((at + 1) * size_s / SLOT)):
                read = read or 1 in block.read[start:stop]
                joined = reduce(or_, block.masks[start:stop], joined)
            out.append(reasons.cause(joined) if read else None)
        return out


@dataclass(frozen=True)
class Series:
    """A reading over a span of time, oldest first. Each point stands for size_s seconds; None is a gap.

    start: monotonic time at which the first point begins. causes: what held the clock, for the same points. complete:
    False when the span reaches further back than this reading's history can.
    """

    points: tuple[Point | None, ...]
    causes: tuple[reasons.Cause | None, ...]
    size_s: int
    start: float
    complete: bool = True

    @property
    def end(self) -> float:
        """Monotonic time at which the last point ends."""
        return self.start + self.size_s * len(self.points)


def bucket_size(span_s: float, width: int, long: bool) -> int:
    """Whole seconds a point stands for, so that at most `width` points make `span_s`; a multiple of 10 if `long`."""
    unit = SLOT if long else int(SLOT_S)
    return max(1, math.ceil(span_s / (unit * max(1, width)))) * unit


def series(history: History, tier: DayTier | None, name: str, span_s: float, width: int, end: float) -> Series:
    """At most `width` points that end before `end`: the last hour from `history`, longer spans from `tier`.

    A reading that has no day of history comes from `history` whatever the span; older than an hour is a gap then.
    Raises KeyError for a reading without history.
    """
    held_s = history.slots * SLOT_S
    long = tier is not None and name in KEPT and span_s > held_s
    size_s = bucket_size(span_s, width, long)
    count = min(max(1, width), math.ceil(span_s / size_s))
    start = float((int(end // size_s) - count) * size_s)
    if long:
        assert tier is not None
        points: Sequence[Point | None] = tier.points(name, count, size_s, end)
        causes = tier.causes(count, size_s, end)
    else:
        points = _from_history(history, name, count, size_s, start)
        causes = history.causes(count, size_s, end)
    return Series(tuple(points), tuple(causes), size_s, start, complete=long or span_s <= held_s)


def _from_history(history: History, name: str, count: int, size_s: int, start: float) -> list[Point | None]:
    """The same points from the seconds of the last hour, in one pass over them."""
    if name not in HISTORY_KEPT:
        raise KeyError(name)
    out: list[Point | None] = [None] * count
    total, seen = [0.0] * count, [0] * count
    for mono, value in history.points(name, start, start + count * size_s):
        at = int((mono - start) // size_s)
        before = out[at]
        total[at] += value
        seen[at] += 1
        low, high = (value, value) if before is None else (min(before[0], value), max(before[2], value))
        out[at] = low, min(max(total[at] / seen[at], low), high), high
    return out
