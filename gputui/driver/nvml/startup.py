"""Starting the driver library, and each way that fails as one problem id (the sentences are in gputui.problems)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml.api import Api, LibraryMissing
from gputui.driver.protocol import DriverProblem
from gputui.host.facts import driver_module
from gputui.model.card import Driver, Problem
from gputui.model.reading import Absent, Reading, Why

INIT = "nvmlInit_v2"
_PROBLEMS = {
    nvml.NO_PERMISSION: "no-permission",
    nvml.DRIVER_NOT_LOADED: "driver-not-loaded",
    nvml.LIBRARY_NOT_FOUND: "driver-not-loaded",
    nvml.FUNCTION_NOT_FOUND: "driver-too-old",
    nvml.LIB_RM_VERSION_MISMATCH: "driver-mismatch",
    nvml.GPU_NOT_FOUND: "no-devices",
    # nvidia-smi says "Failed to initialize NVML: Unknown Error" in a container whose device access was taken away by a
    # `systemctl daemon-reload` on the host (nvidia-docker #1730, container-toolkit #48).
    nvml.UNKNOWN: "container-lost-access",
}


def start(root: Path) -> Api:
    """Load the library and initialise it, once in this process's life. Raises DriverProblem."""
    try:
        api = Api()
    except LibraryMissing as error:
        raise DriverProblem(Problem("driver-not-loaded", str(error), nvml.LIBRARY_NOT_FOUND)) from error
    if not api.has(INIT):
        raise DriverProblem(Problem("driver-too-old", f"the library has no {INIT}", nvml.FUNCTION_NOT_FOUND))
    code = api.call(INIT, None)
    if code != nvml.SUCCESS:
        raise DriverProblem(_problem(api, code, root))
    return api


def _problem(api: Api, code: int, root: Path) -> Problem:
    if code == nvml.LIB_RM_VERSION_MISMATCH:
        module = driver_module(root)
        known = module if isinstance(module, str) else "unknown"
        return Problem("driver-mismatch", f"library {_library_version(api)}, kernel module {known}", code)
    if code == nvml.DRIVER_NOT_LOADED:
        return Problem("driver-not-loaded", "kernel driver not loaded", code)
    return Problem(_PROBLEMS.get(code, "driver-error"), f"{INIT} answered NVML {code}", code)


def _library_version(api: Api) -> str:
    """The driver version the library belongs to. NVML's own version is CUDA's major number before it:
    13.580.95.05 (it answers before and without initialisation).
    """
    found = re.match(r"\d+\.(\d{3}\..*)", str(api.text("nvmlSystemGetNVMLVersion", 80) or ""))
    return found.group(1) if found else "unknown"


def driver(api: Api, root: Path) -> Driver:
    """The versions."""
    code, values = api.unsigned("nvmlSystemGetCudaDriverVersion_v2")
    cuda: Reading = Absent(Why.UNSUPPORTED, code)
    if code == nvml.SUCCESS and isinstance(values[0], int):
        cuda = f"{values[0] // 1000}.{values[0] % 1000 // 10}"
    return Driver(
        version=api.text("nvmlSystemGetDriverVersion", 80) or Absent(Why.UNSUPPORTED),
        cuda=cuda,
        nvml=api.text("nvmlSystemGetNVMLVersion", 80) or Absent(Why.UNSUPPORTED),
        kernel_module=driver_module(root),
    )


def asleep_driver(root: Path) -> Driver:
    """The versions as far as they can be known without the library."""
    not_asked = Absent(Why.NOT_ASKED)
    return Driver(version=not_asked, cuda=not_asked, nvml=not_asked, kernel_module=driver_module(root))


def judge_handles(codes: Sequence[int]) -> None:
    """Whether the cards together tell of a problem that is none of theirs. Raises DriverProblem."""
    if not codes:
        raise DriverProblem(Problem("no-devices", "nvmlDeviceGetCount answered 0"))
    for code in (nvml.NO_PERMISSION, nvml.UNKNOWN):
        if all(found == code for found in codes):
            detail = f"{len(codes)} of {len(codes)} cards answered NVML {code}"
            raise DriverProblem(Problem(_PROBLEMS[code], detail, code))
