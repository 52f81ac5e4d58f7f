"""The worker as a process: what it writes, what it survives, and when it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gputui.driver.spawn import worker_command
from gputui.model.card import Event, Problem, State
from gputui.model.reading import Absent, Why
from gputui.model.wire import Beat, Cards, Cost, Hello, HostSample, Opened, Sample
from tests.driver.steps import alive, spec, until, worker


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder through which a test steers its source; see sources.py."""
    monkeypatch.setenv("GPUTUI_TEST_FOLDER", str(tmp_path))
    return tmp_path


def entries(pid: int, what: str) -> int:
    """How many descriptors ("fd") or threads ("task") a process has."""
    return len(list(Path(f"/proc/{pid}/{what}").iterdir()))


def times(path: Path) -> list[float]:
    return [float(line) for line in path.read_text().split()] if path.exists() else []


def test_first_comes_hello_then_driver_then_cards_then_a_full_reading_of_each(folder):
    with worker("two_cards") as pipe:
        pipe.wait(Sample, 2)
        pipe.wait(HostSample)
        kinds = [type(message) for message in pipe.messages if not isinstance(message, (Beat, Cost))]
        assert kinds == [Hello, Opened, Cards, Sample, Sample, HostSample]
        assert pipe.of(Hello)[0].pid == pipe.process.pid
        assert [card.uuid for card in pipe.of(Cards)[0].cards] == ["GPU-0", "GPU-1"]
        first = pipe.of(Sample)[0]
        assert first.changed == {
            "power.draw": 1.0,
            "clocks.current.sm": 1000,
            "fan.speed": 0,
            "power.limit": 450.0,
        }
        assert first.processes == ()


def test_only_what_changed_is_sent(folder):
    with worker("one_card", 0.05) as pipe:
        pipe.wait(Sample, 10)
        pipe.wait(Beat, 2)
        later = pipe.of(Sample)[1:]
        assert {tuple(sample.changed) for sample in later} == {("power.draw",)}
        assert {sample.processes for sample in later} == {None}
        assert len(pipe.of(Cards)) == 1
        assert len(pipe.of(HostSample)) == 1


def test_ticks_are_on_the_grid_and_their_cost_is_told(folder):
    with worker("two_cards", 0.25) as pipe:
        cost = pipe.wait(Cost, within_s=12)
        assert cost.cpu_s > 0
        assert cost.poll_s > 0
        assert cost.calls > 0
        pipe.wait(Sample, 30)
        late = sorted((sample.mono - 0.1) % 0.25 for sample in pipe.of(Sample) if sample.uuid == "GPU-0")
        assert late[len(late) // 2] < 0.1, "half of the ticks are later than that after their grid point"


def test_all_cards_of_a_tick_leave_in_one_write():
    def writes(pid: int) -> int:
        words = Path(f"/proc/{pid}/io").read_text().split()
        return int(words[words.index("syscw:") + 1])

    with worker("eight_cards", 0.1) as pipe:
        pipe.wait(Sample, 16)
        before, sampled = writes(pipe.process.pid), len(pipe.of(Sample))
        pipe.wait(Sample, sampled + 160)
        per_tick = (writes(pipe.process.pid) - before) / 20
        assert per_tick < 5, "one to the pipe, one to wake the writer, heartbeats"


def test_many_cards_need_few_threads():
    with worker("sixty_four_cards", 0.25) as pipe:
        pipe.wait(Sample, 64 * 4)
        assert {sample.uuid for sample in pipe.of(Sample)} == {f"GPU-{number}" for number in range(64)}
        assert entries(pipe.process.pid, "task") <= 6


def test_a_card_that_hangs_is_named_by_the_heartbeat_and_stops_nobody_else(folder):
    with worker("two_cards", 0.1) as pipe:
        pipe.wait(Sample, 4)
        (folder / "hang-0").touch()
        beat = pipe.wait(Beat, also=lambda beat: beat.calls != ())
        (call,) = beat.calls
        assert (call.name, call.uuid) == ("nvmlDeviceGetPowerUsage", "GPU-0")
        hung_since = call.since
        count = len(pipe.of(Sample))
        pipe.wait(Sample, count + 10)
        assert {sample.uuid for sample in pipe.of(Sample)[count + 1 :]} == {"GPU-1"}
        again = pipe.wait(Beat, also=lambda beat: beat.mono > hung_since + 1 and beat.calls != ())
        assert again.calls[0].since == hung_since
        (folder / "hang-0").unlink()
        known = len([sample for sample in pipe.of(Sample) if sample.uuid == "GPU-0"])
        back = pipe.wait(Sample, known + 1, also=lambda sample: sample.uuid == "GPU-0")
        assert back.mono <= hung_since, "it is dated by its beginning"
        place = pipe.messages.index(back)
        before = pipe.messages[place - 1]
        assert isinstance(before, Beat), "a heartbeat goes in front of the late reading"
        assert before.calls == (), "so that the call that came back is no longer under way"


def test_every_card_may_hang_and_each_is_asked_once(folder):
    for number in range(8):
        (folder / f"hang-{number}").touch()
    with worker("eight_cards", 0.1) as pipe:
        beat = pipe.wait(Beat, also=lambda beat: len(beat.calls) == 8)
        assert {call.uuid for call in beat.calls} == {f"GPU-{number}" for number in range(8)}
        pipe.wait(Beat, len(pipe.of(Beat)) + 2)
        assert [len(times(folder / f"samples-{number}")) for number in range(8)] == [1] * 8
        assert entries(pipe.process.pid, "task") <= 8 + 4
        for number in range(8):
            (folder / f"hang-{number}").unlink()
        for number in range(8):
            pipe.wait(Sample, 3, also=lambda sample, number=number: sample.uuid == f"GPU-{number}")
        until(lambda: entries(pipe.process.pid, "task") <= 5, what="spare threads end")


def test_a_driver_that_does_not_start_is_named_while_it_is_waited_for(folder):
    (folder / "hang-open").touch()
    with worker("one_card") as pipe:
        beat = pipe.wait(Beat, also=lambda beat: beat.calls != ())
        assert (beat.calls[0].name, beat.calls[0].uuid) == ("nvmlInit_v2", None)
        assert pipe.of(Opened) == []
        pipe.process.stdin.close()
        assert pipe.process.wait(2) == 0


def test_it_ends_when_its_input_ends_and_when_nobody_reads(folder):
    with worker("one_card") as pipe:
        pipe.wait(Sample)
        pipe.process.stdin.close()
        assert pipe.process.wait(2) == 0
    with worker("one_card") as pipe:
        pipe.wait(Sample)
        pipe.process.stdout.close()
        assert pipe.process.wait(2) == 0


def test_it_is_not_ended_by_what_a_terminal_sends(folder):
    with worker("one_card", 0.1) as pipe:
        pipe.wait(Sample)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTSTP):
            pipe.process.send_signal(number)
        pipe.wait(Sample, len(pipe.of(Sample)) + 3)


def test_what_a_library_prints_reaches_nobody(folder, capfd):
    with worker("Noisy", 0.05) as pipe:
        pipe.wait(Sample, 60, within_s=20)
        assert {len(cards.cards) for cards in pipe.of(Cards)} == {2}
        log = Path(f"/proc/{pipe.process.pid}/fd/2").read_bytes()
        assert b"HAMI-core" in log
        assert len(log) <= 64 * 1024
    assert capfd.readouterr() == ("", "")


def test_no_driver_is_a_problem_and_the_worker_waits_to_be_ended(folder):
    with worker("NoDriver") as pipe:
        assert pipe.wait(Problem) == Problem("driver-not-loaded", "NVML 9", 9)
        pipe.wait(Beat, len(pipe.of(Beat)) + 1)


def test_an_unknown_source_is_a_problem_not_a_crash():
    process = subprocess.run(
        worker_command("nonsense", 1.0), stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
    )
    assert process.returncode == 0
    assert process.stderr == b""


def test_a_fault_of_ours_is_reported_once_and_held_against_no_card(folder):
    with worker("Broken", 0.05) as pipe:
        pipe.wait(Sample, 10)
        assert {sample.uuid for sample in pipe.of(Sample)} == {"GPU-1"}
        assert [event.detail for event in pipe.of(Event)] == ["RuntimeError: a bug of ours"]
        assert pipe.of(Event)[0].gpu_uuid is None


def test_not_a_number_is_implausible(folder):
    with worker("NotANumber", 0.05) as pipe:
        sample = pipe.wait(Sample)
        assert sample.changed == {"power.draw": Absent(Why.IMPLAUSIBLE, raw="nan"), "temperature.gpu": 40}
        assert pipe.wait(Sample, 4).changed == {}, "and it is the same reading again"


def test_the_interval_can_change(folder):
    with worker("one_card", 60.0) as pipe:
        pipe.wait(Sample)
        pipe.wait(Beat, len(pipe.of(Beat)) + 2)
        assert len(pipe.of(Sample)) <= 2, "the first, and perhaps the minute"
        pipe.order(interval=0.05)
        pipe.wait(Sample, 10)


def test_it_sends_everything_again_when_asked(folder):
    with worker("one_card", 0.05) as pipe:
        pipe.wait(Sample, 3)
        pipe.order(resample=True)
        again = pipe.wait(Sample, 2, also=lambda sample: "clocks.current.sm" in sample.changed)
        assert "power.limit" in again.changed
        assert again.processes == ()
        pipe.wait(Cards, 2)


def test_orders_that_are_none_are_survived(folder):
    with worker("one_card", 0.05) as pipe:
        pipe.wait(Sample)
        pipe.process.stdin.write(b'nonsense\n[]\n{"interval":"x"}\n{"interval":null}\n')
        pipe.wait(Event)
        pipe.wait(Sample, len(pipe.of(Sample)) + 3)


def test_a_lost_card_is_told_at_once_and_then_left_alone(folder):
    with worker("two_cards", 0.05) as pipe:
        pipe.wait(Sample, 4)
        listings = len(times(folder / "listings"))
        (folder / "lost-0").touch()
        lost = pipe.wait(Sample, also=lambda sample: sample.state is State.LOST)
        assert lost.code == 15
        until(lambda: len(times(folder / "listings")) > listings, 2.0, "the cards are listed again")
        asked = len(times(folder / "samples-0"))
        pipe.wait(Sample, len(pipe.of(Sample)) + 20, also=None)
        assert len(times(folder / "samples-0")) == asked
        assert len([sample for sample in pipe.of(Sample) if sample.state is State.LOST]) == 1


def test_a_card_gone_from_the_list_is_not_read_again_and_its_late_answer_is_dropped(folder):
    with worker("Xid", 0.05) as pipe:
        pipe.wait(Sample, 4)
        (folder / "hang-0").touch()
        pipe.wait(Beat, also=lambda beat: beat.calls != ())
        (folder / "gone").write_text("0")
        (folder / "xid").touch()
        listing = pipe.wait(Cards, 2)
        assert [card.uuid for card in listing.cards] == ["GPU-1"]
        (folder / "hang-0").unlink()
        count = len(pipe.of(Sample))
        pipe.wait(Sample, count + 10)
        place = pipe.messages.index(listing)
        assert "GPU-0" not in [m.uuid for m in pipe.messages[place:] if isinstance(m, Sample)]
        (folder / "gone").unlink()
        (folder / "xid").touch()
        pipe.wait(Cards, 3)
        back = pipe.wait(Sample, also=lambda sample: sample.uuid == "GPU-0" and sample.mono > listing.mono)
        assert "clocks.current.sm" in back.changed, "one that returns is sent in full"


def test_an_event_is_passed_on(folder):
    (folder / "xid").touch()
    with worker("Xid") as pipe:
        event = pipe.wait(Event)
        assert (event.what, event.gpu_uuid, event.detail) == ("xid", "GPU-0", "79")


def test_a_failing_wait_for_events_is_no_busy_loop(folder):
    with worker("BadEvents", 0.05) as pipe:
        pipe.wait(Sample, 40)
        assert len(times(folder / "event-waits")) == 1
        assert [event.detail for event in pipe.of(Event)] == ["OSError: NVML 15"]


def test_a_thousand_ticks_keep_descriptors_and_memory():
    def kib(pid: int) -> int:
        words = Path(f"/proc/{pid}/status").read_text().split()
        return int(words[words.index("VmRSS:") + 1])

    with worker("two_cards", 0.005) as pipe:
        pipe.wait(Sample, 400, within_s=20)
        pid = pipe.process.pid
        descriptors, before = entries(pid, "fd"), kib(pid)
        pipe.wait(Sample, 2400, within_s=40)
        assert entries(pid, "fd") == descriptors
        assert kib(pid) - before < 300


def test_a_parent_that_does_not_read_costs_no_driver_calls_and_no_memory(folder):
    with worker("eight_cards", 0.005) as pipe:
        until(lambda: len(times(folder / "samples-0")) > 100, 20)

        def stands_still() -> bool:
            size = (folder / "samples-0").stat().st_size
            pause = time.monotonic() + 0.5
            until(lambda: time.monotonic() > pause)
            return (folder / "samples-0").stat().st_size == size

        until(stands_still, 60, "sampling stops when the backlog is full")
        now = time.monotonic()
        pipe.wait(Sample, also=lambda sample: sample.mono > now)
        sizes = [sample.changed["power.draw"] for sample in pipe.of(Sample)]
        assert sizes == sorted(sizes), "nothing was dropped on the way"
        pipe.process.stdin.close()
        assert pipe.process.wait(2) == 0


@pytest.mark.parametrize("name", ["pynvml.py", "json.py", "select.py", "typing.py", "gputui/__init__.py"])
def test_files_in_the_current_folder_are_not_imported(name, tmp_path, monkeypatch):
    trap = tmp_path / name
    trap.parent.mkdir(exist_ok=True)
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\nraise SystemExit(9)\n")
    here = Path.cwd()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend("")
    monkeypatch.syspath_prepend(str(tmp_path))
    command = worker_command(spec("one_card"), 0.1)
    monkeypatch.chdir(here)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    assert b'"hello"' in process.stdout.readline()
    process.stdin.close()
    assert process.wait(5) == 0
    assert process.stderr.read() == b""
    assert not (tmp_path / "sprung").exists()
    process.stdout.close()
    process.stderr.close()


def test_it_also_runs_as_a_module(folder):
    command = [sys.executable, "-m", "gputui.driver.worker", "--source", spec("one_card"), "--interval", "0.1"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert b'"hello"' in process.stdout.readline()
    process.stdin.close()
    assert process.wait(5) == 0
    process.stdout.close()
    assert not alive(process.pid)


def test_it_loads_nothing_heavy():
    code = (
        "import sys, gputui.driver.worker, gputui.driver.watcher;"
        "heavy = {'asyncio', 'textual', 'argparse', 'logging', 'pynvml', 'psutil', 'tempfile'};"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""
