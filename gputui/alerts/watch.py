"""From frames and findings to alerts: what has just begun, what has just ended. Pure; time comes in with the frame.

A threshold begins after its condition held for its time without a break. It ends when the value has come back by the
margin of the condition for CLEAR_S, or has been on the good side of the threshold for LONG_CLEAR_S (a limit the value
cannot pass by a margin must be able to end too). Readings nobody could take prove neither: they break the wait of one
that has not begun, and one that has goes on until it is LONG_CLEAR_S old news. A finding has its own window in its
rule; here it only has to stay away for CLEAR_S before it is over, so that one that comes and goes rings once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gputui.alerts.condition import comparisons
from gputui.alerts.threshold import Threshold
from gputui.model.card import Card, Frame, State
from gputui.model.finding import Finding, Severity
from gputui.model.reading import to_wire

CLEAR_S = 5.0
LONG_CLEAR_S = 60.0
BREAK_S = 5.0
"""Frames further apart than this, or than three intervals, are two watches and not one: nobody saw what lay between."""
THRESHOLD = "threshold"
"""The id of the finding that a person's own threshold becomes."""
_FRESH = (State.OK, State.ASLEEP)
_LOUD = (Severity.FAIL, Severity.WARN)


@dataclass(frozen=True)
class Alert:
    """Something to be told about, from the moment it begins. since: Unix time; since_mono the same moment."""

    finding: Finding
    since: float
    since_mono: float

    @property
    def key(self) -> tuple[str, str | None, str]:
        """What makes two alerts the same: id, card, and the threshold's text."""
        return key_of(self.finding)


@dataclass(frozen=True)
class Change:
    """An alert that begins or ends. loud: ring and show it; False in quiet mode, where it is only kept.

    unread: it ended because nobody can read any more whether it goes on, not because it is well again.
    """

    alert: Alert
    begins: bool
    loud: bool
    time: float
    unread: bool = False


def key_of(finding: Finding) -> tuple[str, str | None, str]:
    """Id, card, and for a person's own threshold its text."""
    return finding.id, finding.gpu_uuid, str(finding.values.get("rule", "")) if finding.id == THRESHOLD else ""


@dataclass
class _Watch:
    """One threshold on one card. Monotonic times since which it holds, is well by the margin, is well at all, or cannot
    be told.
    """

    held: float | None = None
    clear: float | None = None
    well: float | None = None
    unread: float | None = None

    def see(self, mono: float, now: bool | None, relaxed: bool | None) -> None:
        """Take what the condition and its relaxed form say at this moment."""
        self.held = _since(self.held, now is True, mono)
        self.well = _since(self.well, now is False, mono)
        self.clear = _since(self.clear, relaxed is False, mono)
        self.unread = _since(self.unread, now is None, mono)


def _since(before: float | None, still: bool, mono: float) -> float | None:
    return (mono if before is None else before) if still else None


@dataclass
class Alerts:
    """The state of all alerts of one session. severities: which findings are alerts."""

    thresholds: Sequence[Threshold] = ()
    severities: Sequence[Severity] = _LOUD
    _active: dict[tuple[str, str | None, str], Alert] = field(default_factory=dict)
    _watches: dict[tuple[str, str], _Watch] = field(default_factory=dict)
    _away: dict[tuple[str, str | None, str], float] = field(default_factory=dict)
    _fed: float | None = None

    @property
    def active(self) -> tuple[Alert, ...]:
        """What is going on now, oldest first."""
        return tuple(self._active.values())

    def feed(self, frame: Frame, findings: Iterable[Finding], quiet: bool = False) -> list[Change]:
        """Take one frame with its findings; give back what changed. A frame not later than the last changes nothing."""
        mono = frame.mono
        if self._fed is not None and mono <= self._fed:
            return []
        if self._fed is not None and mono - self._fed > max(BREAK_S, 3 * frame.interval_s):
            self._watches.clear()
            self._away.clear()
        self._fed = mono
        found = {key_of(one): one for one in findings if one.severity in self.severities}
        begun, ended = [], []
        for one in [*found.values(), *self._crossed(frame)]:
            if key_of(one) not in self._active:
                alert = Alert(one, frame.time, mono)
                self._active[alert.key] = alert
                begun.append(alert)
        for key, alert in list(self._active.items()):
            over, unread = self._left(alert, mono) if key[0] == THRESHOLD else (self._gone(key, key in found), False)
            if over:
                del self._active[key]
                self._away.pop(key, None)
                ended.append(Change(alert, False, not quiet, frame.time, unread))
        return [Change(alert, True, not quiet, frame.time) for alert in begun] + ended

    def _gone(self, key: tuple[str, str | None, str], there: bool) -> bool:
        """Whether a finding has stayed away for long enough."""
        mono = self._fed or 0.0
        if there:
            self._away.pop(key, None)
            return False
        return mono - self._away.setdefault(key, mono) >= CLEAR_S

    def _crossed(self, frame: Frame) -> Iterator[Finding]:
        """The thresholds that hold long enough now. Looks at every one, so that each keeps its times."""
        present = set()
        for threshold in self.thresholds:
            relaxed = threshold.condition.relaxed()
            for card in frame.cards:
                key = threshold.text, card.uuid
                present.add(key)
                watch = self._watches.setdefault(key, _Watch())
                seen = _fresh(card)
                watch.see(frame.mono, threshold.condition.judge(seen), relaxed.judge(seen))
                if watch.held is not None and frame.mono - watch.held >= threshold.for_s:
                    yield _finding(threshold, card)
        for gone in self._watches.keys() - present:
            del self._watches[gone]

    def _left(self, alert: Alert, mono: float) -> tuple[bool, bool]:
        """Whether a threshold's alert is over, and whether only because it cannot be read any more."""
        watch = self._watches.get((str(alert.finding.values["rule"]), alert.finding.gpu_uuid or ""))
        if watch is None:
            return True, True
        if _lasted(watch.clear, CLEAR_S, mono) or _lasted(watch.well, LONG_CLEAR_S, mono):
            return True, False
        unread = _lasted(watch.unread, LONG_CLEAR_S, mono)
        return unread, unread


def _lasted(since: float | None, seconds: float, mono: float) -> bool:
    return since is not None and mono - since >= seconds


def _fresh(card: Card) -> Card:
    """The card with readings only while it answers: what a silent card last said is no evidence of now."""
    return card if card.state in _FRESH else replace(card, readings={})


def _finding(threshold: Threshold, card: Card) -> Finding:
    """The crossing as a finding, so that the screen, the hook and the exports treat it like any other."""
    evidence = {one.field.name: to_wire(card.get(one.field.name)) for one in comparisons(threshold.condition)}
    return Finding(
        id=THRESHOLD,
        severity=Severity.WARN,
        text="Your threshold {rule} is crossed.",
        values={"rule": threshold.text},
        gpu=card.index,
        gpu_uuid=card.uuid,
        evidence={name: value for name, value in evidence.items() if name in card.readings},
        action="You set this threshold; change it in the settings.",
        who="you",
        source="your settings",
    )
