"""When a card is read and what is sent of it, without threads or time passing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.driver.protocol import Sampled
from gputui.driver.roster import HostSeat, Roster, Seat, next_tick
from gputui.model.card import State
from gputui.model.reading import Absent, Why
from gputui.model.wire import Listed

OK = Sampled(State.OK, {"power.draw": 100.0, "fan.speed": 0}, processes=(), mig=())


def test_ticks_fall_a_tenth_after_the_whole_second():
    assert next_tick(10.0, 1.0) == pytest.approx(10.1)
    assert next_tick(10.1001, 1.0) == pytest.approx(11.1)
    assert next_tick(10.95, 1.0, at_least_s=0.25) == pytest.approx(12.1)
    assert next_tick(10.0, 0.25) == pytest.approx(10.1)
    assert next_tick(59.0, 60.0) == pytest.approx(60.1)


@given(st.floats(0, 1e7), st.sampled_from([0.25, 0.5, 1.0, 2.0, 5.0, 60.0]))
def test_a_tick_is_after_now_and_an_interval_away_at_most(now, interval_s):
    assert now < next_tick(now, interval_s) <= now + interval_s + 0.0011


@given(st.floats(0, 1e6), st.integers(0, 63))
def test_one_tick_a_second_lands_in_each_second_and_every_fifth_is_slow(start, position):
    seat, now, slow = Seat("a", position), next_tick(start, 1.0), []
    seconds = []
    for _ in range(21):
        slow.append(seat.wants_slow(now))
        seconds.append(int(now))
        now = next_tick(now, 1.0)
    assert seconds == list(range(seconds[0], seconds[0] + 21))
    assert slow[0], "the first is a full reading"
    assert sum(slow[1:]) == 4
    at = [index for index, wanted in enumerate(slow) if wanted][1:]
    assert at == list(range(at[0], at[0] + 20, 5))


def test_slow_readings_of_many_cards_are_spread_over_the_ticks():
    seats = [Seat(str(position), position) for position in range(10)]
    for seat in seats:
        seat.wants_slow(100.1)
    assert [sum(seat.wants_slow(second + 0.1) for seat in seats) for second in range(101, 106)] == [2] * 5


def test_when_ticks_are_rare_each_is_slow():
    seat = Seat("a", 0)
    assert [seat.wants_slow(60.1 * n) for n in range(4)] == [True] * 4


def test_a_sample_carries_what_changed_and_absence_is_a_change():
    seat = Seat("a", 0)
    assert seat.answered(OK, 1, 1).changed == {"power.draw": 100.0, "fan.speed": 0}
    again = seat.answered(OK, 2, 2)
    assert (again.changed, again.processes, again.mig) == ({}, None, None)
    gone = Absent(Why.UNSUPPORTED)
    assert seat.answered(Sampled(State.OK, {"power.draw": gone, "fan.speed": 0}), 3, 3).changed == {"power.draw": gone}
    assert seat.answered(Sampled(State.OK, {"fan.speed": Absent(Why.LOST)}), 4, 4).changed == {
        "fan.speed": Absent(Why.LOST)
    }
    assert seat.answered(OK, 5, 5).changed == {"power.draw": 100.0, "fan.speed": 0}


def test_what_was_not_read_is_not_sent_as_empty():
    seat = Seat("a", 0)
    denied = Absent(Why.NO_PERMISSION, 4)
    assert seat.answered(Sampled(State.OK, {}, processes=denied), 1, 1).processes == denied
    assert seat.answered(Sampled(State.OK, {}), 2, 2).processes is None
    assert seat.answered(Sampled(State.OK, {}, processes=denied), 3, 3).processes is None
    assert seat.answered(Sampled(State.OK, {}, processes=()), 4, 4).processes == ()


def test_a_lost_card_is_asked_each_thirty_seconds_any_other_each_tick():
    seat = Seat("a", 0)
    for state in (State.OK, State.ERROR, State.NEEDS_RESET, State.ASLEEP):
        seat.asked(100)
        assert not seat.due(101), "it is being read"
        seat.busy = False
        seat.answered(Sampled(state, {}), 100, 100)
        assert seat.due(101)
    seat.asked(200)
    seat.busy = False
    seat.answered(Sampled(State.LOST, {}, code=15), 200, 200)
    assert [seat.due(now) for now in (201, 229.9, 230)] == [False, False, True]
    seat.asked(230)
    seat.busy = False
    seat.answered(OK, 230, 230)
    assert seat.due(231)


def test_a_listing_is_sent_when_it_differs():
    roster = Roster()
    two = [Listed(0, "a", "Card"), Listed(1, "b", "Card", {"memory.total": float("inf")})]
    message = roster.list(two, 1, 1)
    assert message is not None
    assert message.cards[1].readings["memory.total"] == Absent(Why.IMPLAUSIBLE, raw="inf")
    assert roster.list(two, 2, 2) is None
    seat_a, seat_b = roster.seats["a"], roster.seats["b"]
    assert roster.list([Listed(0, "b", "Card")], 3, 3) is not None
    assert not seat_a.listed
    assert not seat_a.due(4)
    assert roster.seats == {"b": seat_b}, "the other keeps its place and is not sent again in full"
    assert roster.list(two, 5, 5) is not None
    assert roster.seats["a"] is not seat_a
    roster.forget()
    assert roster.list(two, 6, 6) is not None


def test_the_host_is_sent_when_something_changed():
    host = HostSeat()
    assert host.answered({"a": 1}, 1, 1).changed == {"a": 1}
    assert host.answered({"a": 1}, 2, 2) is None
    assert host.answered({"a": 1, "b": 0}, 3, 3).changed == {"b": 0}
