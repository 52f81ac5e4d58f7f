"""The product on the stand-in driver: real watcher, real worker, real ctypes, a library that answers from a script."""

from __future__ import annotations

import json
import time
from ctypes.util import find_library
from pathlib import Path

import pytest

from gputui.model.reading import Absent, Why
from gputui.problems import Problem, say
from tests.driver import fake_readings
from tests.driver.steps import until
from tests.fake_driver.rig import Rig, gputui, playing
from tests.fake_driver.script import Script


def uuid(card: int) -> str:
    return f"GPU-7a1f0000-2222-4333-8444-0000000000{card + 1:02x}"


UUIDS = [uuid(card) for card in range(8)]
SHARE = "clocks_event_reasons_share.sw_power_cap"


@pytest.fixture
def play(monkeypatch, tmp_path, library):
    """Starts the watcher on a script: `with play(Script(…)) as rig`."""

    def start(script: Script, **options):
        return playing(monkeypatch, tmp_path, options.pop("library", library), script, **options)

    return start


def distinct_clocks(script: Script) -> Script:
    """Each card with an SM clock that no other has."""
    for card in range(len(script.profiles)):
        script.card(card, f"nvmlDeviceGetClockInfo(1) = {1000 + card}")
    return script


def moves_on(rig: Rig, uuids: list[str], samples: int = 4, within_s: float = 10.0) -> None:
    """These cards are read again and again."""
    before = rig.samples()
    rig.until(
        lambda: all(rig.samples()[uuid] >= before[uuid] + samples for uuid in uuids), within_s, "the others are read"
    )
    assert {rig.state(uuid) for uuid in uuids} == {"ok"}


@pytest.fixture
def eight(play):
    with play(fake_readings.script(), interval_s=1.0) as rig:
        rig.until(
            lambda: all(not isinstance(card.get(SHARE), Absent) for card in rig.frame().cards), 15.0, "shares known"
        )
        yield rig


def test_eight_cards_are_read_as_the_script_has_them(eight):
    script = fake_readings.script()
    assert [card.uuid for card in eight.frame().cards] == UUIDS
    assert [card.index for card in eight.frame().cards] == list(range(8))
    for number, card in enumerate(eight.frame().cards):
        expected = {
            name: pytest.approx(script.numbers(number, key)[item] * factor)
            for name, key, item, factor, _ in fake_readings.ROWS
        }
        expected |= fake_readings.WORDS | fake_readings.per_card(number)
        present = {name: value for name, value in card.readings.items() if not isinstance(value, Absent)}
        assert isinstance(present.pop("processes.hidden"), int)  # a matter of this machine
        growing = {name: present.pop(name) for name in fake_readings.GROWING}
        assert set(present) == set(expected)
        assert present == expected
        for name, (low, high) in fake_readings.GROWING.items():
            assert low <= growing[name] <= high, name
        absent = {name for name, value in card.readings.items() if isinstance(value, Absent)}
        assert absent == fake_readings.ABSENT
        assert [(one.pid, one.memory_mib, one.type) for one in card.processes] == [
            (11327, 57344, "C"),
            (11328, 1024, "C"),
        ]
    assert eight.fleet.driver.version == "590.48.01"
    assert eight.fleet.driver.cuda == "13.1"
    assert list(eight.fleet.events) == []


def test_status_as_json_has_the_same_values(tmp_path, library):
    script = fake_readings.script()
    done = gputui(tmp_path, library, script, "status", "--json")
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert [card["uuid"] for card in found["gpus"]] == UUIDS
    for number, card in enumerate(found["gpus"]):
        for name, key, item, factor, _ in fake_readings.ROWS:
            assert card["readings"][name]["value"] == pytest.approx(script.numbers(number, key)[item] * factor), name
        for name in fake_readings.ABSENT:
            assert card["readings"][name]["absent"] == "unsupported", name


def test_a_refresh_costs_at_most_twelve_calls_a_card(eight):
    before = {card: eight.calls(f"card {card}") for card in range(8)}
    samples = eight.samples()
    eight.until(lambda: all(count >= samples[uuid] + 10 for uuid, count in eight.samples().items()), 30.0)
    refreshes = eight.samples()
    for card in range(8):
        cost = (eight.calls(f"card {card}") - before[card]) / (refreshes[uuid(card)] - samples[uuid(card)])
        assert 0 < cost <= 12, f"card {card}: {cost:.1f} calls a refresh"


def test_a_lost_card_leaves_the_others_alone(play):
    script = Script("h100", count=8).card(1, "lost @2")
    with play(script) as rig:
        assert rig.state(uuid(1)) == "ok"
        rig.until(lambda: rig.state(uuid(1)) == "lost")
        lost = rig.card(uuid(1))
        assert lost.state_code == 15
        assert time.time() - 2 < lost.state_since <= time.time()
        asked = rig.calls("card 1")
        listed = rig.calls("nvmlDeviceGetCount_v2")
        moves_on(rig, [found for found in UUIDS if found != uuid(1)], samples=20)
        rig.until(lambda: rig.calls("nvmlDeviceGetCount_v2") >= listed + 2, 25.0, "listed again")
        assert rig.calls("card 1") - asked <= 4, "a lost card is left in peace"
        assert [card.index for card in rig.frame().cards] == list(range(8))
        assert rig.card(uuid(1)).state.value == "lost"
        assert rig.card(uuid(1)).state_since == lost.state_since
        assert [(event.what, event.gpu_uuid) for event in rig.fleet.events] == [("gpu-lost", uuid(1))]


def test_a_call_that_hangs_holds_up_its_card_only(play):
    script = Script("h100", count=8).card(1, "nvmlDeviceGetTemperature hangs @1")
    with play(script) as rig:
        rig.until(lambda: [call for call in rig.fleet.calls_under_way(time.monotonic()) if call[1] == uuid(1)])
        hung = time.monotonic()
        rig.until(lambda: rig.state(uuid(1)) == "not-answering", 3.0 + 1.0 + 0.5)
        assert time.monotonic() - hung < 4.0
        assert [(event.what, event.gpu_uuid, event.detail) for event in rig.fleet.events] == [
            ("not-answering", uuid(1), "nvmlDeviceGetTemperature")
        ]
        moves_on(rig, [found for found in UUIDS if found != uuid(1)])
        began = time.monotonic()
        rig.watcher.stop()
        assert rig.watcher.gone(1.0)
        assert time.monotonic() - began < 1.0


def test_a_card_that_goes_away_does_not_mix_the_histories(play):
    script = distinct_clocks(Script("h100", count=8)).card(2, "removed @2")
    with play(script) as rig:
        rig.until(lambda: rig.state(uuid(2)) != "ok", 15.0)
        rig.until(lambda: rig.card(uuid(7)).index == 6, 15.0, "indices moved up")
        left = [found for found in UUIDS if found != uuid(2)]
        moves_on(rig, left, samples=10)
        assert {found: rig.card(found).index for found in left} == {found: at for at, found in enumerate(left)}
        assert rig.state(uuid(2)) in ("missing", "lost")
        assert rig.card(uuid(2)).missing_since is not None
        for number, found in enumerate(UUIDS):
            points = list(rig.fleet.history(found).points("clocks.current.sm", 0.0))
            assert points
            assert {value for _, value in points} == {1000 + number}
        # The driver says "lost" to calls with the old handle, the listing then says that the card is gone.
        assert {event.what for event in rig.fleet.events} <= {"gpu-lost", "gpu-missing"}
        assert {event.gpu_uuid for event in rig.fleet.events} == {uuid(2)}
        assert len(rig.events("gpu-missing")) == 1


MOVING = (
    "nvmlDeviceGetClockInfo(1) = 300..1980/15",
    "nvmlDeviceGetClockInfo(2) = 405..2619/3",
    "nvmlDeviceGetTemperature(0) = 30..89",
    "nvmlDeviceGetUtilizationRates = 0..100 0..50",
    "nvmlDeviceGetMemoryInfo_v2 = 85520809984 18874368000..18884368000/4096 66144174080 502267904",
    "nvmlDeviceGetCurrentClocksEventReasons = 0 | 4 | 1 | 0x20",
    "nvmlDeviceGetComputeRunningProcesses_v3 = 11327 1048576..90000000/1048576 | 11327 0, 4 4096 | none",
    "field 185 u32 = 60000..700000/137",
    "field 186 u32 = 60000..700000/211",
)


def test_a_thousand_ticks_leave_nothing_behind(play):
    script = Script("h100", count=2).card("*", *MOVING)
    with play(script, interval_s=0.01) as rig:

        def after(samples: int) -> tuple[list[str], int]:
            rig.until(lambda: min(rig.samples().values()) >= samples, 60.0, f"{samples} samples")
            return descriptors(rig.watcher.pid), resident_kib(rig.watcher.pid)

        before, memory = after(300)
        later, memory_later = after(1400)
        assert later == before
        assert memory_later - memory < 512, f"{memory} KiB, then {memory_later} KiB"
        assert list(rig.fleet.events) == []


def descriptors(pid: int) -> list[str]:
    """What a process has open, by kind: the number of a pipe says nothing."""
    return sorted(str(entry.readlink()).partition(":[")[0] for entry in Path(f"/proc/{pid}/fd").iterdir())


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


STARTS = {
    "kernel module absent": (("nvmlInit_v2 = code 9",), Problem("driver-not-loaded", "", 9)),
    "mismatch": (
        ("nvmlInit_v2 = code 18",),
        Problem("driver-mismatch", "library 590.48.01, kernel module unknown", 18),
    ),
    "no permission": (("nvmlInit_v2 = code 4",), Problem("no-permission", "", 4)),
    "no cards": (("nvmlDeviceGetCount_v2 = 0",), Problem("no-devices")),
    "access lost": (("nvmlInit_v2 = code 999",), Problem("container-lost-access", "", 999)),
}


@pytest.mark.parametrize("case", STARTS)
def test_each_failure_to_start_has_its_sentence(tmp_path, library, case):
    if case == "mismatch" and Path("/proc/driver/nvidia/version").exists():
        pytest.skip("the sentence names the kernel module of this machine")
    lines, problem = STARTS[case]
    failed_with(gputui(tmp_path, library, Script("h100").system(*lines), "status"), problem)


def test_handles_that_all_fail_are_a_container_without_access(tmp_path, library):
    script = Script("h100", count=2).card("*", "nvmlDeviceGetHandleByIndex_v2 = code 999")
    failed_with(gputui(tmp_path, library, script, "status"), Problem("container-lost-access", "", 999))


@pytest.mark.skipif(find_library("nvidia-ml") is not None, reason="this machine has NVIDIA's own library")
def test_no_library_has_its_sentence(tmp_path):
    absent = tmp_path / "none" / "libnvidia-ml.so.1"
    failed_with(gputui(tmp_path, absent, Script("h100"), "status"), Problem("driver-not-loaded", "", 12))


def failed_with(done, problem: Problem) -> None:
    said = say(problem)
    assert done.returncode == 3
    assert said.sentence in done.stdout
    assert said.action in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_driver_that_never_starts_is_waited_for_and_left_at_once(play):
    with play(Script("h100").system("nvmlInit_v2 hangs"), cards=0) as rig:
        rig.until(lambda: (rig.frame().waiting_s or 0) > 1.0)
        assert [call[0] for call in rig.fleet.calls_under_way(time.monotonic())] == ["nvmlInit_v2"]
        began = time.monotonic()
        rig.watcher.stop()
        assert rig.watcher.gone(1.0)
        assert time.monotonic() - began < 1.0


def test_a_driver_of_2021_is_read_by_its_older_calls(play, library_470):
    script = Script("h100", count=2).card("*", "nvmlDeviceGetFieldValues = code 3")
    with play(script, library=library_470) as rig:
        card = rig.card(uuid(1))
        assert card.get("clocks_event_reasons.active") == ("sw_power_cap",)
        assert card.get("clocks_event_reasons.supported") != ()
        assert card.get("memory.used") == 63080 + 479
        assert card.get("memory.used.includes_reserved") == "yes"
        assert isinstance(card.get("memory.reserved"), Absent)
        assert card.get("memory.reserved").why is Why.OLD_DRIVER
        assert card.get("temperature.gpu.tlimit").why is Why.OLD_DRIVER
        assert card.get("power.draw") == 691.2
        assert card.get("power.draw.kind") == "average"
        assert card.get("ecc.mode.current") == "Enabled"
        assert [(one.pid, one.memory_mib) for one in card.processes] == [(11327, 57344), (11328, 1024)]
        assert list(rig.fleet.events) == []


def test_what_a_driver_prints_does_not_reach_the_pipe(play):
    script = Script("h100", count=2).card(
        "*", 'nvmlDeviceGetTemperature prints stdout "NVRM: odd {"', r'nvmlDeviceGetName prints stderr "odd\n"'
    )
    with play(script) as rig:
        moves_on(rig, UUIDS[:2], samples=10)
        assert list(rig.fleet.events) == []
        assert rig.fleet.restarts == 0


def test_an_xid_is_told_once(play):
    with play(Script("h100", count=2).card(1, "xid 79 @2")) as rig:
        rig.until(lambda: rig.events("xid"))
        moves_on(rig, UUIDS[:2], samples=8)
        assert [(event.gpu_uuid, event.detail) for event in rig.events("xid")] == [(uuid(1), "79")]


def test_odd_answers_are_no_numbers_and_stay_with_their_reading(play):
    script = Script("h100", count=2).card(
        1,
        r'nvmlDeviceGetName = "NVIDIA H\xF8100"',
        "nvmlDeviceGetClockInfo(1) = ones",
        "nvmlDeviceGetUtilizationRates = ones 3",
        "nvmlDeviceGetTemperature(0) = code 999",
        "nvmlDeviceGetComputeRunningProcesses_v3 = 11327 ones",
        "field 185 u32 = ones",
        "field 186 u32 = code 999",
    )
    with play(script) as rig:
        odd, healthy = rig.card(uuid(1)), rig.card(uuid(0))
        assert odd.name == "NVIDIA H\ufffd100"
        for name in ("clocks.current.sm", "utilization.gpu", "power.draw.average"):
            assert odd.get(name).why is Why.UNSUPPORTED
        for name in ("temperature.gpu", "power.draw.instant"):
            assert odd.get(name).why is Why.STALE
        assert odd.get("utilization.memory") == 3
        assert odd.state.value == "ok"
        assert isinstance(odd.processes[0].memory_mib, Absent)
        assert healthy.get("clocks.current.sm") == 1755
        assert healthy.get("power.draw.average") == 690.0


def test_more_processes_than_fit_are_all_listed(play):
    listed = ", ".join(f"{pid} 1048576" for pid in range(5000, 5100))
    with play(Script("h100").card(0, f"nvmlDeviceGetComputeRunningProcesses_v3 = {listed}")) as rig:
        assert [one.pid for one in rig.card(uuid(0)).processes] == list(range(5000, 5100))


def test_mig_devices_are_read(play):
    with play(Script("a100-mig", "h100")) as rig:
        card = rig.frame().cards[0]
        assert [(one.name.rpartition(" ")[2], one.multiprocessors, one.memory_total_mib) for one in card.mig] == [
            ("3g.40gb", 42, 40192),
            ("4g.40gb", 56, 40192),
        ]
        assert card.get("utilization.gpu").why is Why.MIG
        assert {one.pid: one.mig_uuid for one in card.processes} == {
            11327: card.mig[0].uuid,
            11328: card.mig[1].uuid,
        }
        assert rig.frame().cards[1].mig == ()


def test_a_slow_driver_is_read_at_its_own_pace(play):
    with play(Script("h100", count=2).card(1, "* latency 60")) as rig:
        until(lambda: rig.calls("card 1") > 20)
        moves_on(rig, [uuid(0)], samples=10)
        rig.until(lambda: rig.card(uuid(1)).samples >= 2, 20.0)
        assert rig.state(uuid(1)) == "ok"
