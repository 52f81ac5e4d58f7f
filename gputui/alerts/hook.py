"""`--on-finding CMD`: a person's own command, started for each finding that begins.

It runs without a shell and without a terminal, gets the finding as one JSON object on standard input, its output goes
nowhere. At most once a minute and finding, four at a time, ten seconds each; then it is killed with its process group.
Nothing here waits for it: call `poll` once a tick.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from gputui.alerts.watch import key_of
from gputui.model.card import Event
from gputui.model.finding import Finding
from gputui.session.document import finding_object
from gputui.text import _

EVERY_S = 60.0
LIMIT_S = 10.0
AT_ONCE = 4
WAITING = 64
FAILED = "alert-command-failed"
"""`what` of the event that says so."""

_Key = tuple[str, str | None, str]


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    since: float
    killed: bool = False


class OnFinding:
    """Starts the command, watches over it and reaps it. One thread at a time."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        if not command:
            raise ValueError(_("The command for findings is empty."))
        self.command = tuple(command)
        self._environment = None if environment is None else dict(environment)
        self._running: list[_Running] = []
        self._waiting: deque[tuple[_Key, bytes]] = deque()
        self._told: dict[_Key, float] = {}
        self._said: set[str] = set()

    @classmethod
    def of(cls, typed: str) -> OnFinding | None:
        """The runner for a typed command line, split once as a shell would; None for an empty one.

        Raises ValueError with one sentence for a quote that is not closed or a program that is not there.
        """
        try:
            command = shlex.split(typed)
        except ValueError as error:
            raise ValueError(_("The command for findings has a quote that is never closed.")) from error
        if not command:
            return None
        if shutil.which(command[0]) is None:
            raise ValueError(
                _("The command for findings, {name}, is not a program that can be started.").format(name=command[0])
            )
        return cls(command)

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes under way."""
        return tuple(running.process.pid for running in self._running)

    def offer(self, findings: Sequence[Finding], mono: float, wall: float) -> list[Event]:
        """Findings that have just begun. One that was offered within the last minute is passed over."""
        self._told = {key: since for key, since in self._told.items() if mono - since < EVERY_S}
        for finding in findings:
            key = key_of(finding)
            if key not in self._told and len(self._waiting) < WAITING:
                self._told[key] = mono
                self._waiting.append((key, _payload(finding)))
        return self.poll(mono, wall)

    def poll(self, mono: float, wall: float) -> list[Event]:
        """Reap what has ended, kill what takes too long, start what waits. Events only for a new kind of failure."""
        failures = []
        still = []
        for running in self._running:
            code = running.process.poll()
            if code is not None:
                if running.killed:
                    failures.append(f"killed after {LIMIT_S:.0f} s")
                elif code:
                    failures.append(f"exit code {code}" if code > 0 else f"ended by signal {-code}")
                continue
            if not running.killed and mono - running.since >= LIMIT_S:
                self._kill(running)
            still.append(running)
        self._running = still
        while self._waiting and len(self._running) < AT_ONCE:
            _key, payload = self._waiting.popleft()
            failure = self._start(payload, mono)
            if failure:
                failures.append(failure)
        new = [failure for failure in dict.fromkeys(failures) if failure not in self._said]
        self._said.update(new)
        return [Event(wall, FAILED, None, failure) for failure in new]

    def close(self) -> None:
        """End what is under way; nothing of it outlives this program. Waits for no more than the kernel's own work."""
        self._waiting.clear()
        for running in self._running:
            self._kill(running)
        for running in self._running:
            try:
                running.process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
        self._running = []

    def _start(self, payload: bytes, mono: float) -> str | None:
        """Start one; the failure in English words, without the command's name: events are exported."""
        try:
            with _as_file(payload) as given:
                process = subprocess.Popen(
                    self.command,
                    stdin=given,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=self._environment,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            return f"cannot be started: {why}"
        self._running.append(_Running(process, mono))
        return None

    @staticmethod
    def _kill(running: _Running) -> None:
        """The whole session it leads; it has not been reaped, so its number is still its own."""
        running.killed = True
        try:
            os.killpg(running.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            running.process.kill()


def _payload(finding: Finding) -> bytes:
    data: dict[str, Any] = finding_object(finding)
    try:
        text = json.dumps(data, allow_nan=False, default=str)
    except ValueError:  # NaN is no JSON, and a finding is worth telling without its figures
        text = json.dumps({**data, "evidence": {}}, default=str)
    return text.encode("ascii") + b"\n"


def _as_file(payload: bytes) -> IO[bytes]:
    """The text as a file in memory: a pipe could make us wait for a command that does not read."""
    file: IO[bytes] = os.fdopen(os.memfd_create("finding", os.MFD_CLOEXEC), "w+b")
    file.write(payload)
    file.seek(0)
    return file
