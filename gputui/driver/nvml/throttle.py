"""Time counters of the clocks event reasons, and their share of the window between two full samples.

A bit that is set for one moment proves little, and one that is set between two samples is missed; the counters catch
both (DCGM #285, #242). Lifetime values prove nothing: only what a counter grew by within a window is a share.
"""

from __future__ import annotations

from dataclasses import dataclass

from gputui.driver.nvml import convert
from gputui.driver.nvml.api import SUCCESS, Call, Field
from gputui.driver.nvml.asker import Asker, stands_in
from gputui.model.reading import Absent, Reading, Why
from gputui.model.reasons import MASKS

COUNTER, SHARE = "clocks_event_reasons_counters.", "clocks_event_reasons_share."


def _violation(policy: int) -> Call:
    return Call("nvmlDeviceGetViolationStatus", "violation", (policy,))


@dataclass(frozen=True)
class _Source:
    """One counter: fields 74 to 79 and the violation getter count the same nanoseconds per policy (nvml.h).

    doubtful: an id that has moved between header versions (269 to 271 were 251 to 253, which now mean power
    smoothing). Its answer counts only while it is 64 bits wide, does not go back, and agrees with the mask.
    """

    word: str
    ways: tuple[Field | Call, ...]
    counted: bool = True
    doubtful: Field | None = None


SOURCES = (
    _Source("sw_power_cap", (Field(74), _violation(0))),
    _Source("sync_boost", (Field(76), _violation(2))),
    # Drivers without field 269 count all thermal slowdown, by software and by hardware, under one policy.
    _Source("sw_thermal_slowdown", (Field(269), Field(75), _violation(1)), doubtful=Field(269)),
    _Source("hw_thermal_slowdown", (Field(270),), doubtful=Field(270)),
    _Source("hw_power_brake_slowdown", (Field(271),), doubtful=Field(271)),
    _Source("board_limit", (Field(77), _violation(3)), counted=False),
    _Source("low_reliability", (Field(79), _violation(5)), counted=False),
)
FIELDS = tuple(way for source in SOURCES for way in source.ways if isinstance(way, Field))

_UMBRELLA = MASKS["hw_slowdown"]
_ENOUGH_MASKS = 3
_CONTRADICTION_PERCENT = 50.0


@dataclass
class _Kept:
    way: Field | Call
    value_ns: int
    time_us: int
    mono: float
    went_back: int = 0


class Throttle:
    """Counters and shares of one card."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._distrusted: dict[Field, int] = {}
        self._bits = 0
        self._masks = 0

    def saw(self, mask: int) -> None:
        """A mask of reasons was read."""
        self._bits |= mask
        self._masks += 1

    def read(self, asker: Asker, mono: float, nature: convert.Nature) -> dict[str, Reading]:
        """Counters (µs) and shares (%) after a full sample. The first has no shares: it is the start of a window."""
        out: dict[str, Reading] = {}
        for source in SOURCES:
            reading, share = self._one(source, asker, mono, nature)
            if source.counted:
                out[COUNTER + source.word] = reading
            if share is not None:
                out[SHARE + source.word] = share
        self._bits = self._masks = 0
        return out

    def _ask(self, way: Field | Call, source: _Source, asker: Asker) -> tuple[int, int | None, int]:
        """Code, nanoseconds, and the driver's time in microseconds."""
        if isinstance(way, Call):
            code, values = asker.get(way)
            ns, time_us = values if code == SUCCESS else (None, 0)
            return code, ns if isinstance(ns, int) else None, int(time_us or 0)
        answer = asker.field(way)
        wide_enough = answer.wide or way != source.doubtful
        ns = answer.value if isinstance(answer.value, int) and wide_enough else None
        return answer.code, ns, answer.time_us

    def _one(
        self, source: _Source, asker: Asker, mono: float, nature: convert.Nature
    ) -> tuple[Reading, Reading | None]:
        missing: Absent | None = None
        for way in source.ways:
            if isinstance(way, Field) and way in self._distrusted:
                missing = missing or Absent(Why.UNSUPPORTED, raw=self._distrusted[way])
                continue
            code, ns, time_us = self._ask(way, source, asker)
            if code != SUCCESS or ns is None:
                name = COUNTER + source.word
                missing = missing or (convert.absent(name, code, nature) if code else Absent(Why.UNSUPPORTED))
                if code and not stands_in(code):
                    break
                continue
            share = self._share(source, way, _Kept(way, ns, time_us, mono))
            if isinstance(way, Field) and way in self._distrusted:
                missing = Absent(Why.UNSUPPORTED, raw=ns)
                continue
            return ns // 1000, share
        assert missing is not None
        return missing, missing

    def _share(self, source: _Source, way: Field | Call, now: _Kept) -> Reading | None:
        before = self._kept.get(source.word)
        self._kept[source.word] = now
        if before is None or before.way != way:
            return None
        now.went_back = before.went_back
        grown_ns = now.value_ns - before.value_ns
        if grown_ns < 0:  # reset: a new baseline
            now.went_back += 1
            if now.went_back > 1 and isinstance(way, Field) and way == source.doubtful:
                self._distrusted[way] = now.value_ns
            return None
        seconds = _seconds(before, now)
        if seconds <= 0:
            return None
        percent = grown_ns / 1e9 / seconds * 100
        if isinstance(way, Field) and way == source.doubtful and self._contradicted(source.word, percent):
            self._distrusted[way] = now.value_ns
            return None
        # The driver adds up at its own pace, so a window can hold a little more than its own length.
        return round(min(percent, 100.0), 3) if percent < 150 else Absent(Why.IMPLAUSIBLE, raw=round(percent, 1))

    def _contradicted(self, word: str, percent: float) -> bool:
        bits = MASKS[word] | (_UMBRELLA if word.startswith("hw_") else 0)
        return percent > _CONTRADICTION_PERCENT and self._masks >= _ENOUGH_MASKS and not self._bits & bits


def _seconds(before: _Kept, now: _Kept) -> float:
    """The window by the driver's clock, or by ours when the driver's is not believable."""
    ours = now.mono - before.mono
    theirs = (now.time_us - before.time_us) / 1e6
    return theirs if 0.5 * ours <= theirs <= 2 * ours else ours
