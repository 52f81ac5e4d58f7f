"""Hysteresis for the dashboard: a finding is shown when it has held for a while, and goes when it has been away for
one.

Text commands judge once and do not need it. Time comes in from outside, monotonic seconds and Unix time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gputui.findings.evidence import Judgement
from gputui.model.card import Event
from gputui.model.finding import Finding, Severity

APPEAR_S = 4.0
GO_S = 9.0
_AT_ONCE = frozenset({"gpu-lost", "gpu-missing", "needs-reset", "driver-not-answering", "xid"})
"""These are states, not measurements: they neither flicker nor should wait."""
_Key = tuple[str, str | None]


@dataclass
class _Held:
    finding: Finding
    since: float
    seen: float
    shown: bool = False


class Watch:
    """Findings over time. Feed it every judgement; it gives back what to show and what happened."""

    def __init__(self) -> None:
        self._held: dict[_Key, _Held] = {}

    def update(self, mono: float, wall: float, judgement: Judgement) -> tuple[Judgement, list[Event]]:
        """The judgement to show, and the findings that appeared or went."""
        events: list[Event] = []
        for finding in judgement.findings:
            key = (finding.id, finding.gpu_uuid)
            held = self._held.get(key)
            if held is None:
                held = self._held[key] = _Held(finding, mono, mono)
            held.finding, held.seen = finding, mono
            if not held.shown and (mono - held.since >= APPEAR_S or finding.id in _AT_ONCE):
                held.shown = True
                if finding.severity is not Severity.INFO:
                    events.append(_event(wall, "finding-appeared", finding))
        for key, held in list(self._held.items()):
            away = mono - held.seen
            if away > 0 and (not held.shown or away >= GO_S or held.finding.id in _AT_ONCE):
                del self._held[key]
                if held.shown and held.finding.severity is not Severity.INFO:
                    events.append(_event(wall, "finding-went", held.finding))
        shown = tuple(held.finding for held in self._held.values() if held.shown)
        order = {(f.id, f.gpu_uuid): place for place, f in enumerate(judgement.findings)}
        last = len(order)
        ordered = sorted(shown, key=lambda f: order.get((f.id, f.gpu_uuid), last))
        return replace(judgement, findings=tuple(ordered)), events


def _event(wall: float, what: str, finding: Finding) -> Event:
    return Event(wall, what, finding.gpu_uuid, f"{finding.severity.value} {finding.id}: {finding.summary}")
