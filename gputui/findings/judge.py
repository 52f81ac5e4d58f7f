"""Run every rule over the evidence; causes swallow their consequences; order by what matters most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gputui.findings.evidence import Evidence, Judgement, NotJudged
from gputui.findings.registry import CARD, RULES, Rule
from gputui.findings.view import CardView, HostView
from gputui.model.finding import Finding, Severity

_WEIGHT = {Severity.FAIL: 3, Severity.WARN: 2, Severity.UNKNOWN: 1, Severity.INFO: 0}


def judge(evidence: Evidence, rules: Iterable[Rule] | None = None) -> Judgement:
    """The findings now, worst first, and the checks that could not be made. Same input, same output."""
    from gputui.findings import rules as families

    families.load()
    found: list[Finding] = []
    skipped: list[NotJudged] = []
    memos: list[dict[Any, Any]] = [{} for _card in evidence.frame.cards]
    for rule in RULES.values() if rules is None else rules:
        for outcome in _outcomes(rule, evidence, memos):
            if isinstance(outcome, Finding):
                found.append(outcome)
            elif isinstance(outcome, NotJudged):
                skipped.append(outcome)
    required = any(item.id in RULES and RULES[item.id].required for item in skipped)
    return Judgement(tuple(_ordered(_fold(found))), tuple(skipped), required)


def _outcomes(rule: Rule, evidence: Evidence, memos: list[dict[Any, Any]]) -> list[Finding | NotJudged | None]:
    if rule.scope == CARD:
        cards = zip(evidence.frame.cards, memos, strict=True)
        return [rule.check(CardView(evidence, rule.id, card, memo=memo)) for card, memo in cards]
    return [rule.check(HostView(evidence, rule.id))]


def _fold(found: list[Finding]) -> list[Finding]:
    """Cause before symptom: what a cause on the same card explains becomes its consequence, unless it is worse
    than the cause.
    """
    gone: set[int] = set()
    consequences: dict[int, list[str]] = {}
    for at, symptom in enumerate(found):
        rule = RULES.get(symptom.id)
        for cause_at, cause in enumerate(found):
            explains = rule is not None and cause.id in rule.explained_by and cause.gpu_uuid == symptom.gpu_uuid
            if explains and _WEIGHT[cause.severity] >= _WEIGHT[symptom.severity]:
                gone.add(at)
                consequences.setdefault(cause_at, []).append(symptom.id)
                break
    return [
        replace(finding, consequences=(*finding.consequences, *consequences.get(at, ())))
        for at, finding in enumerate(found)
        if at not in gone
    ]


def _ordered(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda f: (-_WEIGHT[f.severity], -1 if f.gpu is None else f.gpu, f.id))
