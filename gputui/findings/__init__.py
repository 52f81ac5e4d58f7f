"""From evidence to findings: pure functions, one module a family, one registry."""

from gputui.findings.evidence import Evidence, Expect, Judgement, NotJudged, ProbeResult
from gputui.findings.judge import judge

__all__ = ["Evidence", "Expect", "Judgement", "NotJudged", "ProbeResult", "judge"]
