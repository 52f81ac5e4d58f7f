"""Evidence for rules, made the way the product makes it: messages eaten by a fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gputui.findings import Evidence, Expect, Judgement, ProbeResult, judge
from gputui.model import reasons
from gputui.model.card import Driver, Process, State
from gputui.model.fleet import Fleet
from gputui.model.reading import Absent, Reading
from gputui.model.wire import Cards, HostSample, Listed, Opened, Sample

START_MONO, START_WALL = 1000.0, 1_764_547_200.0

RTX_4090: dict[str, Reading] = {
    "pci.device_id": "0x268410DE",
    "pci.sub_device_id": "0x16F310DE",
    "compute_cap": "8.9",
    "multiprocessor_count": 128,
    "memory.total": 24564.0,
    "memory.used": 400.0,
    "memory.free": 23700.0,
    "memory.reserved": 464.0,
    "memory.kind": "dedicated",
    "power.default_limit": 450.0,
    "enforced.power.limit": 450.0,
    "power.limit": 450.0,
    "power.min_limit": 150.0,
    "power.max_limit": 600.0,
    "clocks.max.sm": 3105,
    "clocks.max.memory": 10501,
    "temperature.threshold.slowdown": 90,
    "temperature.threshold.shutdown": 95,
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "mig.mode.current": "Disabled",
    "pcie.link.gen.max": 4,
    "pcie.link.width.max": 16,
    "virtualization_mode": "None",
}
A100: dict[str, Reading] = {
    "pci.device_id": "0x20B210DE",
    "pci.sub_device_id": "0x147F10DE",
    "compute_cap": "8.0",
    "multiprocessor_count": 108,
    "memory.total": 81920.0,
    "memory.used": 500.0,
    "memory.reserved": 600.0,
    "memory.kind": "dedicated",
    "power.default_limit": 400.0,
    "enforced.power.limit": 400.0,
    "power.limit": 400.0,
    "clocks.max.sm": 1410,
    "clocks.max.memory": 1593,
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "ecc.mode.current": "Enabled",
    "mig.mode.current": "Disabled",
    "virtualization_mode": "None",
}
IDLE: dict[str, Reading] = {
    "clocks.current.sm": 210,
    "clocks.current.memory": 405,
    "pstate": "P8",
    "power.draw": 22.0,
    "temperature.gpu": 38,
    "utilization.gpu": 0,
    "utilization.memory": 0,
    "pcie.link.gen.current": 1,
    "pcie.link.width.current": 16,
}
BUSY: dict[str, Reading] = {
    "clocks.current.sm": 2625,
    "clocks.current.memory": 10251,
    "pstate": "P2",
    "power.draw": 438.0,
    "temperature.gpu": 66,
    "utilization.gpu": 100,
    "utilization.memory": 60,
    "memory.used": 20000.0,
    "pcie.link.gen.current": 4,
    "pcie.link.width.current": 16,
}
OWN_JOB = (Process(4100, "C", "python", 19600.0, here=True),)


def reading_of_mask(mask: int) -> dict[str, Reading]:
    """The two readings a mask becomes."""
    return {"clocks_event_reasons.mask": mask, "clocks_event_reasons.active": reasons.words(mask)}


def evidence(
    facts: Mapping[str, Reading],
    moment: Callable[[int], Mapping[str, Any]] | Mapping[str, Any],
    *,
    seconds: int = 70,
    name: str = "NVIDIA GeForce RTX 4090",
    uuid: str = "GPU-11111111-2222-3333-4444-555555555555",
    state: State = State.OK,
    processes: tuple[Process, ...] | Absent = OWN_JOB,
    own_until: int | None = None,
    host: Mapping[str, Reading] | None = None,
    expect: Expect = Expect.ANY,
    probes: tuple[ProbeResult, ...] = (),
    source: str = "nvml",
) -> Evidence:
    """One card watched for `seconds`. `moment(second)` gives the readings; "mask" in them sets the reasons. own_until:
    the second in which a process of ours left the card, beside `processes`.
    """
    fleet = Fleet(source=source)
    if source == "nvml":
        fleet.worker_started(START_MONO - 1, START_WALL)
    fleet.eat(Opened(Driver("580.95.05", "13.0", "13.580.95.05", "580.95.05"), source, False, START_MONO), START_WALL)
    fleet.eat(HostSample(START_MONO, START_WALL, dict(host or {})), START_WALL)
    fleet.eat(Cards((Listed(0, uuid, name, facts),), START_MONO, START_WALL), START_WALL)
    for second in range(seconds):
        now = dict(moment(second) if callable(moment) else moment)
        now.update(reading_of_mask(now.pop("mask", 0)))
        mono = START_MONO + second + 0.1
        there = processes
        if own_until is not None and second < own_until and not isinstance(processes, Absent):
            there = (*processes, *OWN_JOB)
        fleet.eat(Sample(uuid, mono, START_WALL + second, State.OK, now, processes=there), START_WALL)
    end = START_MONO + seconds
    if state is not State.OK:
        fleet.eat(Sample(uuid, end, START_WALL + seconds, state, {}, code=15), START_WALL)
    frame = fleet.frame(end, START_WALL + seconds)
    history = fleet.history(uuid)
    assert history is not None
    return Evidence(frame, {uuid: history}, expect, probes)


def judged(*args: Any, **keywords: Any) -> Judgement:
    """The judgement over `evidence(...)`."""
    return judge(evidence(*args, **keywords))


def ids(judgement: Judgement, *severities: str) -> set[str]:
    """The ids found, all or of the given severities."""
    return {f.id for f in judgement.findings if not severities or f.severity.value in severities}
