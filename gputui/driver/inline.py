"""A source in this process, on a given clock: simulated hosts in tests and pictures, and files.

It reads at the same moments and makes the same messages as the worker, from one thread and without waiting. Never give
it a live driver: a call that hangs would hang the screen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from gputui.driver.ledger import LEDGER
from gputui.driver.protocol import DriverProblem, DriverSource
from gputui.driver.roster import LIST_S, HostSeat, Roster, next_tick
from gputui.model.card import Event, State
from gputui.model.fleet import Fleet
from gputui.model.wire import Beat, Cost, Message, Opened

COST_S = 5.0


class Inline:
    """A `Source` over a `DriverSource`; with None it only plays messages."""

    def __init__(
        self,
        driver_source: DriverSource | None,
        fleet: Fleet,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        interval_s: float = 1.0,
    ) -> None:
        self.fleet = fleet
        self._source = driver_source
        self._clock = clock
        self._wall = wall
        self._interval_s = fleet.interval_s = interval_s
        self._roster = Roster()
        self._host = HostSeat()
        self._open = False
        self._sample_at = self._list_at = self._cost_at = 0.0

    def start(self) -> None:
        """Open the source and list its cards; the first `pump` reads them."""
        if self._source is not None:
            self.fleet.worker_started(self._clock(), self._wall())
            self._begin(self._source)

    def _begin(self, source: DriverSource) -> None:
        try:
            driver = source.open()
        except DriverProblem as error:
            self.fleet.eat(error.problem, self._wall())
            return
        self._open = True
        self._eat(Opened(driver, source.source, source.simulated, self._clock(), source.scenario))
        self._list(source)
        self._sample_at = self._cost_at = self._clock()

    def _eat(self, message: Message | None) -> None:
        if message is not None:
            self.fleet.eat(message, self._wall())

    def _list(self, source: DriverSource) -> None:
        now = self._clock()
        self._list_at = now + LIST_S
        self._eat(self._roster.list(source.cards(), now, self._wall()))

    def fileno(self) -> int | None:
        """None: nothing here can be waited for."""
        return None

    def pump(self) -> bool:
        """Read every card if the clock says that a tick is due; several missed ticks are one. True when it read."""
        source, now = self._source, self._clock()
        if source is None or not self._open:
            return False
        self._eat(Beat(mono=now, wall=self._wall()))
        if now < self._sample_at:
            return False
        self._sample_at = next_tick(now, self._interval_s)
        events = source.events(0.0)
        for event in events:
            self._eat(event)
        if events or now >= self._list_at:
            self._list(source)
        if self._read(source, now):
            self._list(source)
        if now >= self._cost_at:
            self._cost_at = next_tick(now, COST_S)
            self._eat(Cost(mono=now, poll_s=self._clock() - now, calls=LEDGER.count, cpu_s=0.0))
        return True

    def _read(self, source: DriverSource, now: float) -> bool:
        """Read all that is due. True when a card is lost."""
        lost = False
        wall = self._wall()
        for seat in list(self._roster.seats.values()):
            if seat.due(now):
                seat.asked(now)
                sampled = source.sample(seat.uuid, now, seat.wants_slow(now))
                seat.busy = False
                lost = lost or sampled.state is State.LOST
                self._eat(seat.answered(sampled, now, wall))
        self._eat(self._host.answered(source.host(self._host.wants_slow(now)), now, wall))
        return lost

    def play(self, messages: Iterable[Message]) -> None:
        """Eat messages of a file, each at its own time where it has one."""
        for message in messages:
            when = message.time if isinstance(message, Event) else getattr(message, "wall", None)
            self.fleet.eat(message, self._wall() if when is None else when)

    def tick(self) -> None:
        """Judge silence: there is none here, but ages and states follow the clock."""
        self.fleet.judge(self._clock(), self._wall())

    def set_interval(self, seconds: float) -> None:
        """Sample every so many seconds from now on, 0.25 to 60."""
        self._interval_s = self.fleet.interval_s = min(60.0, max(0.25, seconds))
        self._sample_at = self._clock()

    def restart(self) -> None:
        """Open the source again."""
        if self._source is None:
            return
        self.stop()
        self._roster, self._host = Roster(), HostSeat()
        self.fleet.worker_started(self._clock(), self._wall(), restart=True)
        self.fleet.problem = None
        self._begin(self._source)

    def stop(self) -> None:
        """Let go of the source."""
        if self._open and self._source is not None:
            self._open = False
            self._source.close()
