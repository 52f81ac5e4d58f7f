"""Clocks event reasons: the driver's bits as words, and which of them explains the clock.

Bits and names: nvml.h `nvmlClocksEventReason*` (nvidia-ml-py 13.615.71) and `nvidia-smi --help-query-gpu`. Bit 0x8
(HW slowdown) is an umbrella: with 0x40 or 0x80 it is the same event once (0x48, 0x88), as nvidia-smi's nesting shows.
"""

from __future__ import annotations

from enum import Enum

BITS: dict[int, str] = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clocks_setting",
    0x200: "board_limit",
    0x400: "low_reliability",
}
MASKS: dict[str, int] = {word: bit for bit, word in BITS.items()}


class Cause(str, Enum):
    """What holds the clock where it is, worst last. The value is the letter of the WHY strip."""

    NONE = "·"
    IDLE = "i"
    LOCKED = "l"
    OTHER = "?"
    POWER = "p"
    HEAT = "h"
    BRAKE = "b"


_ORDER = tuple(Cause)

_CAUSE: dict[str, Cause] = {
    "gpu_idle": Cause.IDLE,
    "applications_clocks_setting": Cause.LOCKED,
    "sw_power_cap": Cause.POWER,
    "hw_slowdown": Cause.BRAKE,
    "sync_boost": Cause.OTHER,
    "sw_thermal_slowdown": Cause.HEAT,
    "hw_thermal_slowdown": Cause.HEAT,
    "hw_power_brake_slowdown": Cause.BRAKE,
    "display_clocks_setting": Cause.LOCKED,
    "board_limit": Cause.POWER,
    "low_reliability": Cause.OTHER,
}


def words(mask: int) -> tuple[str, ...]:
    """The active reasons as nvidia-smi's words; bits nobody has named come last, together, as one hex word."""
    return names(mask & ~0x8 if mask & 0xC0 else mask)


def names(mask: int) -> tuple[str, ...]:
    """The same for a mask in which every bit counts: the reasons a card can have."""
    named = [word for bit, word in BITS.items() if mask & bit]
    unknown = mask & ~sum(BITS)
    if unknown:
        named.append(f"0x{unknown:x}")
    return tuple(named)


def mask_of(reasons: tuple[str, ...]) -> int:
    """The bit mask of such words; an unknown word that is not hex counts as no bit."""
    total = 0
    for word in reasons:
        if word in MASKS:
            total |= MASKS[word]
        elif word.startswith("0x"):
            try:
                total |= int(word, 16)
            except ValueError:
                continue
    return total


def cause(mask: int) -> Cause:
    """The one cause to show for a moment: the worst of the active ones."""
    worst = Cause.NONE
    for word in words(mask):
        found = _CAUSE.get(word, Cause.OTHER)
        if _ORDER.index(found) > _ORDER.index(worst):
            worst = found
    return worst
