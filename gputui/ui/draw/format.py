"""Numbers as short text of a steady width.

A reading without a value shows as a dash; its reason stands in the detail view.
"""

from __future__ import annotations

from datetime import datetime

from gputui.model.card import Card
from gputui.model.reading import Absent, Reading, Why, number
from gputui.text import _

DASH = "–"


def whole(value: float | None, unit: str = "") -> str:
    """A whole number with its unit: "1755 MHz"."""
    if value is None:
        return f"{DASH} {unit}".strip()
    return f"{value:.0f} {unit}".strip()


def gib(mib: float | None) -> str:
    """MiB as GiB with one decimal."""
    return DASH if mib is None else f"{mib / 1024:.1f}"


def ago(seconds: float) -> str:
    """A span of time in its largest fitting unit: "8 s", "12 min", "3 h"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def clock_time(unix: float) -> str:
    """Local time of day."""
    return datetime.fromtimestamp(unix).strftime("%H:%M:%S")


def short_name(name: str) -> str:
    """A card's name without what every card has in common."""
    for lead in ("NVIDIA ", "GeForce ", "Graphics Device "):
        name = name.removeprefix(lead)
    return name or "?"


def memory(card: Card, spaced: bool = True) -> str:
    """Used of total memory, or that the card has none of its own."""
    used, total = card.get("memory.used"), number(card.get("memory.total"))
    if isinstance(used, Absent) and used.why is Why.UNIFIED_MEMORY:
        return _("unified memory")
    of = _(" of ") if spaced else "/"
    return f"{gib(number(used))}{of}{gib(total)} GiB"


def reading_text(name_unit: str, reading: Reading) -> str:
    """A reading for the detail view: its value with unit, or why it has none."""
    if isinstance(reading, Absent):
        code = "" if reading.code is None else f", NVML {reading.code}"
        raw = "" if reading.raw is None else f", {reading.raw}"
        return f"({why_words(reading.why)}{code}{raw})"
    if isinstance(reading, tuple):
        return " + ".join(reading) if reading else _("none")
    if isinstance(reading, float):
        shown = f"{reading:.2f}".rstrip("0").rstrip(".")
        return f"{shown} {name_unit}".rstrip()
    return f"{reading} {name_unit}".rstrip()


def why_words(why: Why) -> str:
    """Why there is no value, in words."""
    return {
        Why.UNSUPPORTED: _("not supported by this card"),
        Why.NO_PERMISSION: _("no permission"),
        Why.LOST: _("card lost"),
        Why.NEEDS_RESET: _("needs a reset"),
        Why.OLD_DRIVER: _("needs a newer driver"),
        Why.MIG: _("not available with MIG"),
        Why.VGPU: _("not available on a virtual GPU"),
        Why.UNIFIED_MEMORY: _("memory is shared with the CPU"),
        Why.IMPLAUSIBLE: _("impossible value"),
        Why.STALE: _("too old"),
        Why.NOT_ASKED: _("not asked yet"),
    }[why]
