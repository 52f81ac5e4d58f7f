"""Alerts: one beginning and one end for one trouble, none for a healthy card or for one that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.alerts.condition import ConditionError
from gputui.alerts.threshold import Threshold
from gputui.alerts.watch import CLEAR_S, LONG_CLEAR_S, THRESHOLD, Alerts
from gputui.model.card import State
from gputui.model.finding import Severity
from gputui.model.reading import Absent, Why
from gputui.session.document import finding_object
from tests.alerts.world import card, finding, frame

ABSENT = Absent(Why.UNSUPPORTED)


def hot(celsius):
    return card(**{"temperature.gpu": celsius})


def run(alerts, cards, start=0, findings=(), quiet=False, step=1.0):
    """Feed a frame a second; (second, "+" or "-", id) of each change."""
    out = []
    for at, one in enumerate(cards):
        mono = 1000.0 + start + at * step
        shown = one if isinstance(one, list) else [one]
        said = findings(at) if callable(findings) else findings
        for change in alerts.feed(frame(shown, mono), said, quiet):
            out.append((start + at * step, "+" if change.begins else "-", change.alert.finding.id))
    return out


def of(*rules, **more):
    return Alerts([Threshold.of(rule) for rule in rules], **more)


def test_a_threshold_begins_after_its_time_and_ends_by_the_margin():
    alerts = of("temp>85 for 10s")
    assert run(alerts, [hot(84)] * 5) == []
    assert run(alerts, [hot(86)] * 20, start=5) == [(15, "+", THRESHOLD)]
    assert [one.finding.values["rule"] for one in alerts.active] == ["temp>85 for 10s"]
    assert run(alerts, [hot(80)] * 20, start=25) == [(25 + CLEAR_S, "-", THRESHOLD)]
    assert alerts.active == ()


def test_without_a_time_it_is_told_at_once():
    assert run(of("temp>85"), [hot(84), hot(86), hot(86)]) == [(1, "+", THRESHOLD)]


def test_a_short_peak_is_not_told():
    assert run(of("temp>85 for 10s"), [hot(90)] * 9 + [hot(80)] + [hot(90)] * 9) == []


def test_one_that_flutters_around_its_threshold_rings_once():
    alerts = of("temp>85")
    changes = run(alerts, [hot(86 if second % 2 else 85) for second in range(50)])
    assert changes == [(1, "+", THRESHOLD)]


def test_just_below_the_threshold_is_no_end_until_it_has_lasted():
    alerts = of("temp>85")
    run(alerts, [hot(86)])
    changes = run(alerts, [hot(84)] * 90, start=1)
    assert changes == [(1 + LONG_CLEAR_S, "-", THRESHOLD)]


@pytest.mark.parametrize(
    ("rule", "reading", "bad", "good"),
    [
        ("util<100", "utilization.gpu", 99, 100),
        ("util>0", "utilization.gpu", 1, 0),
        ("clock<1980", "clocks.current.sm", 1965, 1980),
        ("pcie.link.gen.current<4", "pcie.link.gen.current", 1, 4),
        ("pstate>0", "pstate", "P2", "P0"),
        ("power<100%", "power.draw", 350.0, 400.0),
        ("temp=none", "temperature.gpu", ABSENT, 0),
        ("state!=ok", "temperature.gpu", 50, 50),
    ],
)
def test_every_threshold_can_begin_and_end(rule, reading, bad, good):
    alerts = of(rule)
    state = {"state!=ok": State.NEEDS_RESET}.get(rule, State.OK)
    assert run(alerts, [card(state=state, **{reading: bad})] * 3) == [(0, "+", THRESHOLD)]
    assert [change[1] for change in run(alerts, [card(**{reading: good})] * 70, start=3)] == ["-"]


def test_a_reading_nobody_takes_begins_nothing():
    assert run(of("temp>0", "temp<1000", "temp!=5"), [hot(ABSENT)] * 30) == []


def test_an_unread_second_breaks_the_wait():
    series = [hot(90)] * 9 + [hot(ABSENT)] + [hot(90)] * 9
    assert run(of("temp>85 for 10s"), series) == []


def test_what_a_silent_card_last_said_is_no_evidence():
    silent = card(state=State.NOT_ANSWERING, **{"temperature.gpu": 99})
    assert run(of("temp>85"), [silent] * 30) == []
    assert run(of("state=not-answering"), [silent] * 3) == [(0, "+", THRESHOLD)]


def test_a_lost_reading_does_not_end_an_alert_at_once_and_then_as_unread():
    alerts = of("temp>85")
    run(alerts, [hot(90)])
    lost = card(state=State.LOST, **{"temperature.gpu": 20})
    assert run(alerts, [lost] * 50, start=1) == []
    changes = [c for second in range(50, 70) for c in alerts.feed(frame([lost], 1001.0 + second), ())]
    assert [(change.begins, change.unread) for change in changes] == [(False, True)]


def test_a_card_that_is_gone_from_the_frame_ends_its_alert_as_unread():
    alerts = of("temp>85")
    run(alerts, [hot(90)])
    changes = alerts.feed(frame([], 1001.0), ())
    assert [(change.begins, change.unread) for change in changes] == [(False, True)]


def test_a_stopped_program_saw_nothing_between():
    alerts = of("temp>85 for 10s")
    run(alerts, [hot(90)] * 3)
    assert run(alerts, [hot(90)], start=600) == []
    assert run(alerts, [hot(90)] * 12, start=601) == [(610, "+", THRESHOLD)]


def test_a_slow_interval_is_no_break():
    alerts = of("temp>85 for 2m")
    changes = []
    for at in range(8):
        for change in alerts.feed(frame([hot(90)], 1000.0 + 30 * at, interval_s=30), ()):
            changes.append((at, change.begins))
    assert changes == [(4, True)]


def test_the_same_frame_again_changes_nothing():
    alerts = of("temp>85")
    assert len(alerts.feed(frame([hot(90)], 5.0), ())) == 1
    assert alerts.feed(frame([hot(20)], 5.0), ()) == []
    assert alerts.feed(frame([hot(20)], 4.0), ()) == []


def test_each_card_has_its_own_alert_and_the_neighbour_stays_silent():
    alerts = of("temp>85")
    cards = [card(0, **{"temperature.gpu": 90}), card(1, **{"temperature.gpu": 60}), card(2, **{"temperature.gpu": 91})]
    assert run(alerts, [cards]) == [(0, "+", THRESHOLD), (0, "+", THRESHOLD)]
    assert {one.finding.gpu for one in alerts.active} == {0, 2}


def test_findings_are_alerts_by_severity_and_ring_once_when_they_come_and_go():
    one = card()
    alerts = Alerts()
    info = finding(one, "power-limited", Severity.INFO)
    assert run(alerts, [one] * 3, findings=[info]) == []
    flapping = run(alerts, [one] * 20, start=3, findings=lambda at: [finding(one)] if at % 4 < 2 else [])
    assert flapping == [(3, "+", "hot")]
    assert run(alerts, [one] * 10, start=23, findings=[]) == [(20 + 1 + CLEAR_S, "-", "hot")]


def test_the_same_finding_on_two_cards_is_two_alerts():
    a, b = card(0), card(1)
    assert run(Alerts(), [[a, b]], findings=[finding(a), finding(b)]) == [(0, "+", "hot"), (0, "+", "hot")]


def test_quiet_keeps_alerts_without_noise():
    alerts = of("temp>85")
    (change,) = alerts.feed(frame([hot(90)], 5.0), (), quiet=True)
    assert change.begins
    assert not change.loud
    assert len(alerts.active) == 1


def test_a_crossed_threshold_is_a_finding_like_any_other():
    alerts = of("temp>85 and power>50%")
    run(alerts, [hot(90)])
    found = finding_object(alerts.active[0].finding)
    assert found["id"] == THRESHOLD
    assert found["severity"] == "warn"
    assert found["summary"] == "Your threshold temp>85 and power>50% is crossed."
    assert found["evidence"] == {"temperature.gpu": 90, "power.draw": 300.4}
    assert found["who"] == "you"


def test_a_threshold_taken_back_ends_its_alert():
    alerts = of("temp>85")
    run(alerts, [hot(90)])
    alerts.thresholds = []
    assert run(alerts, [hot(90)], start=1) == [(1, "-", THRESHOLD)]


@pytest.mark.parametrize(
    ("typed", "for_s"),
    [
        ("temp>85", 0),
        ("temp>85 for 10s", 10),
        ("temp>85  FOR 1.5m", 90),
        ("name~for for 2h", 7200),
        ("temp>85 for 7", 7),
    ],
)
def test_the_time_of_a_threshold(typed, for_s):
    assert Threshold.of(typed).for_s == for_s


def test_a_quoted_for_is_no_time():
    assert Threshold.of('name~"made for 10s"').for_s == 0


@pytest.mark.parametrize(
    ("typed", "column", "says"),
    [
        ("temp>85 for", 12, "not a time"),
        ("temp>85 for ever", 13, "ever is not a time"),
        ("temp>85 for 2d", 13, "2d is not a time"),
        ("temp>85 for 25h", 13, "a day at most"),
        ("tmp>85 for 10s", 1, "tmp"),
        ("for 10s", 1, "for"),
        ("", 1, "no condition"),
    ],
)
def test_a_wrong_threshold_is_one_sentence(typed, column, says):
    with pytest.raises(ConditionError, match=says) as raised:
        Threshold.of(typed)
    assert raised.value.column == column


@given(st.lists(st.sampled_from([20, 84, 86, 99, None]), max_size=200), st.sampled_from([0, 3, 10]))
def test_alerts_begin_and_end_in_turn_and_never_without_cause(values, for_s):
    alerts = of(f"temp>85 for {for_s}s")
    state = False
    above = 0
    for second, value in enumerate(values):
        above = above + 1 if value in (86, 99) else 0
        for change in alerts.feed(frame([hot(ABSENT if value is None else value)], 1000.0 + second), ()):
            assert change.begins is not state
            state = change.begins
            if change.begins:
                assert above > for_s
        if above > for_s:
            assert state
        assert len(alerts.active) == int(state)
