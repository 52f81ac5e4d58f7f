"""Cards and findings for the tests of this folder and of the filter."""

from __future__ import annotations

from typing import Any

from gputui.model import reasons
from gputui.model.card import Card, Frame, State
from gputui.model.finding import Finding, Severity
from gputui.model.reading import Absent, Why

BASE: dict[str, Any] = {
    "temperature.gpu": 61,
    "power.draw": 300.4,
    "enforced.power.limit": 400.0,
    "utilization.gpu": 97,
    "memory.used": 20480.0,
    "memory.total": 40960.0,
    "clocks.current.sm": 1755,
    "clocks.max.sm": 1980,
    "pstate": "P0",
    "fan.speed": Absent(Why.UNSUPPORTED),
    "compute_cap": "9.0",
    "persistence_mode": "Enabled",
    "virtualization_mode": "None",
}


def card(index: int = 0, mask: int = 4, state: State = State.OK, name: str = "NVIDIA H100 80GB HBM3", **changed: Any):
    """A busy card. Readings are given with _ for the dots; `without` names readings that are absent."""
    readings = dict(BASE)
    readings["clocks_event_reasons.mask"] = mask
    readings["clocks_event_reasons.active"] = reasons.words(mask)
    for key, value in changed.items():
        readings[key.replace("_", ".") if key.replace("_", ".") in BASE else key] = value
    return Card(index=index, uuid=f"GPU-{index:08d}", name=name, state=state, readings=readings, age_s=0.5, samples=9)


def frame(cards, mono: float = 100.0, interval_s: float = 1.0) -> Frame:
    """A frame of these cards."""
    return Frame(
        time=1_764_547_200.0 + mono,
        mono=mono,
        source="nvml",
        simulated=False,
        driver=None,
        cards=tuple(cards),
        interval_s=interval_s,
    )


def finding(of: Card, id: str = "hot", severity: Severity = Severity.WARN) -> Finding:
    """A finding of a card."""
    return Finding(id, severity, "It is {c} degrees.", {"c": 91}, gpu=of.index, gpu_uuid=of.uuid)
