"""The live source against a scripted library: every reading, every failure, and how little it asks."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any

import pytest

from gputui.driver.nvml import source as nvml_source
from gputui.driver.nvml.source import NvmlSource
from gputui.driver.nvml.table import ROWS, Row
from gputui.driver.protocol import DriverProblem, Sampled
from gputui.model import catalog
from gputui.model.card import Driver, State
from gputui.model.reading import Absent, Reading, Why
from tests.driver.nvml_library import MIB, D, Library

ONES_32, ONES_64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


class Rig:
    """A source on a scripted library, and a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path, cards: int = 1) -> None:
        self.library = Library(cards)
        self.root = root
        self.now = 1000.0
        monkeypatch.setattr(ctypes, "CDLL", lambda name, *rest, **more: self.library)
        monkeypatch.setattr(nvml_source.time, "monotonic", lambda: self.now)
        self.source = NvmlSource(root)

    def open(self) -> Driver:
        driver = self.source.open()
        self.listed = self.source.cards()
        return driver

    def sample(self, index: int = 0, slow: bool = True) -> Sampled:
        return self.source.sample(self.listed[index].uuid, self.now, slow)

    def first(self) -> dict[str, Reading]:
        self.open()
        return dict(self.sample().readings)

    def ticks(self, count: int, index: int = 0) -> list[Sampled]:
        """So many seconds, with a full sample each fifth and a listing each tenth, as the worker does."""
        out = []
        for _ in range(count):
            self.now += 1
            if self.now % 10 == 0:
                self.listed = self.source.cards()
            out.append(self.sample(index, slow=self.now % 5 == 0))
        return out


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rig:
    return Rig(monkeypatch, tmp_path)


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rig:
    return Rig(monkeypatch, tmp_path, cards=8)


# --- readings


def test_versions(rig: Rig) -> None:
    (rig.root / "proc/driver/nvidia").mkdir(parents=True)
    (rig.root / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.48.01  x\n"
    )
    assert rig.open() == Driver(version="590.48.01", cuda="13.1", nvml="13.590.48.01", kernel_module="590.48.01")


H100 = {
    "name": "NVIDIA H100 80GB HBM3",
    "uuid": "GPU-00000000",
    "serial": "1650000000000",
    "brand": "NVIDIA",
    "architecture": "Hopper",
    "compute_cap": "9.0",
    "gpu_core_count": 16896,
    "multiprocessor_count": 132,
    "memory.bus_width": 5120,
    "minor_number": 0,
    "board_part_number": "692-2G520-0200-000",
    "vbios_version": "96.00.A5.00.01",
    "inforom.img": "G520.0200.00.05",
    "gsp.version": "590.48.01",
    "pci.bus_id": "00000000:00:00.0",
    "pci.device_id": "0x233010DE",
    "pci.sub_device_id": "0x16C110DE",
    "virtualization_mode": "Pass-Through",
    "addressing_mode": "None",
    "clocks.current.sm": 1980,
    "clocks.current.graphics": 1980,
    "clocks.current.memory": 2619,
    "clocks.current.video": 1545,
    "clocks.max.memory": 2619,
    "clocks.max_customer_boost.graphics": 1980,
    "pstate": "P0",
    "clocks_event_reasons.mask": 0,
    "clocks_event_reasons.active": (),
    "clocks_event_reasons_counters.sw_power_cap": 0,
    "power.draw": 629.45,
    "power.draw.average": 629.45,
    "power.draw.instant": 588.39,
    "power.draw.kind": "average",
    "enforced.power.limit": 700.0,
    "power.limit": 700.0,
    "power.default_limit": 700.0,
    "power.min_limit": 200.0,
    "power.max_limit": 700.0,
    "power.management": "Enabled",
    "total_energy_consumption": 1000.0,
    "module.power.draw.average": Absent(Why.UNSUPPORTED, 3),
    "temperature.gpu": 59,
    "temperature.memory": 55,
    "temperature.gpu.tlimit": 26,
    "temperature.tlimit.shutdown": -8,
    "temperature.tlimit.slowdown": -2,
    "temperature.tlimit.gpu_max": 0,
    "fan.count": 0,
    "fan.speed": Absent(Why.UNSUPPORTED, raw="passive"),
    "utilization.gpu": 100,
    "utilization.memory": 11,
    "utilization.encoder": 0,
    "memory.total": 81559,
    "memory.reserved": 479,
    "memory.used": 19818,
    "memory.free": 61262,
    "memory.used.includes_reserved": "no",
    "memory.bar1.total": 131072,
    "memory.bar1.used": 19819,
    "memory.kind": "dedicated",
    "pcie.link.gen.current": 5,
    "pcie.link.width.max": 16,
    "pcie.throughput.tx": 3092,
    "pcie.throughput.rx": 6346,
    "pcie.replay_counter": 9,
    "nvlink.count": 18,
    "nvlink.active": 18,
    "nvlink.inactive": 0,
    "nvlink.version": "4.0",
    "fabric.state": "Completed",
    "fabric.status": "Success",
    "ecc.mode.current": "Enabled",
    "ecc.errors.uncorrected.aggregate.total": 0,
    "retired_pages.pending": Absent(Why.UNSUPPORTED, 3),
    "remapped_rows.correctable": 0,
    "remapped_rows.pending": "No",
    "gpu_recovery_action": "None",
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "mig.mode.current": "Disabled",
    "mig.devices": 0,
    "display_active": "Disabled",
    "processes.state": "ok",
}
"""As nvidia-smi 590.48.01 shows an H100 under load."""


def test_eight_cards_read_as_scripted(eight: Rig) -> None:
    eight.open()
    assert [card.uuid for card in eight.listed] == [f"GPU-0000000{index}" for index in range(8)]
    for index in range(8):
        readings = eight.sample(index).readings
        own = {"uuid": f"GPU-0000000{index}", "minor_number": index, "pci.bus_id": f"00000000:0{index}:00.0"}
        for name, value in {**H100, **own}.items():
            assert readings[name] == value, name


def test_every_reading_of_the_catalog_is_there_after_two_full_samples(rig: Rig) -> None:
    rig.open()
    rig.source.events(0.0)
    rig.sample()
    rig.now += 5
    assert set(rig.sample().readings) == {spec.name for spec in catalog.SPECS}


def test_a_tick_reads_the_fast_ones(rig: Rig) -> None:
    rig.first()
    rig.now += 1
    readings = rig.sample(slow=False).readings
    assert set(catalog.FAST_NAMES) - {"clocks.current.graphics"} <= set(readings)
    assert "persistence_mode" not in readings


# --- failures cost only their own reading


def readings_of(function: str, code: int) -> set[str]:
    """Readings that this function alone can give; after a failure of this once, those it should have given."""
    cannot = code in (3, 4, 13)
    return {
        row.name for row in ROWS if all(_name(way.source) == function for way in (row.ways if cannot else row.ways[:1]))
    }


def _name(source: Any) -> str:
    return getattr(source, "function", "nvmlDeviceGetFieldValues")


FUNCTIONS = sorted({_name(way.source) for row in ROWS for way in row.ways})
FOLLOWERS = {
    "clocks_event_reasons.mask": {"clocks_event_reasons.active"},
    "power.draw": {"power.draw.kind"},
    "memory.reserved": {"memory.used", "memory.used.includes_reserved"},  # then from v1, which counts the reserve
    "gpu_core_count": {"multiprocessor_count"},
    "nvlink.count": {"nvlink.active", "nvlink.inactive"},
    "fan.count": {"fan.speed", "fan.speeds"},
    "mig.mode.current": {"mig.devices"},
}
"""Readings worked out from others: these may change with them."""
_COUNTED = ("sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
FIELD_COUNTERS = {
    prefix + word
    for prefix in ("clocks_event_reasons_counters.", "clocks_event_reasons_share.")
    for word in (*_COUNTED, "board_limit", "low_reliability")
}
WHY = {
    3: Why.UNSUPPORTED,
    4: Why.NO_PERMISSION,
    13: Why.OLD_DRIVER,
    15: Why.LOST,
    16: Why.NEEDS_RESET,
    999: Why.STALE,
}


@pytest.mark.parametrize("code", sorted(WHY))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_failing_call_costs_only_its_own_readings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: str, code: int
) -> None:
    healthy = Rig(monkeypatch, tmp_path).first()
    rig = Rig(monkeypatch, tmp_path)
    rig.library.codes[function] = code
    rig.open()
    sampled = rig.sample()
    assert sampled.state is State.OK
    own = readings_of(function, code)
    may_change = own | (FIELD_COUNTERS if "FieldValues" in function else set())
    for name in own:
        may_change |= FOLLOWERS.get(name, set())
    assert set(sampled.readings) ^ set(healthy) <= FIELD_COUNTERS
    for name in own:
        if not isinstance(healthy[name], Absent) or code > 13:
            assert sampled.readings[name] == Absent(WHY[code], code), name
    for name in set(healthy) - may_change:
        if isinstance(healthy[name], Absent):  # which of several refusals is told may differ
            assert isinstance(sampled.readings[name], Absent), name
        else:
            assert sampled.readings[name] == healthy[name], name


def test_without_field_values_power_and_limits_come_from_the_getters(rig: Rig) -> None:
    rig.library.codes["nvmlDeviceGetFieldValues"] = 13
    readings = rig.first()
    assert readings["power.draw"] == 629.45
    assert readings["power.draw.kind"] == "average"  # Hopper averages
    assert readings["power.draw.instant"] == Absent(Why.OLD_DRIVER, 13)
    assert readings["power.limit"] == 700.0
    assert readings["total_energy_consumption"] == 1000.0


def test_a_driver_of_generation_470(rig: Rig) -> None:
    """Symbols as of 470: reasons under their old name, memory v1, process lists v2, no v3, no margin, no fields."""
    card = rig.library.card()
    rig.library.missing |= {
        D + name
        for name in (
            "TemperatureV",
            "CurrentClocksEventReasons",
            "SupportedClocksEventReasons",
            "MemoryInfo_v2",
            "ComputeRunningProcesses_v3",
            "GraphicsRunningProcesses_v3",
            "MPSComputeRunningProcesses_v3",
            "MarginTemperature",
            "GpuFabricInfoV",
            "NumGpuCores",
            "GspFirmwareVersion",
        )
    }
    card["fields"] = {83: (3, 5_000_000), 185: (None, 2), 186: (None, 2)}
    card[D + "CurrentClocksThrottleReasons"] = 0x4
    card[D + "ComputeRunningProcesses_v2"] = [(4100, 100 * MIB)]
    card[D + "GraphicsRunningProcesses_v2"] = []
    readings = rig.first()
    assert readings["clocks_event_reasons.active"] == ("sw_power_cap",)
    assert (readings["memory.total"], readings["memory.used"]) == (81559, 20297)
    assert readings["memory.used.includes_reserved"] == "yes"
    assert readings["memory.reserved"] == Absent(Why.OLD_DRIVER, 13)
    assert readings["temperature.gpu.tlimit"] == Absent(Why.OLD_DRIVER, 13)
    assert readings["multiprocessor_count"] == Absent(Why.OLD_DRIVER, 13)
    assert readings["ecc.mode.current"] == "Enabled"
    assert readings["power.draw"] == 629.45
    assert readings["power.draw.instant"] == Absent(Why.OLD_DRIVER, 2)
    assert readings["processes.state"] == "ok"
    processes = rig.sample().processes
    assert isinstance(processes, tuple)
    assert [process.pid for process in processes] == [4100]


def test_memory_v2_with_another_layout_falls_back(rig: Rig) -> None:
    rig.library.codes[D + "MemoryInfo_v2"] = 25
    readings = rig.first()
    assert (readings["memory.used"], readings["memory.used.includes_reserved"]) == (20297, "yes")


def test_instant_power_on_cards_that_do_not_average(rig: Rig) -> None:
    del rig.library.card()["fields"][185]
    readings = rig.first()
    assert (readings["power.draw"], readings["power.draw.kind"]) == (588.39, "instant")
    assert readings["power.draw.average"] == Absent(Why.UNSUPPORTED, 3)


@pytest.mark.parametrize(("capability", "kind"), [((8, 0), "instant"), ((7, 5), "instant"), ((8, 6), "average")])
def test_kind_of_power_usage_by_generation(rig: Rig, capability: tuple[int, int], kind: str) -> None:
    rig.library.codes["nvmlDeviceGetFieldValues"] = 3
    rig.library.card()[D + "CudaComputeCapability"] = capability
    assert rig.first()["power.draw.kind"] == kind


def test_all_ones_is_never_a_number(rig: Rig) -> None:
    card = rig.library.card()
    card[D + "PowerUsage"] = ONES_32
    card[D + "ClockInfo", 1] = ONES_32
    card[D + "UtilizationRates"] = {"gpu": ONES_32, "memory": 0}
    card[D + "MemoryInfo_v2"] = {"total": 81559 * MIB, "reserved": ONES_64, "used": ONES_64, "free": 0}
    card[D + "MemoryInfo"] = {"total": ONES_64, "used": ONES_64, "free": ONES_64}
    card["fields"].update({82: (1, ONES_32), 83: (3, ONES_64), 94: (1, ONES_32)})
    del card["fields"][185], card["fields"][186]
    readings = rig.first()
    for name in (
        "power.draw",
        "clocks.current.sm",
        "utilization.gpu",
        "memory.reserved",
        "memory.used",
        "temperature.memory",
    ):
        assert readings[name] == Absent(Why.UNSUPPORTED), name
    assert readings["utilization.memory"] == 0
    assert readings["memory.free"] == 0


def test_impossible_values_are_kept_as_raw(rig: Rig) -> None:
    card = rig.library.card()
    card["fields"][185] = (1, 1_200_000)
    card[D + "Temperature", 0] = 255
    card[D + "MemoryInfo_v2"] = {"total": 0, "reserved": 0, "used": 0, "free": 0}
    readings = rig.first()
    assert readings["power.draw"] == Absent(Why.IMPLAUSIBLE, raw=1200.0)
    assert readings["temperature.gpu"] == Absent(Why.IMPLAUSIBLE, raw=255)
    assert readings["memory.total"] == Absent(Why.IMPLAUSIBLE, raw=0)
    assert readings["memory.used"] == 0


def test_a_limit_alone_that_cannot_be_read_leaves_the_draw(rig: Rig) -> None:
    rig.library.codes[D + "PowerManagementLimitConstraints"] = 3
    rig.library.codes[D + "PowerManagementDefaultLimit"] = 3
    for number in (187, 188, 189):
        del rig.library.card()["fields"][number]
    readings = rig.first()
    assert (readings["power.draw"], readings["enforced.power.limit"]) == (629.45, 700.0)
    assert readings["power.default_limit"] == Absent(Why.UNSUPPORTED, 3)


def test_a_name_that_is_not_text(rig: Rig) -> None:
    rig.library.card()[D + "Name"] = b"\xf8\x11\x80NVIDIA"
    rig.open()
    assert rig.listed[0].name == "\ufffd\ufffd\ufffdNVIDIA"
    assert rig.sample().readings["pci.device_id"] == "0x233010DE"


def test_fans(rig: Rig) -> None:
    card = rig.library.card()
    card[D + "NumFans"] = 3
    card.update({(D + "FanSpeed_v2", 0): 0, (D + "FanSpeed_v2", 1): 105, (D + "FanSpeed_v2", 2): 42})
    readings = rig.first()
    assert (readings["fan.speed"], readings["fan.speeds"]) == (0, ("0", "105", "42"))


def test_one_fan_by_the_old_getter(rig: Rig) -> None:
    rig.library.codes[D + "NumFans"] = 13
    rig.library.card()[D + "FanSpeed"] = 30
    readings = rig.first()
    assert (readings["fan.speed"], readings["fan.speeds"]) == (30, ("30",))


def test_energy_that_goes_back_is_a_new_baseline(rig: Rig) -> None:
    rig.first()
    fields = rig.library.card()["fields"]
    for joules, expected in ((1600, 1600.0), (10, Absent(Why.IMPLAUSIBLE, raw=10.0)), (3010, 3010.0)):
        fields[83] = (3, joules * 1000)
        rig.now += 5
        assert rig.sample().readings["total_energy_consumption"] == expected
    fields[83] = (3, (3010 + 40_000) * 1000)  # 8 kW over five seconds
    rig.now += 5
    assert rig.sample().readings["total_energy_consumption"] == Absent(Why.IMPLAUSIBLE, raw=43010.0)


# --- how much it asks


def test_what_is_not_supported_is_asked_once_and_the_rest_again(rig: Rig) -> None:
    rig.library.codes.update({D + "EncoderUtilization": 3, D + "DecoderUtilization": 999})
    rig.first()
    rig.ticks(30)
    assert rig.library.calls[D + "EncoderUtilization"] == 1
    assert rig.library.calls[D + "DecoderUtilization"] > 5


def test_a_temporary_failure_recovers(rig: Rig) -> None:
    rig.library.codes[D + "Temperature"] = 999
    assert rig.first()["temperature.gpu"] == Absent(Why.STALE, 999)
    rig.library.codes.clear()
    assert rig.sample(slow=False).readings["temperature.gpu"] == 59


@pytest.mark.parametrize("fans", [0, 3])
def test_at_most_twelve_calls_a_refresh_and_card(eight: Rig, fans: int) -> None:
    """Everything the library has is asked: listing, slow and rare calls included, over two minutes."""
    for card in eight.library.cards:
        card[D + "NumFans"] = fans
        card.update({(D + "FanSpeed_v2", fan): 40 for fan in range(fans)})
        card[D + "ProcessUtilization"] = [(11327, time.time_ns() // 1000, 50)]
    eight.open()
    for index in range(8):
        eight.sample(index)
    eight.ticks(5)
    before = sum(eight.library.calls.values())
    for _ in range(120):
        eight.now += 1
        if eight.now % 10 == 0:
            eight.listed = eight.source.cards()
        for index in range(8):
            eight.sample(index, slow=(eight.now + index) % 5 == 0)
    assert (sum(eight.library.calls.values()) - before) / 120 / 8 <= 12


def test_the_library_is_initialised_once(rig: Rig) -> None:
    rig.open()
    rig.ticks(60)
    assert rig.library.calls["nvmlInit_v2"] == 1
    rig.source.close()
    assert rig.library.calls["nvmlShutdown"] == 1


# --- cards that are lost, wrong or gone


def test_a_card_without_a_handle_is_never_asked(eight: Rig) -> None:
    real = eight.library._special["nvmlDeviceGetHandleByIndex_v2"]
    eight.library._special["nvmlDeviceGetHandleByIndex_v2"] = lambda index, out: (
        15 if index.value == 2 else real(index, out)
    )
    eight.open()
    assert [card.state for card in eight.listed].count(State.OK) == 7
    assert (eight.listed[2].state, eight.listed[2].code) == (State.LOST, 15)
    for _ in range(3):
        assert eight.sample(2).state is State.LOST
        assert eight.sample(3).state is State.OK
    assert eight.library.by_card[2] == 0


def test_a_null_handle_is_an_error_and_not_a_handle(rig: Rig) -> None:
    rig.library._special["nvmlDeviceGetHandleByIndex_v2"] = lambda index, out: 0
    with pytest.raises(DriverProblem) as error:
        rig.open()
    assert error.value.problem.id == "container-lost-access"


def test_a_card_that_is_lost_while_it_runs(eight: Rig) -> None:
    eight.open()
    for index in range(8):
        eight.sample(index)
    eight.library.codes["*", 5] = 15
    lost = eight.sample(5, slow=False)
    assert (lost.state, lost.code, dict(lost.readings)) == (State.LOST, 15, {})
    asked = eight.library.by_card[5]
    for _ in range(20):
        eight.now += 1
        assert eight.sample(5, slow=False).state is State.LOST
        eight.listed = eight.source.cards()
    assert eight.library.by_card[5] == asked
    assert eight.listed[5].state is State.LOST
    assert eight.sample(4, slow=False).state is State.OK


def test_a_lost_card_is_probed_after_half_a_minute_and_may_come_back(eight: Rig) -> None:
    eight.open()
    eight.sample(5)
    eight.library.codes["*", 5] = 15
    assert eight.sample(5).state is State.LOST
    eight.now += 30
    assert eight.sample(5).state is State.LOST
    del eight.library.codes["*", 5]
    eight.now += 30
    back = eight.sample(5)
    assert back.state is State.OK
    assert back.readings["temperature.gpu"] == 59
    eight.listed = eight.source.cards()
    assert eight.listed[5].state is State.OK


def test_cards_are_followed_by_uuid_when_indexes_shift(eight: Rig) -> None:
    eight.open()
    del eight.library.cards[2]
    eight.listed = eight.source.cards()
    assert [card.uuid for card in eight.listed] == [f"GPU-0000000{n}" for n in (0, 1, 3, 4, 5, 6, 7)]
    assert eight.source.sample("GPU-00000002", 0.0, True).state is State.MISSING
    assert eight.source.sample("GPU-00000003", 0.0, True).readings["minor_number"] == 3


def test_one_card_with_an_unknown_error(eight: Rig) -> None:
    real = eight.library._special["nvmlDeviceGetHandleByIndex_v2"]
    eight.library._special["nvmlDeviceGetHandleByIndex_v2"] = lambda i, out: 999 if i.value == 1 else real(i, out)
    eight.open()
    assert (eight.listed[1].state, eight.listed[1].code) == (State.ERROR, 999)
    eight.library._special["nvmlDeviceGetHandleByIndex_v2"] = real
    eight.listed = eight.source.cards()
    assert eight.listed[1].state is State.OK
    assert eight.listed[1].uuid == "unknown-1"  # under its own UUID its old name would seem to be a missing card


@pytest.mark.parametrize(("code", "state"), [(16, State.NEEDS_RESET), (999, State.ERROR)])
def test_a_card_that_answers_nothing_else(rig: Rig, code: int, state: State) -> None:
    rig.open()
    rig.library.codes["*", 0] = code
    sampled = rig.sample()
    assert (sampled.state, sampled.code) == (state, code)


# --- start-up


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (4, "no-permission"),
        (9, "driver-not-loaded"),
        (18, "driver-mismatch"),
        (28, "no-devices"),
        (999, "container-lost-access"),
        (17, "driver-error"),
    ],
)
def test_start_up_failures(rig: Rig, code: int, problem: str) -> None:
    rig.library.codes["nvmlInit_v2"] = code
    with pytest.raises(DriverProblem) as error:
        rig.open()
    assert (error.value.problem.id, error.value.problem.code) == (problem, code)


def test_a_mismatch_names_both_versions(rig: Rig) -> None:
    (rig.root / "proc/driver/nvidia").mkdir(parents=True)
    (rig.root / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.57.08  x\n"
    )
    rig.library.codes["nvmlInit_v2"] = 18
    with pytest.raises(DriverProblem) as error:
        rig.open()
    assert error.value.problem.detail == "library 590.48.01, kernel module 575.57.08"


def test_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    with pytest.raises(DriverProblem) as error:
        NvmlSource(tmp_path).open()
    assert (error.value.problem.id, error.value.problem.code) == ("driver-not-loaded", 12)
    assert error.value.problem.detail.startswith("library not found")


def test_a_library_from_before_nvml_had_versions(rig: Rig) -> None:
    rig.library.missing.add("nvmlInit_v2")
    with pytest.raises(DriverProblem) as error:
        rig.open()
    assert error.value.problem.id == "driver-too-old"


def test_no_cards(rig: Rig) -> None:
    rig.library.cards.clear()
    with pytest.raises(DriverProblem) as error:
        rig.open()
    assert error.value.problem.id == "no-devices"


@pytest.mark.parametrize(("code", "problem"), [(4, "no-permission"), (999, "container-lost-access")])
def test_all_cards_at_once(eight: Rig, code: int, problem: str) -> None:
    eight.library.codes["nvmlDeviceGetHandleByIndex_v2"] = code
    with pytest.raises(DriverProblem) as error:
        eight.open()
    assert error.value.problem.id == problem


# --- special cards


def unified(rig: Rig, answer: int) -> dict[str, Reading]:
    card = rig.library.card()
    card[D + "Name"] = "NVIDIA GB10"
    if answer:
        rig.library.codes.update({D + "MemoryInfo_v2": answer, D + "MemoryInfo": answer})
    return rig.first()


@pytest.mark.parametrize("answer", [0, 3])
def test_unified_memory_whatever_the_driver_says(rig: Rig, answer: int) -> None:
    readings = unified(rig, answer)
    for name in ("memory.total", "memory.used", "memory.free", "memory.reserved"):
        value = readings[name]
        assert isinstance(value, Absent), name
        assert value.why is Why.UNIFIED_MEMORY
    assert readings["memory.kind"] == "unified"
    assert readings["pcie.link.gen.current"] == Absent(Why.UNSUPPORTED, raw="on-chip")
    assert readings["temperature.gpu"] == 59


def mig_card(rig: Rig) -> None:
    card = rig.library.card()
    card[D + "MigMode"] = (1, 1)
    card[D + "MaxMigDeviceCount"] = 7
    card[D + "UtilizationRates"] = {"gpu": 0, "memory": 0}  # what NVIDIA says is undefined for MIG
    rig.library.codes[D + "EncoderUtilization"] = 3
    rig.library.codes[D + "BAR1MemoryInfo"] = 3
    rig.library.mig[0] = {0: mig_device(0, 2), 3: mig_device(1, 9)}
    card[D + "ComputeRunningProcesses_v3"] = [(4100, 512 * MIB, 9, 0)]


def mig_device(number: int, instance: int) -> dict[Any, Any]:
    return {
        D + "UUID": f"MIG-{number}",
        D + "Name": "NVIDIA H100 MIG 1g.10gb",
        D + "GpuInstanceId": instance,
        D + "ComputeInstanceId": 0,
        D + "Attributes_v2": {"multiprocessorCount": 16, "memorySizeMB": 9856},
        D + "MemoryInfo_v2": {"total": 9856 * MIB, "reserved": 0, "used": 16 * MIB, "free": 9840 * MIB},
    }


@pytest.fixture
def mig(rig: Rig) -> Rig:
    for name in ("UUID", "GpuInstanceId", "ComputeInstanceId", "Attributes_v2", "MaxMigDeviceCount"):
        rig.library.card().setdefault(D + name, None)
    mig_card(rig)
    return rig


def test_mig_devices_and_what_has_no_meaning_with_them(mig: Rig) -> None:
    mig.open()
    sampled = mig.sample()
    readings = sampled.readings
    assert readings["utilization.gpu"] == Absent(Why.MIG)
    assert readings["utilization.encoder"] == Absent(Why.MIG)
    bar1 = readings["memory.bar1.used"]
    assert isinstance(bar1, Absent)
    assert bar1.why is Why.MIG
    assert (readings["mig.mode.current"], readings["mig.devices"]) == ("Enabled", 2)
    assert sampled.mig is not None
    assert [(d.uuid, d.index, d.gpu_instance, d.multiprocessors, d.memory_total_mib) for d in sampled.mig] == [
        ("MIG-0", 0, 2, 16, 9856),
        ("MIG-1", 3, 9, 16, 9856),
    ]
    assert isinstance(sampled.processes, tuple)
    assert sampled.processes[0].mig_uuid == "MIG-1"


def test_a_parent_card_whose_memory_may_not_be_read(mig: Rig) -> None:
    mig.library.codes.update({(D + "MemoryInfo_v2", 0): 4, (D + "MemoryInfo", 0): 4})
    mig.open()
    sampled = mig.sample()
    assert sampled.readings["memory.total"] == Absent(Why.NO_PERMISSION, 4)
    assert sampled.mig is not None
    assert sampled.mig[0].memory_total_mib == 9856


def test_a_changed_mig_layout_is_seen_and_said(mig: Rig) -> None:
    mig.open()
    mig.sample()
    assert mig.source.events(0.0) == []
    mig.library.mig[0] = {0: mig_device(0, 2)}
    mig.now += 10
    sampled = mig.sample()
    assert sampled.mig is not None
    assert [device.uuid for device in sampled.mig] == ["MIG-0"]
    assert [event.what for event in mig.source.events(0.0)] == ["mig-layout-changed"]


def test_a_vgpu_guest(rig: Rig) -> None:
    rig.library.card()[D + "VirtualizationMode"] = 2
    rig.library.codes[D + "PowerUsage"] = 3
    for number in (185, 186):
        del rig.library.card()["fields"][number]
    readings = rig.first()
    assert readings["virtualization_mode"] == "VGPU"
    assert readings["power.draw"] == Absent(Why.VGPU, 3)


# --- throttle counters


def test_share_of_the_window_from_the_counters(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"us": 1_000_000_000}
    monkeypatch.setattr("tests.driver.nvml_library.time.time_ns", lambda: clock["us"] * 1000)
    rig.library.card()[D + "CurrentClocksEventReasons"] = 0x4
    readings = rig.first()
    assert not any(name.startswith("clocks_event_reasons_share") for name in readings)
    fields = rig.library.card()["fields"]
    fields[74] = (3, 1_250_000_000)  # 1.25 s of 5 s
    rig.now += 5
    clock["us"] += 5_000_000
    readings = dict(rig.sample().readings)
    assert readings["clocks_event_reasons_counters.sw_power_cap"] == 1_250_000  # µs, as nvidia-smi prints
    assert readings["clocks_event_reasons_share.sw_power_cap"] == 25.0
    assert readings["clocks_event_reasons_share.hw_thermal_slowdown"] == 0.0
    fields[74] = (3, 0)  # a reset is a new baseline, not a share
    rig.now += 5
    clock["us"] += 5_000_000
    assert rig.sample().readings["clocks_event_reasons_counters.sw_power_cap"] == 0


def test_a_field_that_contradicts_the_mask_is_another_field(rig: Rig) -> None:
    """Ids 269 to 271 have moved between header versions; a wrong one must not accuse a healthy card."""
    rig.first()
    rig.library.card()["fields"][270] = (3, 4_900_000_000)
    for second in range(5):
        rig.now += 1
        readings = rig.sample(slow=second == 4).readings
    counter = readings["clocks_event_reasons_counters.hw_thermal_slowdown"]
    assert counter == Absent(Why.UNSUPPORTED, raw=4_900_000_000)
    assert readings["clocks_event_reasons_share.hw_thermal_slowdown"] == counter


def test_a_field_that_agrees_with_the_mask_counts(rig: Rig) -> None:
    rig.first()
    rig.library.card()[D + "CurrentClocksEventReasons"] = 0x48
    rig.library.card()["fields"][270] = (3, 4_900_000_000)
    for second in range(5):
        rig.now += 1
        readings = rig.sample(slow=second == 4).readings
    assert readings["clocks_event_reasons_counters.hw_thermal_slowdown"] == 4_900_000


def test_a_narrow_field_is_not_a_counter(rig: Rig) -> None:
    rig.library.card()["fields"][271] = (1, 7)
    counter = rig.first()["clocks_event_reasons_counters.hw_power_brake_slowdown"]
    assert counter == Absent(Why.UNSUPPORTED)


def test_the_violation_getter_stands_in_for_the_fields(rig: Rig) -> None:
    for number in (74, 75, 76, 77, 79, 269):
        del rig.library.card()["fields"][number]
    rig.library.card()[D + "ViolationStatus", 0] = {"violationTime": 2_000_000_000, "referenceTime": 1}
    rig.library.card()[D + "ViolationStatus", 1] = {"violationTime": 3_000_000_000, "referenceTime": 1}
    readings = rig.first()
    assert readings["clocks_event_reasons_counters.sw_power_cap"] == 2_000_000
    assert readings["clocks_event_reasons_counters.sw_thermal_slowdown"] == 3_000_000


# --- processes


def processes(rig: Rig) -> Sampled:
    rig.open()
    return rig.sample()


def test_a_broken_process_list_is_said_to_be_unreliable(rig: Rig) -> None:
    """Driver 535.43.02: PIDs 0 and 4294967295 between the real ones (nvitop #75)."""
    rig.library.card()[D + "ComputeRunningProcesses_v3"] = [(4100, 9), (0, 4), (ONES_32, ONES_64)]
    sampled = processes(rig)
    assert sampled.readings["processes.state"] == "unreliable"
    assert sampled.processes == Absent(Why.IMPLAUSIBLE)


def test_an_older_version_of_the_list_may_still_be_right(rig: Rig) -> None:
    rig.library.card()[D + "ComputeRunningProcesses_v3"] = [(4100, 9), (0, 4)]
    rig.library.card()[D + "ComputeRunningProcesses_v2"] = [(4100, 9 * MIB)]
    sampled = processes(rig)
    assert sampled.readings["processes.state"] == "ok"
    assert isinstance(sampled.processes, tuple)
    assert [(process.pid, process.memory_mib) for process in sampled.processes] == [(4100, 9)]


def test_types_join_and_memory_that_is_not_given_is_absent(rig: Rig) -> None:
    rig.library.card()[D + "ComputeRunningProcesses_v3"] = [(4100, ONES_64), (4101, 0)]
    rig.library.card()[D + "GraphicsRunningProcesses_v3"] = [(4100, 7 * MIB)]
    sampled = processes(rig)
    assert isinstance(sampled.processes, tuple)
    assert [(p.pid, p.type, p.memory_mib) for p in sampled.processes] == [(4100, "C+G", 7), (4101, "C", 0)]


def test_a_long_list_is_asked_again_with_more_room(rig: Rig) -> None:
    rig.library.card()[D + "ComputeRunningProcesses_v3"] = [(pid, MIB) for pid in range(1, 101)]
    sampled = processes(rig)
    assert isinstance(sampled.processes, tuple)
    assert len(sampled.processes) == 100


def test_a_list_that_may_not_be_read(rig: Rig) -> None:
    for kind in ("Compute", "Graphics", "MPSCompute"):
        rig.library.codes[f"{D}{kind}RunningProcesses_v3"] = 4
    sampled = processes(rig)
    assert sampled.processes == Absent(Why.NO_PERMISSION, 4)
    assert sampled.readings["processes.state"] == Absent(Why.NO_PERMISSION, 4)


def test_utilization_per_process_counts_only_what_is_new(rig: Rig) -> None:
    now = time.time_ns() // 1000
    samples = rig.library.card()[D + "ProcessUtilization"]
    samples += [(11327, now - 3_600_000_000, 90), (11327, now - 100, 40), (11328, now - 50, 5000)]
    first = processes(rig)
    assert isinstance(first.processes, tuple)
    assert [process.sm_percent for process in first.processes] == [40, 0]  # the old and the impossible one left out
    rig.now += 5
    second = rig.sample()
    assert isinstance(second.processes, tuple)
    assert [process.sm_percent for process in second.processes] == [0, 0]  # NOT_FOUND: idle
    samples += [(11327, now + 5_000_000, 60), (11327, now + 6_000_000, 80)]
    rig.now += 5
    third = rig.sample()
    assert isinstance(third.processes, tuple)
    assert [process.sm_percent for process in third.processes] == [70, 0]


# --- events


def test_xid_events_name_the_card(eight: Rig) -> None:
    eight.open()
    eight.library.events.append((5, 0x8, 79))
    (event,) = eight.source.events(0.1)
    assert (event.what, event.gpu_uuid, event.detail) == ("xid", "GPU-00000005", "79")
    assert eight.source.events(0.1) == []
    assert eight.sample(5).readings["xid.events"] == "watched"


def test_an_error_of_the_wait_is_said_once_and_ends_it(eight: Rig) -> None:
    eight.open()
    eight.library.events.append(15)
    assert [event.what for event in eight.source.events(0.1)] == ["xid-events-ended"]
    for _ in range(10):
        assert eight.source.events(0.1) == []
    assert eight.library.calls["nvmlEventSetWait_v2"] == 1
    assert eight.sample(0).readings["xid.events"] == Absent(Why.LOST, 15)


def test_without_permission_there_are_no_events_and_the_reading_says_so(rig: Rig) -> None:
    rig.library.codes["nvmlDeviceRegisterEvents"] = 4
    rig.open()
    assert rig.source.events(0.1) == []
    assert rig.sample().readings["xid.events"] == Absent(Why.NO_PERMISSION, 4)
    assert rig.library.calls["nvmlEventSetWait_v2"] == 0


# --- asleep


def pci(rig: Rig, status: str, control: str = "auto") -> None:
    folder = rig.root / "sys/bus/pci/devices/0000:00:00.0"
    (folder / "power").mkdir(parents=True, exist_ok=True)
    (folder / "vendor").write_text("0x10de\n")
    (folder / "class").write_text("0x030200\n")
    (folder / "power/runtime_status").write_text(status + "\n")
    (folder / "power/control").write_text(control + "\n")


def test_a_suspended_card_is_not_woken_up(rig: Rig) -> None:
    pci(rig, "suspended")
    assert isinstance(rig.open().version, Absent)
    (card,) = rig.listed
    assert (card.state, card.uuid) == (State.ASLEEP, "PCI-0000:00:00.0")
    assert rig.sample().state is State.ASLEEP
    assert sum(rig.library.calls.values()) == 0
    pci(rig, "active")
    rig.listed = rig.source.cards()
    assert (rig.listed[0].state, rig.listed[0].uuid) == (State.OK, card.uuid)
    assert rig.sample().readings["temperature.gpu"] == 59


def test_a_card_that_falls_asleep_is_left_alone(rig: Rig) -> None:
    pci(rig, "active")
    rig.first()
    rig.sample()
    asked = rig.library.by_card[0]
    pci(rig, "suspended")
    sampled = rig.sample(slow=False)
    assert sampled.state is State.ASLEEP
    assert sampled.readings["temperature.gpu"] == Absent(Why.NOT_ASKED)
    assert rig.library.by_card[0] == asked


def test_rows_are_hashable_and_named() -> None:
    assert all(isinstance(row, Row) and row.ways for row in ROWS)
