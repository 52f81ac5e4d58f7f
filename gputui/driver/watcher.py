"""The parent side of the worker: starts it, eats what it says, notices when it says nothing, never waits for it.

A process that hangs in the driver cannot be killed (its threads sleep in the kernel) and whoever waits for it hangs
too; NVIDIA/gpu-monitoring-tools #46 and leptonai/gpud #1299 are two monitors that did. So every look at the process
is a look that returns at once, and letting go of it is final: kill, forget, at most remember the number.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable

from gputui.driver.spawn import worker_command
from gputui.model.card import Event, Problem
from gputui.model.fleet import SILENT_S, Fleet
from gputui.model.wire import MAX_LINE, PROTOCOL, Hello, decode

RESTART_S = 2.0
"""Pause before the one restart that happens by itself. A second death is a person's to judge (NVSentinel #1576)."""
KILL_S = 10.0
"""A worker without a heartbeat for this long is given up."""
ABANDONED = 3
"""With this many workers that cannot be killed, no more are started: each holds the driver open."""
GARBAGE = 20
"""Lines that are none, after which the worker is given up."""
READ_BYTES = 65536
PUMP_BYTES = 8 * 1024 * 1024
"""The most one `pump` takes, so that a worker gone wild cannot hold up the screen."""
MINIMUM_INTERVAL_S, MAXIMUM_INTERVAL_S = 0.25, 60.0


class Watcher:
    """A `Source` that runs a worker process.

    `start` and `restart` must be called from a thread that lives as long as the worker shall: the kernel ends the
    worker with the thread that started it (prctl(2), PR_SET_PDEATHSIG).
    """

    def __init__(
        self,
        fleet: Fleet,
        source: str = "nvml",
        interval_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        command: list[str] | None = None,
    ) -> None:
        self.fleet = fleet
        self._source = source
        self._interval_s = fleet.interval_s = interval_s
        self._clock = clock
        self._wall = wall
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._let_go: list[subprocess.Popen[bytes]] = []
        self._buffer = b""
        self._skipping = False
        self._deaf = False
        self._garbage = 0
        self._heard = 0.0
        self._ticked: float | None = None
        self._restart_at: float | None = None
        self._restarts_left = 1
        self._stopped = False

    def start(self) -> None:
        """Start the worker. Returns at once; what comes of it is in the fleet."""
        self._spawn(again=False)

    def _spawn(self, again: bool) -> None:
        self._restart_at = None
        self._buffer, self._garbage = b"", 0
        self._skipping = self._deaf = False
        now, wall = self._clock(), self._wall()
        self._heard = now
        self.fleet.worker_started(now, wall, restart=again)
        try:
            process = subprocess.Popen(
                self._command or worker_command(self._source, self._interval_s),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._ended(f"could not be started: {error.strerror}")
            return
        assert process.stdin
        assert process.stdout
        os.set_blocking(process.stdin.fileno(), False)
        os.set_blocking(process.stdout.fileno(), False)
        self._process = process

    @property
    def pid(self) -> int | None:
        """The worker's process id while there is one."""
        return self._process.pid if self._process else None

    def fileno(self) -> int | None:
        """The worker's pipe, None while there is none to read."""
        if self._process is None or self._process.stdout is None or self._deaf:
            return None
        return self._process.stdout.fileno()

    def pump(self) -> bool:
        """Take everything that has arrived, without waiting. True when something came."""
        taken = 0
        while taken < PUMP_BYTES and (descriptor := self.fileno()) is not None:
            try:
                data = os.read(descriptor, READ_BYTES)
            except BlockingIOError:
                break
            if not data:
                self._deaf = True
                break
            taken += len(data)
            self._take(data)
        return taken > 0

    def _take(self, data: bytes) -> None:
        self._heard = self._clock()
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = self._buffer + lines[0]
            self._buffer = b""
            if self._skipping:
                del lines[0]
                self._skipping = False
        if not self._skipping:
            self._buffer += rest
        for line in lines:
            self._eat(line)
        if len(self._buffer) > MAX_LINE:
            self._buffer, self._skipping = b"", True
            self._refuse(f"a line longer than {MAX_LINE} bytes")

    def _eat(self, line: bytes) -> None:
        if self._process is None:  # given up a line ago
            return
        try:
            message = decode(line)
            if isinstance(message, Hello) and message.protocol != PROTOCOL:
                self._restarts_left = 0
                self._lose("gputui was replaced by another version while it ran; start it again")
                return
            self.fleet.eat(message, self._wall())
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            self._refuse(str(error)[:200])

    def _refuse(self, detail: str) -> None:
        self._garbage += 1
        self._note("worker-garbage", detail)
        if self._garbage >= GARBAGE:
            self._lose(f"sent {self._garbage} lines that are no messages")

    def _note(self, what: str, detail: str) -> None:
        self.fleet.eat(Event(time=self._wall(), what=what, detail=detail), self._wall())

    def tick(self) -> None:
        """Judge silence and keep the worker running; call about once a second, after `pump`.

        When this process itself was held up (ctrl+z, a suspended machine), silence proves nothing.
        """
        now = self._clock()
        if self._ticked is not None and now - self._ticked > SILENT_S - 0.5:
            self._heard = max(self._heard, now)
        self._ticked = now
        self._let_go = [process for process in self._let_go if process.poll() is None]
        if self._process is not None:
            code = self._process.poll()
            if code is not None:
                self.pump()  # its last words
                self._lose(_how(code))
            elif self._deaf:
                self._lose("closed its pipe")
            elif now - self._heard > KILL_S:
                self._lose(f"no heartbeat for {now - self._heard:.0f} s")
        self.fleet.judge(now, self._wall())
        if self._restart_at is not None and now >= self._restart_at and not self._stopped:
            self._restarts_left -= 1
            self._spawn_again()

    def _spawn_again(self) -> None:
        if len(self._let_go) >= ABANDONED:
            self._restart_at = None
            self._note("worker-not-restarted", f"{len(self._let_go)} workers hang in the driver and cannot be ended")
            return
        self._spawn(again=True)

    def _lose(self, detail: str) -> None:
        """The worker is of no use any more; see that it goes, and decide what comes next."""
        if self._process is None:
            return
        code = self._discard()
        self._ended(detail if code is None else _how(code))

    def _discard(self) -> int | None:
        """Let go of the worker: close its pipes, kill it, do not wait. Its exit code if it has one already."""
        process, self._process = self._process, None
        if process is None:
            return None
        code = process.poll()
        if code is None:
            try:
                process.kill()
            except OSError:
                pass  # not ours to kill (it changed its user), or gone just now
            self._let_go.append(process)
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:
                pass
        return code

    def _ended(self, detail: str) -> None:
        now, wall = self._clock(), self._wall()
        self.fleet.worker_ended(now, wall, detail)
        if self._restarts_left > 0:
            self._restart_at = now + RESTART_S
        elif self.fleet.driver is None and self.fleet.problem is None:
            said = f"the process that reads the driver ended: {detail}"
            self.fleet.eat(Problem(id="driver-not-answering", detail=said), wall)

    def set_interval(self, seconds: float) -> None:
        """Sample every so many seconds from now on, 0.25 to 60."""
        self._interval_s = self.fleet.interval_s = min(MAXIMUM_INTERVAL_S, max(MINIMUM_INTERVAL_S, seconds))
        self._order(f'{{"interval":{self._interval_s!r}}}\n')

    def _order(self, line: str) -> None:
        if self._process and self._process.stdin:
            try:
                os.write(self._process.stdin.fileno(), line.encode())
            except OSError:
                pass  # full or closed: a worker that does not listen is dealt with by `tick`

    def restart(self) -> None:
        """Start the worker again, because a person asked. The present one, if any, is given up."""
        if self._stopped:
            return
        self._discard()
        self._let_go = [process for process in self._let_go if process.poll() is None]
        self.fleet.problem = None
        self._spawn_again()

    def stop(self) -> None:
        """Let go. Returns at once even when the worker cannot be killed; `left_behind` then has its number."""
        self._stopped = True
        self._restart_at = None
        self._discard()

    @property
    def left_behind(self) -> list[int]:
        """Process ids of workers that were killed and are still there. Just after `stop` that may be normal."""
        self._let_go = [process for process in self._let_go if process.poll() is None]
        return [process.pid for process in self._let_go]

    def gone(self, within_s: float = 0.2) -> bool:
        """Whether every worker has really ended, giving them `within_s` to do so. For the very end of the program."""
        until = time.monotonic() + within_s
        while self.left_behind:
            if time.monotonic() >= until:
                return False
            time.sleep(0.005)
        return True


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
