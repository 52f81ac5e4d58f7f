"""Evidence in words: shares in percent, no exponents, no names of variables where there is a word."""

from __future__ import annotations

import pytest

from gputui.findings.evidence import Evidence
from gputui.findings.judge import judge
from gputui.findings.words import evidence_words
from tests.findings.test_scenarios import SCENARIOS, evidence_of


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ({"power.limit": {"seen": 270, "expected": 450, "unit": "W"}}, "power.limit 270 W, expected 450 W"),
        ({"share_of_default": 0.6}, "share of default 60 %"),
        ({"a": {"seen": 61, "share_of_time": 1.0, "unit": "%"}}, "a 61 %, share of time 100 %"),
        ({"memory_held_by_others": {"seen": 11450.0, "unit": "MiB"}}, "memory held by others 11,450 MiB"),
        ({"x": {"seen": 1234567.0}}, "x 1,235,000"),
        ({"x": {"seen": None, "unit": "W"}, "y": None}, ""),
        ({"listed_by_driver": True}, "listed by driver yes"),
        ({"cards": [0, 3]}, "cards 0, 3"),
        ({"processes": [{"pid": 28290, "type": "C"}]}, "processes pid 28290 type C"),
    ],
)  # fmt: skip
def test_words(evidence, words):
    assert "; ".join(evidence_words(evidence)) == words


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_finding_has_words_without_braces_or_exponents(name):
    given: Evidence = evidence_of(SCENARIOS[name])
    for finding in judge(given).findings:
        for words in evidence_words(finding.evidence):
            assert not set("{}[]'") & set(words)
            assert "e+" not in words
