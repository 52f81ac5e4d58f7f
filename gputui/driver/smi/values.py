"""nvidia-smi's words as readings: numbers without their unit, absences with their reason."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache

from gputui.model import catalog, reasons
from gputui.model.card import State
from gputui.model.reading import Absent, Reading, Why

_ABSENT: dict[str, Absent] = {
    "n/a": Absent(Why.UNSUPPORTED, 3),
    "not supported": Absent(Why.UNSUPPORTED, 3),
    "requested functionality has been deprecated": Absent(Why.UNSUPPORTED, 26),
    "not available": Absent(Why.UNSUPPORTED, 3),
    "not found": Absent(Why.UNSUPPORTED, 6),
    "insufficient permissions": Absent(Why.NO_PERMISSION, 4),
    "gpu access blocked by the operating system": Absent(Why.NO_PERMISSION, 4),
    "function not found": Absent(Why.OLD_DRIVER, 13),
    "unknown error": Absent(Why.STALE, 999),
    "err!": Absent(Why.STALE, 999),
    "gpu is lost": Absent(Why.LOST, 15),
    "gpu requires reset": Absent(Why.NEEDS_RESET, 16),
    "reset required": Absent(Why.NEEDS_RESET, 16),
    "": Absent(Why.UNSUPPORTED),
}
_NUMBER = re.compile(r"^(-?\d+(?:\.\d+)?)\s*([A-Za-z%/]*)(?:\(s\))?$")
_WHOLE = frozenset({"MHz", "C", "%", "us", "KB/s", "rpm", "bit"})
_TEXTS = frozenset(
    {
        "pstate",
        "power.management",
        "power.draw.kind",
        "memory.used.includes_reserved",
        "memory.kind",
        "fabric.state",
        "fabric.status",
        "ecc.mode.current",
        "ecc.mode.pending",
        "retired_pages.pending",
        "remapped_rows.pending",
        "remapped_rows.failure",
        "gpu_recovery_action",
        "persistence_mode",
        "compute_mode",
        "mig.mode.current",
        "mig.mode.pending",
        "virtualization_mode",
        "driver_model.current",
        "display_active",
        "addressing_mode",
        "name",
        "uuid",
        "serial",
        "brand",
        "architecture",
        "compute_cap",
        "board_part_number",
        "vbios_version",
        "inforom.img",
        "gsp.version",
        "pci.bus_id",
        "pci.device_id",
        "pci.sub_device_id",
        "clocks_event_reasons.supported",
    }
)
_HEX = frozenset({"pci.device_id", "pci.sub_device_id"})
_LIMITS = {"MHz": 20_000.0, "W": 20_000.0, "C": 200.0, "MiB": 1e9}


def word(text: str) -> str:
    """A value's words in lower case, without brackets."""
    return text.strip().strip("[]").strip().lower()


def absent(text: str) -> Absent | None:
    """The absence a value stands for, None when it is a value."""
    return _ABSENT.get(word(text))


def state_of(text: str) -> State | None:
    """The state of a whole card that a value gives away, or None."""
    found = absent(text)
    if found is None:
        return None
    return {Why.LOST: State.LOST, Why.NEEDS_RESET: State.NEEDS_RESET}.get(found.why)


@lru_cache(maxsize=65536)
def reading(name: str, text: str) -> Reading:
    """A value of nvidia-smi as the reading of that name. Never raises: what makes no sense is implausible."""
    missing = absent(text)
    if missing is not None:
        return missing
    text = text.strip()
    if name in _HEX:
        return "0x" + text.upper().removeprefix("0X")
    if name in _TEXTS:
        return text.strip("[]") if text.startswith("[") else text
    return _number(name, text)


def _number(name: str, text: str) -> Reading:
    found = _NUMBER.match(text.rstrip("x"))
    if found is None:
        return Absent(Why.IMPLAUSIBLE, raw=text[:60])
    value, unit = float(found[1]), found[2]
    expected = catalog.unit(name)
    if unit == "GB/s" and expected == "KB/s":
        value *= 1e6
    elif unit == "MB/s" and expected == "KB/s":
        value *= 1000
    elif unit == "GiB" and expected == "MiB":
        value *= 1024
    if not math.isfinite(value) or abs(value) > _LIMITS.get(expected, 1e18) or (value < 0 and expected != "C"):
        return Absent(Why.IMPLAUSIBLE, raw=text[:60])
    if expected == "%" and "util" in name and value > 100:
        return Absent(Why.IMPLAUSIBLE, raw=text[:60])
    if expected in _WHOLE or not expected:
        return int(value)
    return value


def reason_readings(active: Mapping[str, str], mask_text: str | None = None) -> dict[str, Reading]:
    """The mask and words, from one "Active" or "Not Active" a reason (by word), or from the mask in hex."""
    if mask_text is not None and absent(mask_text) is None:
        try:
            mask = int(mask_text.strip(), 16)
        except ValueError:
            mask = -1
        if 0 <= mask < 1 << 62:
            return _mask(mask)
    known = {reason: text for reason, text in active.items() if reason in reasons.MASKS and absent(text) is None}
    if not known:
        missing = next((found for text in active.values() if (found := absent(text))), Absent(Why.NOT_ASKED))
        return {"clocks_event_reasons.mask": missing, "clocks_event_reasons.active": missing}
    return _mask(sum(reasons.MASKS[reason] for reason, text in known.items() if word(text) == "active"))


def _mask(mask: int) -> dict[str, Reading]:
    return {"clocks_event_reasons.mask": mask, "clocks_event_reasons.active": reasons.words(mask)}


def settle(readings: dict[str, Reading], name: str) -> dict[str, Reading]:
    """What follows from the readings together: MIG, unified memory, which kind of power."""
    if readings.get("mig.mode.current") == "Enabled":
        for reading_name in ("utilization.gpu", "utilization.memory", "utilization.encoder", "utilization.decoder"):
            if isinstance(readings.get(reading_name), Absent):
                readings[reading_name] = Absent(Why.MIG, 3)
    if "memory.total" in readings:
        total = readings["memory.total"]
        if isinstance(total, Absent) and re.search(r"GB10|Thor|Orin", name):
            for part in ("memory.total", "memory.used", "memory.free", "memory.reserved"):
                readings[part] = Absent(Why.UNIFIED_MEMORY)
            readings["memory.kind"] = "unified"
        elif not isinstance(total, Absent):
            readings["memory.kind"] = "dedicated"
    if "power.draw" not in readings:
        for kind in ("average", "instant"):
            value = readings.get(f"power.draw.{kind}")
            if value is not None and not isinstance(value, Absent):
                readings["power.draw"], readings["power.draw.kind"] = value, kind
                break
    return readings
