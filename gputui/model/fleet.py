"""The fleet: the only writer of live state. It eats the worker's messages and gives out frozen frames.

Cards are followed by UUID. A card whose call has been under way for 3 s, or any card when no heartbeat came for 3 s, is
`not-answering`; its last readings stay, with their age. Time comes in from outside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gputui.model.card import Card, Driver, Event, Frame, MigDevice, Problem, Process, State
from gputui.model.history import History
from gputui.model.reading import Absent, Reading, number
from gputui.model.tiers import DayTier
from gputui.model.wire import Beat, Call, Cards, Cost, Hello, HostSample, Listed, Message, Opened, Sample

SILENT_S = 3.0
"""No heartbeat, or one driver call under way, for this long means not answering (design section 4)."""
EVENTS_KEPT = 1000

_ANSWERS = (State.OK, State.ASLEEP)
_EVENT_OF = {
    State.LOST: "gpu-lost",
    State.ERROR: "gpu-error",
    State.NEEDS_RESET: "needs-reset",
    State.MISSING: "gpu-missing",
}


@dataclass
class _Member:
    """What the fleet knows of one card. `told` is the worker's state; the shown state may be worse.

    owes: it did not answer (its call hung, its worker died), so only a sample makes it answer again. Without this a
    card with several slow calls, or a worker just restarted, would look well between two silences.
    """

    index: int
    uuid: str
    name: str
    told: State
    readings: Mapping[str, Reading]
    history: History
    tier: DayTier = field(default_factory=DayTier)
    code: int | None = None
    processes: tuple[Process, ...] | Absent = ()
    mig: tuple[MigDevice, ...] = ()
    own_changed: float | None = None
    sampled_mono: float | None = None
    sampled_wall: float | None = None
    shown: State = State.OK
    shown_since: float | None = None
    missing_since: float | None = None
    samples: int = 0
    hung: Call | None = None
    owes: bool = False


@dataclass
class _Worker:
    """The worker process as seen from here."""

    started: float
    heard: float
    pid: int | None = None
    calls: tuple[Call, ...] = ()
    alive: bool = True
    restarts: int = 0
    cost: Cost | None = None


@dataclass
class Fleet:
    """Live state of one host."""

    interval_s: float = 1.0
    source: str = "nvml"
    simulated: bool = False
    scenario: str | None = None
    driver: Driver | None = None
    problem: Problem | None = None
    host: dict[str, Reading] = field(default_factory=dict)
    events: deque[Event] = field(default_factory=lambda: deque(maxlen=EVENTS_KEPT))
    _members: dict[str, _Member] = field(default_factory=dict)
    _worker: _Worker | None = None
    _judged: float | None = None
    _grace_until: float = 0.0

    def worker_started(self, mono: float, wall: float, restart: bool = False) -> None:
        """A worker process was started; until it opens the driver the frame says how long we have waited."""
        restarts = (self._worker.restarts if self._worker else 0) + int(restart)
        self._worker = _Worker(started=mono, heard=mono, restarts=restarts)
        if restart:
            self._note(wall, "worker-restarted", None, f"restart {restarts}")

    def worker_ended(self, mono: float, wall: float, detail: str) -> None:
        """The worker process is gone. `detail` says how, in English."""
        if self._worker:
            self._worker.alive = False
        self._note(wall, "worker-died", None, detail)
        self.judge(mono, wall)

    def eat(self, message: Message, wall: float) -> None:
        """Take one message. `wall` is the time of arrival, used where the message has none."""
        if isinstance(message, Sample):
            self._eat_sample(message)
        elif isinstance(message, Beat):
            self._heard(message.mono)
            if self._worker:
                self._worker.calls = message.calls
        elif isinstance(message, Cards):
            self._eat_cards(message)
        elif isinstance(message, HostSample):
            self.host.update(message.changed)
        elif isinstance(message, Cost):
            if self._worker:
                self._worker.cost = message
        elif isinstance(message, Event):
            self.events.append(message)
        elif isinstance(message, Problem):
            if self.problem is None or self.problem.id != message.id:
                self._note(wall, message.id, None, message.detail)
            self.problem = message
        elif isinstance(message, Opened):
            self._heard(message.mono)
            self.driver, self.source, self.simulated = message.driver, message.source, message.simulated
            self.scenario, self.problem = message.scenario, None
        elif isinstance(message, Hello):
            self._heard(message.mono)
            if self._worker:
                self._worker.pid = message.pid

    def _heard(self, mono: float) -> None:
        if self._worker:
            self._worker.heard = max(self._worker.heard, mono)

    def _note(self, wall: float, what: str, uuid: str | None, detail: str = "") -> None:
        self.events.append(Event(time=wall, what=what, gpu_uuid=uuid, detail=detail))

    def _eat_cards(self, listing: Cards) -> None:
        self._heard(listing.mono)
        seen = set()
        for listed in listing.cards:
            seen.add(listed.uuid)
            member = self._members.get(listed.uuid)
            if member is None:
                self._members[listed.uuid] = self._new_member(listed, listing.wall)
                continue
            if member.missing_since is not None:
                member.missing_since = None
                member.told = listed.state
                self._note(listing.wall, "gpu-back", member.uuid)
            member.index, member.name, member.code = listed.index, listed.name, listed.code
            member.readings = {**member.readings, **listed.readings}
            if listed.state not in _ANSWERS or member.told is State.MISSING:
                member.told = listed.state
            self._show(member, self._shown_state(member, listing.mono), listing.wall)
        for member in self._members.values():
            if member.uuid not in seen and member.missing_since is None:
                member.missing_since = listing.wall
                member.told = State.MISSING
                self._show(member, State.MISSING, listing.wall)

    def _new_member(self, listed: Listed, wall: float) -> _Member:
        member = _Member(
            index=listed.index,
            uuid=listed.uuid,
            name=listed.name,
            told=listed.state,
            readings=dict(listed.readings),
            history=History(),
            code=listed.code,
            shown_since=wall,
        )
        self._show(member, listed.state, wall)
        return member

    def _eat_sample(self, sample: Sample) -> None:
        self._heard(sample.mono)
        member = self._members.get(sample.uuid)
        if member is None:
            return
        member.told, member.code, member.owes = sample.state, sample.code, False
        if member.missing_since is not None:
            member.missing_since = None
            self._note(sample.wall, "gpu-back", member.uuid)
        if sample.changed:
            member.readings = {**member.readings, **_dated(sample, member.readings)}
        if sample.processes is not None:
            if member.samples and _own(sample.processes) != _own(member.processes):
                member.own_changed = sample.mono
            member.processes = sample.processes
        if sample.mig is not None:
            member.mig = sample.mig
        if sample.state in _ANSWERS:
            member.sampled_mono, member.sampled_wall = sample.mono, sample.wall
            member.samples += 1
            member.history.add(sample.mono, member.readings)
            member.tier.add(sample.mono, member.readings)
        self._show(member, self._shown_state(member, sample.mono), sample.wall)

    def judge(self, mono: float, wall: float) -> None:
        """Decide which cards do not answer. Call at least once a second, after eating everything that has arrived.

        When this process itself was stopped (ctrl+z, a sleeping laptop) silence proves nothing: the worker gets 3 s
        first.
        """
        if self._judged is not None and mono - self._judged > SILENT_S - 0.5:
            self._grace_until = mono + SILENT_S
        self._judged = mono
        for member in self._members.values():
            self._show(member, self._shown_state(member, mono), wall)

    def _shown_state(self, member: _Member, mono: float) -> State:
        if member.told in (State.MISSING, State.LOST, State.ERROR, State.NEEDS_RESET):
            return member.told
        worker = self._worker
        if worker is None:
            return member.told
        if not worker.alive:
            member.owes = True
            return State.NOT_ANSWERING
        if mono < self._grace_until:
            return member.shown if member.shown is State.NOT_ANSWERING else member.told
        if mono - worker.heard >= SILENT_S:
            member.hung = None
            return State.NOT_ANSWERING
        for call in worker.calls:
            if mono - call.since >= SILENT_S and self._holds(call, member, mono):
                member.hung = call
                member.owes = member.owes or call.uuid is not None
                return State.NOT_ANSWERING
        return State.NOT_ANSWERING if member.owes else member.told

    @staticmethod
    def _holds(call: Call, member: _Member, mono: float) -> bool:
        """Whether this call keeps this card from answering. One for no card in particular (listing them) does not,
        while the card's samples arrive.
        """
        if call.uuid is not None:
            return call.uuid == member.uuid
        return member.sampled_mono is None or mono - member.sampled_mono >= SILENT_S

    def _show(self, member: _Member, state: State, wall: float) -> None:
        if state is member.shown:
            return
        before, member.shown, member.shown_since = member.shown, state, wall
        code = "" if member.code is None else f"NVML {member.code}"
        if state is State.NOT_ANSWERING:
            self._note(wall, "not-answering", member.uuid, member.hung.name if member.hung else "")
        elif state in _EVENT_OF:
            self._note(wall, _EVENT_OF[state], member.uuid, code)
        elif state in _ANSWERS and before not in (*_ANSWERS, State.MISSING):
            self._note(wall, "answering-again", member.uuid)

    @property
    def worker_alive(self) -> bool:
        """Whether a worker process is running, as far as is known."""
        return self._worker is not None and self._worker.alive

    @property
    def restarts(self) -> int:
        """How many times the worker was restarted in this run."""
        return self._worker.restarts if self._worker else 0

    @property
    def cost(self) -> Cost | None:
        """The worker's own account of what reading costs."""
        return self._worker.cost if self._worker else None

    def calls_under_way(self, mono: float) -> list[tuple[str, str | None, float]]:
        """Driver calls under way as of the last heartbeat: (name, card's UUID, seconds)."""
        return [(call.name, call.uuid, mono - call.since) for call in (self._worker.calls if self._worker else ())]

    def history(self, uuid: str) -> History | None:
        """The history of one card, or None. Read only."""
        member = self._members.get(uuid)
        return member.history if member else None

    def tier(self, uuid: str) -> DayTier | None:
        """The day of history of one card, or None. Read only."""
        member = self._members.get(uuid)
        return member.tier if member else None

    def frame(self, mono: float, wall: float) -> Frame:
        """Everything known now, frozen."""
        waiting = None
        if self.driver is None and self.problem is None and self._worker is not None:
            waiting = max(0.0, mono - self._worker.started)
        return Frame(
            time=wall,
            mono=mono,
            source=self.source,
            simulated=self.simulated,
            driver=self.driver,
            cards=tuple(
                self._card(member, mono) for member in sorted(self._members.values(), key=lambda m: (m.index, m.uuid))
            ),
            host=dict(self.host),
            events=tuple(self.events),
            problem=self.problem,
            waiting_s=waiting,
            interval_s=self.interval_s,
            scenario=self.scenario,
        )

    @staticmethod
    def _card(member: _Member, mono: float) -> Card:
        return Card(
            index=member.index,
            uuid=member.uuid,
            name=member.name,
            state=member.shown,
            readings=member.readings,
            processes=member.processes,
            mig=member.mig,
            sampled=member.sampled_wall,
            age_s=None if member.sampled_mono is None else max(0.0, mono - member.sampled_mono),
            state_since=member.shown_since,
            missing_since=member.missing_since,
            state_code=member.code,
            samples=member.samples,
            own_changed_s=None if member.own_changed is None else max(0.0, mono - member.own_changed),
        )


def _own(processes: tuple[Process, ...] | Absent) -> frozenset[tuple[int, float | None]]:
    """Those that are ours, or may be."""
    if isinstance(processes, Absent):
        return frozenset()
    return frozenset((process.pid, process.started) for process in processes if process.here is not False)


def _dated(sample: Sample, before: Mapping[str, Reading]) -> dict[str, Reading]:
    """What changed, with the time beside each reading that had a value and has none any more."""
    out = dict(sample.changed)
    for name, reading in sample.changed.items():
        if isinstance(reading, Absent) and reading.since is None:
            old = before.get(name)
            if isinstance(old, Absent):
                out[name] = replace(reading, since=old.since)
            elif old is not None:
                out[name] = replace(reading, since=sample.wall)
    return out


def memory_share(card: Card) -> float | None:
    """Used of total memory in percent; None when either is unknown or the total is 0."""
    used, total = number(card.get("memory.used")), number(card.get("memory.total"))
    if used is None or not total:
        return None
    return 100.0 * used / total
