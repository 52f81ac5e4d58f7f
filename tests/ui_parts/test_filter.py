"""The filter line and the sort orders: what is shown, what is not, and what a mistake is told."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputui.alerts.condition import Comparison, Every, Some, comparisons
from gputui.alerts.fields import SHORT, lookup, names
from gputui.alerts.parse import parse
from gputui.model.card import State
from gputui.model.finding import Severity
from gputui.model.reading import Absent, Why
from gputui.ui.filter import ORDERS, ConditionError, Filter, order, sort
from tests.alerts.world import card, finding

ABSENT = Absent(Why.UNSUPPORTED)


def shows(line, of=None, findings=()):
    return Filter.of(line).shows(of or card(), findings)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", True),
        ("temp>60", True),
        ("temp>61", False),
        ("temp>=61", True),
        ("temp<61", False),
        ("temp<=61", True),
        ("temp=61", True),
        ("temp==61", True),
        ("temp!=61", False),
        ("temp ≥ 61", True),
        ("temp>60C", True),
        ("temp > 60 °C", True),
        ("TEMP>60", True),
        ("temperature.gpu>60", True),
        ("power>300W", True),
        ("power>0.3kW", True),
        ("power>0.31kW", False),
        ("power=300", True),
        ("power=300.0", False),
        ("power=300.4", True),
        ("power!=300", False),
        ("power>75%", True),
        ("power>76%", False),
        ("memory>19GiB", True),
        ("memory>20GiB", False),
        ("memory>=20GiB", True),
        ("mem=20GiB", True),
        ("mem>21GB", True),
        ("mem>50%", False),
        ("mem>=50%", True),
        ("clock>1.7GHz", True),
        ("clock<90%", True),
        ("pstate=P0", True),
        ("pstate>P2", False),
        ("pstate<2", True),
        ("compute_cap>=8.9", True),
        ("compute_cap=9.0", True),
        ("state=ok", True),
        ("state!=ok", False),
        ("name~h100", True),
        ("name~4090", False),
        ('name="nvidia h100 80gb hbm3"', True),
        ("name~'80GB HBM3'", True),
        ("persistence_mode=enabled", True),
        ("index=0", True),
        ("reason=power", True),
        ("reason=sw_power_cap", True),
        ("reason=heat", False),
        ("reason!=heat", True),
        ("reason~cap", True),
        ("reason=none", False),
        ("finding=none", True),
        ("temp>60 power>300", True),
        ("temp>60 power>400", False),
        ("temp>60 and power>400 or util>90", True),
        ("temp>60 and (power>400 or util<90)", False),
        ("(temp>90 or util>90) state=ok", True),
        ("temp > 60 mem > 1GiB", True),
        ("temp > 60 C mem > 1GiB", True),
    ],
)
def test_what_a_line_shows(line, expected):
    assert shows(line) is expected


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=", "!="])
@pytest.mark.parametrize("wanted", ["0", "-5", "61", "1000"])
def test_an_absent_reading_matches_no_comparison(operator, wanted):
    without = card(**{"temperature.gpu": ABSENT})
    assert not shows(f"temp{operator}{wanted}", without)
    assert shows("temp=none", without)
    assert not shows("temp!=none", without)
    assert not shows("temp=none")
    assert shows("temp!=none")


def test_zero_is_a_number():
    assert shows("util=0", card(**{"utilization.gpu": 0}))
    assert shows("util<1", card(**{"utilization.gpu": 0}))


def test_a_share_of_an_unknown_whole_matches_nothing():
    assert not shows("power>0%", card(**{"enforced.power.limit": ABSENT}))
    assert not shows("power<100%", card(**{"enforced.power.limit": ABSENT}))
    assert not shows("mem>0%", card(**{"memory.total": 0}))


def test_the_word_none_and_the_drivers_word_none_are_two_things():
    assert not shows("virtualization_mode=none")
    assert shows('virtualization_mode="none"')


def test_unread_reasons_are_not_no_reason_but_have_no_value():
    unread = card(**{"clocks_event_reasons.active": ABSENT, "clocks_event_reasons.mask": ABSENT})
    assert not shows("reason!=heat", unread)
    assert shows("reason=none", unread)
    assert shows("reason=none", card(mask=0))


def test_findings_by_id_and_severity_of_this_card_only():
    mine, other = card(0), card(1)
    found = [finding(mine, "hot", Severity.WARN), finding(other, "gpu-lost", Severity.FAIL)]
    assert shows("finding=hot", mine, found)
    assert shows("finding=warn", mine, found)
    assert not shows("finding=fail", mine, found)
    assert shows("finding~lost", other, found)
    assert Filter.of("finding=fail").apply([mine, other], found) == [other]


def test_a_lost_card_is_found_by_its_state():
    assert shows("state!=ok", card(state=State.LOST))
    assert shows("state=not-answering", card(state=State.NOT_ANSWERING))


@pytest.mark.parametrize(
    ("line", "column", "says", "hint"),
    [
        ("tmep>80", 1, "tmep", "temp"),
        ("util>5 tempp>80", 8, "tempp", "temp"),
        ("temp>hot", 6, "hot", "temp=none"),
        ("temp>80W", 6, "80W", "°C"),
        ("pstate>2W", 8, "2W", "no unit"),
        ("temp>", 6, "missing", "number"),
        ("temp", 1, "alone", "temp>0"),
        ("h100", 1, "alone", "name~h100"),
        (">80", 1, "missing", "temp>80"),
        ("temp>80 and", 12, "missing", "temp>80"),
        ("temp>80 or", 11, "missing", "temp>80"),
        ("(temp>80", 1, "never closed", ")"),
        ("temp>80)", 8, "never opened", "Remove"),
        ('name~"h100', 6, "quote", "end"),
        ("temp!80", 5, "!", "!="),
        ("state>ok", 1, "no size", "="),
        ("temp~8", 6, "word", ">"),
        ("temp>none", 6, "no size", "temp=none"),
        ("host.cpu.percent>5", 1, "not a reading", ""),
        ("()", 2, ")", "temp>80"),
        ("(" * 60 + "temp>80" + ")" * 60, 51, "parentheses", "fewer"),
    ],
)
def test_a_mistake_is_one_sentence_with_place_and_hint(line, column, says, hint):
    with pytest.raises(ConditionError) as raised:
        Filter.of(line)
    error = raised.value
    assert error.column == column
    assert says in error.sentence
    assert hint in error.hint
    assert str(error) == f"{error.sentence} {error.hint}".strip()
    assert "\n" not in str(error)


def test_every_name_offered_can_be_compared():
    for name in names():
        assert lookup(name) is not None, name
        assert shows(f"{name}!=none") is not shows(f"{name}=none"), name
    assert set(SHORT) < set(names())


names_of_numbers = st.sampled_from(["temp", "power", "util", "mem", "clock", "index", "pcie.link.gen.current"])
numbers = st.decimals(-100, 5000, places=2).map(lambda value: format(value, "f"))
simple = st.one_of(
    st.builds("{}{}{}".format, names_of_numbers, st.sampled_from(["<", "<=", ">", ">=", "=", "!="]), numbers),
    st.builds("{}{}{}".format, st.sampled_from(["name", "state", "reason"]), st.sampled_from(["=", "!=", "~"]),
              st.sampled_from(["ok", "h100", '"a b"', "power"])),
    st.sampled_from(["temp=none", "fan!=none"]),
)  # fmt: skip
lines = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds("({}) or {}".format, inner, inner), st.builds("({}) and ({})".format, inner, inner),
        st.builds("({}) ({})".format, inner, inner),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=150)
@given(lines)
def test_a_condition_written_out_is_the_same_condition(line):
    condition = parse(line)
    again = parse(str(condition))
    assert str(again) == str(condition)
    assert again.judge(card()) == condition.judge(card())
    assert again.judge(card(**{"temperature.gpu": ABSENT})) == condition.judge(card(**{"temperature.gpu": ABSENT}))


@settings(max_examples=300)
@given(st.text(alphabet="temp owr<>=!~()\"'0123456789.%WCand\n\t°", max_size=30) | st.text(max_size=20))
def test_no_text_breaks_the_parser(line):
    try:
        filter = Filter.of(line)
    except ConditionError as error:
        column, said = error.column, str(error)
    else:
        column, said = 1, str(filter.shows(card()))
    assert 1 <= column <= len(line) + 1
    assert said


@given(st.floats(-50, 150), st.floats(-50, 150))
def test_comparisons_are_those_of_numbers(value, wanted):
    of = card(**{"temperature.gpu": value})
    typed = format(wanted, ".6f")
    assert shows(f"temp>{typed}", of) is (value > float(typed))
    assert shows(f"temp<={typed}", of) is (value <= float(typed))
    assert shows(f"temp={typed}", of) is not shows(f"temp!={typed}", of)


def test_what_is_made_of_a_line():
    condition = parse("temp>80 and util<5 or state=lost")
    assert isinstance(condition, Some)
    assert isinstance(condition.parts[0], Every)
    assert [one.field.name for one in comparisons(condition)] == ["temperature.gpu", "utilization.gpu", "state"]
    assert isinstance(parse("temp>80"), Comparison)


def test_the_same_answer_with_absent_parts():
    lost = card(**{"temperature.gpu": ABSENT})
    assert parse("temp>80 or util>90").judge(lost) is True
    assert parse("temp>80 and util<90").judge(lost) is False
    assert parse("temp>80 and util>90").judge(lost) is None
    assert parse("temp>80 or util<90").judge(lost) is None


CARDS = [
    card(0, **{"temperature.gpu": 61, "power.draw": 100.0}),
    card(1, **{"temperature.gpu": ABSENT, "power.draw": 300.0}),
    card(2, **{"temperature.gpu": 80, "power.draw": 300.0}),
    card(3, **{"temperature.gpu": 0, "power.draw": ABSENT}),
]


def indexes(cards):
    return [one.index for one in cards]


def test_absent_sorts_last_in_both_directions():
    assert indexes(sort(CARDS, order("temp"))) == [2, 0, 3, 1]
    assert indexes(sort(CARDS, order("temp"), falling=False)) == [3, 0, 2, 1]


def test_equal_cards_keep_their_index_in_both_directions():
    mixed = [CARDS[2], CARDS[3], CARDS[1], CARDS[0]]
    assert indexes(sort(mixed, order("power"))) == [1, 2, 0, 3]
    assert indexes(sort(mixed, order("power"), falling=False)) == [0, 1, 2, 3]


def test_the_worst_finding_comes_first_and_none_is_not_absent():
    found = [finding(CARDS[2], severity=Severity.INFO), finding(CARDS[1], severity=Severity.FAIL)]
    assert indexes(sort(CARDS, order("finding"), found)) == [1, 2, 0, 3]
    assert indexes(sort(CARDS, order("finding"), found, falling=False)) == [0, 3, 2, 1]


@pytest.mark.parametrize("name", list(ORDERS))
def test_every_order_keeps_every_card(name):
    cards = [*CARDS, card(4, name="", state=State.LOST, mask=0x40)]
    for falling in (None, True, False):
        assert sorted(indexes(sort(cards, ORDERS[name], (), falling))) == [0, 1, 2, 3, 4]
    assert ORDERS[name].title()


def test_an_unknown_order_is_told_in_a_sentence():
    with pytest.raises(ValueError, match="temp"):
        order("tempp")
    with pytest.raises(ValueError, match="index, name"):
        order("zzz")


def test_the_filter_needs_no_screen():
    code = "import sys, gputui.ui.filter; print(sorted({'textual', 'rich', 'plotext'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
