"""Ending a process, with real ones. The card is a file that the process has open."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gputui.host.ending import Candidate, Ender, Outcome, candidate
from gputui.host.processes import Claim, ProcessWatch

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this Python has no pidfd_open")

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def until(true, what, seconds=8.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.fixture
def card(tmp_path):
    node = tmp_path / "nvidia0"
    node.touch()
    return node


@pytest.fixture
def start(card, tmp_path):
    started = []

    def starting(code="", opens=card, after=""):
        ready = tmp_path / f"ready{len(started)}"
        text = f"{code}\nheld = open({str(opens)!r})\nopen({str(ready)!r}, 'w').close()\n{after}\n"
        text += "import time\ntime.sleep(300)"
        child = subprocess.Popen([sys.executable, "-c", text])
        started.append(child)
        until(ready.exists, "the process did not start")
        return child

    yield starting
    for child in started:
        child.kill()
        child.wait()


def start_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    booted = int(re.search(r"^btime (\d+)", Path("/proc/stat").read_text(), re.MULTILINE)[1])
    return round(booted + int(fields[19]) / os.sysconf("SC_CLK_TCK"), 2)


def seen(child):
    return Candidate(child.pid, start_of(child.pid), os.getuid())


def refused(result, child, says):
    """Nothing was sent, it says why, and the process lives on."""
    assert result.outcome is Outcome.REFUSED
    assert says in result.sentence
    assert result.sentence.count(".") == 1
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.05)


def test_it_is_asked_first(start, card):
    child, ender = start(), Ender()
    assert ender.alive(seen(child))
    result = ender.end(seen(child), [card])
    assert result.outcome is Outcome.ASKED
    assert str(child.pid) in result.sentence
    assert child.wait(8) == -signal.SIGTERM
    assert not ender.alive(Candidate(child.pid, 0.0, os.getuid()))


def test_one_that_stays_can_be_killed_when_asked_again(start, card):
    child, ender = start(STUBBORN), Ender()
    who = seen(child)
    assert ender.end(who, [card]).outcome is Outcome.ASKED
    assert ender.was_asked(who)
    assert ender.alive(who)
    result = ender.end(who, [card], force=True)
    assert result.outcome is Outcome.KILLED
    assert child.wait(8) == -signal.SIGKILL


def test_killing_comes_never_first(start, card):
    child, ender = start(), Ender()
    refused(ender.end(seen(child), [card], force=True), child, "asked to end before")


def test_having_asked_one_allows_to_kill_no_other(start, card):
    first, second, ender = start(STUBBORN), start(), Ender()
    ender.end(seen(first), [card])
    refused(ender.end(seen(second), [card], force=True), second, "asked to end before")


def test_a_pid_that_came_back_is_another_process(start, card):
    """As if the one that was seen had started a second earlier, under the same number."""
    child, ender = start(), Ender()
    who = seen(child)
    refused(ender.end(replace(who, started=who.started - 1), [card]), child, "another process")
    refused(ender.end(replace(who, started=who.started + 0.05), [card]), child, "another process")


def test_one_that_let_go_of_the_card_is_left_alone(start, card, tmp_path):
    other = tmp_path / "nvidia1"
    other.touch()
    child, ender = start(opens=other), Ender()
    refused(ender.end(seen(child), [card]), child, "this card open")
    assert ender.end(seen(child), [card, other]).outcome is Outcome.ASKED


def test_a_renamed_device_node_is_known_by_its_number(start):
    child, ender = start(opens="/dev/zero"), Ender()
    refused(ender.end(seen(child), [Path("/dev/full")]), child, "this card open")
    assert ender.end(seen(child), [Path("/dev/zero")]).outcome is Outcome.ASKED


def test_a_card_without_a_node_cannot_be_checked(start, card, tmp_path):
    child, ender = start(), Ender()
    refused(ender.end(seen(child), [tmp_path / "none"]), child, "cannot be looked into")
    refused(ender.end(seen(child), []), child, "cannot be looked into")


def test_one_that_has_ended_is_gone(start, card):
    child, ender = start(), Ender()
    who = seen(child)
    child.kill()
    until(lambda: not ender.alive(who), "it did not end")
    assert ender.end(who, [card]).outcome is Outcome.GONE, "not reaped yet"
    child.wait()
    result = ender.end(who, [card])
    assert result.outcome is Outcome.GONE
    assert "ended already" in result.sentence


def test_what_belongs_to_another_is_not_touched(start, card):
    child, ender = start(), Ender()
    refused(ender.end(replace(seen(child), uid=os.getuid() + 1), [card]), child, "another user")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to start another user's process")
def test_root_ends_only_its_own(start, card):
    """Root may signal anybody; the rule is who owns it, and that is read again from the kernel."""
    child, ender = start(after="import os; os.setresuid(65534, 65534, 65534)"), Ender()
    status = Path(f"/proc/{child.pid}/status")
    until(lambda: "Uid:\t65534\t65534" in status.read_text(), "it did not change its user")
    refused(ender.end(seen(child), [card]), child, "another user")
    assert candidate(child.pid, start_of(child.pid)).uid == 65534


def test_nothing_of_this_program_is_ended(start, card):
    child = start()
    refused(Ender(own=frozenset({child.pid})).end(seen(child), [card]), child, "part of gputui")
    for pid in (os.getpid(), os.getppid(), 1, 0, -1):
        result = Ender().end(Candidate(pid, 0.0, os.getuid()), [card])
        assert result.outcome is Outcome.REFUSED


def test_without_pidfd_nothing_is_sent(start, card, monkeypatch):
    child = start()
    monkeypatch.delattr(os, "pidfd_open")
    refused(Ender().end(seen(child), [card]), child, "cannot pin")


def test_no_file_is_left_open(start, card):
    child, ender = start(STUBBORN), Ender()
    before = len(list(Path("/proc/self/fd").iterdir()))
    ender.end(seen(child), [card])
    ender.end(replace(seen(child), started=1.0), [card])
    ender.end(seen(child), [card], force=True)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_candidate_is_the_process_of_the_list(start, card):
    """The start time the process list shows identifies the process here: both read the same clock."""
    child = start()
    (listed,) = ProcessWatch().join([Claim(child.pid, "C", 1.0)], None, 0.0)
    facts = ProcessWatch()._facts(child.pid)
    assert listed.pid == child.pid
    assert candidate(child.pid, facts.started) == seen(child)
    assert candidate(child.pid, facts.started - 5) is None
    child.kill()
    child.wait()
    assert candidate(child.pid, facts.started) is None
