"""Units as people type them, in the catalog's unit of a reading: 20GiB is 20480 MiB, 1.5GHz is 1500 MHz."""

from __future__ import annotations

_FACTORS: dict[str, dict[str, float]] = {
    "MHz": {"mhz": 1.0, "ghz": 1000.0, "khz": 0.001, "hz": 1e-6},
    "W": {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1000.0, "mw": 0.001},
    "C": {"c": 1.0, "°c": 1.0, "°": 1.0, "degc": 1.0},
    "%": {"%": 1.0, "percent": 1.0},
    "MiB": {
        "mib": 1.0, "gib": 1024.0, "kib": 1 / 1024, "tib": 1024.0**2, "b": 1 / 1024**2,
        "m": 1.0, "g": 1024.0, "mb": 1e6 / 1024**2, "gb": 1e9 / 1024**2, "kb": 1e3 / 1024**2,
    },
    "KB/s": {"kb/s": 1.0, "mb/s": 1000.0, "gb/s": 1e6, "b/s": 0.001},
    "J": {"j": 1.0, "kj": 1000.0, "wh": 3600.0, "kwh": 3.6e6},
    "us": {"us": 1.0, "µs": 1.0, "ms": 1000.0, "s": 1e6},
    "rpm": {"rpm": 1.0},
    "bit": {"bit": 1.0, "bits": 1.0},
}  # fmt: skip

ALL: frozenset[str] = frozenset(word for words in _FACTORS.values() for word in words)
"""Every unit word there is, in lower case."""


def factor(typed: str, unit: str) -> float | None:
    """What a number with the typed unit is multiplied by to be in `unit`; None when the two do not go together."""
    if not typed:
        return 1.0
    return _FACTORS.get(unit, {}).get(typed.lower())


def shown(unit: str) -> str:
    """The unit as a sentence names it."""
    return {"C": "°C"}.get(unit, unit)
