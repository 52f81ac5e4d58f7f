"""Launching work with at most three pieces in flight, and what their times say. No torch: a device does the work."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

IN_FLIGHT = 3
"""A deep queue cannot be stopped (gpu-fryer #29: minutes on a T4)."""


class Rate:
    """Times of launches in seconds, and the amount of work in each."""

    def __init__(self, amount: float) -> None:
        self.amount = amount
        self.times: list[tuple[float, float]] = []

    def add(self, at: float, seconds: float) -> None:
        """A launch that took `seconds` and was over at monotonic time `at`."""
        if seconds > 0:
            self.times.append((at, seconds))

    def values(self, since: float = 0.0) -> list[float]:
        """Amount a second of each launch that ended after `since`, in order."""
        return [self.amount / seconds for at, seconds in self.times if at >= since]

    def per_second(self) -> list[float]:
        """The mean rate of each whole second: the raw series of a result."""
        out: list[float] = []
        if not self.times:
            return out
        begin = self.times[0][0]
        slots: dict[int, list[float]] = {}
        for at, seconds in self.times:
            slots.setdefault(int(at - begin), []).append(seconds)
        for slot in sorted(slots):
            spent = slots[slot]
            out.append(self.amount * len(spent) / sum(spent))
        return out


def quantile(values: list[float], share: float) -> float:
    """Linear between the two nearest. Raises ValueError on no values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summary(rate: Rate, since: float) -> dict[str, float]:
    """median, p5, p95, runs; cv_percent over the seconds, and drift_percent by which the last tenth lies below the
    first.
    """
    values = rate.values(since)
    seconds = rate.per_second()
    mean = sum(seconds) / len(seconds)
    spread = (sum((value - mean) ** 2 for value in seconds) / len(seconds)) ** 0.5
    tenth = max(1, len(seconds) // 10)
    first, last = quantile(seconds[:tenth], 0.5), quantile(seconds[-tenth:], 0.5)
    return {
        "median": quantile(values, 0.5),
        "p5": quantile(values, 0.05),
        "p95": quantile(values, 0.95),
        "runs": float(len(values)),
        "cv_percent": round(100 * spread / mean, 3),
        "drift_percent": round(max(0.0, 100 * (1 - last / first)), 3),
    }


def drive(
    device: Any,
    work: Callable[[], None],
    seconds: float,
    stopped: Callable[[], bool],
    done: Callable[[float, float], None],
) -> None:
    """Launch `work` for `seconds`. done(monotonic end, seconds of the launch) is called for each.

    device.begin() and device.end(token) mark a launch; device.wait(token) waits for it and gives its seconds.
    """
    flying: deque[Any] = deque()
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stopped():
        token = device.begin()
        work()
        device.end(token)
        flying.append(token)
        if len(flying) >= IN_FLIGHT:
            took = device.wait(flying.popleft())
            done(time.monotonic(), took)
    while flying:
        took = device.wait(flying.popleft())
        done(time.monotonic(), took)
