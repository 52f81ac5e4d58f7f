"""Fixed-size ring buffers: one slot a second and card for the plotted readings, and the clocks event reasons of that
second.

A slot is a whole second of the monotonic clock, so every reading of a card shares one time axis and a second without
a sample stays a gap (NaN). Several samples within one second: the last one stays, reasons are joined. Memory is
fixed: 3,600 slots of 15 floats and one mask are 245 kB a card.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gputui.model import reasons
from gputui.model.reading import Reading, number

SLOT_S = 1.0
SLOTS = 3600

KEPT: tuple[str, ...] = (
    "clocks.current.sm",
    "clocks.current.memory",
    "power.draw",
    "power.draw.instant",
    "enforced.power.limit",
    "temperature.gpu",
    "temperature.memory",
    "utilization.gpu",
    "utilization.memory",
    "memory.used",
    "fan.speed",
    "pcie.link.gen.current",
    "pcie.link.width.current",
    "pcie.throughput.tx",
    "pcie.throughput.rx",
)
"""Readings with history. Anything else has only its present value."""

_NO_MASK = (1 << 64) - 1
NAN = math.nan


@dataclass(frozen=True)
class Bucket:
    """A span of slots as one point: mean, lowest and highest of the numbers in it; None for a gap."""

    start: float
    mean: float | None
    low: float | None
    high: float | None


class History:
    """The last hour of one card."""

    def __init__(self, slots: int = SLOTS, kept: tuple[str, ...] = KEPT) -> None:
        self.slots = slots
        self._values: dict[str, array[float]] = {name: array("f", [NAN]) * slots for name in kept}
        self._masks: array[int] = array("Q", [_NO_MASK]) * slots
        self._newest: int | None = None
        self._first: int | None = None

    @property
    def newest(self) -> float | None:
        """Monotonic time at which the newest slot begins; None before the first sample."""
        return None if self._newest is None else self._newest * SLOT_S

    @property
    def span_s(self) -> float:
        """Seconds from the first slot still held to the end of the newest."""
        if self._newest is None or self._first is None:
            return 0.0
        return (self._newest - max(self._first, self._newest - self.slots + 1) + 1) * SLOT_S

    def add(self, mono: float, readings: Mapping[str, Reading]) -> None:
        """Take the sample of monotonic time `mono`.

        A sample older than the newest slot by more than the ring is dropped.
        """
        slot = int(mono // SLOT_S)
        self._advance(slot)
        if self._newest is None or slot <= self._newest - self.slots:
            return
        at = slot % self.slots
        for name, ring in self._values.items():
            value = number(readings.get(name))
            ring[at] = NAN if value is None else value
        mask = number(readings.get("clocks_event_reasons.mask"))
        if mask is not None and 0 <= mask < _NO_MASK:  # a file can say anything
            before = self._masks[at]
            self._masks[at] = int(mask) | (0 if before == _NO_MASK else before)

    def _advance(self, slot: int) -> None:
        """Make `slot` the newest, leaving gaps in between. A jump of a whole ring or more empties it."""
        if self._newest is None:
            self._newest = self._first = slot
            return
        for gap in range(max(self._newest + 1, slot - self.slots + 1), slot + 1):
            at = gap % self.slots
            for ring in self._values.values():
                ring[at] = NAN
            self._masks[at] = _NO_MASK
        self._newest = max(self._newest, slot)

    def _range(self, since: float, until: float) -> range:
        """Slot numbers that are held and whose start lies in [since, until)."""
        if self._newest is None or self._first is None:
            return range(0)
        oldest = max(self._first, self._newest - self.slots + 1)
        return range(max(oldest, math.ceil(since / SLOT_S)), min(self._newest + 1, math.ceil(until / SLOT_S)))

    def points(self, name: str, since: float, until: float = math.inf) -> Iterator[tuple[float, float]]:
        """(monotonic time, value) for every slot in [since, until) that holds a number."""
        ring = self._values[name]
        until = min(until, ((self._newest or 0) + 1) * SLOT_S)
        for slot in self._range(since, until):
            value = ring[slot % self.slots]
            if value == value:
                yield slot * SLOT_S, value

    def masks(self, since: float, until: float = math.inf) -> Iterator[tuple[float, int]]:
        """(monotonic time, reasons mask) for every slot in [since, until) in which reasons were read."""
        until = min(until, ((self._newest or 0) + 1) * SLOT_S)
        for slot in self._range(since, until):
            mask = self._masks[slot % self.slots]
            if mask != _NO_MASK:
                yield slot * SLOT_S, mask

    def buckets(self, name: str, count: int, size_s: int, end: float) -> list[float | None]:
        """The means of the `count` buckets of `size_s` whole seconds that end with the one before `end`'s, oldest
        first.

        Buckets are aligned to multiples of size_s of the monotonic clock, so a closed bucket never changes again and a
        sparkline moves once per bucket. None is a gap.
        """
        ring = self._values[name]
        out: list[float | None] = []
        first = int(end // size_s) - count
        for bucket in range(first, first + count):
            total, seen = 0.0, 0
            for slot in self._range(bucket * size_s, (bucket + 1) * size_s):
                value = ring[slot % self.slots]
                if value == value:
                    total += value
                    seen += 1
            out.append(total / seen if seen else None)
        return out

    def summary(self, name: str, start: float, end: float) -> Bucket:
        """Mean, lowest and highest in [start, end)."""
        values = [value for _, value in self.points(name, start, end)]
        if not values:
            return Bucket(start, None, None, None)
        return Bucket(start, sum(values) / len(values), min(values), max(values))

    def causes(self, count: int, size_s: int, end: float) -> list[reasons.Cause | None]:
        """The worst cause within each of the same buckets as `buckets`; None where reasons were not read."""
        out: list[reasons.Cause | None] = []
        first = int(end // size_s) - count
        for bucket in range(first, first + count):
            joined: int | None = None
            for slot in self._range(bucket * size_s, (bucket + 1) * size_s):
                mask = self._masks[slot % self.slots]
                if mask != _NO_MASK:
                    joined = mask if joined is None else joined | mask
            out.append(None if joined is None else reasons.cause(joined))
        return out
