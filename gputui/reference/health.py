"""The band a healthy card is expected in, and the one function that grades a measurement against it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from gputui.reference import store
from gputui.reference.card import BANDWIDTHS, Band, CardSpec

FAIL_SHARE_OF_MEDIAN = 0.85
"""Healthy cards of one model agree within 5 % in 16-bit GEMM; under 0.85 of their median nothing healthy was seen."""
FAIL_SHARE_OF_MEDIAN_FP32 = 0.80
"""FP32 GEMM spreads more: healthy 4090s were seen down to 0.85 of their median."""
FAIL_REPORTS = 3
FAIL_RUNS = 3


class Level(str, Enum):
    """not-graded: nothing to compare with. implausible: better than any healthy card, so the measurement or the
    identification is in doubt.
    """

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    IMPLAUSIBLE = "implausible"
    NOT_GRADED = "not-graded"


@dataclass(frozen=True)
class Grade:
    """What a measurement is worth.

    share_of_nominal:        measured / nominal, 1.0 is all of it. None when there is no nominal figure.
    share_of_healthy_median: measured / median of the public healthy reports. None without reports.
    nominal:                 TFLOPS (TOPS for int8) or GB/s.
    reason:                  stable id: inside-band, below-band, far-below-healthy, above-band, no-card, no-reference,
                             no-band, not-a-measurement.
    held_back:               why a result far below is a warning only: few-reports, low-confidence, uncertain-reference,
                             too-few-runs. Empty otherwise.
    why:                     one English sentence with the numbers.
    """

    level: Level
    share_of_nominal: float | None
    share_of_healthy_median: float | None
    band: Band | None
    nominal: float | None
    reason: str
    why: str
    held_back: tuple[str, ...] = ()


def band(spec: CardSpec, precision: str) -> Band | None:
    """The healthy band of this card for a GEMM precision or one of BANDWIDTHS; None when there is none.

    A card without a row of its own gets its class's (for memory, its memory type's), marked `from_class`. Not so where
    its peak is exempt from the formula: a cut part does not behave as its class.
    """
    if spec.nominal(precision) is None:
        return None
    memory = precision in BANDWIDTHS
    group = spec.mem_type if memory else (spec.band_class or "")
    row = store.data()["bands"].get(spec.id, {}).get(precision)
    if row is not None:
        low, median, high, reports, confidence, basis, sources = row
        return Band(precision, low, median, high, reports, confidence, reports == 0, group, basis, tuple(sources))
    if precision in spec.formula_exempt:
        return None
    return class_band(group, precision)


def class_band(band_class: str, precision: str) -> Band | None:
    """The band of a whole class (such as "geforce-tensor", or a memory type such as "HBM3"), or None."""
    row = store.data()["classes"].get(band_class, {}).get(precision)
    if row is None:
        return None
    low, high, confidence, _ = row
    return Band(precision, low, None, high, 0, confidence, True, band_class, f"class {band_class}")


def grade(measured: float | None, spec: CardSpec | None, precision: str, agreeing_runs: int = 1) -> Grade:
    """Grade a measurement: TFLOPS (TOPS for int8), or GB/s of bytes read plus written for BANDWIDTHS.

    agreeing_runs: how many runs, at least 60 s apart, gave this result. Inside the band is always `pass`. Below it is
    `warn`; `fail` needs three or more reports of this model, confidence above low, a reference that is sure of its
    peak, under 0.85 of the healthy median (0.80 for fp32), and three agreeing runs. Above the band is `implausible`.

    The band holds at the default power limit with nothing else on the card and no MIG or vGPU: callers look at those
    first.
    """
    if measured is None or not math.isfinite(measured) or measured <= 0:
        # No work done is a failed probe, not a slow card (gpu-burn issue 123, gpu-fryer issues 10 and 11).
        return _not_graded("not-a-measurement", "There is no measured value to grade.")
    if spec is None:
        return _not_graded("no-card", "The card is not in the reference.")
    nominal = spec.nominal(precision)
    if nominal is None:
        return _not_graded("no-reference", f"The reference has no {precision} figure for {spec.nvml_name}.")
    share = measured / nominal
    healthy = band(spec, precision)
    if healthy is None:
        why = f"No healthy band is known for {precision} on {spec.nvml_name}."
        return Grade(Level.NOT_GRADED, share, None, None, nominal, "no-band", why)
    of_median = 100 * share / healthy.median if healthy.median else None
    level, reason, held_back = _level(100 * share, of_median, healthy, spec, precision, agreeing_runs)
    why = _sentence(measured, 100 * share, nominal, healthy, spec, reason)
    return Grade(level, share, of_median, healthy, nominal, reason, why, held_back)


def _not_graded(reason: str, why: str) -> Grade:
    return Grade(Level.NOT_GRADED, None, None, None, None, reason, why)


def _level(
    percent: float, of_median: float | None, healthy: Band, spec: CardSpec, precision: str, agreeing_runs: int
) -> tuple[Level, str, tuple[str, ...]]:
    if percent > healthy.high + 1e-9:
        return Level.IMPLAUSIBLE, "above-band", ()
    if percent >= healthy.low - 1e-9:
        return Level.PASS, "inside-band", ()
    fail_under = FAIL_SHARE_OF_MEDIAN_FP32 if precision == "fp32" else FAIL_SHARE_OF_MEDIAN
    if of_median is not None and of_median >= fail_under:
        return Level.WARN, "below-band", ()
    doubts = {
        "few-reports": healthy.reports < FAIL_REPORTS or of_median is None,
        "low-confidence": "low" in (healthy.confidence, spec.confidence),
        "uncertain-reference": spec.nominal_is_uncertain(precision),
        "too-few-runs": agreeing_runs < FAIL_RUNS,
    }
    held_back = tuple(doubt for doubt, holds in doubts.items() if holds)
    if held_back:
        return Level.WARN, "below-band" if of_median is None else "far-below-healthy", held_back
    return Level.FAIL, "far-below-healthy", ()


def _sentence(measured: float, percent: float, nominal: float, healthy: Band, spec: CardSpec, reason: str) -> str:
    precision = healthy.precision
    unit = unit_of(precision)
    reports = "no report of this model, class band" if healthy.from_class else f"{healthy.reports} public reports"
    text = (
        f"{measured:.4g} {unit} {precision} is {percent:.0f} % of the {nominal:g} {unit} nominal of {spec.nvml_name}; "
        f"healthy ones reach {healthy.low:g} to {healthy.high:g} % ({reports}, {healthy.confidence} confidence)."
    )
    if reason == "above-band":
        text += " The measurement or the identification is in doubt."
    return text


def unit_of(precision: str) -> str:
    """GB/s for BANDWIDTHS, TOPS for int8, TFLOPS for the rest."""
    if precision in BANDWIDTHS:
        return "GB/s"
    return "TOPS" if precision == "int8" else "TFLOPS"
