"""The day tier: what was added is what is found, gaps stay gaps, memory is bounded and comes late."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputui.model.history import History
from gputui.model.reading import Absent, Why
from gputui.model.reasons import Cause
from gputui.model.tiers import DAY_S, KEPT, SLOT, DayTier, bucket_size, series

SM = "clocks.current.sm"
MIB = 1024 * 1024


def filled(seconds, value=float, span_s=DAY_S):
    tier = DayTier(span_s)
    for second in seconds:
        tier.add(second + 0.1, {SM: value(second), "clocks_event_reasons.mask": 4 if second % 20 < 10 else 1})
    return tier


def test_a_bucket_has_lowest_mean_and_highest():
    tier = filled(range(100, 130))
    assert tier.points(SM, 3, 10, 130) == [(100, 104.5, 109), (110, 114.5, 119), (120, 124.5, 129)]
    assert tier.points(SM, 1, 30, 120) == [(100, pytest.approx(109.5), 119)]
    assert tier.buckets(SM, 3, 10, 130) == [104.5, 114.5, 124.5]
    assert tier.held_s == 30
    assert tier.newest == 120


def test_a_gap_is_a_gap_and_zero_is_not():
    tier = DayTier()
    tier.add(100, {SM: 0})
    tier.add(110, {SM: Absent(Why.UNSUPPORTED)})
    tier.add(130, {})
    tier.add(140, {SM: 5})
    assert tier.points(SM, 5, 10, 150) == [(0, 0, 0), None, None, None, (5, 5, 5)]
    assert tier.points(SM, 1, 30, 120) == [(0, 0, 0)]


def test_a_number_that_is_none_is_a_gap():
    tier = DayTier()
    tier.add(100, {SM: float("nan"), "power.draw": float("inf")})
    assert tier.buckets(SM, 1, 10, 110) == tier.buckets("power.draw", 1, 10, 110) == [None]


def test_causes_are_the_worst_within_a_bucket():
    tier = filled(range(100, 140))
    tier.add(150, {SM: 1})
    assert tier.causes(6, 10, 160) == [Cause.POWER, Cause.IDLE, Cause.POWER, Cause.IDLE, None, None]
    assert tier.causes(2, 20, 140) == [Cause.POWER, Cause.POWER]


def test_a_late_sample_changes_no_closed_bucket():
    tier = filled(range(100, 125))
    before = tier.points(SM, 3, 10, 130)
    tier.add(105, {SM: 9999})
    assert tier.points(SM, 3, 10, 130) == before


def test_a_closed_bucket_never_changes():
    tier = filled(range(0, 95))
    before = tier.points(SM, 4, 20, 80)
    for second in range(95, 140):
        tier.add(second, {SM: 7})
    assert tier.points(SM, 4, 20, 80) == before


def test_the_day_ends_after_a_day():
    tier = filled(range(0, 9 * 3600, 5), span_s=2 * 3600)
    assert tier.held_s == 2 * 3600
    assert tier.blocks <= 3
    assert tier.point(SM, 7 * 3600 - 10, 7 * 3600) is None
    assert tier.point(SM, 7 * 3600, 7 * 3600 + 10) is not None


def test_a_jump_of_more_than_a_day_leaves_only_the_new():
    tier = filled(range(100, 130))
    tier.add(10 * DAY_S, {SM: 7})
    assert tier.blocks == 1
    assert tier.buckets(SM, 3, 10, 10 * DAY_S + 10) == [None, None, 7]
    assert tier.held_s == DAY_S


def test_an_unknown_reading_is_an_error_and_not_a_gap():
    with pytest.raises(KeyError):
        filled([1]).buckets("memory.used", 1, 10, 10)


def test_a_new_card_costs_nothing_and_a_short_session_an_hour():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        empty = [DayTier() for _ in range(64)]
        assert tracemalloc.get_traced_memory()[0] - before < 64 * 1024
        for tier in empty:
            tier.add(1000, dict.fromkeys(KEPT, 5))
        assert tracemalloc.get_traced_memory()[0] - before < 64 * 32 * 1024
    finally:
        tracemalloc.stop()


def test_a_full_day_of_64_cards_stays_within_its_budget():
    """Design: 16 MiB at 8 cards, 64 MiB at 64. Two cards over more than a day, by the byte."""
    readings = dict.fromkeys(KEPT, 50.5) | {"clocks_event_reasons.mask": 4}
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tiers = [DayTier(), DayTier()]
        peak = 0
        for slot in range(0, 26 * 3600, 2 * SLOT):
            for tier in tiers:
                tier.add(slot, readings)
            if slot % 3600 == 0:
                peak = max(peak, tracemalloc.get_traced_memory()[0] - before)
        each = max(peak, tracemalloc.get_traced_memory()[0] - before) / 2
    finally:
        tracemalloc.stop()
    assert each * 8 <= 16 * MIB
    assert each * 64 <= 64 * MIB


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 4000), st.floats(0, 1e6, width=32)), max_size=60),
    st.integers(1, 40),
    st.integers(1, 8).map(lambda n: n * 10),
)
def test_points_are_those_of_the_samples(samples, count, size_s):
    """Against the plain way: samples in order of time, sorted into buckets."""
    samples.sort(key=lambda sample: sample[0])
    tier = DayTier()
    for mono, value in samples:
        tier.add(mono, {SM: value})
    found = tier.points(SM, count, size_s, 4000)
    first = int(4000 // size_s) - count
    for at, point in enumerate(found):
        start = (first + at) * size_s
        inside = [value for mono, value in samples if start <= int(mono // SLOT) * SLOT < start + size_s]
        if not inside:
            assert point is None
            continue
        assert point is not None
        low, mean, high = point
        assert (low, high) == (min(inside), max(inside))
        assert low <= mean <= high


def both(seconds, value=lambda second: float(second % 100)):
    history, tier = History(), DayTier()
    for second in seconds:
        readings = {SM: value(second), "memory.used": 5.0, "clocks_event_reasons.mask": 4}
        history.add(second, readings)
        tier.add(second, readings)
    return history, tier


def test_an_hour_comes_from_the_seconds_and_a_day_from_the_tier():
    history, tier = both(range(0, 3 * 3600, 2))
    hour = series(history, tier, SM, 3600, 100, 3 * 3600)
    assert (len(hour.points), hour.size_s, hour.end) == (100, 36, 3 * 3600)
    assert None not in hour.points
    long = series(history, tier, SM, 3 * 3600, 100, 3 * 3600)
    assert (len(long.points), long.size_s) == (99, 110)
    assert long.points[-1] is not None
    assert set(long.causes[1:]) == {Cause.POWER}
    assert long.complete


def test_both_tiers_tell_the_same_story():
    history, tier = both(range(0, 3600))
    for size_s in (10, 60, 300):
        assert tier.buckets(SM, 10, size_s, 3600) == pytest.approx(history.buckets(SM, 10, size_s, 3600))
        assert tier.causes(10, size_s, 3600) == history.causes(10, size_s, 3600)
    first = series(history, None, SM, 600, 60, 3600)
    assert list(first.points) == tier.points(SM, 60, 10, 3600)


def test_a_reading_without_a_day_has_gaps_before_the_last_hour():
    history, tier = both(range(0, 3 * 3600, 5))
    found = series(history, tier, "memory.used", 3 * 3600, 90, 3 * 3600)
    assert found.points[:59] == (None,) * 59
    assert found.points[-1] == (5, 5, 5)
    assert not found.complete
    with pytest.raises(KeyError):
        series(history, tier, "pstate", 60, 60, 3600)


@given(st.floats(1, 200_000), st.integers(1, 400), st.booleans())
def test_no_more_points_than_fit(span_s, width, long):
    size = bucket_size(span_s, width, long)
    assert size * width >= span_s
    assert size >= 1
    assert not long or size % SLOT == 0


@given(st.integers(1, 90_000), st.integers(1, 300), st.floats(0, 100_000))
def test_a_series_of_any_shape_ends_before_its_end(span_s, width, end):
    history, tier = both(range(0, 100, 10))
    found = series(history, tier, SM, span_s, width, end)
    assert 1 <= len(found.points) == len(found.causes) <= width
    assert found.end <= end < found.end + found.size_s
