"""When each card is read, and what of a reading is new: the part of sampling that needs no thread and no driver.

The worker and the in-process source share it, so a simulated host in a test is read at the same moments, and sends the
same messages, as a live one. Times are seconds of CLOCK_MONOTONIC unless a name says wall.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gputui.driver.protocol import Sampled
from gputui.model.card import MigDevice, Process, State
from gputui.model.reading import Absent, Reading, Why
from gputui.model.wire import Cards, HostSample, Listed, Sample

PHASE_S = 0.1
"""Samples are taken this long after the whole second, so that a slightly early or late one stays in its second: history
has one slot a second."""
SLOW_S = 5.0
LIST_S = 10.0
LOST_S = 30.0
"""A lost card is only asked again this often: every call to it costs the driver a time-out and a kernel log line."""


def next_tick(now: float, interval_s: float, at_least_s: float = 0.0) -> float:
    """The first moment after `now + at_least_s` on the grid of `interval_s` that starts PHASE_S after second 0.

    A millisecond is the least: a timer may wake us a hair early, and 4.1 − 0.1 is less than 4.
    """
    after = now + max(0.001, at_least_s) - PHASE_S
    return (math.floor(after / interval_s) + 1) * interval_s + PHASE_S


def _finite(reading: Reading) -> Reading:
    """JSON has no NaN and no infinity; neither is a number a card has."""
    if isinstance(reading, float) and not math.isfinite(reading):
        return Absent(Why.IMPLAUSIBLE, raw=str(reading))
    return reading


class _Told:
    """What the other side has been told; yields the difference."""

    def __init__(self) -> None:
        self.readings: dict[str, Reading] = {}

    def changed(self, readings: Mapping[str, Reading]) -> dict[str, Reading]:
        told = self.readings
        out: dict[str, Reading] = {}
        for name, reading in readings.items():
            reading = _finite(reading)
            if name not in told or told[name] != reading:
                told[name] = out[name] = reading
        return out


class _Paced:
    """Anything that is read each tick, and in full each SLOW_S. `position` spreads the full readings over the ticks."""

    def __init__(self, position: int) -> None:
        self._position = position
        self.listed = True
        self.busy = False
        self._slow_slot: int | None = None
        self._told = _Told()

    def wants_slow(self, now: float) -> bool:
        """Whether this reading is a full one; the first always is. Counts it as taken."""
        slot = int((now + self._position) // SLOW_S)
        wants = slot != self._slow_slot
        self._slow_slot = slot
        return wants

    def forget(self) -> None:
        """Read in full and send everything next time."""
        self._slow_slot = None
        self._told = _Told()


class Seat(_Paced):
    """One card's place in the round."""

    def __init__(self, uuid: str, position: int) -> None:
        super().__init__(position)
        self.uuid = uuid
        self._state = State.OK
        self._asked: float | None = None
        self._processes: tuple[Process, ...] | Absent | None = None
        self._mig: tuple[MigDevice, ...] | None = None

    def due(self, now: float) -> bool:
        """Whether a tick at `now` reads this card."""
        if self.busy or not self.listed:
            return False
        return self._state is not State.LOST or self._asked is None or now - self._asked >= LOST_S

    def asked(self, now: float) -> None:
        """The card is about to be read."""
        self.busy, self._asked = True, now

    def forget(self) -> None:
        super().forget()
        self._processes = self._mig = None

    def answered(self, sampled: Sampled, mono: float, wall: float) -> Sample:
        """The message for what the card said."""
        self._state = sampled.state
        processes = sampled.processes if sampled.processes != self._processes else None
        mig = sampled.mig if sampled.mig != self._mig else None
        if processes is not None:
            self._processes = processes
        if mig is not None:
            self._mig = mig
        return Sample(
            uuid=self.uuid,
            mono=mono,
            wall=wall,
            state=sampled.state,
            changed=self._told.changed(sampled.readings),
            code=sampled.code,
            processes=processes,
            mig=mig,
        )


class HostSeat(_Paced):
    """The machine's place in the round."""

    def __init__(self) -> None:
        super().__init__(position=0)

    def answered(self, readings: Mapping[str, Reading], mono: float, wall: float) -> HostSample | None:
        """The message for what the machine said, None when nothing is new."""
        changed = self._told.changed(readings)
        return HostSample(mono=mono, wall=wall, changed=changed) if changed else None


class Roster:
    """The cards of the last listing, by UUID."""

    def __init__(self) -> None:
        self.seats: dict[str, Seat] = {}
        self._listing: tuple[Listed, ...] | None = None

    def list(self, cards: Sequence[Listed], mono: float, wall: float) -> Cards | None:
        """Take a listing; the message for it, None when it is the one before again.

        A card that is gone loses its seat: a reading of it that comes back later must not revive it. One that returns
        gets a new seat and is sent in full.
        """
        listing = tuple(
            replace(card, readings={name: _finite(reading) for name, reading in card.readings.items()})
            for card in cards
        )
        present = {card.uuid for card in listing}
        for uuid in [uuid for uuid in self.seats if uuid not in present]:
            self.seats.pop(uuid).listed = False
        for position, card in enumerate(listing):
            if card.uuid not in self.seats:
                self.seats[card.uuid] = Seat(card.uuid, position)
        if listing == self._listing:
            return None
        self._listing = listing
        return Cards(cards=listing, mono=mono, wall=wall)

    def forget(self) -> None:
        """Send everything again, the listing too."""
        self._listing = None
        for seat in self.seats.values():
            seat.forget()
