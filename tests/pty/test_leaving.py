"""Every way of leaving: the terminal as it was, no process behind, a truthful exit code."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.pty.harness import ROOT, children_of, gone, process_stat
from tests.pty.screen import Screen

pytestmark = pytest.mark.pty
FIGURES = "MHz"


def running(terminal, *arguments, **options):
    """The dashboard on a simulated host, with figures on the screen."""
    one = terminal("--demo", *arguments, **options)
    one.wait_for(FIGURES, 15)
    one.workers = children_of(one.pid)
    assert one.workers
    return one


@pytest.mark.parametrize("key", ["q", "\x03"], ids=["q", "ctrl+c"])
def test_quit(terminal, key):
    one = running(terminal)
    began = time.monotonic()
    one.press(key)
    assert one.wait_end(5) == 0
    assert time.monotonic() - began < 1.5
    one.assert_restored()
    assert gone(one.workers)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else "",
)
def test_a_signal_restores_the_terminal(terminal, number, code):
    one = running(terminal)
    os.kill(one.pid, number)
    assert one.wait_end(5) == code
    one.assert_restored()
    assert gone(one.workers)


@pytest.mark.parametrize("after_ms", range(20, 620, 60))
def test_a_signal_at_any_moment_of_the_start(terminal, after_ms):
    one = terminal("--demo")
    one.pump(0.05 + after_ms / 1000)
    os.kill(one.pid, signal.SIGTERM)
    assert one.wait_end(5) == 143
    one.assert_restored()


def test_kill_9_leaves_no_worker(terminal):
    one = running(terminal)
    os.kill(one.pid, signal.SIGKILL)
    assert one.wait_end(5) == 137
    assert gone(one.workers)


@pytest.mark.parametrize("ignored", [False, True], ids=["hang-up", "hang-up ignored"])
def test_the_terminal_goes_away(terminal, ignored):
    def ignore() -> None:
        if ignored:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    one = running(terminal, before=ignore)
    os.close(one.fd)
    one.fd = os.open(os.devnull, os.O_RDWR)
    until = time.monotonic() + 6
    status = 0
    while time.monotonic() < until:
        pid, status = os.waitpid(one.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
    else:
        raise AssertionError("still running 6 s after the terminal went away")
    one.status = os.waitstatus_to_exitcode(status)
    assert one.status in (129, -signal.SIGHUP)
    assert gone(one.workers)


def test_suspend_and_return(terminal):
    one = running(terminal)
    one.press("\x1a")
    one.wait_for(lambda: (process_stat(one.pid) or ("", 0))[0] == "T", 5)
    one.pump(0.2)  # its last words may have come after the last look
    one.assert_restored()
    seen = len(one.output)
    os.kill(one.pid, signal.SIGCONT)
    one.wait_for(FIGURES, 8, since=seen)
    again = Screen(*one.size).feed(one.output[seen:])
    assert again.lines[0].lstrip().startswith("gputui")
    assert " q quit" in again.lines[-1]
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


CRASH = """
import sys
from gputui.ui.screens import dashboard
def broken(self):
    if self.dashboard.shown.cards and self.dashboard.shown.cards[0].samples > 1:
        raise RuntimeError("a mistake of ours")
    return original(self)
original = dashboard.DashboardScreen.draw
dashboard.DashboardScreen.draw = broken
from gputui.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_crash_is_one_sentence_a_log_and_exit_1(terminal, tmp_path):
    import sys

    one = terminal("--demo", command=[sys.executable, "-c", CRASH])
    assert one.wait_end(15) == 1
    one.assert_restored()
    assert "Traceback" not in one.text()
    log = tmp_path / "state" / "gputui" / "crash.log"
    assert str(log) in one.text().replace("\r\n", "")
    assert "a mistake of ours" in log.read_text()


def test_no_driver_says_so_and_exits_3(terminal):
    one = terminal()
    one.wait_for("libnvidia-ml.so.1", 10)
    one.press("q")
    assert one.wait_end(5) == 3
    one.assert_restored()


def test_no_driver_then_the_simulated_host(terminal):
    one = terminal()
    one.wait_for("libnvidia-ml.so.1", 10)
    one.press("d")
    one.wait_for("SIMULATED", 10)
    one.wait_for(FIGURES, 10)
    one.press("q")
    assert one.wait_end(5) == 0
    assert gone(children_of(one.pid))


def test_quitting_a_slow_link_does_not_wait_for_it(terminal):
    one = running(terminal, "h100x8", bytes_per_s=10_000)
    one.pump(3)
    began = time.monotonic()
    one.press("q")
    assert one.wait_end(4) == 0
    assert time.monotonic() - began < 1.5
    one.pump(3)
    one.assert_restored()


def test_a_stalled_terminal_is_up_to_date_when_it_comes_back(terminal):
    one = running(terminal, "h100x8", "--interval", "0.25")
    one.pump(1)
    for _ in range(15):  # nobody reads, and every key draws a screen
        one.press("?")
        time.sleep(0.1)
        one.press("\x1b")
        time.sleep(0.2)
    before = len(one.output)
    one.wait_for(lambda: time.strftime("%H:%M:%S", time.gmtime()) in "\n".join(one.screen().lines), 5)
    assert len(one.output) - before < 150_000  # what the kernel holds, a few screens, and the whole one
    one.pump(0.5)
    lines = one.screen().lines
    assert lines[0].lstrip().startswith("gputui")
    assert sum("NVIDIA H100 80GB HBM3 ─" in line for line in lines) >= 4
    assert " q quit" in lines[-1]
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


def test_a_hanging_driver_does_not_hold_up_q(terminal):
    one = running(terminal, str(ROOT / "tests/pty/hang.toml"))
    one.wait_for("NOT ANSWERING", 10)
    began = time.monotonic()
    one.press("q")
    assert one.wait_end(4) == 0
    assert time.monotonic() - began < 1.5
    one.assert_restored()
