"""What is wrong, with its evidence; and the verdict over all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Severity(str, Enum):
    """unknown means: cannot be judged, and the summary says why."""

    INFO = "info"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


class Verdict(str, Enum):
    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    CANNOT_JUDGE = "cannot-judge"


@dataclass(frozen=True)
class Finding:
    """One thing a renter should know.

    text is one plain English sentence with {names}, values fills them: JSON has the two joined (`summary`), a screen
    translates text first. gpu and gpu_uuid are None for a finding about the host or the driver. evidence maps a
    reading's name to what was seen and expected. who: "you" or "host", the party that can change it. consequences:
    ids explained by this one.
    """

    id: str
    severity: Severity
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    gpu: int | None = None
    gpu_uuid: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    could_be: tuple[str, ...] = ()
    action: str = ""
    who: str = "host"
    source: str = ""
    verify: str = ""
    checked_on_hardware: bool = False
    consequences: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The sentence in English, filled in."""
        return self.text.format(**self.values)


def verdict(findings: Iterable[Finding], required_not_judged: bool = False) -> Verdict:
    """Any fail: fail; else a required check not judged: cannot-judge; else any warn: warn; else pass (design
    section 2).
    """
    severities = {finding.severity for finding in findings}
    if Severity.FAIL in severities:
        return Verdict.FAIL
    if required_not_judged:
        return Verdict.CANNOT_JUDGE
    return Verdict.WARN if Severity.WARN in severities else Verdict.PASS
