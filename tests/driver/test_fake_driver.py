"""The stand-in driver itself: what other programs rely on when they run on it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from gputui.driver.nvml import table
from gputui.driver.nvml.api import Call
from tests.driver.conftest import GENERATION_470
from tests.fake_driver.build import build, functions
from tests.fake_driver.env import calls, environment
from tests.fake_driver.script import NAMES, Script

PRELUDE = "import pynvml as n\nn.nvmlInit()\nh = n.nvmlDeviceGetHandleByIndex(0)\n"


def run(tmp_path: Path, library: Path, script: Script | str, code: str) -> subprocess.CompletedProcess[str]:
    """A program of its own that uses NVIDIA's bindings."""
    env = environment(tmp_path, script, library=library)
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)


def said(tmp_path: Path, library: Path, script: Script, code: str) -> list[str]:
    done = run(tmp_path, library, script, PRELUDE + code)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_missing_functions_are_really_absent(library_470):
    loaded = ctypes.CDLL(str(library_470))
    assert not [name for name in GENERATION_470 if hasattr(loaded, name)]
    assert all(hasattr(loaded, name) for name in functions() - set(GENERATION_470))


def test_it_has_every_function_the_product_asks_and_none_that_changes_a_card(library):
    loaded = ctypes.CDLL(str(library))
    asked = {way.source.function for row in table.ROWS for way in row.ways if isinstance(way.source, Call)}
    assert not [name for name in asked if not hasattr(loaded, name)]
    changing = ("nvmlDeviceSet", "nvmlDeviceReset", "nvmlDeviceClear", "nvmlDeviceRemove", "nvmlUnitSet")
    assert not [name for name in functions() if name.startswith(changing)]


def test_a_function_it_never_had_cannot_be_missing(tmp_path):
    with pytest.raises(ValueError, match="nvmlDeviceGetNothing"):
        build(tmp_path, ("nvmlDeviceGetNothing",))


@pytest.mark.parametrize("profile", NAMES)
def test_each_profile_loads(tmp_path, library, profile):
    code = (
        "print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetName(h), n.nvmlDeviceGetClockInfo(h, 1),"
        "n.nvmlDeviceGetPciInfo(h).bus)"
    )
    script = Script(profile, count=128)
    name = script.value(0, "nvmlDeviceGetName").strip('"')
    clock = script.value(0, "nvmlDeviceGetClockInfo(1)")
    assert said(tmp_path, library, script, code) == [f"128 {name} {clock} 1"]


def test_values_follow_reads_and_time(tmp_path, library):
    script = Script("h100").card(
        0,
        "nvmlDeviceGetPowerUsage = 1000 | 2000 | code 999",
        "nvmlDeviceGetTemperature(0) = 30..32",
        "nvmlDeviceGetTotalEnergyConsumption = 500+7",
        "nvmlDeviceGetPerformanceState = 8 @0.2 2",
    )
    code = """
import time
def power():
    try:
        return n.nvmlDeviceGetPowerUsage(h)
    except n.NVMLError as error:
        return -error.value
print(*[power() for _ in range(4)])
print(*[n.nvmlDeviceGetTemperature(h, 0) for _ in range(6)])
print(*[n.nvmlDeviceGetTotalEnergyConsumption(h) for _ in range(3)])
print(n.nvmlDeviceGetPerformanceState(h))
time.sleep(0.3)
print(n.nvmlDeviceGetPerformanceState(h))
"""
    assert said(tmp_path, library, script.card(0, "nvmlDeviceGetTemperatureV = code 3"), code) == [
        "1000 2000 -999 1000",
        "30 31 32 31 30 31",
        "500 507 514",
        "8",
        "2",
    ]


def test_a_structure_of_another_version_is_refused(tmp_path, library):
    code = """
import ctypes
memory = n.c_nvmlMemory_v2_t()
ask = n._nvmlGetFunctionPointer("nvmlDeviceGetMemoryInfo_v2")
for version in (0x02000028, 0x01000028, 0x02000020):
    memory.version = version
    print(ask(h, ctypes.byref(memory)))
"""
    assert said(tmp_path, library, Script("h100"), code) == ["0", "25", "25"]


def test_lists_say_how_long_they_are(tmp_path, library):
    code = """
import ctypes
for suffix, size in (("_v3", 24), ("_v2", 24), ("", 16)):
    ask = n._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses" + suffix)
    count, room = ctypes.c_uint(1), (ctypes.c_char * (2 * size))()
    print(ask(h, ctypes.byref(count), room), count.value, any(room.raw))
    print(ask(h, ctypes.byref(count), room), [int.from_bytes(room.raw[i:i + 4], "little") for i in (0, size)])
"""
    assert said(tmp_path, library, Script("h100"), code) == ["7 2 False", "0 [11327, 11328]"] * 3


def test_what_it_prints_is_really_printed(tmp_path, library):
    script = Script("h100").card(0, r'nvmlDeviceGetPowerUsage prints stdout "noise\n"')
    assert said(tmp_path, library, script, "n.nvmlDeviceGetPowerUsage(h)") == ["noise"]


def test_a_removed_card_is_found_by_its_own_uuid_only(tmp_path, library):
    script = Script("h100", count=3).card(1, "removed @0.2")
    code = """
import time
uuids = [n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(i)) for i in range(3)]
time.sleep(0.3)
print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(1)) == uuids[2])
print(n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(uuids[2])))
try:
    n.nvmlDeviceGetHandleByUUID(uuids[1])
except n.NVMLError as error:
    print(error.value)
"""
    assert said(tmp_path, library, script, code) == ["2 True", "1", "6"]


def test_calls_are_counted_to_the_last_one_before_a_kill(tmp_path, library):
    code = "import os, signal\n[n.nvmlDeviceGetPowerUsage(h) for _ in range(5)]\nos.kill(os.getpid(), signal.SIGKILL)"
    run(tmp_path, library, Script("h100"), PRELUDE + code)
    counted = calls(tmp_path / "calls.bin")
    assert counted["nvmlDeviceGetPowerUsage"] == 5
    assert counted["card 0"] == 6


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("nvmlDeviceGetNothing = 1", "no such function: nvmlDeviceGetNothing"),
        ("nvmlDeviceGetPowerUsage = many", "not a number: many"),
        ("nvmlDeviceGetPowerUsage wobbles", "not understood: nvmlDeviceGetPowerUsage wobbles"),
        ("[5]", "no such card: [5]"),
        ("field 1 u8 = 1", "no such type: u8"),
    ],
)
def test_a_mistake_in_a_script_is_named(tmp_path, library, line, what):
    done = run(tmp_path, library, f"cards 1\n[0]\n{line}\n", PRELUDE)
    assert f"line 3: {what}" in done.stderr
    assert "NVMLError_Unknown" in done.stderr
