"""Readings, reasons, and the wire."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.model import catalog, reasons, wire
from gputui.model.card import Driver, Event, MigDevice, Problem, Process, State
from gputui.model.reading import Absent, Why, from_wire, get, number, text, to_wire

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.integers(), finite, st.text(), st.lists(st.text()).map(tuple))
absents = st.builds(
    Absent,
    st.sampled_from(Why),
    st.none() | st.integers(0, 999),
    st.none() | finite | st.text(),
    st.none() | st.floats(0, 2e9),
)


@given(values | absents)
def test_a_reading_survives_the_wire(reading):
    assert from_wire(json.loads(json.dumps(to_wire(reading)))) == reading


def test_absent_is_never_a_number():
    for why in Why:
        assert number(Absent(why, raw=0)) is None
        assert text(Absent(why, raw="0")) is None
    assert number(0) == 0.0
    assert number(None) is None
    assert get({}, "power.draw") == Absent(Why.NOT_ASKED)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (0, ()),
        (0x1, ("gpu_idle",)),
        (0x4, ("sw_power_cap",)),
        (0x48, ("hw_thermal_slowdown",)),
        (0x88, ("hw_power_brake_slowdown",)),
        (0x8, ("hw_slowdown",)),
        (0x200, ("board_limit",)),
        (0x8004, ("sw_power_cap", "0x8000")),
    ],
)
def test_reason_words(mask, words):
    assert reasons.words(mask) == words


def test_the_umbrella_bit_is_one_fault_and_the_worst_cause_wins():
    assert reasons.cause(0x48) is reasons.Cause.HEAT
    assert reasons.cause(0x88) is reasons.Cause.BRAKE
    assert reasons.cause(0x5) is reasons.Cause.POWER
    assert reasons.cause(0x1) is reasons.Cause.IDLE
    assert reasons.cause(0) is reasons.Cause.NONE
    assert reasons.cause(0x10000) is reasons.Cause.OTHER


@given(st.integers(0, 2**63))
def test_masks_come_back_from_words_but_for_the_umbrella(mask):
    expected = mask & ~0x8 if mask & 0xC0 else mask
    assert reasons.mask_of(reasons.words(mask)) == expected


MESSAGES = [
    wire.Hello(pid=7, mono=1.5),
    wire.Opened(Driver("580.95.05", "13.0", Absent(Why.UNSUPPORTED), "580.95.05"), "nvml", False, 2.0),
    Problem("driver-mismatch", "library 580, module 570", 18),
    wire.Cards((wire.Listed(0, "GPU-a", "Card", {"power.max_limit": 450.0}, State.LOST, 15),), 2.0, 1000.0),
    wire.Sample(
        "GPU-a",
        3.0,
        1001.0,
        State.OK,
        {"clocks_event_reasons.active": ("sw_power_cap",), "fan.speed": Absent(Why.UNSUPPORTED, 3)},
        processes=(Process(41, "C", "python", Absent(Why.UNSUPPORTED), True, sm_percent=12, started=5.5),),
        mig=(MigDevice(0, "MIG-b", "MIG 1g.10gb", 1, 0, 14, 9984.0, Absent(Why.NO_PERMISSION, 4)),),
    ),
    wire.Sample("GPU-a", 3.0, 1001.0, State.OK, {}, processes=Absent(Why.IMPLAUSIBLE)),
    wire.HostSample(1.0, 1000.0, {"host.cpu.quota": 8.0}),
    Event(1000.0, "xid", "GPU-a", "Xid 79"),
    wire.Beat(4.0, 1002.0, (wire.Call("nvmlDeviceGetPowerUsage", "GPU-a", 1.0), wire.Call("nvmlInit", None, 2.0))),
    wire.Cost(5.0, 0.004, 812, 0.31),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_every_message_survives_the_wire(message):
    line = wire.encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert wire.decode(line) == message


@given(st.binary() | st.text())
def test_garbage_on_the_wire_is_a_value_error_and_nothing_else(line):
    with pytest.raises(ValueError, match="not a worker message"):
        wire.decode(line)


@pytest.mark.parametrize(
    "damage", ['{"t":"sample"}', '{"t":"nonsense"}', "[]", "1", '{"t":"beat","mono":1,"wall":2,"calls":[{"x":1}]}']
)
def test_a_message_with_parts_missing_is_a_value_error(damage):
    with pytest.raises(ValueError, match="not a worker message"):
        wire.decode(damage)


def test_not_a_number_never_goes_out():
    with pytest.raises(ValueError, match="JSON"):
        wire.encode(wire.HostSample(1.0, 1.0, {"host.cpu.quota": math.nan}))


def test_the_catalog_names_every_reading_once():
    names = [spec.name for spec in catalog.SPECS + catalog.HOST_SPECS]
    assert len(names) == len(set(names))
    assert {spec.pace for spec in catalog.SPECS} == {catalog.FAST, catalog.SLOW, catalog.STATIC}
    assert catalog.unit("power.draw") == "W"
    assert catalog.unit("pstate") == ""
