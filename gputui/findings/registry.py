"""The one list of rules. A rule is a pure function with one finding id; what `explain` says of it stands beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gputui.findings.evidence import NotJudged
from gputui.model.finding import Finding

Outcome = Finding | NotJudged | None
"""What a rule answers: something found, a check it could not make, or nothing to say."""

CARD, HOST = "card", "host"


@dataclass(frozen=True)
class Rule:
    """One rule and its words. All texts are English sources for gettext.

    scope:     "card": called once a card with a CardView; "host": once with a HostView.
    means:     what the finding means for a renter.
    decided:   how it is decided, with the thresholds' names.
    could_be:  other explanations that the rule does not exclude.
    action:    what to do. who: "you" or "host", the party that can change it.
    source:    where the rule and its numbers come from.
    verify:    a command that shows the same without this program.
    needs_s:   seconds of watching it needs; 0: one frame is enough.
    explained_by: ids that, found on the same card at the same severity or worse, make this one their consequence.
    required:  whether the verdict depends on it, so that "could not be judged" is not a pass.
    """

    id: str
    family: str
    scope: str
    check: Callable[[Any], Outcome]
    means: str
    decided: str
    action: str
    who: str
    source: str
    verify: str = ""
    could_be: tuple[str, ...] = ()
    needs_s: float = 0.0
    explained_by: tuple[str, ...] = ()
    required: bool = False
    see_also: tuple[str, ...] = field(default=())


RULES: dict[str, Rule] = {}

_Check = TypeVar("_Check", bound=Callable[..., Outcome])


def rule(finding_id: str, *, family: str, scope: str = CARD, **words: Any) -> Callable[[_Check], _Check]:
    """Register a rule under its finding id. Two rules with one id are a mistake."""

    def register(check: _Check) -> _Check:
        if finding_id in RULES:
            raise ValueError(f"two rules for {finding_id}")
        RULES[finding_id] = Rule(id=finding_id, family=family, scope=scope, check=check, **words)
        return check

    return register


def N_(message: str) -> str:
    """Mark a text for translation where it stands; it is translated when shown."""
    return message
