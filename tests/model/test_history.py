"""The ring: fixed memory, one time axis, gaps that stay gaps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.model.history import History
from gputui.model.reading import Absent, Why
from gputui.model.reasons import Cause

SM = "clocks.current.sm"


def filled(seconds, value=lambda second: second, slots=60):
    history = History(slots=slots)
    for second in seconds:
        history.add(second + 0.1, {SM: value(second), "clocks_event_reasons.mask": 4 if second % 2 else 1})
    return history


def test_points_are_what_was_added():
    history = filled(range(100, 110))
    assert list(history.points(SM, 0)) == [(float(second), float(second)) for second in range(100, 110)]
    assert history.span_s == 10


def test_a_second_without_a_sample_is_a_gap():
    history = filled([100, 101, 105])
    assert [time for time, _ in history.points(SM, 0)] == [100, 101, 105]
    assert history.buckets(SM, 6, 1, 106) == [100, 101, None, None, None, 105]


def test_an_absent_reading_is_a_gap_and_zero_is_not():
    history = History(slots=10)
    history.add(5.0, {SM: 0})
    history.add(6.0, {SM: Absent(Why.UNSUPPORTED)})
    assert history.buckets(SM, 2, 1, 7) == [0, None]


def test_the_ring_forgets_the_oldest():
    history = filled(range(100, 200), slots=60)
    assert [time for time, _ in history.points(SM, 0)] == list(range(140, 200))
    assert history.span_s == 60


def test_a_jump_of_more_than_the_ring_empties_it():
    history = filled(range(100, 150))
    history.add(5000.0, {SM: 7})
    assert list(history.points(SM, 0)) == [(5000.0, 7.0)]


def test_a_late_sample_goes_to_its_own_second_or_is_dropped():
    history = filled([100, 103])
    history.add(101.5, {SM: 42})
    history.add(3.0, {SM: 9})
    assert list(history.points(SM, 0)) == [(100.0, 100.0), (101.0, 42.0), (103.0, 103.0)]


def test_a_closed_bucket_never_changes():
    history = filled(range(100, 112))
    before = history.buckets(SM, 3, 5, 110)
    for second in range(112, 116):
        history.add(second + 0.1, {SM: 1})
    assert history.buckets(SM, 3, 5, 110) == before
    assert before[-1] == pytest.approx(107)


def test_reasons_of_a_second_are_joined_and_the_worst_shows():
    history = History(slots=20)
    history.add(10.0, {"clocks_event_reasons.mask": 0x1})
    history.add(10.5, {"clocks_event_reasons.mask": 0x4})
    history.add(12.0, {"clocks_event_reasons.mask": 0})
    assert list(history.masks(0)) == [(10.0, 0x5), (12.0, 0)]
    assert history.causes(3, 1, 13) == [Cause.POWER, None, Cause.NONE]


@pytest.mark.parametrize("mask", [-1, 2**64 - 1, 2**64, 1e300])
def test_a_mask_that_no_driver_gives_is_not_kept(mask):
    history = History(slots=20)
    history.add(10.0, {"clocks_event_reasons.mask": mask, SM: 5})
    assert list(history.masks(0)) == []
    assert list(history.points(SM, 0)) == [(10.0, 5)]


@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0, 1e6, width=32)), max_size=80))
def test_no_order_of_samples_breaks_it(samples):
    history = History(slots=30)
    for mono, value in samples:
        history.add(mono, {SM: value})
    kept = list(history.points(SM, 0))
    assert len(kept) <= 30
    assert {value for _, value in kept} <= {value for _, value in samples}
    assert kept == sorted(kept, key=lambda point: point[0])
