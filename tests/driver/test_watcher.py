"""The watcher with real workers: what the fleet says while they hang, die, babble or cannot be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gputui.model.wire import MAX_LINE
from tests.driver.steps import Watched, alive, spec, until, watched

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder through which a test steers its source; see sources.py."""
    monkeypatch.setenv("GPUTUI_TEST_FOLDER", str(tmp_path))
    return tmp_path


class Clock:
    """The real monotonic clock, which can be moved on."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead

    def pass_by(self, rig: Watched, seconds: int) -> None:
        """Let time pass as a screen sees it: a second a tick."""
        for _ in range(seconds):
            self.ahead += 1.0
            rig.watcher.tick()


def script(text: str) -> list[str]:
    """A stand-in worker."""
    return [sys.executable, "-c", f"import sys, time, os\n{text}"]


@contextmanager
def stand_in(command: list[str], **options: Any) -> Iterator[Watched]:
    rig = Watched("nvml", command=command, **options)
    rig.watcher.start()
    try:
        yield rig
    finally:
        rig.watcher.stop()
        assert rig.watcher.gone(5.0)


def frame(rig: Watched):
    return rig.fleet.frame(time.monotonic(), time.time())


def test_cards_arrive_with_driver_and_readings(folder):
    with watched("two_cards", 0.1) as rig:
        rig.until(lambda: [card.samples >= 3 for card in frame(rig).cards] == [True, True])
        assert [card.state.value for card in frame(rig).cards] == ["ok", "ok"]
        assert frame(rig).waiting_s is None
        assert rig.fleet.host == {"test.constant": 7}
        assert rig.watcher.fileno() is not None
        assert list(rig.fleet.events) == []


def test_a_card_that_hangs_does_not_answer_and_the_other_moves_on(folder):
    with watched("two_cards", 0.1) as rig:
        rig.until(lambda: rig.state("GPU-0") == "ok" and frame(rig).card("GPU-0").samples > 2)
        (folder / "hang-0").touch()
        began = time.monotonic()
        rig.until(lambda: rig.state("GPU-0") == "not-answering", 3.0 + 0.1 + 1.0 + 1.0)
        assert time.monotonic() - began > 2.5
        assert rig.state("GPU-1") == "ok"
        assert [(event.gpu_uuid, event.detail) for event in rig.fleet.events] == [("GPU-0", "nvmlDeviceGetPowerUsage")]
        assert frame(rig).card("GPU-0").get("clocks.current.sm") == 1000, "last values stay"
        assert frame(rig).card("GPU-0").age_s > 2.5
        moved = frame(rig).card("GPU-1").samples
        rig.until(lambda: frame(rig).card("GPU-1").samples > moved + 10)
        (folder / "hang-0").unlink()
        rig.until(lambda: rig.state("GPU-0") == "ok")
        moved = frame(rig).card("GPU-0").samples
        rig.until(lambda: frame(rig).card("GPU-0").samples > moved + 20)
        assert [event.what for event in rig.fleet.events] == ["not-answering", "answering-again"]
        assert rig.fleet.restarts == 0


def test_a_card_whose_every_call_is_slow_does_not_look_well_between_two(folder):
    with watched("SlowCalls", 0.1) as rig:
        rig.until(lambda: rig.state("GPU-0") == "not-answering")
        rig.until(lambda: (folder / "second-call").exists())
        (call,) = rig.until(lambda: [c for c in rig.fleet.calls_under_way(time.monotonic()) if c[0] == "second"])
        assert call[2] < 3.0
        rig.turn()
        assert rig.state("GPU-0") == "not-answering"
        assert len(rig.events("not-answering")) == 1


def test_listing_the_cards_may_hang_while_they_are_read(folder):
    (folder / "hang-list").touch()
    with watched("SlowList", 0.1) as rig:
        rig.until(lambda: rig.state("GPU-0") == "ok")
        (folder / "xid").touch()
        rig.until(lambda: [c for c in rig.fleet.calls_under_way(time.monotonic()) if c[2] > 3.5])
        assert rig.state("GPU-0") == rig.state("GPU-1") == "ok"
        assert rig.events("not-answering") == []


def test_a_driver_that_does_not_start_is_waited_for_and_left_at_once(folder):
    (folder / "hang-open").touch()
    with watched("two_cards") as rig:
        rig.until(lambda: rig.fleet.calls_under_way(time.monotonic()))
        first = frame(rig).waiting_s
        rig.until(lambda: frame(rig).waiting_s > first + 1)
        assert frame(rig).cards == ()
        assert frame(rig).problem is None
        began = time.monotonic()
        rig.watcher.stop()
        assert time.monotonic() - began < 0.1
        assert rig.watcher.gone(5.0)
        assert rig.watcher.fileno() is None
        rig.turn()


def test_no_driver_is_a_problem(folder):
    with watched("NoDriver") as rig:
        rig.until(lambda: rig.fleet.problem)
        assert rig.fleet.problem.id == "driver-not-loaded"
        assert frame(rig).waiting_s is None


def test_a_killed_worker_is_restarted_once_and_then_only_by_a_person(folder):
    clock = Clock()
    with watched("two_cards", 0.1, clock=clock) as rig:
        rig.until(lambda: rig.state("GPU-0") == "ok" and frame(rig).card("GPU-0").samples > 2)
        os.kill(rig.watcher.pid, signal.SIGKILL)
        died = time.monotonic()
        rig.until(lambda: rig.events("worker-died"))
        assert rig.events("worker-died")[0].detail == "killed by SIGKILL"
        assert rig.state("GPU-0") == rig.state("GPU-1") == "not-answering"
        assert not rig.fleet.worker_alive
        rig.until(lambda: rig.fleet.restarts == 1)
        assert time.monotonic() - died >= 2.0
        assert rig.state("GPU-0") == "not-answering", "a new worker alone proves nothing"
        rig.until(lambda: rig.state("GPU-0") == rig.state("GPU-1") == "ok")

        os.kill(rig.watcher.pid, signal.SIGKILL)
        rig.until(lambda: len(rig.events("worker-died")) == 2)
        clock.pass_by(rig, 600)
        assert rig.watcher.pid is None
        assert rig.fleet.restarts == 1
        assert rig.watcher.fileno() is None

        rig.watcher.restart()
        assert rig.watcher.pid
        clock.ahead = 0.0
        rig.until(lambda: rig.state("GPU-0") == rig.state("GPU-1") == "ok")
        assert rig.fleet.restarts == 2


def test_a_driver_that_takes_its_process_along_ends_in_a_problem(folder):
    clock = Clock()
    with watched("Crashing", clock=clock) as rig:
        rig.until(lambda: rig.events("worker-died"))
        assert rig.fleet.problem is None, "one restart is to come"
        clock.ahead += 2.0
        rig.until(lambda: rig.fleet.problem)
        assert rig.fleet.problem.id == "driver-not-answering"
        assert "SIGABRT" in rig.fleet.problem.detail
        assert len(rig.events("worker-died")) == 2
        assert frame(rig).waiting_s is None


def test_a_worker_that_cannot_be_started_is_said(folder):
    clock = Clock()
    rig = Watched("nvml", clock=clock, command=["/nonexistent/python"])
    rig.watcher.start()
    assert rig.events("worker-died")[0].detail == "could not be started: No such file or directory"
    clock.pass_by(rig, 5)
    assert rig.fleet.problem.id == "driver-not-answering"
    rig.watcher.stop()


def test_a_silent_worker_is_killed_and_replaced_once():
    clock = Clock()
    with stand_in(script("time.sleep(600)"), clock=clock) as rig:
        first = rig.watcher.pid
        clock.pass_by(rig, 9)
        assert rig.watcher.pid == first
        clock.pass_by(rig, 2)
        assert rig.events("worker-died")[0].detail.startswith("no heartbeat for 1")
        until(lambda: not alive(first))
        clock.pass_by(rig, 3)
        assert rig.watcher.pid not in (None, first)
        assert rig.fleet.restarts == 1
        clock.pass_by(rig, 30)
        assert rig.watcher.pid is None


def test_a_watcher_that_was_itself_held_up_blames_no_worker():
    clock = Clock()
    with stand_in(script("time.sleep(600)"), clock=clock) as rig:
        first = rig.watcher.pid
        clock.pass_by(rig, 5)
        clock.ahead += 3600
        clock.pass_by(rig, 9)
        assert rig.watcher.pid == first
        clock.pass_by(rig, 3)
        assert rig.watcher.pid is None


def test_a_library_that_holds_the_interpreter_is_a_silent_worker(folder):
    (folder / "hold-open").touch()
    clock = Clock()
    with watched("two_cards", clock=clock) as rig:
        rig.until(lambda: (folder / "opening").exists())
        rig.turn()
        clock.pass_by(rig, 12)
        assert rig.events("worker-died")[0].detail.startswith("no heartbeat for 1")
        (folder / "hold-open").unlink()
        clock.pass_by(rig, 2)
        clock.ahead = 0.0
        rig.until(lambda: rig.state("GPU-1") == "ok")


def test_three_workers_that_cannot_be_killed_are_enough(monkeypatch):
    monkeypatch.setattr(subprocess.Popen, "kill", lambda self: None)
    clock = Clock()
    rig = Watched("nvml", clock=clock, command=script("time.sleep(600)"))
    try:
        rig.watcher.start()
        for _ in range(6):
            rig.watcher.restart()
        assert len(rig.watcher.left_behind) == 3
        assert rig.watcher.pid is None
        assert "3 workers hang" in rig.events("worker-not-restarted")[0].detail
    finally:
        pids = rig.watcher.left_behind
        rig.watcher.stop()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    assert rig.watcher.gone(5.0)


def test_stop_does_not_wait_for_a_worker_that_cannot_be_killed(monkeypatch):
    monkeypatch.setattr(subprocess.Popen, "kill", lambda self: None)
    rig = Watched("nvml", command=script("time.sleep(600)"))
    rig.watcher.start()
    pid = rig.watcher.pid
    began = time.monotonic()
    rig.watcher.stop()
    assert time.monotonic() - began < 0.1
    assert rig.watcher.left_behind == [pid]
    assert not rig.watcher.gone(0.05)
    os.kill(pid, signal.SIGKILL)
    assert rig.watcher.gone(5.0)
    assert rig.watcher.left_behind == []


def test_lines_that_are_none_are_counted_and_too_many_end_the_worker():
    junk = script("for i in range(5): print('junk', flush=True)\ntime.sleep(600)")
    with stand_in(junk) as rig:
        rig.until(lambda: len(rig.events("worker-garbage")) == 5)
        assert rig.fleet.worker_alive
    with stand_in(script('while True: print(\'{"t":"sample","uuid":3}\', flush=True)')) as rig:
        rig.until(lambda: rig.events("worker-died"))
        assert len(rig.events("worker-garbage")) == 20
        assert rig.events("worker-died")[0].detail == "sent 20 lines that are no messages"


@pytest.mark.parametrize(
    "line",
    [
        r"b'\xff\xfe'",
        r"b'\0'",
        "b'[' * 100000",
        """b'{"t":"beat","mono":"x","wall":1,"calls":[]}'""",
        """b'{"t":"cards","mono":1,"wall":1,"cards":7}'""",
        """b'{"t":"cost"}'""",
    ],
)
def test_no_line_brings_the_watcher_down(line):
    with stand_in(script(f"sys.stdout.buffer.write({line} + b'\\n'); sys.stdout.flush(); time.sleep(600)")) as rig:
        rig.until(lambda: rig.events("worker-garbage"))
        assert rig.fleet.worker_alive


def test_a_line_without_end_is_dropped_and_the_next_is_read():
    hello = b'{"t":"hello","pid":77,"mono":0.0,"protocol":1}'
    text = f"sys.stdout.buffer.write(b'x' * {MAX_LINE + 200_000} + b' end\\n' + {hello!r} + b'\\n')"
    with stand_in(script(f"{text}\nsys.stdout.flush()\ntime.sleep(600)")) as rig:
        rig.until(lambda: rig.fleet._worker.pid == 77)
        assert [event.detail for event in rig.events("worker-garbage")] == [f"a line longer than {MAX_LINE} bytes"]


def test_a_worker_of_another_version_is_not_believed():
    hello = '{"t":"hello","pid":1,"mono":0.0,"protocol":999}'
    with stand_in(script(f"print({hello!r}, flush=True)\ntime.sleep(600)")) as rig:
        rig.until(lambda: rig.fleet.problem)
        assert "another version" in rig.fleet.problem.detail
        assert rig.watcher.pid is None


def test_the_interval_changes_within_its_limits(folder):
    with watched("one_card", 60.0) as rig:
        rig.until(lambda: rig.state("GPU-0") == "ok" and frame(rig).card("GPU-0").samples)
        rig.watcher.set_interval(0.01)
        assert rig.fleet.interval_s == 0.25
        rig.until(lambda: frame(rig).card("GPU-0").samples >= 6)
        rig.watcher.set_interval(1000)
        assert rig.fleet.interval_s == 60.0


def test_eight_cards_become_seven_and_no_history_mixes(folder):
    with watched("EightWithEvents", 0.05) as rig:
        rig.until(lambda: len(frame(rig).cards) == 8 and all(card.samples > 5 for card in frame(rig).cards))
        (folder / "gone").write_text("3")
        (folder / "xid").touch()
        rig.until(lambda: rig.state("GPU-3") == "missing")
        counts = {card.uuid: card.samples for card in frame(rig).cards}
        rig.until(
            lambda: all(card.samples > counts[card.uuid] + 25 for card in frame(rig).cards if card.uuid != "GPU-3")
        )
        cards = {card.uuid: card for card in frame(rig).cards}
        assert cards["GPU-3"].samples == counts["GPU-3"]
        assert cards["GPU-3"].missing_since is not None
        assert cards["GPU-4"].index == 3, "the driver's index has shifted"
        for number in range(8):
            history = rig.fleet.history(f"GPU-{number}")
            values = {value for _, value in history.points("clocks.current.sm", 0.0)}
            assert values == {1000.0 + number}
        (folder / "gone").unlink()
        (folder / "xid").touch()
        rig.until(lambda: rig.state("GPU-3") == "ok" and frame(rig).card("GPU-3").samples > counts["GPU-3"])
        assert [event.what for event in rig.fleet.events if event.what != "xid"] == ["gpu-missing", "gpu-back"]


PARENT = """
import json, os, sys, time
sys.path.insert(0, {root!r})
from tests.driver.steps import Watched
rig = Watched({spec!r}, 0.25)
rig.watcher.start()
print(rig.watcher.pid, flush=True)
"""


@pytest.mark.parametrize("driver", ["well", "hang-open", "hold-open"])
@pytest.mark.parametrize(
    ("end", "number"),
    [
        ("time.sleep(600)", signal.SIGKILL),
        ("time.sleep(600)", signal.SIGTERM),
        ("sys.stdin.read()", None),
        ("sys.stdin.read(); raise RuntimeError('a bug')", None),
        ("sys.stdin.read(); os._exit(3)", None),
    ],
    ids=["kill -9", "terminated", "normal", "exception", "at once"],
)
def test_the_worker_ends_with_its_parent(folder, end, number, driver):
    """Also while the driver hangs, and while a library holds the interpreter: then the kernel ends it."""
    (folder / driver).touch()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(root=str(ROOT), spec=spec("two_cards")) + end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    worker = int(parent.stdout.readline())
    until(lambda: (folder / "opening").exists())
    assert alive(worker)
    if number is None:
        parent.stdin.close()
    else:
        parent.send_signal(number)
    parent.wait(10)
    until(lambda: not alive(worker), 2.0, "worker gone")
    parent.stdin.close()
    parent.stdout.close()


def test_being_stopped_for_a_while_accuses_no_card(folder):
    """ctrl+z, then fg: the worker has gone on, its pipe has filled, and the first look must not find it silent."""
    report = folder / "report"
    loop = f"""
while True:
    rig.watcher.pump(); rig.watcher.tick()
    cards = rig.fleet.frame(time.monotonic(), time.time()).cards
    newest = max((c.sampled or 0) for c in cards) if cards else 0
    text = json.dumps([newest, [e.what for e in rig.fleet.events], [c.state.value for c in cards]])
    open({str(report)!r} + ".new", "w").write(text); os.replace({str(report)!r} + ".new", {str(report)!r})
    time.sleep(0.1)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(root=str(ROOT), spec=spec("two_cards")) + loop], stdout=subprocess.PIPE
    )
    try:
        worker = int(parent.stdout.readline())

        def seen_after(moment: float) -> bool:
            return report.exists() and json.loads(report.read_text())[0] > moment

        until(lambda: seen_after(0))
        parent.send_signal(signal.SIGSTOP)
        resume_at = time.monotonic() + 5.0
        until(lambda: time.monotonic() > resume_at)
        parent.send_signal(signal.SIGCONT)
        resumed = time.time()
        until(lambda: seen_after(resumed + 4.0), 15.0)
        _, events, states = json.loads(report.read_text())
        assert events == []
        assert states == ["ok", "ok"]
        assert alive(worker)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_descriptors_of_the_parent_stay_the_same_over_restarts(folder):
    with watched("one_card", 0.1) as rig:
        rig.until(lambda: rig.state("GPU-0") == "ok")
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            rig.watcher.restart()
            count = frame(rig).card("GPU-0").samples
            rig.until(lambda count=count: frame(rig).card("GPU-0").samples > count)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        assert rig.fleet.restarts == 5
        assert rig.events("worker-died") == []
