"""From evidence to findings: pure functions, one module a family, one registry."""

from gputui.findings.evidence import Evidence, Expect, Judgement, NotJudged

__all__ = ["Evidence", "Expect", "Judgement", "NotJudged"]
