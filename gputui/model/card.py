"""What is known of a host at one moment: driver, cards, processes, MIG devices, events. All frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from gputui.model.reading import Absent, Reading, get


class State(str, Enum):
    """How a card answers. `ok` says nothing about its health, only that readings arrive."""

    OK = "ok"
    LOST = "lost"
    ERROR = "error"
    NEEDS_RESET = "needs-reset"
    MISSING = "missing"
    NOT_ANSWERING = "not-answering"
    ASLEEP = "asleep"


@dataclass(frozen=True)
class Process:
    """A process in the driver's list, or one of ours that has the card's device node open.

    type:   "C" compute, "G" graphics, "M" MPS, joined by "+" when several.
    memory_mib: as the driver says; Absent(unsupported) for its all-ones.
    here:   True when it runs in this container and has the card's device node open; False when the PID means nothing
            here ("outside this container"); None when it cannot be told (we may not look into it).
    listed: False for one of ours that the driver's list does not name (found by its open device node).
    user, command: for the screen only, never exported. started: Unix time; identifies a PID that came back.
    """

    pid: int
    type: str
    name: str
    memory_mib: Reading
    here: bool | None
    listed: bool = True
    user: str | None = None
    command: str | None = None
    started: float | None = None
    sm_percent: Reading | None = None
    cpu_percent: float | None = None
    rss_mib: float | None = None
    mig_uuid: str | None = None


@dataclass(frozen=True)
class MigDevice:
    """One MIG device of a card. Memory in MiB; `slices` is compute slices of the GPU instance."""

    index: int
    uuid: str
    name: str
    gpu_instance: int | None = None
    compute_instance: int | None = None
    multiprocessors: Reading | None = None
    memory_total_mib: Reading | None = None
    memory_used_mib: Reading | None = None


@dataclass(frozen=True)
class Driver:
    """Versions as the driver states them. `kernel_module` is from /proc/driver/nvidia/version."""

    version: Reading
    cuda: Reading
    nvml: Reading
    kernel_module: Reading


@dataclass(frozen=True)
class Event:
    """Something that happened.

    `what` is a stable id such as gpu-lost, gpu-missing, gpu-back, not-answering, xid, worker-died.
    """

    time: float
    what: str
    gpu_uuid: str | None = None
    detail: str = ""


@dataclass(frozen=True)
class Card:
    """One card at one moment.

    index is the driver's at the time of the last listing; identity is `uuid`. sampled is Unix time of the readings,
    age_s their age when the frame was taken. missing_since is set for a card that was seen in this run and is no
    longer listed. own_changed_s: seconds since a process of ours was seen to begin or end on the card, None when none
    was.
    """

    index: int
    uuid: str
    name: str
    state: State
    readings: Mapping[str, Reading]
    processes: tuple[Process, ...] | Absent = ()
    mig: tuple[MigDevice, ...] = ()
    sampled: float | None = None
    age_s: float | None = None
    state_since: float | None = None
    missing_since: float | None = None
    state_code: int | None = None
    samples: int = 0
    own_changed_s: float | None = None

    def get(self, name: str) -> Reading:
        """The named reading, `Absent(not-asked)` when it was never read."""
        return get(self.readings, name)

    @property
    def reasons(self) -> tuple[str, ...] | Absent:
        """Active clocks event reasons as words, worst not first: the driver's bit order."""
        found = self.get("clocks_event_reasons.active")
        if isinstance(found, (tuple, Absent)):
            return found
        return (str(found),)


@dataclass(frozen=True)
class Frame:
    """Everything known at one moment. time is Unix time, mono the same moment on the monotonic clock.

    host: readings of the machine (names in driver/hostfacts). problem: a start-up failure id such as driver-not-
    loaded, or None.
    waiting_s: seconds since the driver was asked to start while it has not answered yet, else None.
    """

    time: float
    mono: float
    source: str
    simulated: bool
    driver: Driver | None
    cards: tuple[Card, ...]
    host: Mapping[str, Reading] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    problem: Problem | None = None
    waiting_s: float | None = None
    interval_s: float = 1.0
    scenario: str | None = None

    def card(self, uuid: str) -> Card | None:
        """The card with this UUID, or None."""
        return next((card for card in self.cards if card.uuid == uuid), None)


@dataclass(frozen=True)
class Problem:
    """Why there is no data at all.

    id is one of the telemetry finding ids; detail is the driver's own word, not translated.
    """

    id: str
    detail: str = ""
    code: int | None = None
