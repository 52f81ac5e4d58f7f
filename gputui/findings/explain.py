"""What a finding means, for `gputui explain`: the words that stand beside its rule, and its numbers."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from gputui.findings import rules as families
from gputui.findings.registry import RULES, Rule
from gputui.findings.thresholds import threshold


@dataclass(frozen=True)
class Explanation:
    """A rule's words and numbers. numbers: name to value, empty when it has none."""

    rule: Rule
    numbers: dict[str, float]
    numbers_source: str
    checked_on_hardware: bool


def all_ids() -> tuple[str, ...]:
    """Every finding id, by family in the order of the design."""
    families.load()
    return tuple(RULES)


def explain(finding_id: str) -> Explanation:
    """The explanation of one id; KeyError when there is none."""
    families.load()
    rule = RULES[finding_id]
    try:
        found = threshold(finding_id)
    except KeyError:
        return Explanation(rule, {}, "", False)
    return Explanation(rule, found.numbers, found.source, found.checked_on_hardware)


def near(finding_id: str) -> list[str]:
    """Ids that look like it."""
    return difflib.get_close_matches(finding_id, all_ids(), 3, 0.4)
