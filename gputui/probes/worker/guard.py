"""No burn outlives the program that asked for it, and none outlasts its own time.

Measured for this project: a worker without a guard runs on for ever after its parent is killed; the end of the pipe is
seen within 6 ms, PR_SET_PDEATHSIG acts within 1 ms, and only silence on the pipe tells of a parent that was stopped.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import threading
import time
from collections.abc import Callable

SILENCE_S = 6.0
"""The parent says something every second; a terminal that hangs for a moment must not end a long run."""
_PR_SET_PDEATHSIG = 1


class Guard:
    """Threads that end this process: when the parent dies, is silent, says stop and is not heard, or time is up."""

    def __init__(self, parent: int, deadline_s: float, say: Callable[..., None]) -> None:
        self.stop_asked = threading.Event()
        self.why = "stopped"
        self._say = say
        self._heard = time.monotonic()
        self._deadline_s = deadline_s
        self._ends = time.monotonic() + deadline_s
        _die_with(parent)
        _be_modest()

    def start(self, descriptor: int) -> None:
        """Listen on the parent's pipe."""
        for work in (self._listen, self._watch):
            threading.Thread(target=work, args=(descriptor,), daemon=True).start()

    def begin(self) -> None:
        """The work begins: its time counts from here, not from an import that a cold disk made long."""
        self._ends = time.monotonic() + self._deadline_s

    def ask(self, why: str) -> None:
        """Stop at the next launch, for this reason; the first one counts."""
        if not self.stop_asked.is_set():
            self.why = why
            self.stop_asked.set()

    def _listen(self, descriptor: int) -> None:
        while True:
            data = os.read(descriptor, 4096)
            if not data:
                os._exit(0)
            self._heard = time.monotonic()
            if b"stop" in data:
                self.ask("stopped")

    def _watch(self, descriptor: int) -> None:
        while True:
            time.sleep(0.25)
            now = time.monotonic()
            if is_silent(now - self._heard, descriptor):
                os._exit(0)
            if now > self._ends:
                self._say("failed", reason="deadline", detail="")
                os._exit(1)


def is_silent(since_s: float, descriptor: int) -> bool:
    """Whether the parent has said nothing for too long. Loading a library can keep every thread of ours from running;
    then what was said waits in the pipe.
    """
    return since_s > SILENCE_S and not select.select([descriptor], [], [], 0)[0]


def _die_with(parent: int) -> None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # the pipe remains
    if os.getppid() != parent:  # it died before we asked
        os._exit(0)


def _be_modest() -> None:
    """The user's own job comes first: less of the CPU, first to be killed when memory is short, no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        os.nice(5)
    except OSError:
        pass
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("800")
    except OSError:
        pass
