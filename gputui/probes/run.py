"""A run of one probe on one card as the screen sees it: frozen states, one writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gputui.findings.evidence import ProbeResult
from gputui.probes.wire import Message

KEPT_LIVE = 600


@dataclass(frozen=True)
class Run:
    """state: "waiting", "starting", "running", "stopping", "done", "failed", "contended". left_s: estimate of the end.

    live: the newest figures; series: those of the measured unit, one a second. reason, detail: why it failed.
    """

    probe: str
    gpu_uuid: str
    state: str = "waiting"
    phase: str = ""
    share: float = 0.0
    left_s: float | None = None
    live: Mapping[str, float] = field(default_factory=dict)
    series: tuple[float, ...] = ()
    engine: str = ""
    engine_version: str = ""
    unit: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    detail: str = ""
    pid: int | None = None
    simulated: bool = False

    @property
    def over(self) -> bool:
        """It will not change any more."""
        return self.state in ("done", "failed", "contended")

    def after(self, message: Message) -> Run:
        """The state after a message of its process."""
        fields = message.fields
        if message.kind == "hello":
            version = str(fields["engine_version"])
            state = "stopping" if self.state == "stopping" else "starting"
            return replace(self, state=state, pid=fields["pid"], engine=fields["engine"], engine_version=version)
        if message.kind == "phase":
            return replace(
                self,
                state="stopping" if self.state == "stopping" else "running",
                phase=fields["name"],
                share=float(fields["share"]),
                left_s=float(fields["left_s"]),
            )
        if message.kind == "live":
            values = fields["values"]
            found = values.get(self.unit)
            series = self.series if found is None else (*self.series, found)[-KEPT_LIVE:]
            return replace(self, live=values, series=series)
        if message.kind == "result":
            return replace(self, state="done", result=fields, share=1.0, left_s=0.0)
        if message.kind == "failed":
            return self.failed(fields["reason"], fields["detail"])
        return self

    def failed(self, reason: str, detail: str = "") -> Run:
        """Ended without a result. The first reason counts."""
        if self.over:
            return self
        return replace(self, state="contended" if reason == "contended" else "failed", reason=reason, detail=detail)

    def as_result(self, runs_agreeing: int = 1) -> ProbeResult | None:
        """What the rules are given; None while it runs, and for one that the user stopped."""
        if not self.over or self.reason == "stopped":
            return None
        value = self.result.get("value")
        detail = dict(self.result.get("detail", {})) if self.state == "done" else {"reason": self.reason}
        return ProbeResult(
            id=self.probe,
            gpu_uuid=self.gpu_uuid,
            engine=self.engine,
            value=float(value) if value is not None else None,
            unit=str(self.result.get("unit", self.unit)),
            dtype=str(self.result.get("dtype", "")),
            state=self.state,
            runs_agreeing=runs_agreeing,
            detail=detail,
        )
