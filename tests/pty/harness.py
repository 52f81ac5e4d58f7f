"""The program in a real pseudo-terminal: what it writes, how it leaves, and what it leaves behind."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.pty.screen import Screen

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62;22c"}
"""What a terminal of today answers: synchronized output is known, where the cursor is, what it is."""
RESIZE_QUERY, RESIZE_ANSWER = b"\x1b[?2048$p", b"\x1b[?2048;2$y"
FRAME = b"\x1b[?2026h"
"""Textual begins each update with it, once the terminal has said that it knows synchronized output."""
MARK = "TEST_RUN_MARK"
"""A variable every process of a run inherits, so that none is overlooked, whoever its parent is by now."""
MODES = (1000, 1002, 1003, 1004, 1006, 1015, 1016, 1049, 2004, 2026, 2048)


def process_stat(pid: int) -> tuple[str, int] | None:
    """(state letter, parent's pid) of a process, None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1])


def children_of(pid: int) -> list[int]:
    """Every process below this one."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := process_stat(int(entry.name))) and stat[1] == pid:
            found += [int(entry.name), *children_of(int(entry.name))]
    return found


def carrying(mark: str) -> list[int]:
    """Every living process of the run with this mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environment:
            found.append(int(entry.name))
    return found


class Terminal:
    """A program under a pseudo-terminal of a given size."""

    def __init__(
        self,
        arguments: Iterable[str],
        size: tuple[int, int] = (120, 40),
        environment: dict[str, str] | None = None,
        command: list[str] | None = None,
        before: Callable[[], None] | None = None,
        bytes_per_s: int | None = None,
        in_band_resize: bool = False,
    ) -> None:
        self.output = b""
        self.mark = uuid.uuid4().hex
        self.size = size
        self._resized_at = 0
        self._in_band_resize = in_band_resize
        environment = {**(environment or {}), MARK: self.mark}
        self.status: int | None = None
        self._rate = bytes_per_s
        self._allowance = 0.0
        self._read_at = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self._become(arguments, environment, command, before)
        self.resize(size)
        self.before = termios.tcgetattr(self.fd)

    @staticmethod
    def _become(
        arguments: Iterable[str],
        environment: dict[str, str] | None,
        command: list[str] | None,
        before: Callable[[], None] | None,
    ) -> None:
        try:
            clean = {
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("LC_", "TEXTUAL", "SSH_")) and key not in ("LANG", "NO_COLOR", "COLORTERM")
            }
            clean.update({"TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **(environment or {})})
            if before:
                before()
            time.sleep(0.05)  # the parent sets the window's size meanwhile
            full = [*(command or [sys.executable, "-m", "gputui"]), *arguments]
            os.execvpe(full[0], full, {key: value for key, value in clean.items() if value is not None})
        finally:
            os._exit(127)

    def resize(self, size: tuple[int, int]) -> None:
        """Give the window another size (columns, rows)."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.size, self._resized_at = size, len(self.output)
        if self.status is None and self.output:
            os.kill(self.pid, signal.SIGWINCH)

    def pump(self, seconds: float = 0.05) -> None:
        """Read what there is, and answer what a terminal answers."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return
            if not self._may_read(left):
                continue
            ready, _, _ = select.select([self.fd], [], [], left)
            if not ready:
                return
            try:
                data = os.read(self.fd, 65536 if self._rate is None else max(1, int(self._allowance)))
            except OSError as error:
                if error.errno == errno.EIO:
                    return
                raise
            if not data:
                return
            self._allowance -= len(data)
            self.output += data
            for query, answer in ANSWERS.items():
                os.write(self.fd, answer * data.count(query))
            if self._in_band_resize and RESIZE_QUERY in data:
                os.write(self.fd, RESIZE_ANSWER)

    def _may_read(self, left: float) -> bool:
        """On a slow link: wait until a byte may be taken."""
        if self._rate is None:
            return True
        now = time.monotonic()
        self._allowance = min(self._rate * 0.25, self._allowance + (now - self._read_at) * self._rate)
        self._read_at = now
        if self._allowance >= 1:
            return True
        time.sleep(min(left, 0.02))
        return False

    def wait_for(self, wanted: str | Callable[[], bool], seconds: float = 10.0, since: int = 0) -> None:
        """Read until the text was written, or the condition holds. Fails after `seconds`."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pump(0.05)
            done = wanted() if callable(wanted) else wanted in self.text(since)
            if done:
                return
        raise AssertionError(f"waited {seconds} s for {wanted!r}; the end of what came: {self.text()[-800:]!r}")

    def text(self, since: int = 0) -> str:
        """What was written, without escape sequences."""
        plain = self.output[since:].decode("utf-8", "replace")
        return re.sub(r"\x1b[P\]].*?(?:\x1b\\|\x07)|\x1b\[[0-9;?<>=]*[ -/]*[@-~]|\x1b[@-_]|\x1b[()].", "", plain)

    def screen(self) -> Screen:
        """What the terminal shows, as far as it was drawn since the last resize."""
        return Screen(*self.size).feed(self.output[self._resized_at :])

    def survivors(self, seconds: float = 3.0) -> list[int]:
        """Processes of this run that are still there after so many seconds."""
        until = time.monotonic() + seconds
        while (left := carrying(self.mark)) and time.monotonic() < until:
            time.sleep(0.02)
        return left

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self.fd, keys.encode())

    def wait_end(self, seconds: float = 10.0) -> int:
        """Read until the program has ended; its exit code, or 128 + signal."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.pump(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pump(0.05)
                self.status = os.waitstatus_to_exitcode(status)
                return self.status if self.status >= 0 else 128 - self.status
        raise AssertionError(f"still running after {seconds} s; the end of what came: {self.text()[-400:]!r}")

    def modes_left_on(self) -> set[int]:
        """Terminal modes that were switched on and not off again."""
        on: set[int] = set()
        for numbers, what in re.findall(rb"\x1b\[\?([0-9;]+)([hl])", self.output):
            for number in numbers.split(b";"):
                (on.add if what == b"h" else on.discard)(int(number))
        return on & set(MODES)

    def cursor_hidden(self) -> bool:
        """Whether the cursor was hidden last."""
        return self.output.rfind(b"\x1b[?25l") > self.output.rfind(b"\x1b[?25h")

    def kitty_keys_left(self) -> bool:
        """Whether more keyboard modes were pushed than popped."""
        return len(re.findall(rb"\x1b\[>\d+u", self.output)) > len(re.findall(rb"\x1b\[<\d*u", self.output))

    def assert_restored(self) -> None:
        """The terminal is as it was found."""
        assert self.modes_left_on() == set()
        assert not self.cursor_hidden()
        assert not self.kitty_keys_left()
        now = termios.tcgetattr(self.fd)
        assert now[:4] == self.before[:4]

    def close(self) -> None:
        """End whatever is left."""
        if self.status is None:
            for pid in {*carrying(self.mark), self.pid}:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass
        try:
            os.close(self.fd)
        except OSError:
            pass


def gone(pids: Iterable[int], seconds: float = 3.0) -> bool:
    """Whether all these processes end within so many seconds."""
    until = time.monotonic() + seconds
    waiting = list(pids)
    while waiting and time.monotonic() < until:
        waiting = [pid for pid in waiting if (stat := process_stat(pid)) is not None and stat[0] != "Z"]
        time.sleep(0.02)
    return not waiting
