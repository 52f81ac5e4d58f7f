"""Quiet mode: hours in which nothing rings, and the key that turns it on or off. Alerts are kept all the same."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gputui.text import _

_HOURS = re.compile(r"(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})")
_DAY = 24 * 60


@dataclass(frozen=True)
class QuietHours:
    """From `start` until before `end`, minutes of the local day; past midnight when end is the smaller one."""

    start: int
    end: int

    @classmethod
    def of(cls, typed: str) -> QuietHours | None:
        """The hours of `22:00-07:00`, None for nothing. Raises ValueError with one sentence."""
        if not typed.strip():
            return None
        found = _HOURS.fullmatch(typed.strip())
        if found:
            hours, minutes = (int(found[1]), int(found[3])), (int(found[2]), int(found[4]))
            start, end = hours[0] * 60 + minutes[0], hours[1] * 60 + minutes[1]
            if max(minutes) < 60 and max(start, end) <= _DAY and start != end:
                return cls(start % _DAY, end % _DAY)
        raise ValueError(_("{text} is no span of hours; write 22:00-07:00.").format(text=typed.strip()))

    def covers(self, minute: int) -> bool:
        """Whether this minute of the local day (0 to 1439) is quiet."""
        if self.start <= self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end


@dataclass
class Quiet:
    """Whether to be quiet now. A press of the key holds until the hours next begin or end; without hours, for good."""

    hours: QuietHours | None = None
    _by_hand: tuple[bool, bool] | None = None

    def _by_hours(self, minute: int) -> bool:
        return self.hours is not None and self.hours.covers(minute)

    def now(self, minute: int) -> bool:
        """Quiet or not at this minute of the local day."""
        scheduled = self._by_hours(minute)
        if self._by_hand is not None and self._by_hand[1] is not scheduled:
            self._by_hand = None
        return scheduled if self._by_hand is None else self._by_hand[0]

    def press(self, minute: int) -> bool:
        """The key: the other way round from now on. Gives back whether it is quiet now."""
        wanted = not self.now(minute)
        self._by_hand = wanted, self._by_hours(minute)
        return wanted
