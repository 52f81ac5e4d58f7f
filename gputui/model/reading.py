"""A reading is a value, or `Absent` with the reason why there is none. Absent is never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Why(str, Enum):
    """Why a reading has no value. The strings are what JSON carries."""

    UNSUPPORTED = "unsupported"
    NO_PERMISSION = "no-permission"
    LOST = "lost"
    NEEDS_RESET = "needs-reset"
    OLD_DRIVER = "old-driver"
    MIG = "mig"
    VGPU = "vgpu"
    UNIFIED_MEMORY = "unified-memory"
    IMPLAUSIBLE = "implausible"
    STALE = "stale"
    NOT_ASKED = "not-asked"


@dataclass(frozen=True)
class Absent:
    """No value, and why.

    code:  the driver's return code where there was one (nvmlReturn_t).
    raw:   what the driver said, kept for an implausible value so that evidence can show it.
    since: Unix time at which the reading became absent after having had a value, when that is known.
    """

    why: Why
    code: int | None = None
    raw: float | str | None = None
    since: float | None = None


Value = int | float | str | tuple[str, ...]
Reading = Value | Absent
Readings = Mapping[str, Reading]

NOT_ASKED = Absent(Why.NOT_ASKED)


def number(reading: Reading | None) -> float | None:
    """The reading as a number, or None when it is absent or not a number."""
    if isinstance(reading, (int, float)) and not isinstance(reading, bool):
        return float(reading)
    return None


def text(reading: Reading | None) -> str | None:
    """The reading as text, or None when it is absent or not text."""
    return reading if isinstance(reading, str) else None


def get(readings: Readings, name: str) -> Reading:
    """The named reading; a name nobody asked the driver for is `Absent(not-asked)`."""
    return readings.get(name, NOT_ASKED)


def to_wire(reading: Reading) -> Any:
    """A JSON-ready form: the value itself, a list for several words, or {"absent": why, …}."""
    if isinstance(reading, Absent):
        out: dict[str, Any] = {"absent": reading.why.value}
        if reading.code is not None:
            out["code"] = reading.code
        if reading.raw is not None:
            out["raw"] = reading.raw
        if reading.since is not None:
            out["since"] = reading.since
        return out
    if isinstance(reading, tuple):
        return list(reading)
    return reading


def from_wire(data: Any) -> Reading:
    """The reverse of `to_wire`. Raises ValueError on anything `to_wire` cannot have written."""
    if isinstance(data, dict):
        return Absent(Why(data["absent"]), data.get("code"), data.get("raw"), data.get("since"))
    if isinstance(data, list):
        return tuple(str(word) for word in data)
    if isinstance(data, (int, float, str)):
        return data
    raise ValueError(f"not a reading: {data!r}")
