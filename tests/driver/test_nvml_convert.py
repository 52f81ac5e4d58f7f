"""Raw values to readings: units, reasons for absence, and what cannot be true."""

from __future__ import annotations

import pytest

from gputui.driver.nvml import convert
from gputui.driver.nvml.api import decode
from gputui.model.reading import Absent, Reading, Why

PLAIN, MIG, VGPU, UNIFIED = (
    convert.Nature(),
    convert.Nature(mig=True),
    convert.Nature(vgpu=True),
    convert.Nature(unified=True),
)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (2, Why.OLD_DRIVER),
        (3, Why.UNSUPPORTED),
        (4, Why.NO_PERMISSION),
        (6, Why.UNSUPPORTED),
        (10, Why.STALE),
        (13, Why.OLD_DRIVER),
        (15, Why.LOST),
        (16, Why.NEEDS_RESET),
        (25, Why.OLD_DRIVER),
        (26, Why.UNSUPPORTED),
        (27, Why.STALE),
        (999, Why.STALE),
    ],
)
def test_each_code_has_a_reason_and_stays_beside_it(code: int, why: Why) -> None:
    assert convert.absent("power.draw", code, PLAIN) == Absent(why, code)


def test_what_the_card_is_explains_what_it_does_not_support() -> None:
    assert convert.absent("utilization.encoder", 3, MIG).why is Why.MIG
    assert convert.absent("power.draw", 3, VGPU).why is Why.VGPU
    assert convert.absent("memory.total", 3, UNIFIED).why is Why.UNIFIED_MEMORY
    assert convert.absent("power.draw", 3, UNIFIED).why is Why.UNSUPPORTED
    assert convert.absent("memory.total", 4, MIG).why is Why.NO_PERMISSION  # the parent card in a container


@pytest.mark.parametrize(
    ("name", "value", "limit", "good"),
    [
        ("power.draw", 593.0, 150.0, False),
        ("power.draw", 160.0, 150.0, True),  # short peaks over the limit are real
        ("power.draw", 593.0, None, True),
        ("enforced.power.limit", 500.0, 150.0, True),  # a limit is not a draw
        ("temperature.gpu", 151, None, False),
        ("temperature.gpu", -21, None, False),
        ("temperature.gpu", 0, None, True),
        ("temperature.gpu.tlimit", -8, None, True),
        ("utilization.gpu", 101, None, False),
        ("utilization.gpu", 0, None, True),
        ("fan.speed", 105, None, True),
        ("clocks.current.sm", 10_001, None, False),
        ("clocks.current.memory", 15_001, None, True),  # GDDR7 of a 5090 runs at 14 001 MHz
        ("memory.total", 0, None, False),
        ("memory.used", 0, None, True),
        ("memory.free", (2**64 - 5 * 2**20) // 2**20, None, False),  # a shim's limit minus used, below zero
        ("memory.total", 290_000, None, True),
        ("pcie.replay_counter", 10**9, None, True),
    ],
)
def test_plausible(name: str, value: float, limit: float | None, good: bool) -> None:
    expected: Reading = value if good else Absent(Why.IMPLAUSIBLE, raw=value)
    assert convert.plausible(name, value, limit) == expected


def test_units() -> None:
    assert convert.watts(629_450) == 629.45
    assert convert.microseconds(1_000_000_000) == 1_000_000  # one second
    assert convert.mib(81559 * 2**20) == 81559
    assert convert.mib(0) == 0
    assert convert.signed(2**32 - 8) == -8
    assert convert.signed(75) == 75
    assert convert.hexadecimal(0x233010DE) == "0x233010DE"
    assert convert.hexadecimal(0x000010DE) == "0x000010DE"


def test_words_that_nobody_has_named_are_kept() -> None:
    assert convert.enabled(0) == "Disabled"
    assert convert.compute_mode(3) == "Exclusive_Process"
    assert convert.compute_mode(9) == Absent(Why.IMPLAUSIBLE, raw=9)
    assert convert.fabric_state(0) == Absent(Why.UNSUPPORTED)
    assert convert.brand(0) == Absent(Why.UNSUPPORTED)
    assert convert.pstate(0) == "P0"
    assert convert.pstate(32) == Absent(Why.UNSUPPORTED)


@pytest.mark.parametrize(
    ("cores", "capability", "expected"),
    [
        (16896, "9.0", 132),  # H100 SXM
        (16384, "8.9", 128),  # RTX 4090
        (6912, "8.0", 108),  # A100
        (2560, "7.5", 40),  # T4
        (21760, "12.0", 170),  # RTX 5090
        (100, "8.9", Absent(Why.IMPLAUSIBLE, raw=100)),
        (16384, "99.9", Absent(Why.UNSUPPORTED)),
        (16384, Absent(Why.OLD_DRIVER, 13), Absent(Why.UNSUPPORTED)),
        (Absent(Why.OLD_DRIVER, 13), "8.9", Absent(Why.OLD_DRIVER, 13)),
    ],
)
def test_multiprocessors_from_cores(cores: Reading, capability: Reading, expected: Reading) -> None:
    assert convert.multiprocessors(cores, capability) == expected


def test_text_of_the_driver_cannot_hurt() -> None:
    assert decode(b"NVIDIA \xf8\x01X\0rest") == "NVIDIA \ufffd\ufffdX"
    assert decode(b"\x1b[31mRTX\0") == "\ufffd[31mRTX"
    assert decode("GeForce RTX™ 4090".encode() + b"\0") == "GeForce RTX™ 4090"
