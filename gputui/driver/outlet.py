"""The worker's own way out: a private copy of its pipe that no library can reach, and a queue that never blocks.

Driver libraries and the shims in front of them print to descriptors 1 and 2 (HAMi-core's log_utils.h does, on each
call). Those two therefore lead to a small log in memory, and the pipe moves to a descriptor nobody else knows.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections import deque

LOG_BYTES = 64 * 1024
BACKLOG_BYTES = 256 * 1024
"""Above this the parent is not reading (it may be stopped), and nothing more should be sampled."""
_PRIVATE = 16
"""Private descriptors start here, clear of the small numbers that careless code closes."""


def isolate() -> tuple[int, int]:
    """Take stdin and stdout for ourselves: (commands, messages). Descriptors 0, 1, 2 then lead nowhere that matters.

    The private ones are close-on-exec: NVML runs nvidia-modprobe, which must not keep our pipe open.
    """
    commands = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _PRIVATE)
    messages = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, _PRIVATE)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    log = _log()
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(nothing)
    os.close(log)
    return commands, messages


def _log() -> int:
    """A file in memory that cannot grow past LOG_BYTES; read it with `cat /proc/PID/fd/2`. /dev/null where the kernel
    has none.
    """
    try:
        log = os.memfd_create("gputui-worker-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(log, LOG_BYTES)
        fcntl.fcntl(log, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    except (OSError, AttributeError):
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    return log


class Outlet:
    """Lines on their way to the parent. Any thread may `put`; one thread calls `flush` and waits on `bell`."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._backlog = 0
        self._rest = b""
        self.bell, self._button = os.pipe()
        os.set_blocking(self.bell, False)
        os.set_blocking(self._button, False)

    @property
    def full(self) -> bool:
        """Whether the parent is so far behind that sampling makes no sense."""
        return self._backlog > BACKLOG_BYTES

    @property
    def pending(self) -> bool:
        """Whether a `flush` has something to do."""
        return bool(self._backlog)

    def put(self, lines: bytes, ring: bool) -> None:
        """Queue whole lines. `ring`: wake the flushing thread, the lines should not wait for its next turn."""
        with self._lock:
            self._lines.append(lines)
            self._backlog += len(lines)
        if ring:
            self.ring()

    def ring(self) -> None:
        """Wake the flushing thread."""
        try:
            os.write(self._button, b"\0")
        except BlockingIOError:
            pass  # it has been rung often enough

    def hush(self) -> None:
        """Take the rings that woke us."""
        try:
            while len(os.read(self.bell, 4096)) == 4096:
                pass
        except BlockingIOError:
            pass

    def flush(self) -> bool:
        """Write what there is, in one call where the pipe takes it. False when some is left for later.

        Raises BrokenPipeError when nobody reads any more.
        """
        with self._lock:
            data = self._rest + b"".join(self._lines)
            self._lines.clear()
        written = 0
        try:
            while written < len(data):
                written += os.write(self.descriptor, data[written:])
        except BlockingIOError:
            pass
        self._rest = data[written:]
        with self._lock:
            self._backlog -= written
        return not self._rest
