"""What the rules are given, and what they give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gputui.model.card import Frame
from gputui.model.finding import Finding
from gputui.model.history import History


class Expect(str, Enum):
    """What was rented: a whole card, a slice of one, or not said."""

    WHOLE = "whole"
    SLICE = "slice"
    ANY = "any"


@dataclass(frozen=True)
class ProbeResult:
    """One result of one probe. value in `unit`; runs_agreeing counts runs at least 60 s apart that agree within 5 %."""

    id: str
    gpu_uuid: str
    engine: str
    value: float | None
    unit: str
    dtype: str = ""
    state: str = "done"
    runs_agreeing: int = 1
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """Everything a rule may look at. histories are keyed by UUID; a rule must not change them."""

    frame: Frame
    histories: Mapping[str, History]
    expect: Expect = Expect.ANY
    probes: tuple[ProbeResult, ...] = ()


@dataclass(frozen=True)
class NotJudged:
    """A check that needs more time than was watched, or a reading this machine does not give."""

    id: str
    needs_s: float | None = None
    gpu: int | None = None
    why: str = ""


@dataclass(frozen=True)
class Judgement:
    """The list of what is wrong now. required_not_judged: a check the verdict depends on could not be made."""

    findings: tuple[Finding, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    required_not_judged: bool = False
