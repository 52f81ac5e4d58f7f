"""Grading: a healthy card is never accused, a slow one is only failed when the reference can carry it."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.reference import store
from gputui.reference.card import BANDWIDTHS, GEMM
from gputui.reference.health import Level, band, class_band, grade

with (Path(__file__).parent / "data" / "measured.csv").open(newline="", encoding="utf-8") as _file:
    HEALTHY_ROWS = [row for row in csv.DictReader(_file) if row["verdict"] == "healthy" and row["gpu_id"]]
EVERY_BAND = [
    (spec, precision, found)
    for spec in store.cards()
    for precision in (*GEMM, *BANDWIDTHS)
    if (found := band(spec, precision)) is not None
]


def at(card_id: str, precision: str, percent: float, runs: int = 3) -> Level:
    spec = store.card(card_id)
    nominal = spec.nominal(precision)
    assert nominal is not None
    return grade(nominal * percent / 100, spec, precision, runs).level


def test_every_healthy_report_with_a_band_passes_and_the_rest_is_not_graded() -> None:
    levels = {Level.PASS: 0, Level.NOT_GRADED: 0}
    for row in HEALTHY_ROWS:
        spec = store.card(row["gpu_id"])
        graded_kind = row["kind"] in ("gemm", "membw")
        has_band = graded_kind and band(spec, row["metric"]) is not None
        for runs in (1, 3):
            result = grade(float(row["value"]), spec, row["metric"], runs)
            assert result.level is (Level.PASS if has_band else Level.NOT_GRADED), (row, result)
        levels[result.level] += 1
    assert levels[Level.PASS] > 300
    assert levels[Level.NOT_GRADED] > 50


@given(st.sampled_from(EVERY_BAND), st.floats(0, 1), st.integers(1, 9))
def test_inside_the_band_is_always_a_pass(case, place: float, runs: int) -> None:
    spec, precision, found = case
    percent = found.low + place * (found.high - found.low)
    assert grade(spec.nominal(precision) * percent / 100, spec, precision, runs).level is Level.PASS


@given(st.sampled_from(EVERY_BAND), st.floats(0.001, 0.999), st.integers(1, 9))
def test_below_the_band_fails_only_with_everything_against_it(case, place: float, runs: int) -> None:
    spec, precision, found = case
    result = grade(spec.nominal(precision) * found.low * place / 100, spec, precision, runs)
    assert result.level in (Level.WARN, Level.FAIL)
    if result.level is Level.FAIL:
        assert found.reports >= 3
        assert "low" not in (found.confidence, spec.confidence)
        assert not spec.nominal_is_uncertain(precision)
        assert runs >= 3
        assert result.share_of_healthy_median is not None
        assert result.share_of_healthy_median < (0.80 if precision == "fp32" else 0.85)
        assert not result.held_back
    elif result.reason == "far-below-healthy" or result.share_of_healthy_median is None:
        assert result.held_back


@given(st.sampled_from(EVERY_BAND), st.floats(0.1, 1000), st.integers(1, 9))
def test_above_the_band_doubts_the_measurement_not_the_card(case, beyond: float, runs: int) -> None:
    spec, precision, found = case
    result = grade(spec.nominal(precision) * (found.high + beyond) / 100, spec, precision, runs)
    assert result.level is Level.IMPLAUSIBLE


def test_a_third_of_the_speed_fails_after_three_runs_and_not_before() -> None:
    assert at("rtx-4090", "bf16", 33) is Level.FAIL
    assert at("rtx-4090", "bf16", 33, runs=2) is Level.WARN
    result = grade(60, store.card("rtx-4090"), "bf16", 1)
    assert result.held_back == ("too-few-runs",)
    assert result.reason == "far-below-healthy"


def test_below_the_band_but_near_the_median_is_a_warning() -> None:
    """H20: low end 86 %, median 96 %; 83 % is below the band and 0.86 of the median."""
    assert at("h20-96gb", "bf16", 83) is Level.WARN
    assert at("h20-96gb", "bf16", 80) is Level.FAIL


def test_the_healthy_neighbours() -> None:
    assert at("rtx-4090", "bf16", 91) is Level.PASS
    assert grade(450, store.card("h100-pcie"), "bf16", 3).level is Level.PASS
    assert grade(171, store.card("rtx-4090"), "bf16", 3).level is Level.PASS
    assert grade(69, store.card("l4"), "bf16", 3).level is Level.PASS
    assert grade(3110, store.card("h200-sxm"), "copy", 3).level is not Level.FAIL
    assert grade(47, store.card("rtx-4090"), "fp32", 3).level is Level.PASS


def test_without_reports_of_the_model_a_warning_is_the_most() -> None:
    spec = store.card("rtx-4080")
    found = band(spec, "bf16")
    assert found is not None
    assert found.from_class
    assert found.median is None
    result = grade(1, spec, "bf16", 9)
    assert result.level is Level.WARN
    assert "few-reports" in result.held_back
    assert result.share_of_healthy_median is None


def test_an_uncertain_peak_cannot_fail_a_card() -> None:
    sure = store.card("rtx-4090")
    unsure = replace(sure, uncertain=("bf16",))
    assert grade(50, sure, "bf16", 3).level is Level.FAIL
    result = grade(50, unsure, "bf16", 3)
    assert result.level is Level.WARN
    assert result.held_back == ("uncertain-reference",)
    doubtful = replace(sure, confidence="low")
    assert grade(50, doubtful, "bf16", 3).held_back == ("low-confidence",)


@pytest.mark.parametrize("measured", [None, 0, 0.0, -3, math.nan, math.inf])
def test_no_measurement_is_no_grade(measured: float | None) -> None:
    result = grade(measured, store.card("rtx-4090"), "bf16", 3)
    assert result.level is Level.NOT_GRADED
    assert result.reason == "not-a-measurement"
    assert result.share_of_nominal is None


def test_nothing_to_compare_with_is_no_grade() -> None:
    assert grade(100, None, "bf16", 3).reason == "no-card"
    assert grade(10, store.card("tesla-v100-sxm2-16gb"), "bf16", 3).reason == "no-reference"
    pascal = grade(0.01, store.card("tesla-p40"), "fp16_nt", 3)
    assert (pascal.level, pascal.reason) == (Level.NOT_GRADED, "no-band")
    assert pascal.share_of_nominal is not None


def test_a_card_without_its_own_row_gets_its_class_but_a_cut_part_does_not() -> None:
    unlisted = replace(store.card("rtx-4090"), id="rtx-4095")
    found = band(unlisted, "bf16")
    assert found == class_band("geforce-tensor", "bf16")
    assert found is not None
    assert found.from_class
    assert grade(1, unlisted, "bf16", 9).level is Level.WARN
    memory = band(unlisted, "copy")
    assert memory == class_band("GDDR6X", "copy")
    assert memory is not None
    assert memory.reports == 0
    assert band(store.card("b300"), "int8") is None
    assert class_band("blackwell-dc", "int8") is not None
    assert class_band("no-such-class", "bf16") is None


def test_the_median_is_the_middle_of_the_reports() -> None:
    found = band(store.card("h20-96gb"), "bf16")
    assert found is not None
    values = [
        100 * float(row["value"]) / store.card("h20-96gb").peaks[row["metric"]]
        for row in HEALTHY_ROWS
        if row["gpu_id"] == "h20-96gb" and row["metric"] in ("bf16", "fp16_acc32")
    ]
    assert len(values) == found.reports > 0
    assert found.median is not None
    assert min(values) - 0.1 <= found.median <= max(values) + 0.1


def test_why_names_the_numbers() -> None:
    result = grade(60, store.card("rtx-4090"), "bf16", 3)
    assert "60 TFLOPS" in result.why
    assert "165.2" in result.why
    assert "13 public reports" in result.why
    assert result.share_of_nominal == pytest.approx(60 / 165.2)
