"""What every source of readings is inside the worker process: open, cards, sample, close.

Three kinds exist: the live driver (nvml.py), simulated hosts (scripted.py), and recorded ones. The worker runs any of
them the same way, one thread a card, so whatever the screen shows of a simulated host went the way of a real one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gputui.model.card import Driver, Event, MigDevice, Problem, Process, State
from gputui.model.reading import Absent, Reading
from gputui.model.wire import Listed


class DriverProblem(Exception):
    """The driver cannot be used at all; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.id)
        self.problem = problem


@dataclass(frozen=True)
class Sampled:
    """One card read once. readings holds every reading that was read this time, changed or not."""

    state: State
    readings: Mapping[str, Reading]
    code: int | None = None
    processes: tuple[Process, ...] | Absent | None = None
    mig: tuple[MigDevice, ...] | None = None


class DriverSource(Protocol):
    """A driver, or something that stands in for one. Calls for different cards may come from different threads."""

    source: str
    simulated: bool
    scenario: str | None

    def open(self) -> Driver:
        """Start the driver. Raises DriverProblem."""

    def cards(self) -> list[Listed]:
        """The cards there are now, with their static readings; a card that cannot be opened is listed with its
        state.
        """

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        """Read one card: the fast readings, and the slow ones too when `slow`. Never raises for a driver's answer."""

    def events(self, timeout_s: float) -> list[Event]:
        """Events the driver reported (XID, MIG changes) within `timeout_s`; may return at once with none."""

    def host(self, slow: bool) -> Mapping[str, Reading]:
        """Readings of the machine."""

    def close(self) -> None:
        """Let go of the driver. May block; the worker does not wait for it when it must end."""
