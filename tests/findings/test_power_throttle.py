"""Power, clocks and heat: the fault speaks, its healthy neighbours stay silent."""

from __future__ import annotations

import pytest

from gputui.findings import ProbeResult
from gputui.model.card import State
from gputui.model.reading import Absent, Why
from tests.findings.world import A100, BUSY, IDLE, RTX_4090, ids, judged

ACCUSED = ("warn", "fail")


@pytest.mark.parametrize(
    ("enforced", "default", "severity"),
    [
        (450, 450, None),
        (405, 450, "warn"),
        (404, 450, "fail"),
        (315, 350, "warn"),
        (314, 350, "fail"),
        (430, 450, None),
    ],
)
def test_power_limit_against_the_default(enforced, default, severity):
    facts = {**RTX_4090, "enforced.power.limit": float(enforced), "power.limit": float(enforced)}
    facts["power.default_limit"] = float(default)
    found = [f for f in judged(facts, IDLE).findings if f.id == "power-limit-lowered"]
    assert [f.severity.value for f in found] == ([severity] if severity else [])


def test_an_unreadable_default_limit_is_not_judged_and_no_fault():
    result = judged({**RTX_4090, "power.default_limit": Absent(Why.UNSUPPORTED, 3)}, IDLE)
    assert "power-limit-lowered" not in ids(result)
    assert "power-limit-lowered" in {item.id for item in result.not_judged}


def test_a_cap_below_what_was_asked_for_says_so():
    result = judged({**RTX_4090, "enforced.power.limit": 300.0}, IDLE)
    (found,) = [f for f in result.findings if f.id == "power-limit-lowered"]
    assert "outside the driver" in found.summary
    assert found.who == "host"


def test_full_load_at_the_limit_is_normal():
    result = judged(RTX_4090, {**BUSY, "power.draw": 448.0, "mask": 0x4})
    assert "power-limited" in ids(result, "info")
    assert not ids(result, *ACCUSED) & {"power-capped-externally", "clock-low-unexplained", "clocks-locked"}


def test_an_idle_card_with_the_power_bit_is_not_capped():
    result = judged(RTX_4090, {**IDLE, "mask": 0x4})
    assert not ids(result) & {"power-limited", "power-capped-externally", "power-limit-lowered"}


def test_slowed_for_power_far_below_the_limit_is_an_outside_cap():
    result = judged(RTX_4090, {**BUSY, "power.draw": 240.0, "clocks.current.sm": 1500, "mask": 0x4})
    assert "power-capped-externally" in ids(result, "warn")


def test_a_lowered_limit_explains_the_low_clock():
    facts = {**RTX_4090, "enforced.power.limit": 270.0, "power.limit": 270.0}
    result = judged(facts, {**BUSY, "power.draw": 266.0, "clocks.current.sm": 1700, "mask": 0x4})
    (found,) = [f for f in result.findings if f.id == "power-limit-lowered"]
    assert "power-limited" in found.consequences
    assert not ids(result) & {"power-limited", "clock-low-unexplained"}


def test_a_third_of_the_clock_with_no_reason():
    busy = {**BUSY, "clocks.current.sm": 470, "power.draw": 120.0}
    result = judged(A100, busy, name="NVIDIA A100-SXM4-80GB")
    assert ids(result, "warn") >= {"clock-low-unexplained"}
    assert "clock-low-unexplained" not in ids(result, "fail")


def test_a_low_matmul_makes_the_low_clock_a_failure():
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    probe = ProbeResult("matmul", uuid, "torch", 90.0, "TFLOPS", "bf16", detail={"of_healthy": 0.4})
    busy = {**BUSY, "clocks.current.sm": 470, "power.draw": 120.0}
    result = judged(A100, busy, name="NVIDIA A100-SXM4-80GB", probes=(probe,))
    assert "clock-low-unexplained" in ids(result, "fail")


@pytest.mark.parametrize(
    "busy",
    [
        {"clocks.current.sm": 1410, "power.draw": 390.0},
        {"clocks.current.sm": 1290, "power.draw": 398.0, "mask": 0x4},
        {"clocks.current.sm": 470, "utilization.gpu": 60},
        {"clocks.current.sm": 210, "utilization.gpu": 0},
    ],
    ids=["full speed", "at its power limit", "half idle", "idle"],
)
def test_healthy_a100s_are_not_accused_of_a_low_clock(busy):
    result = judged(A100, {**BUSY, **busy}, name="NVIDIA A100-SXM4-80GB")
    assert not ids(result, *ACCUSED) & {"clock-low-unexplained", "clocks-locked", "power-capped-externally"}


def test_a_short_load_is_not_judged():
    busy = {**BUSY, "clocks.current.sm": 470}
    result = judged(A100, lambda second: busy if second > 60 else IDLE, name="NVIDIA A100-SXM4-80GB")
    assert "clock-low-unexplained" not in ids(result)
    assert "clock-low-unexplained" in {item.id for item in result.not_judged}


def test_locked_clocks_under_load():
    result = judged(RTX_4090, {**BUSY, "clocks.current.sm": 1500, "mask": 0x2})
    assert "clocks-locked" in ids(result, "warn")
    assert "clock-low-unexplained" not in ids(result)


def test_a_boost_below_the_table_top_is_no_lock():
    assert "clocks-locked" not in ids(judged(RTX_4090, {**BUSY, "clocks.current.sm": 2550}))


def test_a_lower_board_is_named_and_a_stronger_one_is_not():
    low = {**RTX_4090, "power.default_limit": 320.0, "enforced.power.limit": 320.0, "power.limit": 320.0}
    high = {**RTX_4090, "power.default_limit": 480.0, "enforced.power.limit": 480.0, "power.limit": 480.0}
    assert "low-power-variant" in ids(judged(low, IDLE))
    assert "low-power-variant" not in ids(judged(high, IDLE))


@pytest.mark.parametrize(
    ("mask", "finding"), [(0x48, "hw-thermal-slowdown"), (0x88, "hw-power-brake")], ids=["thermal", "brake"]
)
def test_hardware_slowdown_must_hold_three_seconds(mask, finding):
    blip = judged(RTX_4090, lambda second: {**BUSY, "mask": mask if second in (30, 31) else 0})
    held = judged(RTX_4090, lambda second: {**BUSY, "mask": mask if 30 <= second < 33 else 0})
    assert finding not in ids(blip)
    assert finding in ids(held, "fail")


def test_the_umbrella_bit_alone_for_a_moment_is_nothing():
    result = judged(RTX_4090, lambda second: {**BUSY, "mask": 0x8 if second == 40 else 0})
    assert not ids(result, *ACCUSED)


def test_heat_by_the_driver_warns_and_fails_only_with_a_low_clock():
    warm = judged(RTX_4090, lambda second: {**BUSY, "temperature.gpu": 82, "mask": 0x20 if second % 10 < 3 else 0})
    slow = judged(RTX_4090, lambda second: {**BUSY, "clocks.current.sm": 1800, "mask": 0x20 if second % 10 < 6 else 0})
    assert "sw-thermal-slowdown" in ids(warm, "warn")
    assert "sw-thermal-slowdown" in ids(slow, "fail")
    assert "clock-low-unexplained" not in ids(slow)


def test_hot_is_near_the_slowdown_temperature():
    assert "hot" in ids(judged(RTX_4090, {**BUSY, "temperature.gpu": 87}), "warn")
    assert "hot" not in ids(judged(RTX_4090, {**BUSY, "temperature.gpu": 83}))
    assert "hot" not in ids(judged(RTX_4090, lambda second: {**BUSY, "temperature.gpu": 87 if second > 64 else 60}))
    assert "hot" in ids(judged(RTX_4090, {**BUSY, "temperature.memory": 112}), "fail")


def test_a_margin_is_not_a_temperature():
    assert "hot" not in ids(judged(A100, {**BUSY, "temperature.gpu": 52, "temperature.gpu.tlimit": 35}))
    assert "hot" in ids(judged(A100, {**BUSY, "temperature.gpu": 85, "temperature.gpu.tlimit": 0}), "warn")


def test_lost():
    assert "gpu-lost" in ids(judged(RTX_4090, BUSY, state=State.LOST), "fail")
