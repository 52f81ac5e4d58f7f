"""The stand-in driver, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_driver.build import NoCompiler, build

GENERATION_470 = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMarginTemperature",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetGpuFabricInfo",
    "nvmlDeviceGetJpgUtilization",
    "nvmlDeviceGetOfaUtilization",
    "nvmlDeviceGetAddressingMode",
    "nvmlDeviceGetFanSpeedRPM",
    "nvmlDeviceGetDriverModel_v2",
)
"""What a driver of 2021 does not have."""


def _built(folder: Path, missing: tuple[str, ...] = ()) -> Path:
    try:
        return build(folder, missing)
    except NoCompiler as error:
        pytest.skip(f"the stand-in driver cannot be built: {error}")


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    """A driver of today."""
    return _built(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="session")
def library_470(tmp_path_factory) -> Path:
    """A driver of 2021."""
    return _built(tmp_path_factory.mktemp("driver-470"), GENERATION_470)
