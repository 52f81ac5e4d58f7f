"""Compiles the stand-in driver."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).parent
NAME = "libnvidia-ml.so.1"
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread")

_BEFORE_535 = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetMarginTemperature",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetJpgUtilization",
    "nvmlDeviceGetOfaUtilization",
    "nvmlDeviceGetAddressingMode",
    "nvmlDeviceGetFanSpeedRPM",
    "nvmlDeviceGetDriverModel_v2",
    "nvmlDeviceGetSramEccErrorStatus",
)
_PROCESSES_V3 = (
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
)

GENERATIONS: dict[str, tuple[str, ...]] = {
    "470": (
        *_BEFORE_535,
        *_PROCESSES_V3,
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetGpuFabricInfo",
        "nvmlDeviceGetGspFirmwareMode",
        "nvmlDeviceGetGspFirmwareVersion",
        "nvmlDeviceGetPowerSource",
    ),
    "525": _BEFORE_535,
    "535.98": _PROCESSES_V3,
}
"""What drivers did not have yet, or took away for a while (535.98: nvitop #75 and #181). The lists name what programs
look for, they are not complete."""


class NoCompiler(RuntimeError):
    """There is no C compiler here."""


def build(folder: Path, missing: Collection[str] = ()) -> Path:
    """The library, compiled once for each content into a folder of its own below `folder`. The functions in `missing`
    (GENERATIONS has lists of them) are really absent, as in an older driver. Raises NoCompiler; ValueError for a
    function it never had.
    """
    unknown = set(missing) - functions()
    if unknown:
        raise ValueError(f"the stand-in has no {', '.join(sorted(unknown))}")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoCompiler("no C compiler (cc, gcc or clang) is installed")
    library = folder / _content(missing) / NAME
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    mark = os.getpid()  # two test runs may compile the same content at the same time
    exports, partial = library.with_name(f"exports.{mark}"), library.with_name(f"partial.{mark}")
    hidden = "".join(f" {name};" for name in sorted(missing))
    exports.write_text(f"{{ global: nvml*; local:{hidden} *; }};\n")
    linking = (f"-Wl,--version-script={exports}", f"-Wl,-soname,{NAME}", "-o", str(partial))
    subprocess.run([compiler, *FLAGS, *linking, *map(str, sorted(HERE.glob("*.c"))), "-lm"], check=True)
    exports.unlink()
    partial.rename(library)
    return library


def functions() -> set[str]:
    """The names of all functions the stand-in has."""
    names: set[str] = set()
    for path in HERE.glob("*.def"):
        names.update(re.findall(r"\((nvml\w+)\)", path.read_text()))
    return names


def _content(missing: Collection[str]) -> str:
    found = hashlib.sha256(" ".join([*FLAGS, *sorted(missing)]).encode())
    for path in sorted([*HERE.glob("*.c"), *HERE.glob("*.h"), *HERE.glob("*.def")]):
        found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()[:16]
