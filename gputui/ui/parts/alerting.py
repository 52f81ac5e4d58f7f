"""What the rules and a person's own thresholds say, and telling of it: bell, note, event, command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gputui.alerts.hook import OnFinding
from gputui.alerts.quiet import Quiet
from gputui.alerts.watch import THRESHOLD, Alerts, Change
from gputui.findings.evidence import ProbeResult
from gputui.model.card import Event, Frame
from gputui.model.finding import Finding
from gputui.model.history import History
from gputui.settings.schema import Settings
from gputui.text import _
from gputui.ui.parts.base import Part

JUDGE_S = 5.0

Judge = Callable[
    [Frame, Mapping[str, History], Sequence[ProbeResult]],
    tuple[Sequence[Finding], Sequence[Event]],
]
"""The rules: what to show now, and what appeared or went since the last time."""


class Alerting(Part):
    """Judges each frame."""

    judge: Judge | None
    alerts: Alerts
    quiet: Quiet
    hook: OnFinding | None

    def start_judging(self, judge: Judge | None, settings: Settings, hook: OnFinding | None) -> None:
        """From the beginning, as with another source."""
        self.judge, self.hook = judge, hook
        self.alerts = Alerts(settings.alerts_thresholds)
        self.quiet = Quiet(settings.alerts_quiet_hours)
        self._bell = settings.alerts_bell
        self._found: tuple[Finding, ...] = ()
        self._judged_at: float | None = None
        self._judged_states: tuple[Any, ...] = ()

    def judge_soon(self) -> None:
        """At the next frame, since something new is known."""
        self._judged_at = None

    def look_at(self, frame: Frame) -> tuple[Finding, ...]:
        """The findings of this moment. Tells of what has begun or ended."""
        self._ask_rules(frame)
        changes = self.alerts.feed(frame, self._found, self.is_quiet)
        for change in changes:
            self._tell(change)
        if any(change.begins and change.loud for change in changes) and self._bell:
            self.bell()
        if self.hook is not None:
            begun = [change.alert.finding for change in changes if change.begins]
            for event in self.hook.offer(begun, frame.mono, frame.time):
                self.source.fleet.eat(event, event.time)
        crossed = [alert.finding for alert in self.alerts.active if alert.finding.id == THRESHOLD]
        return () if frame.problem else (*self._found, *crossed)

    def _ask_rules(self, frame: Frame) -> None:
        """Every few seconds, and at once when a card changes its state."""
        if self.judge is None:
            return
        states = tuple((card.uuid, card.state) for card in frame.cards)
        due = self._judged_at is None or frame.mono - self._judged_at >= JUDGE_S or states != self._judged_states
        if not due:
            return
        self._judged_at, self._judged_states = frame.mono, states
        found, events = self.judge(frame, self.histories, self.probe_results)
        self._found = () if frame.problem else tuple(found)
        for event in events:
            self.source.fleet.eat(event, event.time)

    def _tell(self, change: Change) -> None:
        """A note and an event for a threshold; the rules' findings have the headline and events of their own."""
        finding = change.alert.finding
        if finding.id != THRESHOLD:
            return
        what = "threshold-crossed" if change.begins else "threshold-unread" if change.unread else "threshold-over"
        rule = str(finding.values["rule"])
        self.source.fleet.eat(Event(change.time, what, finding.gpu_uuid, rule), change.time)
        if change.loud:
            words = _("card {n}: {rule}") if change.begins else _("card {n}: no longer {rule}")
            self.say(words.format(n=finding.gpu, rule=rule))

    def _minute(self) -> int:
        now = datetime.fromtimestamp(self.wall())
        return now.hour * 60 + now.minute

    @property
    def is_quiet(self) -> bool:
        """Whether nothing rings now."""
        return self.quiet.now(self._minute())

    def action_quiet(self) -> None:
        """Quiet or not, until the quiet hours next begin or end."""
        self.say(_("quiet: nothing rings") if self.quiet.press(self._minute()) else _("alerts ring again"))
