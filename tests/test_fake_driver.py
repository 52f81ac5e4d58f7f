"""The stand-in driver as a program of its own meets it through NVIDIA's bindings: what fails, when, and how.

tests/driver/test_fake_driver.py has what the product relies on most; here is the rest of its script.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fake_driver.build import GENERATIONS, NoCompiler, build
from tests.fake_driver.env import calls, environment
from tests.fake_driver.script import NAMES, Script

PRELUDE = """
import ctypes, sys, threading, time
import pynvml as n
def code(ask, *arguments):
    try:
        ask(*arguments)
    except n.NVMLError as error:
        return error.value
    return 0
def until(wanted):
    end = time.monotonic() + 20
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.01)
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("driver")


@pytest.fixture
def said(tmp_path, folder):
    """Runs a program on a script: its lines, or what it said on stderr when it failed."""

    def run(script: Script | str, program: str, missing: tuple[str, ...] = (), prelude: str = PRELUDE) -> list[str]:
        env = environment(tmp_path, script, library=_library(folder, missing))
        done = subprocess.run([sys.executable, "-c", prelude + program], env=env, capture_output=True, timeout=60)
        return (done.stdout if done.returncode == 0 else done.stderr).decode().splitlines()

    return run


def _library(folder: Path, missing: tuple[str, ...] = ()) -> Path:
    try:
        return build(folder, missing)
    except NoCompiler as error:
        pytest.skip(f"the stand-in driver cannot be built: {error}")


def test_one_library_for_each_content(folder):
    plain = _library(folder)
    assert _library(folder) == plain
    assert _library(folder, GENERATIONS["470"]) != plain


def test_without_a_compiler_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCompiler, match="no C compiler"):
        build(tmp_path)


@pytest.mark.parametrize(
    ("generation", "found"),
    [("470", "13 0 13 13"), ("525", "13 0 0 0"), ("535.98", "0 0 0 13")],
)
def test_what_a_generation_lacks_is_not_found_by_the_bindings(said, generation, found):
    program = """
print(code(n.nvmlDeviceGetCurrentClocksEventReasons, h), code(n.nvmlDeviceGetCurrentClocksThrottleReasons, h),
      code(n.nvmlDeviceGetMemoryInfo, h, n.nvmlMemory_v2), code(n.nvmlDeviceGetComputeRunningProcesses_v3, h))
"""
    assert said(Script("h100"), program, GENERATIONS[generation]) == [found]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (4, "NoPermission"),
        (9, "DriverNotLoaded"),
        (12, "LibraryNotFound"),
        (18, "LibRmVersionMismatch"),
        (999, "Unknown"),
    ],
)
def test_init_fails_as_the_script_says(said, number, name):
    program = (
        "import pynvml as n\ntry:\n    n.nvmlInit()\nexcept n.NVMLError as error:\n    print(type(error).__name__)"
    )
    assert said(Script("h100").system(f"nvmlInit_v2 = code {number}"), program, prelude="") == [f"NVMLError_{name}"]


def test_nothing_but_versions_answers_before_init(said):
    program = """
import ctypes
library = ctypes.CDLL("libnvidia-ml.so.1")
text, number = ctypes.create_string_buffer(80), ctypes.c_int()
print(library.nvmlSystemGetDriverVersion(text, 80), library.nvmlDeviceGetCount_v2(ctypes.byref(number)),
      library.nvmlSystemGetNVMLVersion(text, 80), text.value.decode())
"""
    assert said(Script("h100"), program, prelude="") == ["1 1 0 13.590.48.01"]


def test_a_lost_card_is_lost_by_every_way_to_it_and_comes_back(said):
    program = """
uuid = n.nvmlDeviceGetUUID(h)
def asked():
    return [code(n.nvmlDeviceGetHandleByIndex, 0), code(n.nvmlDeviceGetHandleByUUID, uuid),
            code(n.nvmlDeviceGetName, h), code(n.nvmlDeviceGetPowerUsage, h),
            code(n.nvmlDeviceGetFieldValues, h, [186]),
            code(n.nvmlDeviceGetPowerUsage, n.nvmlDeviceGetHandleByIndex(1)), n.nvmlDeviceGetCount()]
print(*asked())
until(lambda: code(n.nvmlDeviceGetPowerUsage, h))
print(*asked())
until(lambda: not code(n.nvmlDeviceGetPowerUsage, h))
print(*asked())
"""
    script = Script("h100", count=2).card(0, "lost @0.5 until @1.5")
    assert said(script, program) == ["0 0 0 0 0 0 2", "15 15 15 15 15 0 2", "0 0 0 0 0 0 2"]


def test_a_card_that_went_comes_back_at_its_place(said):
    program = """
def serials():
    return " ".join(n.nvmlDeviceGetSerial(n.nvmlDeviceGetHandleByIndex(i))[-2:] for i in range(n.nvmlDeviceGetCount()))
print(serials())
until(lambda: n.nvmlDeviceGetCount() == 2)
print(serials())
until(lambda: n.nvmlDeviceGetCount() == 3)
print(serials())
"""
    script = Script("h100", count=3).card(1, "removed @0.5 until @1")
    assert said(script, program) == ["01 02 03", "01 03", "01 02 03"]


def test_a_call_that_hangs_is_ended_by_nothing_but_kill(tmp_path, folder):
    script = Script("h100", count=2).card(0, "nvmlDeviceGetTemperature hangs", "nvmlDeviceGetTemperatureV = code 3")
    program = """
print(code(n.nvmlDeviceGetPowerUsage, h), flush=True)
ask = n._nvmlGetFunctionPointer("nvmlDeviceGetTemperature")
ask(h, 0, ctypes.byref(ctypes.c_uint()))
print("came back", flush=True)
"""
    env = environment(tmp_path, script, library=_library(folder))
    child = subprocess.Popen([sys.executable, "-c", PRELUDE + program], env=env, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "0\n"
        end = time.monotonic() + 20
        while not calls(env)["nvmlDeviceGetTemperature"] or not _blocks_signals(child.pid):
            assert time.monotonic() < end
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        child.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
    finally:
        child.kill()
    assert child.wait(5) == -signal.SIGKILL
    assert child.stdout.read() == ""


def _blocks_signals(pid: int) -> bool:
    lines = Path("/proc", str(pid), "status").read_text().splitlines()
    blocked = next(int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))
    return bool(blocked >> (signal.SIGTERM - 1) & 1)


def test_a_hang_leaves_other_threads_alone_and_may_end(said):
    program = """
begun, ended = threading.Event(), threading.Event()
def hang():
    begun.set()
    n.nvmlDeviceGetPowerUsage(h)
    ended.set()
threading.Thread(target=hang).start()
begun.wait()
print(code(n.nvmlDeviceGetPowerUsage, n.nvmlDeviceGetHandleByIndex(1)), ended.is_set())
print(ended.wait(20))
"""
    script = Script("h100", count=2).card(0, "nvmlDeviceGetPowerUsage hangs @0 until @2")
    assert said(script, program) == ["0 False", "True"]


def test_field_values_answer_one_by_one(said):
    program = """
fields = n.nvmlDeviceGetFieldValues(h, [186, 83, 193, 82, (165, 3), (165, 17), 9999])
for one in fields:
    name = {0: "dVal", 1: "uiVal", 3: "ullVal", 5: "siVal"}[one.valueType]
    print(one.fieldId, one.nvmlReturn, one.valueType, one.nvmlReturn or getattr(one.value, name))
"""
    script = Script("h100").card(
        0, "field 186 double = 694.5", "field 83 u64 = ones", "field 82 u32 = code 999", "field 165.17 u32 = 0"
    )
    assert said(script, program) == [
        "186 0 0 694.5",
        f"83 0 3 {2**64 - 1}",
        "193 0 5 -8",
        "82 999 0 999",
        "165 0 1 1",
        "165 0 1 0",
        "9999 3 0 3",
    ]


def test_numbers_move_with_reads_and_with_time(said):
    program = """
print(*[n.nvmlDeviceGetMinorNumber(h) for _ in range(4)])
print(code(n.nvmlDeviceGetPcieReplayCounter, h), code(n.nvmlDeviceGetPcieReplayCounter, h),
      n.nvmlDeviceGetPcieReplayCounter(h))
print(30 <= n.nvmlDeviceGetClockInfo(h, 1) < 50)
until(lambda: n.nvmlDeviceGetClockInfo(h, 1) == 90)
seen = set()
until(lambda: seen.add(n.nvmlDeviceGetPowerUsage(h)) or len(seen) > 20)
print(all(1000 <= value <= 2000 for value in seen))
"""
    script = Script("h100").card(
        0,
        "nvmlDeviceGetMinorNumber = 3 @2 reads 4 @3 reads 5",
        "nvmlDeviceGetPcieReplayCounter = @2 reads 8",
        "nvmlDeviceGetClockInfo(1) = 30..90/2s",
        "nvmlDeviceGetPowerUsage = 1000~2000/0.5s",
    )
    assert said(script, program) == ["3 3 4 5", "3 3 8", "True", "True"]


def test_a_process_may_come_between_the_two_calls(said):
    program = """
ask = n._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses_v3")
count, room = ctypes.c_uint(0), (n.c_nvmlProcessInfo_v3_t * 3)()
for _ in range(3):
    print(ask(h, ctypes.byref(count), room), count.value)
print(room[1].pid, room[1].usedGpuMemory == 2**64 - 1, room[1].gpuInstanceId == 2**32 - 1)
print(n.nvmlSystemGetProcessName(7), n.nvmlSystemGetProcessName(8), code(n.nvmlSystemGetProcessName, 9))
"""
    script = Script("h100").card(
        0, "nvmlDeviceGetComputeRunningProcesses_v3 = 7 100 @1 reads 7 100, 8 ones @2 reads 7 100, 8 ones"
    )
    script.system('nvmlSystemGetProcessName(7) = "seven"', 'nvmlSystemGetProcessName(8) = "eight"')
    script.system("nvmlSystemGetProcessName(9) = code 6")
    assert said(script, program) == ["7 1", "7 2", "0 2", "8 True True", "seven eight 6"]


def test_mig_devices_and_one_that_is_taken_apart(said):
    program = """
slices = [n.nvmlDeviceGetMigDeviceHandleByIndex(h, i) for i in (0, 1)]
for one in slices:
    found = n.nvmlDeviceGetAttributes(one)
    print(n.nvmlDeviceIsMigDeviceHandle(one).value, n.nvmlDeviceGetUUID(one)[:4], n.nvmlDeviceGetGpuInstanceId(one),
          n.nvmlDeviceGetComputeInstanceId(one), found.multiprocessorCount, found.memorySizeMB,
          n.nvmlDeviceGetMemoryInfo(one).total >> 20, n.nvmlDeviceGetIndex(one))
print(n.nvmlDeviceGetMigMode(h), code(n.nvmlDeviceGetMigDeviceHandleByIndex, h, 2),
      n.nvmlDeviceGetUUID(n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slices[1])) == n.nvmlDeviceGetUUID(h),
      code(n.nvmlDeviceGetUtilizationRates, h))
until(lambda: code(n.nvmlDeviceGetMigDeviceHandleByIndex, h, 1))
print(code(n.nvmlDeviceGetMigDeviceHandleByIndex, h, 1), code(n.nvmlDeviceGetMemoryInfo, slices[1]),
      code(n.nvmlDeviceGetMemoryInfo, slices[0]))
"""
    assert said(Script("a100-mig").card("0/1", "removed @1"), program) == [
        "1 MIG- 1 0 42 40192 40192 0",
        "1 MIG- 2 0 56 40192 40192 1",
        "[1, 1] 6 True 3",
        "6 6 0",
    ]


def test_an_xid_is_told_once_to_who_registered(said):
    program = """
events = n.nvmlEventSetCreate()
for i in range(2):
    n.nvmlDeviceRegisterEvents(n.nvmlDeviceGetHandleByIndex(i), n.nvmlEventTypeXidCriticalError, events)
print(code(n.nvmlEventSetWait_v2, events, 1))
event = n.nvmlEventSetWait_v2(events, 20000)
print(n.nvmlDeviceGetIndex(event.device), event.eventType, event.eventData)
print(code(n.nvmlEventSetWait_v2, events, 50))
n.nvmlEventSetFree(events)
"""
    assert said(Script("h100", count=2).card(1, "xid 79 @1"), program) == ["10", "1 8 79", "10"]


def test_bytes_that_are_no_text_and_words_that_are_no_number(said):
    program = """
ask, name = n._nvmlGetFunctionPointer("nvmlDeviceGetName"), ctypes.create_string_buffer(96)
print(ask(h, name, 96), name.raw[:3].hex(), ask(h, name, 2), n.nvmlDeviceGetPowerUsage(h) == 2**32 - 1)
"""
    script = Script("h100").card(0, r'nvmlDeviceGetName = "\xF8\x01A"', "nvmlDeviceGetPowerUsage = ones")
    assert said(script, program) == ["0 f80141 7 True"]


def test_two_cards_and_lists(said):
    program = """
other = n.nvmlDeviceGetHandleByIndex(1)
print(n.nvmlDeviceGetTopologyCommonAncestor(h, other), n.nvmlDeviceGetP2PStatus(h, other, 1),
      [n.nvmlDeviceGetIndex(near) for near in n.nvmlDeviceGetTopologyNearestGpus(h, 40)])
print(n.nvmlDeviceGetSupportedMemoryClocks(h), n.nvmlDeviceGetSupportedGraphicsClocks(h, 2619)[:2],
      n.nvmlDeviceGetSupportedPerformanceStates(h), n.nvmlDeviceGetRetiredPages(h, 0))
kind, samples = n.nvmlDeviceGetSamples(h, 0, 0)
print(kind, [one.sampleValue.uiVal for one in samples], samples[0].timeStamp < samples[1].timeStamp)
print(n.nvmlDeviceGetMemoryErrorCounter(h, 1, 0, 2), n.nvmlDeviceGetMemoryErrorCounter(h, 1, 0, 3),
      n.nvmlDeviceGetDetailedEccErrors(h, 1, 0).deviceMemory, n.nvmlDeviceGetRowRemapperHistogram(h).partial)
"""
    script = Script("h100", count=2).card(
        0,
        "nvmlDeviceGetTopologyCommonAncestor(1) = 30",
        "nvmlDeviceGetTopologyNearestGpus(40) = 1",
        "nvmlDeviceGetP2PStatus(1,1) = 4",
        "nvmlDeviceGetRetiredPages(0) = 0x1000 0x2000",
        "nvmlDeviceGetSamples(0) = 5 6",
        "nvmlDeviceGetMemoryErrorCounter(1,0,2) = 9",
        "nvmlDeviceGetDetailedEccErrors(1,0) = 0 0 3 0",
        "nvmlDeviceGetRowRemapperHistogram = 630 5 2 1 0",
    )
    assert said(script, program) == [
        "30 4 [1]",
        "[2619, 1593] [1980, 1965] [0] [4096, 8192]",
        "1 [5, 6] True",
        "9 0 3 2",
    ]


EACH = """
import inspect
asked = 0
for name, ask in sorted(vars(n).items()):
    if not name.startswith("nvmlDeviceGet") or not inspect.isfunction(ask):
        continue
    free = [one for one in inspect.signature(ask).parameters.values() if one.default is one.empty]
    if len(free) == 1 and free[0].name in ("handle", "device"):
        asked += 1
        found = code(ask, h)
        assert found in (0, 3), (name, found)
print(asked > 90, n.nvmlDeviceGetName(h))
"""


@pytest.mark.parametrize("profile", NAMES)
def test_every_getter_of_the_bindings_has_an_answer(said, profile):
    assert said(Script(profile), EACH) == ["True " + Script(profile).value(0, "nvmlDeviceGetName").strip('"')]


def test_no_call_is_lost_among_threads(tmp_path, folder):
    program = """
def read():
    for _ in range(2000):
        n.nvmlDeviceGetPowerUsage(h)
threads = [threading.Thread(target=read) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(n.nvmlDeviceGetPowerUsage(h))
"""
    env = environment(tmp_path, Script("h100").card(0, "nvmlDeviceGetPowerUsage = 0+1"), library=_library(folder))
    done = subprocess.run([sys.executable, "-c", PRELUDE + program], env=env, capture_output=True, timeout=60)
    assert done.stdout == b"8000\n"
    assert calls(env)["nvmlDeviceGetPowerUsage"] == 8001


def test_one_clock_for_a_process_that_is_started_again(tmp_path, folder):
    script = Script("h100").card(0, "nvmlDeviceGetPowerUsage = 1 @1 2")
    program = "until(lambda: n.nvmlDeviceGetPowerUsage(h) == 2)\n"
    env = environment(tmp_path, script, library=_library(folder), one_clock=True)
    again = "print(n.nvmlDeviceGetPowerUsage(h))\n"
    subprocess.run([sys.executable, "-c", PRELUDE + program], env=env, check=True, timeout=60)
    done = subprocess.run([sys.executable, "-c", PRELUDE + again], env=env, capture_output=True, timeout=60)
    assert done.stdout == b"2\n"


@pytest.mark.parametrize("command", [["gpustat", "--no-color"], ["nvitop", "-1", "--ascii"]], ids=lambda x: x[0])
def test_other_monitors_run_on_it_unchanged(tmp_path, folder, command):
    program = shutil.which(command[0])
    if program is None:
        pytest.skip(f"{command[0]} is not installed (it is no dependency of ours)")
    script = Script("h100", "h100", "rtx4090", "rtx3090", "a100-mig", "gb10", "h100", "h100")
    env = environment(tmp_path, script.card(6, "lost @0"), library=_library(folder))
    env["TERM"] = os.environ.get("TERM", "xterm")
    done = subprocess.run([program, *command[1:]], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for name in ("H100 80GB", "RTX 4090", "RTX 3090", "A100-SXM4", "GB10"):
        assert name in done.stdout
