"""What a rule sees of one card: its readings, the window of its history, its reference, and whose work runs on it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from gputui.findings.evidence import Evidence, Expect, NotJudged, ProbeResult
from gputui.findings.registry import RULES
from gputui.findings.thresholds import Threshold, threshold
from gputui.model.card import Card, Frame, Process
from gputui.model.finding import Finding, Severity
from gputui.model.history import History
from gputui.model.reading import Absent, Reading, number, text
from gputui.reference.card import CardSpec
from gputui.reference.lookup import Match, Shape, find

FIRST_SAMPLES_S = 2.0
"""The first two seconds of a session are not evidence: an L40S without persistence showed P0, 100 % and 145 W in the
sample after nvmlInit with nothing running (driver 595.80)."""


@dataclass(frozen=True)
class View:
    """What every rule sees, of the host or of a card.

    memo: what one rule worked out, kept for the next on the same card.
    """

    evidence: Evidence
    rule_id: str
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False, kw_only=True)

    @property
    def frame(self) -> Frame:
        return self.evidence.frame

    @property
    def expect(self) -> Expect:
        """What was rented."""
        return self.evidence.expect

    @property
    def limits(self) -> Threshold:
        """The thresholds of the rule that looks."""
        return threshold(self.rule_id)

    def host(self, name: str) -> float | None:
        """A reading of the machine as a number."""
        return number(self.frame.host.get(name))

    def host_text(self, name: str) -> str | None:
        """A reading of the machine as text."""
        return text(self.frame.host.get(name))

    def _found(
        self,
        severity: Severity,
        sentence: str,
        evidence: Mapping[str, Any],
        card: Card | None,
        values: Mapping[str, Any],
    ) -> Finding:
        rule = RULES[self.rule_id]
        try:
            checked = threshold(self.rule_id).checked_on_hardware
        except KeyError:
            checked = False
        return Finding(
            id=self.rule_id,
            severity=severity,
            text=sentence,
            values=values,
            gpu=None if card is None else card.index,
            gpu_uuid=None if card is None else card.uuid,
            evidence=evidence,
            could_be=rule.could_be,
            action=rule.action,
            who=rule.who,
            source=rule.source,
            verify=rule.verify.format(gpu=card.uuid if card else ""),
            checked_on_hardware=checked,
        )


@dataclass(frozen=True)
class HostView(View):
    """For rules about the machine or the driver."""

    def found(self, severity: Severity, sentence: str, evidence: Mapping[str, Any], **values: Any) -> Finding:
        """A finding of this rule."""
        return self._found(severity, sentence, evidence, None, values)

    def not_judged(self, why: str, needs_s: float | None = None) -> NotJudged:
        """This check could not be made."""
        return NotJudged(self.rule_id, needs_s, None, why)


@dataclass(frozen=True)
class CardView(View):
    """For rules about one card."""

    card: Card

    def found(self, severity: Severity, sentence: str, evidence: Mapping[str, Any], **values: Any) -> Finding:
        """A finding of this rule on this card."""
        return self._found(severity, sentence, evidence, self.card, values)

    def not_judged(self, why: str, needs_s: float | None = None) -> NotJudged:
        """This check could not be made on this card."""
        return NotJudged(self.rule_id, needs_s, self.card.index, why)

    def get(self, name: str) -> Reading:
        """The reading, or Absent."""
        return self.card.get(name)

    def number(self, name: str) -> float | None:
        """The reading as a number, None when absent."""
        return number(self.card.get(name))

    def text(self, name: str) -> str | None:
        """The reading as text, None when absent."""
        return text(self.card.get(name))

    @cached_property
    def history(self) -> History | None:
        """The card's history, read only."""
        return self.evidence.histories.get(self.card.uuid)

    @property
    def match(self) -> Match:
        """Which reference card this is."""
        if "match" not in self.memo:
            self.memo["match"] = match_of(self.card)
        found: Match = self.memo["match"]
        return found

    @property
    def spec(self) -> CardSpec | None:
        """The reference card, None when the card is not listed."""
        return self.match.spec

    @property
    def is_mig(self) -> bool:
        """Whether MIG is on, or this is a MIG device."""
        return bool(self.card.mig) or self.text("mig.mode.current") == "Enabled" or self.card.uuid.startswith("MIG-")

    @property
    def is_vgpu(self) -> bool:
        """Whether this is a virtual GPU (vGPU guest). Pass-through is a whole card."""
        return (self.text("virtualization_mode") or "").lower() in ("vgpu", "virtual gpu")

    @property
    def is_unified(self) -> bool:
        """Whether the card has no memory of its own."""
        return self.text("memory.kind") == "unified"

    def probes(self, probe_id: str) -> tuple[ProbeResult, ...]:
        """Results of one probe on this card."""
        return tuple(p for p in self.evidence.probes if p.gpu_uuid == self.card.uuid and p.id == probe_id)

    def series(self, name: str, seconds: float) -> list[tuple[float, float]]:
        """(monotonic time, value) of the last `seconds`, without the first two seconds of the session."""
        key = (name, seconds)
        if key not in self.memo:
            self.memo[key] = self._series(name, seconds)
        found: list[tuple[float, float]] = self.memo[key]
        return found

    def _series(self, name: str, seconds: float) -> list[tuple[float, float]]:
        history = self.history
        if history is None or history.newest is None:
            return []
        start = history.newest + 1 - min(history.span_s - FIRST_SAMPLES_S, seconds)
        return list(history.points(name, start))

    def watched_s(self, name: str, seconds: float) -> float:
        """How many of the last `seconds` have a sample of this reading (one a second; a longer interval counts as
        its span).
        """
        points = self.series(name, seconds)
        return (points[-1][0] - points[0][0] + 1.0) if points else 0.0

    def loaded(self, seconds: float, at_least: float = 95.0) -> list[float]:
        """Times in the last `seconds` at which utilization was at least so many percent."""
        return [mono for mono, value in self.series("utilization.gpu", seconds) if value >= at_least]

    def longest_run(self, bits: int, seconds: float) -> int:
        """The most seconds in a row, within the last `seconds`, whose reasons had any of these bits."""
        history = self.history
        if history is None or history.newest is None:
            return 0
        best = run = 0
        before: float | None = None
        for mono, mask in history.masks(history.newest + 1 - seconds):
            follows = before is not None and mono - before <= 1.5 * max(1.0, self.frame.interval_s)
            run = (run + 1 if follows else 1) if mask & bits else 0
            best, before = max(best, run), mono
        return best

    @property
    def single_sample(self) -> bool:
        """Whether all there is of this card is one sample, as in a saved `nvidia-smi -q`."""
        return self.card.samples == 1 and self.frame.source == "nvidia-smi"

    def median(self, name: str, times: list[float]) -> float | None:
        """The median of a reading over the given times."""
        history = self.history
        if history is None or not times:
            return None
        wanted = set(times)
        values = [value for mono, value in history.points(name, times[0], times[-1] + 1) if mono in wanted]
        return statistics.median(values) if values else None

    def mask_share(self, bits: int, times: list[float]) -> float | None:
        """Of the given times at which reasons were read, the share (0 to 1) with any of these bits set."""
        history = self.history
        if history is None or not times:
            return None
        wanted = set(times)
        masks = [mask for mono, mask in history.masks(times[0], times[-1] + 1) if mono in wanted]
        return sum(1 for mask in masks if mask & bits) / len(masks) if masks else None

    @property
    def processes(self) -> tuple[Process, ...] | None:
        """The processes on the card, None when the list could not be read or cannot be trusted."""
        return None if isinstance(self.card.processes, Absent) else self.card.processes

    @property
    def own_processes(self) -> tuple[Process, ...]:
        """Processes of this container on the card."""
        return tuple(process for process in self.processes or () if process.here)


def match_of(card: Card) -> Match:
    """Look the card up in the reference: PCI device id first, then name, then shape."""
    multiprocessors, memory = number(card.get("multiprocessor_count")), number(card.get("memory.total"))
    capability = text(card.get("compute_cap"))
    shape = Shape(
        sm_count=None if multiprocessors is None else int(multiprocessors),
        memory_mib=None if memory is None else int(memory),
        compute_capability=capability,
    )
    return _find(_hex(card.get("pci.device_id")), _hex(card.get("pci.sub_device_id")), card.name, shape)


@lru_cache(maxsize=256)
def _find(device: int | None, subsystem: int | None, name: str, shape: Shape) -> Match:
    """`find`, remembered: the same cards are asked about every few seconds."""
    return find(device, subsystem, name, shape)


def _hex(reading: Reading) -> int | None:
    if isinstance(reading, str):
        try:
            return int(reading, 16)
        except ValueError:
            return None
    return None
