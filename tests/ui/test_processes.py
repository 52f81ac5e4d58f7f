"""The processes view, and ending a process of one's own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gputui.host.ending import _facts
from gputui.model.card import Process
from gputui.settings.schema import Settings
from gputui.ui.screens.processes import ProcessesScreen
from tests.ui.stage import drawn, stage


@pytest.fixture
def child(tmp_path):
    """A process of ours that has a file open, in the place of a card's device file."""
    device = tmp_path / "nvidia0"
    device.write_text("")
    code = f"import time; held = open({str(device)!r}); print('ready', flush=True); time.sleep(120)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process, device
    process.kill()
    process.wait()


def put(one, pid: int, here: bool | None = True, started: float | None = None) -> None:
    """The card runs this process now, on a host that is not simulated."""
    facts = _facts(Path("/proc"), pid)
    began = started if started is not None else facts.started
    listed = Process(pid, "C", "python", 100, here, started=began, user="me", command="python job.py")
    member = next(iter(one.fleet._members.values()))
    member.processes = (listed,)
    one.fleet.simulated = False


async def test_p_lists_processes_of_all_cards_and_keys_move():
    async with stage("h100x8", 30, keys=("p",)) as (one, pilot):
        assert isinstance(one.app.screen, ProcessesScreen)
        first = one.app.screen.selected
        await pilot.press("j")
        assert one.app.screen.selected.key != first.key
        await pilot.press("end")
        last = one.app.screen.selected
        await pilot.press("down")
        assert one.app.screen.selected.key == last.key
        await pilot.press("home")
        assert one.app.screen.selected.key == first.key
        await drawn(one, pilot)
        assert one.has(str(first.process.pid))
        await pilot.press("escape")
        assert not isinstance(one.app.screen, ProcessesScreen)


async def test_ending_asks_twice_and_then_the_process_ends(child):
    process, device = child
    async with stage("rtx4090", 30) as (one, pilot):
        one.app.nodes = lambda card: [device]
        put(one, process.pid)
        await pilot.press("p")
        await drawn(one, pilot)
        await pilot.press("X")
        await drawn(one, pilot)
        assert one.has(f"Press X again to ask PID {process.pid}")
        assert process.poll() is None
        await pilot.press("X")
        await drawn(one, pilot)
        assert one.has("was asked to end")
        assert process.wait(timeout=20) == -15


async def test_a_second_press_that_comes_late_asks_again(child):
    process, device = child
    async with stage("rtx4090", 30) as (one, pilot):
        one.app.nodes = lambda card: [device]
        put(one, process.pid)
        await pilot.press("p", "X")
        one.clock.elapsed += 11
        await pilot.press("X")
        assert "Press X again" in one.app.note
        assert process.poll() is None


async def test_one_that_does_not_have_the_card_open_is_left_alone(child, tmp_path):
    process, _device = child
    other = tmp_path / "nvidia1"
    other.write_text("")
    async with stage("rtx4090", 30) as (one, pilot):
        one.app.nodes = lambda card: [other]
        put(one, process.pid)
        await pilot.press("p", "X", "X")
        assert "does not have this card open" in one.app.note
        assert process.poll() is None


@pytest.mark.parametrize(
    ("here", "shift", "words"),
    [(False, 0.0, "outside"), (None, 0.0, "cannot be looked into"), (True, 5.0, "ended already")],
)
async def test_one_outside_or_another_with_its_number_is_left_alone(child, here, shift, words):
    process, device = child
    async with stage("rtx4090", 30) as (one, pilot):
        one.app.nodes = lambda card: [device]
        put(one, process.pid, here, _facts(Path("/proc"), process.pid).started + shift)
        await pilot.press("p", "X", "X")
        assert words in one.app.note
        assert process.poll() is None


async def test_a_simulated_process_is_no_process():
    async with stage("rtx4090", 30, keys=("p", "X")) as (one, _pilot):
        assert one.has("is simulated")


async def test_readonly_has_no_such_key(child):
    process, device = child
    async with stage("rtx4090", 30, settings=replace(Settings(), readonly=True), size=(120, 40)) as (one, pilot):
        one.app.nodes = lambda card: [device]
        put(one, process.pid)
        await pilot.press("p")
        await drawn(one, pilot)
        assert not one.has("end process")
        await pilot.press("X", "X")
        assert process.poll() is None
        assert one.app.note == ""
        await pilot.press("question_mark")
        await drawn(one, pilot)
        assert not one.has("asks twice")


async def test_h_shows_and_hides_the_machine():
    async with stage() as (one, pilot):
        assert not one.has("waits for CPU")
        await pilot.press("h")
        await drawn(one, pilot)
        assert one.has("waits for CPU")
        assert one.has("GiB")
        await pilot.press("i")
        await drawn(one, pilot)
        assert one.has("waits for CPU")
        assert one.has("of a core")
        await pilot.press("h")
        await drawn(one, pilot)
        assert not one.has("waits for CPU")


@pytest.mark.parametrize("width", [20, 40, 80, 120, 300])
def test_the_machine_fits_every_width_and_says_only_what_is_known(width):
    from gputui.model.reading import Absent, Why
    from gputui.ui.draw.host import host_row
    from gputui.ui.draw.rows import width_of
    from tests.ui.stage import Stage

    one = Stage("rtx4090", 10)
    row = host_row(one.fleet.host, width)
    assert width_of(row) == width
    nothing = host_row({name: Absent(Why.UNSUPPORTED) for name in one.fleet.host}, width)
    assert width_of(nothing) == width
    assert "0" not in "".join(text for text, _role in nothing)
    if width >= 120:
        text = "".join(text for text, _role in row)
        assert "CPU 38 % of 16 cores" in text
        assert "disk 84 MB/s r" in text
        assert "net 1 MB/s" in text


def test_a_machine_that_is_short_of_cpu_is_marked():
    from gputui.ui.draw.host import host_row

    row = host_row({"host.cpu.percent": 99.0, "host.pressure.cpu": 40.0}, 100)
    assert ("waits for CPU 40 %", "warn") in row
    calm = host_row({"host.cpu.percent": 40.0, "host.pressure.cpu": 0.2}, 100)
    assert all(role != "warn" for _text, role in calm)
