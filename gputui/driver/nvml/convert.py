"""From the driver's raw values to readings: units, words, why there is none, and what cannot be true."""

from __future__ import annotations

from dataclasses import dataclass

from gputui.driver.nvml import api
from gputui.driver.nvml.api import Raw
from gputui.model import catalog
from gputui.model.reading import Absent, Reading, Why

MIB = 1024 * 1024

POWER_FACTOR = 1.5
"""A draw over this share of the highest limit cannot be true (g-helper #5819: 593 W on a laptop card asleep)."""
POWER_W = 10_000.0
"""Where no limit is known. The biggest module limits are under 3 kW (GB300)."""
CLOCK_MHZ = 10_000
MEMORY_CLOCK_MHZ = 30_000
TEMPERATURE_C = (-20.0, 150.0)
MARGIN_C = (-60.0, 150.0)
"""A T.Limit margin is negative when the card is too hot, and thresholds are too (H200: -8, -2, 0)."""
FAN_PERCENT = 250
"""Fans may run above 100 % of their nominal speed (S34: 105 %)."""

MEMORY_MIB = 16 * 1024 * 1024
"""16 TiB. A shim's "limit minus used" below zero is near 2**64 bytes (HAMi #409)."""

NOT_AGAIN = frozenset(
    {api.NOT_SUPPORTED, api.FUNCTION_NOT_FOUND, api.ARGUMENT_VERSION_MISMATCH, api.DEPRECATED, api.INVALID_ARGUMENT}
)
"""What will not change while this driver runs, so it is asked once."""


@dataclass(frozen=True)
class Nature:
    """What kind of card it is, as far as that explains why it does not answer something."""

    mig: bool = False
    vgpu: bool = False
    unified: bool = False


_UNSUPPORTED = (api.NOT_SUPPORTED, api.NOT_FOUND, api.DEPRECATED)
_WHY = {
    api.INVALID_ARGUMENT: Why.OLD_DRIVER,  # an id or kind this driver does not know
    api.NO_PERMISSION: Why.NO_PERMISSION,
    api.FUNCTION_NOT_FOUND: Why.OLD_DRIVER,
    api.ARGUMENT_VERSION_MISMATCH: Why.OLD_DRIVER,
    api.GPU_IS_LOST: Why.LOST,
    api.RESET_REQUIRED: Why.NEEDS_RESET,
}


def absent(name: str, code: int, nature: Nature) -> Absent:
    """Why a reading is absent, from the driver's code and the card's nature.

    Codes that say nothing about the reading itself (time-out 10, not ready 27, unknown 999, …) are `stale`: there is no
    fresh value, and it is asked again at its next turn.
    """
    if code in _UNSUPPORTED:
        if nature.unified and name.startswith("memory."):
            return Absent(Why.UNIFIED_MEMORY, code)
        if nature.mig:
            return Absent(Why.MIG, code)
        if nature.vgpu:
            return Absent(Why.VGPU, code)
        return Absent(Why.UNSUPPORTED, code)
    return Absent(_WHY.get(code, Why.STALE), code)


def plausible(name: str, reading: Reading, max_limit_w: float | None) -> Reading:
    """The reading, or Absent(implausible) with the raw value when it cannot be true."""
    if isinstance(reading, bool) or not isinstance(reading, (int, float)):
        return reading
    unit = catalog.unit(name)
    low, high = 0.0, float("inf")
    if unit == "MHz":
        high = MEMORY_CLOCK_MHZ if name.endswith("memory") else CLOCK_MHZ
    elif unit == "C":
        low, high = MARGIN_C if "tlimit" in name else TEMPERATURE_C
    elif unit == "%":
        high = FAN_PERCENT if name.startswith("fan.") else 100
    elif unit == "W":
        measured = name.startswith("power.draw") and max_limit_w
        high = POWER_FACTOR * max_limit_w if measured and max_limit_w else POWER_W
    elif unit == "MiB":
        low, high = (1.0 if name == "memory.total" else 0.0), MEMORY_MIB
    return reading if low <= reading <= high else Absent(Why.IMPLAUSIBLE, raw=reading)


def number(raw: Raw) -> Reading:
    """As it is."""
    return raw if raw is not None else Absent(Why.UNSUPPORTED)


def watts(raw: Raw) -> Reading:
    """From milliwatts."""
    return raw / 1000 if isinstance(raw, (int, float)) else Absent(Why.UNSUPPORTED)


joules = watts
"""From millijoules."""


def mib(raw: Raw) -> Reading:
    """From bytes."""
    if not isinstance(raw, int):
        return Absent(Why.UNSUPPORTED)
    return raw // MIB if raw % MIB == 0 else round(raw / MIB, 2)


def microseconds(raw: Raw) -> Reading:
    """From nanoseconds: nvidia-smi prints microseconds (DCGM #266)."""
    return raw // 1000 if isinstance(raw, int) else Absent(Why.UNSUPPORTED)


def signed(raw: Raw) -> Reading:
    """A signed 32-bit value that some drivers put into an unsigned field."""
    if not isinstance(raw, (int, float)):
        return Absent(Why.UNSUPPORTED)
    return raw - 2**32 if 2**31 <= raw < 2**32 else raw


def said(raw: Raw) -> Reading:
    """Text; empty text and nvidia-smi's own N/A are no value."""
    text = str(raw or "")
    return text if text and text != "N/A" else Absent(Why.UNSUPPORTED)


def hexadecimal(raw: Raw) -> Reading:
    """A PCI id as nvidia-smi prints it."""
    return f"0x{raw:08X}" if isinstance(raw, int) else Absent(Why.UNSUPPORTED)


def pstate(raw: Raw) -> Reading:
    """P0 to P15; 32 is NVML's "unknown"."""
    return f"P{raw}" if isinstance(raw, int) and raw < 32 else Absent(Why.UNSUPPORTED)


class Words:
    """A number that stands for a word. One nobody has named is implausible, and kept."""

    def __init__(self, words: dict[int, str], **absent_for: int) -> None:
        self._words = words
        self._absent = set(absent_for.values())

    def __call__(self, raw: Raw) -> Reading:
        if raw is None or raw in self._absent:
            return Absent(Why.UNSUPPORTED)
        word = self._words.get(raw) if isinstance(raw, int) else None
        return word if word is not None else Absent(Why.IMPLAUSIBLE, raw=raw)


enabled = Words({0: "Disabled", 1: "Enabled"})
yes = Words({0: "No", 1: "Yes"})
compute_mode = Words({0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"})
virtualization = Words({0: "None", 1: "Pass-Through", 2: "VGPU", 3: "Host VGPU", 4: "Host VSGA"})
addressing = Words({0: "None", 1: "HMM", 2: "ATS"})
driver_model = Words({0: "WDDM", 1: "TCC", 2: "MCDM"})
fabric_state = Words({1: "Not Started", 2: "In Progress", 3: "Completed"}, not_supported=0)
nvlink_version = Words({1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}, invalid=0)
recovery = Words(
    {
        0: "None",
        1: "Reset",
        2: "Reboot",
        3: "Drain P2P",
        4: "Drain and Reset",
        5: "Recover IMEX Domain",
        6: "Bus Reset",
        7: "System Reboot",
    }
)
architecture = Words(
    {
        2: "Kepler",
        3: "Maxwell",
        4: "Pascal",
        5: "Volta",
        6: "Turing",
        7: "Ampere",
        8: "Ada Lovelace",
        9: "Hopper",
        10: "Blackwell",
        13: "Rubin",
    }
)
brand = Words(
    {
        1: "Quadro",
        2: "Tesla",
        3: "NVS",
        4: "GRID",
        5: "GeForce",
        6: "Titan",
        7: "NVIDIA Virtual Applications",
        8: "NVIDIA Virtual PC",
        9: "NVIDIA Virtual Compute Server",
        10: "NVIDIA RTX Virtual Workstation",
        11: "NVIDIA Cloud Gaming",
        12: "Quadro RTX",
        13: "NVIDIA RTX",
        14: "NVIDIA",
        15: "GeForce RTX",
        16: "Titan RTX",
    },
    unknown=0,
)

CORES_A_MULTIPROCESSOR = {
    3: {0: 192, 2: 192, 5: 192, 7: 192},
    5: {0: 128, 2: 128, 3: 128},
    6: {0: 64, 1: 128, 2: 128},
    7: {0: 64, 2: 64, 5: 64},
    8: {0: 64, 6: 128, 7: 128, 9: 128},
    9: {0: 128},
    10: {0: 128, 3: 128},
    11: {0: 128},
    12: {0: 128, 1: 128},
}
"""FP32 cores in a multiprocessor by compute capability (CUDA C++ programming guide, "Compute Capabilities")."""


def multiprocessors(cores: Reading, capability: Reading) -> Reading:
    """Multiprocessors from the core count; NVML has no count of its own for a whole card."""
    if isinstance(cores, Absent):
        return cores
    if not isinstance(cores, int) or not isinstance(capability, str):
        return Absent(Why.UNSUPPORTED)
    major, _, minor = capability.partition(".")
    each = CORES_A_MULTIPROCESSOR.get(int(major), {}).get(int(minor))
    if not each:
        return Absent(Why.UNSUPPORTED)
    return cores // each if cores % each == 0 and cores else Absent(Why.IMPLAUSIBLE, raw=cores)
