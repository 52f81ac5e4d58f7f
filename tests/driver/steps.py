"""What the tests of worker and watcher share: starting them, and waiting for a condition with a deadline."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gputui.driver.spawn import worker_command
from gputui.driver.watcher import Watcher
from gputui.model.fleet import Fleet
from gputui.model.wire import Message, decode

SOURCES = Path(__file__).with_name("sources.py")
T = TypeVar("T")


def spec(factory: str) -> str:
    return f"python:{SOURCES}:{factory}"


def until(condition: Callable[[], T], within_s: float = 10.0, what: str = "") -> T:
    """The condition's first true value. Fails after `within_s`."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {within_s} s: {what or condition}"
        time.sleep(0.01)


class Pipe:
    """A worker process and the messages it has written."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.messages: list[Message] = []
        self.lines: list[bytes] = []
        self.bursts: list[int] = []
        self._rest = b""

    def read(self, wait_s: float = 0.01) -> None:
        assert self.process.stdout
        if select.select([self.process.stdout], [], [], wait_s)[0]:
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self.lines += lines
            self.bursts.append(len(lines))
            self.messages += [decode(line) for line in lines]

    def of(self, kind: type[T]) -> list[T]:
        return [message for message in self.messages if isinstance(message, kind)]

    def wait(self, kind: type[T], count: int = 1, within_s: float = 10.0, also: Callable[[T], bool] | None = None) -> T:
        """The `count`th message of this kind that `also` accepts."""

        def found() -> T | None:
            self.read()
            fitting = [message for message in self.of(kind) if also is None or also(message)]
            return fitting[count - 1] if len(fitting) >= count else None

        result = until(found, within_s, f"{kind.__name__} {count}")
        assert result is not None
        return result

    def order(self, **order: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def worker(factory: str, interval_s: float = 1.0, **options: Any) -> Iterator[Pipe]:
    process = subprocess.Popen(
        worker_command(spec(factory), interval_s), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **options
    )
    try:
        yield Pipe(process)
    finally:
        process.kill()
        process.wait()
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        process.stdout.close()


class Watched:
    """A watcher driven as a screen drives it: pump when something came, tick about once a second (here: faster)."""

    def __init__(self, source: str, interval_s: float = 1.0, **options: Any) -> None:
        self.fleet = Fleet()
        self.watcher = Watcher(self.fleet, source, interval_s, **options)

    def turn(self) -> None:
        self.watcher.pump()
        self.watcher.tick()

    def until(self, condition: Callable[[], T], within_s: float = 10.0, what: str = "") -> T:
        def turned() -> T:
            self.turn()
            return condition()

        return until(turned, within_s, what)

    def state(self, uuid: str) -> str | None:
        card = self.fleet.frame(time.monotonic(), time.time()).card(uuid)
        return card.state.value if card else None

    def events(self, what: str) -> list[Any]:
        return [event for event in self.fleet.events if event.what == what]


@contextmanager
def watched(factory: str, interval_s: float = 1.0, **options: Any) -> Iterator[Watched]:
    rig = Watched(spec(factory), interval_s, **options)
    rig.watcher.start()
    try:
        yield rig
    finally:
        rig.watcher.stop()
        rig.watcher.gone(5.0)


def alive(pid: int) -> bool:
    """Whether a process runs: a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
