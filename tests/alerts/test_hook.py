"""The command for findings, with real processes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from gputui.alerts.hook import AT_ONCE, EVERY_S, FAILED, LIMIT_S, OnFinding
from gputui.model.finding import Finding, Severity
from gputui.session.document import finding_object
from tests.alerts.world import card, finding

WALL = 1_764_547_200.0


def script(code):
    """A command that runs this Python code."""
    return OnFinding([sys.executable, "-c", code])


def until(true, what, seconds=8.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def finished(hook, mono=0.0):
    """Poll until nothing runs; the events."""
    events = []

    def done():
        events.extend(hook.poll(mono, WALL))
        return not hook.pids

    until(done, "the command did not end")
    return events


def many(count):
    return [finding(card(index)) for index in range(count)]


def gone(pid):
    """Whether there is no such process any more, not even a dead one that nobody waited for."""
    return not Path(f"/proc/{pid}").exists()


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def stopping():
    hooks = []
    yield hooks.append
    for hook in hooks:
        hook.close()


def test_the_command_gets_the_finding_as_json(tmp_path, stopping):
    out = tmp_path / "out"
    hook = script(f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())")
    stopping(hook)
    one = finding(card())
    assert hook.offer([one], 0.0, WALL) == []
    assert finished(hook) == []
    assert json.loads(out.read_text()) == json.loads(json.dumps(finding_object(one)))
    assert out.read_text().count("\n") == 1


def test_there_is_no_shell_and_no_terminal(tmp_path, stopping):
    out = tmp_path / "out"
    code = f"import os,sys; open({str(out)!r}, 'w').write(repr((sys.argv[1:], os.getsid(0) == os.getpid())))"
    hook = OnFinding([sys.executable, "-c", code, "$HOME; touch x", "*"])
    stopping(hook)
    hook.offer(many(1), 0.0, WALL)
    finished(hook)
    assert out.read_text() == "(['$HOME; touch x', '*'], True)"


def test_a_command_that_reads_nothing_is_not_waited_for(stopping):
    """A finding larger than a pipe: writing it to one would block until the command read it."""
    large = Finding("hot", Severity.WARN, "x", evidence={"text": "y" * 1_000_000}, gpu_uuid="GPU-0")
    hook = script("import time; time.sleep(60)")
    stopping(hook)
    start = time.monotonic()
    hook.offer([large], 0.0, WALL)
    assert time.monotonic() - start < 5
    assert len(hook.pids) == 1


def test_what_it_prints_goes_nowhere(capfd, stopping):
    hook = script("import sys; print('out'); print('err', file=sys.stderr)")
    stopping(hook)
    hook.offer(many(1), 0.0, WALL)
    finished(hook)
    assert capfd.readouterr() == ("", "")


def test_at_most_once_a_minute_and_finding(tmp_path, stopping):
    hook = script(f"import os; open({str(tmp_path)!r} + '/' + str(os.getpid()), 'w')")
    stopping(hook)
    for mono in (0.0, 1.0, 30.0, EVERY_S - 1):
        hook.offer(many(2), mono, WALL)
        finished(hook, mono)
    assert len(list(tmp_path.iterdir())) == 2
    hook.offer(many(2), EVERY_S, WALL)
    finished(hook, EVERY_S)
    assert len(list(tmp_path.iterdir())) == 4


def test_no_more_than_four_at_once_and_none_is_lost(tmp_path, stopping):
    hook = script(
        f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\n"
        f"open({str(tmp_path)!r} + '/' + str(os.getpid()), 'w')"
    )
    stopping(hook)
    hook.offer(many(10), 0.0, WALL)
    assert len(hook.pids) == AT_ONCE
    hook.poll(1.0, WALL)
    assert len(hook.pids) == AT_ONCE
    (tmp_path / "go").touch()
    finished(hook, 2.0)
    assert len(list(tmp_path.iterdir())) == 11


def test_one_that_takes_too_long_is_killed_with_what_it_started(tmp_path, stopping):
    pids = tmp_path / "pids"
    hook = script(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})\ntime.sleep(300)"
    )
    stopping(hook)
    hook.offer(many(1), 0.0, WALL)
    until(pids.exists, "the command did not start")
    own, child = (int(word) for word in pids.read_text().split())
    assert hook.poll(LIMIT_S - 0.1, WALL) == []
    assert running(own)
    events = hook.poll(LIMIT_S, WALL) + finished(hook, LIMIT_S)
    assert [(event.what, event.detail) for event in events] == [(FAILED, "killed after 10 s")]
    assert gone(own)
    until(lambda: not running(child), "what the command started goes on")


def test_nothing_is_left_unreaped(stopping):
    hook = script("pass")
    stopping(hook)
    hook.offer(many(4), 0.0, WALL)
    pids = hook.pids
    assert len(pids) == 4
    finished(hook)
    assert [pid for pid in pids if not gone(pid)] == []


def test_a_failure_is_told_once(stopping):
    hook = script("raise SystemExit(3)")
    stopping(hook)
    hook.offer(many(1), 0.0, WALL)
    first = finished(hook)
    assert [(event.what, event.detail, event.gpu_uuid) for event in first] == [(FAILED, "exit code 3", None)]
    hook.offer(many(1), 100.0, WALL)
    assert finished(hook, 100.0) == []


def test_a_success_tells_nothing(stopping):
    hook = script("pass")
    stopping(hook)
    hook.offer(many(1), 0.0, WALL)
    assert finished(hook) == []


def test_a_command_that_is_not_there_is_an_event_without_its_name(tmp_path):
    hook = OnFinding([str(tmp_path / "secret-name")])
    (event,) = hook.offer(many(3), 0.0, WALL)
    assert event.what == FAILED
    assert event.detail.startswith("cannot be started: ")
    assert "secret" not in event.detail
    assert hook.pids == ()


def test_closing_ends_what_is_under_way(stopping):
    hook = script("import time; time.sleep(300)")
    stopping(hook)
    hook.offer(many(6), 0.0, WALL)
    pids = hook.pids
    hook.close()
    assert [pid for pid in pids if not gone(pid)] == []
    assert hook.poll(1.0, WALL) == []
    assert hook.pids == ()


def test_a_typed_command_is_split_once():
    hook = OnFinding.of(f"{sys.executable} -c 'print(1); print(2)' \"two words\"")
    assert hook.command == (sys.executable, "-c", "print(1); print(2)", "two words")
    assert OnFinding.of("  ") is None


@pytest.mark.parametrize(
    ("typed", "says"),
    [("mail 'oops", "never closed"), ("no-such-program-here x", "not a program"), ("/etc/passwd", "not a")],
)
def test_a_wrong_command_is_one_sentence(typed, says):
    with pytest.raises(ValueError, match=says):
        OnFinding.of(typed)


def test_a_figure_that_is_no_number_costs_the_figures_and_not_the_alert(tmp_path, stopping):
    out = tmp_path / "out"
    hook = script(f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())")
    stopping(hook)
    hook.offer([Finding("hot", Severity.WARN, "x", evidence={"c": float("nan")})], 0.0, WALL)
    finished(hook)
    assert json.loads(out.read_text())["evidence"] == {}


def test_no_open_files_are_left(stopping):
    hook = script("pass")
    stopping(hook)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for round_ in range(5):
        hook.offer(many(4), round_ * EVERY_S, WALL)
        finished(hook, round_ * EVERY_S)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
