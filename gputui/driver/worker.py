"""The process that owns the driver library: reads every card once a tick and writes what changed to its pipe.

    python -m gputui.driver.worker --source nvml|scripted:NAME --interval S

The main thread never calls the driver. It keeps time, sends the heartbeat, writes the pipe and listens to the parent;
so it can always say which driver call is under way, and since when. A second thread opens the driver and keeps the list
of cards; the crew reads them. The process ends with its parent, however that ended, and never waits for a thread that
hangs.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from gputui.driver.crew import Crew
from gputui.driver.ledger import LEDGER
from gputui.driver.outlet import Outlet, isolate
from gputui.driver.protocol import DriverProblem, DriverSource
from gputui.driver.roster import LIST_S, HostSeat, Roster, Seat, next_tick
from gputui.model.card import Event, Problem, State
from gputui.model.wire import Beat, Cost, Hello, Message, Opened, encode

BATCH_S = 0.05
"""Cards that answer within this leave in one write."""
BEAT_S = 1.0
COST_S = 5.0
EVENT_WAIT_S = 1.0
"""Well under the 3 s after which a call under way means "not answering": waiting for events is one."""
MINIMUM_INTERVAL_S = 0.005


def load(spec: str) -> DriverSource:
    """The source `nvml`, `scripted:NAME` or, for tests, `python:MODULE-OR-FILE:FACTORY`. Raises ValueError."""
    kind, _, rest = spec.partition(":")
    source: Any
    if spec == "nvml":
        source = importlib.import_module("gputui.driver.nvml").open_source()
    elif kind == "scripted":
        source = importlib.import_module("gputui.driver.scripted").open_source(rest)
    elif kind == "python":
        where, _, factory = rest.rpartition(":")
        source = getattr(_module(where), factory)()
    else:
        raise ValueError(f"unknown source {spec!r}")
    found: DriverSource = source
    return found


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("gputui_test_source", where)
    if spec is None or spec.loader is None:
        raise ValueError(f"no module in {where}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _nothing() -> None:
    return None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class _Round:
    """One tick: what is still being read, and how long it has taken."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self.began = time.monotonic()
        self.left = size
        self.took: float | None = None

    def done(self) -> bool:
        """One reading is back; True when it was the last."""
        with self._lock:
            self.left -= 1
            if self.left == 0:
                self.took = time.monotonic() - self.began
            return self.left == 0

    @property
    def gathering(self) -> bool:
        """Whether it is worth waiting for the rest before writing."""
        return self.left > 0 and time.monotonic() - self.began < BATCH_S


class Worker:
    """Everything between the source and the pipe."""

    def __init__(self, spec: str, interval_s: float, commands: int, messages: int) -> None:
        self._spec = spec
        self._interval_s = interval_s
        self._commands = commands
        self._outlet = Outlet(messages)
        self._crew = Crew()
        self._lock = threading.Lock()  # roster and seats: the reading threads, the listing thread and the main thread
        self._roster = Roster()
        self._host = HostSeat()
        self._source: DriverSource | None = None
        self._list_now = threading.Event()
        self._tick_now = False
        self._round = _Round(0)
        self._poll_s = 0.0
        self._complaints: set[str] = set()
        self._heard = b""

    def run(self) -> None:
        """Work until the parent is gone. Does not return normally: raises BrokenPipeError or EOFError."""
        self._send(Hello(pid=os.getpid(), mono=time.monotonic()))
        self._outlet.flush()
        _end_with_parent()
        threading.Thread(target=self._keep_list, daemon=True).start()
        poll = select.poll()
        poll.register(self._commands, select.POLLIN)
        poll.register(self._outlet.bell, select.POLLIN)
        poll.register(self._outlet.descriptor, 0)  # still reports that the reader is gone
        beat_at = cost_at = tick_at = 0.0
        while True:
            now = time.monotonic()
            if now >= beat_at:
                beat_at = next_tick(now, BEAT_S)
                if not self._outlet.full:
                    self._outlet.put(self._beat(), ring=False)
            if now >= tick_at or self._tick_now:
                tick_at = next_tick(now, self._interval_s, self._interval_s / 4 if self._tick_now else 0.0)
                self._tick_now = False
                self._tick(now)
            if now >= cost_at:
                cost_at = next_tick(now, COST_S)
                self._report_cost(now)
            wake_at = min(beat_at, tick_at, cost_at, now + self._push(poll))
            self._listen(poll.poll(max(0.0, wake_at - time.monotonic()) * 1000.0 + 0.5))

    def _push(self, poll: select.poll) -> float:
        """Write what should leave now, and help the round along.

        Returns the seconds until it should be called again.
        """
        if self._round.gathering:
            patience_s = min(BATCH_S, self._interval_s / 2 / max(1, len(self._roster.seats)))
            left = self._round.began + BATCH_S - time.monotonic()
            return max(0.0, min(left, self._crew.help(patience_s) or left))
        helped = self._crew.help(BATCH_S)
        flushed = not self._outlet.pending or self._outlet.flush()
        poll.modify(self._outlet.descriptor, 0 if flushed else select.POLLOUT)
        return BEAT_S if helped is None else helped

    def _listen(self, ready: list[tuple[int, int]]) -> None:
        for descriptor, what in ready:
            if descriptor == self._outlet.bell:
                self._outlet.hush()
            elif descriptor == self._commands:
                data = os.read(self._commands, 4096)
                if not data:
                    raise EOFError
                self._obey(data)
            elif what & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                raise BrokenPipeError

    def _obey(self, data: bytes) -> None:
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            try:
                order = json.loads(line)
                if "interval" in order:
                    self._interval_s = max(MINIMUM_INTERVAL_S, float(order["interval"]))
                if order.get("resample"):
                    with self._lock:
                        self._roster.forget()
                        self._host.forget()
                    self._list_now.set()
            except (ValueError, TypeError, AttributeError) as error:
                self._complain(f"order not understood: {error}")
        self._tick_now = True

    def _send(self, message: Message) -> None:
        self._outlet.put(encode(message), ring=True)

    @staticmethod
    def _beat() -> bytes:
        return encode(Beat(mono=time.monotonic(), wall=time.time(), calls=LEDGER.under_way()))

    def _report_cost(self, now: float) -> None:
        if self._source is not None and not self._outlet.full:
            cost = Cost(mono=now, poll_s=self._poll_s, calls=LEDGER.count, cpu_s=time.process_time())
            self._outlet.put(encode(cost), ring=False)

    def _complain(self, text: str) -> None:
        """Tell the parent of our own fault, each once. It is never held against a card."""
        if text not in self._complaints and len(self._complaints) < 100:
            self._complaints.add(text)
            self._send(Event(time=time.time(), what="worker-error", gpu_uuid=None, detail=text))

    def _tick(self, now: float) -> None:
        """Begin a round. What is still being read from the one before is left out of it."""
        source = self._source
        if source is None or self._outlet.full:
            return
        jobs: list[Callable[[], None]] = []
        with self._lock:
            seats = [seat for seat in self._roster.seats.values() if seat.due(now)]
            round_ = _Round(len(seats) + (not self._host.busy))
            for seat in seats:
                seat.busy = True
                jobs.append(partial(self._read_card, source, seat, round_))
            if not self._host.busy:
                self._host.busy = True
                jobs.append(partial(self._read_host, source, round_))
        self._poll_s = self._round.took or self._poll_s
        self._round = round_
        self._crew.add(jobs)

    def _read_card(self, source: DriverSource, seat: Seat, round_: _Round) -> None:
        mono, wall = time.monotonic(), time.time()
        try:
            with self._lock:
                seat.asked(mono)
                slow = seat.wants_slow(mono)
            sampled = source.sample(seat.uuid, mono, slow)
            if sampled.state is State.LOST:
                self._list_now.set()
            message: Callable[[], Message | None] = partial(seat.answered, sampled, mono, wall)
        except Exception as error:
            self._complain(_said(error))
            message = _nothing
        self._deliver(message, seat, round_)

    def _read_host(self, source: DriverSource, round_: _Round) -> None:
        mono, wall = time.monotonic(), time.time()
        try:
            with self._lock:
                slow = self._host.wants_slow(mono)
            readings = source.host(slow)
            message: Callable[[], Message | None] = partial(self._host.answered, readings, mono, wall)
        except Exception as error:
            self._complain(_said(error))
            message = _nothing
        self._deliver(message, self._host, round_)

    def _deliver(self, message: Callable[[], Message | None], seat: Seat | HostSeat, round_: _Round) -> None:
        """Into the round's one write; or at once when the round has left without it.

        Under the lock, so that no reading of a card follows the listing that says it is gone. A late one takes a
        heartbeat along, in front: the last heartbeat still names the call that has just come back.
        """
        with self._lock:
            seat.busy = False
            lines = b""
            if seat.listed:
                try:
                    found = message()
                    lines = encode(found) if found else b""
                except ValueError as error:  # something JSON cannot carry
                    seat.forget()
                    self._complain(_said(error))
            last = round_.done()
            late = time.monotonic() - round_.began >= BATCH_S
            if late:
                lines = self._beat() + lines
            if lines or last:
                self._outlet.put(lines, ring=last or late)

    def _keep_list(self) -> None:
        """Open the driver, then list the cards each LIST_S, at once when something happened; wait for events
        between.
        """
        source = self._open()
        if source is None:
            return
        listen = True
        while True:
            self._list_now.clear()
            self._list(source)
            until = time.monotonic() + LIST_S
            while (left := until - time.monotonic()) > 0 and not self._list_now.is_set():
                listen = listen and self._take_events(source, min(left, EVENT_WAIT_S))
                if not listen:
                    self._list_now.wait(left)

    def _open(self) -> DriverSource | None:
        try:
            source = load(self._spec)
            driver = source.open()
        except DriverProblem as error:
            self._send(error.problem)
            return None
        except Exception as error:
            self._send(Problem(id="worker-error", detail=_said(error)))
            return None
        self._send(Opened(driver, source.source, source.simulated, time.monotonic(), source.scenario))
        return source

    def _list(self, source: DriverSource) -> None:
        try:
            listed = source.cards()
        except Exception as error:
            self._complain(_said(error))
            return
        with self._lock:
            before = set(self._roster.seats)
            message = self._roster.list(listed, time.monotonic(), time.time())
            if message:
                self._send(message)  # under the lock: no reading of a card may overtake the listing that removes it
            news = set(self._roster.seats) - before
        if news or self._source is None:
            self._source = source
            self._tick_now = True
            self._outlet.ring()

    def _take_events(self, source: DriverSource, timeout_s: float) -> bool:
        """Pass on what the driver reports. False: never ask again (a failing wait would be a busy loop)."""
        began = time.monotonic()
        try:
            events = source.events(timeout_s)
        except Exception as error:
            self._complain(_said(error))
            return False
        for event in events:
            self._send(event)
        if events:
            self._list_now.set()
        self._list_now.wait(max(0.0, timeout_s - (time.monotonic() - began)))
        return True


def _end_with_parent() -> None:
    """Have the kernel kill us when the parent dies, in case a library holds the interpreter just then.

    The end of our input says the same and is what normally ends us, so every failure here is fine.
    """
    parent = os.getppid()
    try:
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(signal.SIGKILL), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return
    if os.getppid() != parent:  # it died before the kernel knew
        raise EOFError


def main(arguments: list[str] | None = None) -> None:
    """The process. Always leaves by os._exit: a thread that hangs in the driver must not hold it up."""
    given = sys.argv[1:] if arguments is None else arguments
    options = dict(zip(given[::2], given[1::2], strict=False))
    commands, messages = isolate()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    code = 1
    try:
        interval_s = max(MINIMUM_INTERVAL_S, float(options.get("--interval", "1")))
        Worker(options.get("--source", "nvml"), interval_s, commands, messages).run()
    except (EOFError, BrokenPipeError):
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
