"""Starts a probe's process, follows it, and ends it: by a message, then SIGTERM, then SIGKILL, then by watching.

The process is started from the event loop's own thread: PR_SET_PDEATHSIG acts when the *thread* that forked ends, so a
pool thread would kill the probe (measured for this project).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gputui.probes.run import Run
from gputui.probes.table import SPARE_S, Probe
from gputui.probes.wire import Lines

BEAT_S = 1.0
TERM_AFTER_S, KILL_AFTER_S, GONE_AFTER_S = 0.5, 1.5, 5.0
"""Since the stop message. A process in an uninterruptible driver call does not end at all; nobody waits for it."""
SILENT_S = 90.0
"""Without a message for so long it hangs: torch on a cold disk takes a minute to import."""
NOISE_KEPT = 4096
_BOOT = (
    "import sys;"
    "home=sys.argv[1];"
    "sys.path[:]=[p for p in sys.path if p];"
    "sys.path.insert(0,home);import gputui;"
    "sys.path.remove(home);"
    "from gputui.probes.worker.main import main;main()"
)


@dataclass(frozen=True)
class Order:
    """What to run where. device "cpu" is for tests. stop_c as in `admit`."""

    probe: Probe
    uuid: str
    bus_id: str
    python: str
    stop_c: float | None = None
    device: str = "cuda"
    seconds: float | None = None
    warm_s: float | None = None

    def request(self) -> dict[str, Any]:
        """The first line the process reads."""
        seconds = self.probe.seconds if self.seconds is None else self.seconds
        warm = self.probe.warm_s if self.warm_s is None else self.warm_s
        return {
            "probe": self.probe.id,
            "uuid": self.uuid,
            "bus_id": self.bus_id,
            "seconds": seconds,
            "warm_s": warm,
            "deadline_s": seconds + warm + SPARE_S,
            "stop_c": self.stop_c,
            "parent": os.getpid(),
            "device": self.device,
        }

    def environment(self) -> dict[str, str]:
        """The user's own, with the card chosen by UUID and nothing that starts further processes or writes caches."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environ.update(
            CUDA_VISIBLE_DEVICES=self.uuid,
            CUDA_DEVICE_ORDER="PCI_BUS_ID",
            CUDA_CACHE_DISABLE="1",
            TORCHINDUCTOR_COMPILE_THREADS="1",
            PYTORCH_CUDA_ALLOC_CONF="expandable_segments:False",
            PYTHONDONTWRITEBYTECODE="1",
        )
        return environ


class ProbeProcess:
    """One run. `follow` gives its states; `stop` begins to end it and returns at once."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.run = Run(order.probe.id, order.uuid, unit=order.probe.unit)
        self._process: asyncio.subprocess.Process | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._noise = b""
        self.stuck = False

    async def follow(self) -> AsyncIterator[Run]:
        """Every state until it is over. Never raises for what the process does."""
        home = str(Path(__file__).resolve().parents[2])
        try:
            process = await asyncio.create_subprocess_exec(
                self.order.python,
                "-c",
                _BOOT,
                home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.order.environment(),
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            self.run = self.run.failed("no-engine", str(error.strerror or error))
            yield self.run
            return
        self._process = process
        self.run = replace(self.run, state="starting", pid=process.pid)
        helpers = [asyncio.create_task(self._beat()), asyncio.create_task(self._hear_noise())]
        try:
            self._write(json.dumps(self.order.request()).encode() + b"\n")
            yield self.run
            async for state in self._states():
                yield state
            await self._until_gone()
        finally:
            for helper in helpers:
                helper.cancel()
            self._kill_now()
        if not self.run.over:
            self.run = self.run.failed(*self._ending())
            yield self.run

    async def _states(self) -> AsyncIterator[Run]:
        assert self._process is not None
        assert self._process.stdout is not None
        lines = Lines()
        while not self.run.over:
            try:
                data = await asyncio.wait_for(self._process.stdout.read(65536), SILENT_S)
            except asyncio.TimeoutError:
                self.run = self.run.failed("deadline", f"no message for {SILENT_S:.0f} s")
                self.stop()
                yield self.run
                return
            if not data:
                return
            for message in lines.feed(data):
                self.run = self.run.after(message)
                yield self.run

    def stop(self) -> None:
        """Ask it to end, then make it."""
        if self._stopping is None and self._process is not None:
            if not self.run.over:
                self.run = replace(self.run, state="stopping")
            self._stopping = asyncio.get_running_loop().create_task(self._ladder())

    async def _ladder(self) -> None:
        assert self._process is not None
        self._write(b"stop\n")
        for wait_s, number in ((TERM_AFTER_S, signal.SIGTERM), (KILL_AFTER_S, signal.SIGKILL)):
            await asyncio.sleep(wait_s)
            if self._process.returncode is not None:
                return
            self._signal(number)

    async def _until_gone(self) -> None:
        """Wait for the process itself, but not for ever: the driver may hold it."""
        assert self._process is not None
        try:
            await asyncio.wait_for(asyncio.shield(self._process.wait()), GONE_AFTER_S)
        except asyncio.TimeoutError:
            self._signal(signal.SIGKILL)
            try:
                await asyncio.wait_for(asyncio.shield(self._process.wait()), GONE_AFTER_S)
            except asyncio.TimeoutError:
                self.stuck = True

    def _ending(self) -> tuple[str, str]:
        """Why a process that ended said nothing."""
        if self.run.state == "stopping":
            return "stopped", ""
        code = None if self._process is None else self._process.returncode
        tail = self._noise.decode("utf-8", "replace").strip().splitlines()
        said = tail[-1][:200] if tail else ""
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return "mistake", f"ended by {name}. {said}".strip()
        return "mistake", f"ended with {code}. {said}".strip()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._write(b"beat\n")

    async def _hear_noise(self) -> None:
        """What libraries print: kept as a tail, never shown on the screen as it is."""
        assert self._process is not None
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._noise = (self._noise + data)[-NOISE_KEPT:]

    def _write(self, data: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, RuntimeError):
                self._process.stdin.write(data)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _kill_now(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._signal(signal.SIGKILL)
