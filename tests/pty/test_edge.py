"""The edge by itself, around an app of one cell: mistakes of every origin, a terminal that takes nothing, jobs."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.pty.harness import process_stat

pytestmark = pytest.mark.pty
TINY = [sys.executable, "-m", "tests.pty.tiny"]
QUIT_S = 1.5
"""The product promises a second; half of one more for a machine that does other things."""


def tiny(terminal, *arguments, **options):
    return terminal(*arguments, command=TINY, **options)


@pytest.mark.parametrize("where", ["compose", "timer", "worker", "callback", "thread", "loop", "unmount", "key"])
def test_a_mistake_anywhere_is_one_sentence_and_exit_1(terminal, tmp_path, where):
    one = tiny(terminal, where)
    if where in ("unmount", "key"):
        one.wait_for("count", 10)
        one.press("q" if where == "unmount" else "b")
    assert one.wait_end(10) == 1
    one.assert_restored()
    assert "Traceback" not in one.text()
    log = tmp_path / "state" / "gputui" / "crash.log"
    assert str(log) in one.text().replace("\r\n", "")
    report = log.read_text()
    assert report.startswith("gputui ")
    if where != "loop":
        assert "a mistake of ours" in report
    assert str(tmp_path) not in report


def test_a_crash_that_cannot_be_kept_is_still_one_sentence(terminal, tmp_path):
    one = tiny(terminal, "timer", environment={"XDG_STATE_HOME": "/proc/none", "HOME": "/proc/none", "TMPDIR": "/proc"})
    assert one.wait_end(10) == 1
    one.assert_restored()
    assert "gputui ended because of a mistake of its own" in one.text()


def test_without_a_source_the_exit_code_says_so(terminal):
    one = tiny(terminal, "no-source")
    one.wait_for("count", 10)
    one.press("q")
    assert one.wait_end(5) == 3
    one.assert_restored()


def stalled(terminal, record: Path, *arguments, **options):
    """An app whose terminal takes nothing any more, with a frame waiting."""
    one = tiny(terminal, "-", str(record), *arguments, **options)
    one.wait_for("count", 10)
    until = time.monotonic() + 20
    while time.monotonic() < until and not record.read_text().endswith("1\n" * 20):
        time.sleep(0.05)
    assert record.read_text().endswith("1\n" * 20)
    return one


def test_frames_are_left_out_while_the_terminal_takes_none(terminal, tmp_path):
    record = tmp_path / "behind"
    one = stalled(terminal, record)
    assert record.read_text().startswith("0\n"), "a terminal that reads is not behind"
    ticks = record.read_text().count("\n")
    time.sleep(1)
    assert record.read_text().count("\n") >= ticks + 8, "the event loop waits for the terminal"
    # What the kernel holds comes first, then the frame under way and the one behind it, then a new one.
    drawn = record.read_text().count("0\n")
    one.wait_for(lambda: record.read_text().endswith("0\n"), 10)
    one.pump(0.5)
    assert record.read_text().count("0\n") > drawn
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


@pytest.mark.parametrize(
    ("how", "code"), [("q", 0), (signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)], ids=str
)
def test_a_stalled_terminal_does_not_hold_up_the_exit(terminal, tmp_path, how, code):
    one = stalled(terminal, tmp_path / "behind")
    began = time.monotonic()
    if isinstance(how, str):
        one.press(how)
    else:
        os.kill(one.pid, how)
    status = None
    while time.monotonic() - began < 5 and status is None:  # nobody reads meanwhile
        pid, raw = os.waitpid(one.pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(raw) if pid else None
        time.sleep(0.01)
    took = time.monotonic() - began
    one.status = status
    one.pump(0.5)
    assert status == code
    assert took < QUIT_S
    one.assert_restored()


def test_keys_are_heard_while_the_terminal_takes_nothing(terminal, tmp_path):
    one = stalled(terminal, tmp_path / "behind")
    for width in range(40):  # each is drawn at once, and textual's queue has room for thirty
        one.resize((100 + width, 40))
        time.sleep(0.02)
    os.write(one.fd, b"q")
    until = time.monotonic() + 3
    while time.monotonic() < until and (stat := process_stat(one.pid)) is not None and stat[0] != "Z":
        time.sleep(0.02)
    assert process_stat(one.pid)[0] == "Z"
    assert one.wait_end(2) == 0
    one.assert_restored()


def test_a_hang_up_while_stalled_with_sighup_ignored(terminal, tmp_path):
    one = stalled(terminal, tmp_path / "behind", before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.close(one.fd)
    one.fd = os.open(os.devnull, os.O_RDWR)
    until = time.monotonic() + 4
    status = None
    while status is None and time.monotonic() < until:
        pid, raw = os.waitpid(one.pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(raw) if pid else None
        time.sleep(0.02)
    one.status = status
    assert status == 129


def shell(terminal):
    """An interactive shell with job control, running the app in its foreground."""
    one = terminal("--norc", "--noprofile", "-i", command=["bash"], environment={"PS1": "prompt> "})
    one.wait_for("prompt>", 10)
    one.press(f"{' '.join(TINY)}; echo code $?\r")
    one.wait_for("count 3", 10)
    return one


def test_suspend_and_foreground_in_a_shell(terminal):
    one = shell(terminal)
    seen = len(one.output)
    one.press("\x1a")
    one.wait_for("Stopped", 5, since=seen)
    assert one.modes_left_on() <= {2004}  # the shell's own line editor takes pasted text that way
    assert not one.cursor_hidden()
    seen = len(one.output)
    one.press("fg\r")
    one.wait_for("count", 5, since=seen)
    assert 1049 in one.modes_left_on()
    seen = len(one.output)
    one.press("q")
    one.wait_for("prompt>", 5, since=seen)
    assert one.modes_left_on() <= {2004}
    one.press("exit 0\r")
    assert one.wait_end(5) == 0


def test_kill_of_a_suspended_job_ends_it(terminal):
    one = shell(terminal)
    seen = len(one.output)
    one.press("\x1a")
    one.wait_for("Stopped", 5, since=seen)
    (job,) = psutil.Process(one.pid).children()
    one.press("kill %1\r")
    one.wait_for(lambda: (stat := process_stat(job.pid)) is None or stat[0] == "Z", 5)
    assert one.modes_left_on() <= {2004}
    one.press("exit 0\r")
    assert one.wait_end(5) == 0


def test_line_noise_does_not_end_the_keys(terminal):
    one = tiny(terminal)
    one.wait_for("count", 10)
    noise = [
        b"\x1b[M \xc8\xd0",
        b"\x1b[9:Ru",
        b"\x1b[999999999999;999999999999R",
        b"\x80\xff\xfe",
        b"\x1b[<;;M",
        b"\xc3",
    ]
    for sequence in noise * 3:
        os.write(one.fd, sequence)
        one.pump(0.15)
    assert process_stat(one.pid) is not None
    one.press("xq")
    assert one.wait_end(5) == 0
    one.assert_restored()


@pytest.mark.parametrize("pixels", [False, True], ids=["cells", "pixels"])
def test_a_terminal_that_reports_its_size_in_band(terminal, pixels):
    one = tiny(terminal, in_band_resize=True, environment={"TEXTUAL_SMOOTH_SCROLL": "1"} if pixels else {})
    one.wait_for("count", 10)
    assert ({2048, 1016} <= one.modes_left_on()) is pixels
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


def test_textual_still_has_what_the_edge_uses():
    from textual.drivers import _writer_thread, linux_driver

    thread = _writer_thread.WriterThread(sys.__stderr__)
    assert thread._queue.maxsize > 0
    assert thread._queue.qsize() == 0
    assert callable(linux_driver.getincrementaldecoder)
    for name in (
        "_get_terminal_size",
        "_run_input_thread",
        "_disable_mouse_support",
        "close",
        "start_application_mode",
    ):
        assert callable(getattr(linux_driver.LinuxDriver, name))
