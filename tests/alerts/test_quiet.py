"""Quiet hours and the quiet key."""

from __future__ import annotations

import pytest

from gputui.alerts.quiet import Quiet, QuietHours


def at(clock):
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


@pytest.mark.parametrize(
    ("typed", "quiet", "loud"),
    [
        ("22:00-07:00", ["22:00", "23:59", "0:00", "6:59"], ["21:59", "7:00", "12:00"]),
        ("9:30 - 12:00", ["9:30", "11:59"], ["9:29", "12:00", "0:00"]),
        ("22:00-24:00", ["22:00", "23:59"], ["0:00", "21:59"]),
    ],
)
def test_hours_cover_their_start_and_not_their_end(typed, quiet, loud):
    hours = QuietHours.of(typed)
    assert [clock for clock in quiet if not hours.covers(at(clock))] == []
    assert [clock for clock in loud if hours.covers(at(clock))] == []


@pytest.mark.parametrize("typed", ["22-7", "25:00-07:00", "22:60-07:00", "08:00-08:00", "night"])
def test_wrong_hours_are_one_sentence(typed):
    with pytest.raises(ValueError, match=r"write 22:00-07:00\.$"):
        QuietHours.of(typed)


def test_no_hours_are_none():
    assert QuietHours.of(" ") is None
    assert not Quiet().now(0)


def test_the_key_alone_toggles_for_good():
    quiet = Quiet()
    assert quiet.press(600)
    assert quiet.now(100)
    assert not quiet.press(700)
    assert not quiet.now(800)


def test_a_press_in_quiet_hours_holds_until_they_end():
    quiet = Quiet(QuietHours.of("22:00-07:00"))
    assert quiet.now(at("23:00"))
    assert quiet.press(at("23:00")) is False
    assert not quiet.now(at("3:00"))
    assert not quiet.now(at("8:00"))
    assert quiet.now(at("22:30"))


def test_a_press_by_day_holds_until_the_hours_begin():
    quiet = Quiet(QuietHours.of("22:00-07:00"))
    assert quiet.press(at("12:00")) is True
    assert quiet.now(at("21:00"))
    assert quiet.now(at("22:00"))
    assert not quiet.now(at("7:00"))
