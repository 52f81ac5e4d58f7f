"""Whether a probe may start on a card, and when it must stop. Pure: a card as it was read, a word as the answer."""

from __future__ import annotations

from dataclasses import dataclass

from gputui.model.card import Card, State
from gputui.model.history import History
from gputui.model.reading import Absent, number
from gputui.probes.table import Probe
from gputui.text import _

COOL_BELOW_C, STOP_BELOW_C, HOTTEST_C = 15.0, 5.0, 87.0
"""Start 15 degrees below slowdown, stop 5 below, and never go on above 87. Ours; not tried on a card yet."""
BLIND_S = 20.0
"""A card without a temperature (vGPU) is only loaded for so long."""
USED_PERCENT, QUIET_S = 5.0, 5.0
OTHERS_MIB = 500.0


@dataclass(frozen=True)
class Admission:
    """why: a sentence when it may not start. stop_c: degrees at which to stop; None where there is no temperature."""

    why: str = ""
    stop_c: float | None = None

    @property
    def allowed(self) -> bool:
        """It may start."""
        return not self.why


def admit(card: Card, history: History | None, probe: Probe) -> Admission:
    """The answer for one card. No flag overrides it."""
    if card.state is not State.OK:
        return Admission(_("the card does not answer ({state})").format(state=card.state.value))
    if busy := in_use(card, history):
        return Admission(busy)
    heat, slowdown = number(card.get("temperature.gpu")), number(card.get("temperature.threshold.slowdown"))
    margin = number(card.get("temperature.gpu.tlimit"))
    if heat is None:
        if probe.total_s > BLIND_S:
            return Admission(_("its temperature cannot be read"))
        return Admission(stop_c=None)
    if slowdown is None and margin is not None:
        slowdown = heat + margin  # Hopper and later give how far it is to the limit
    stop = min(HOTTEST_C, slowdown - STOP_BELOW_C) if slowdown is not None else HOTTEST_C
    start = (slowdown if slowdown is not None else HOTTEST_C + STOP_BELOW_C) - COOL_BELOW_C
    if heat > start:
        return Admission(_("it is too warm to start: {now:.0f} °C, over {most:.0f}").format(now=heat, most=start))
    return Admission(stop_c=stop)


def in_use(card: Card, history: History | None) -> str:
    """Who uses the card, as a sentence; "" when nobody does as far as can be seen."""
    processes = () if isinstance(card.processes, Absent) else card.processes
    jobs = [process for process in processes if "C" in process.type or not process.listed]
    if jobs:
        return _("a process uses it") if len(jobs) == 1 else _("{count} processes use it").format(count=len(jobs))
    if history is not None and history.newest is not None:
        points = [value for _at, value in history.points("utilization.gpu", history.newest - QUIET_S + 1)]
        if points and min(points) > USED_PERCENT:
            return _("it is at work ({load:.0f} %)").format(load=sum(points) / len(points))
    used = number(card.get("memory.used"))
    if card.get("memory.used.includes_reserved") != "yes" and used is not None and used > OTHERS_MIB:
        return _("{mib:.0f} MiB of its memory are in use").format(mib=used)
    return ""
