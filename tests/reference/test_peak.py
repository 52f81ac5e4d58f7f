"""Peaks: stored for listed cards, scaled or computed at another clock, never guessed for an ambiguous class."""

from __future__ import annotations

import pytest

from gputui.reference import store
from gputui.reference.card import GEMM
from gputui.reference.lookup import Shape
from gputui.reference.peak import bandwidth_gbs, peak


@pytest.mark.parametrize("spec", store.cards(), ids=lambda spec: spec.id)
def test_a_listed_card_answers_with_its_stored_peak(spec) -> None:
    for precision in GEMM:
        found = peak(spec, precision)
        if precision not in spec.peaks:
            assert found is None
            continue
        assert found is not None
        assert found.value_tflops == spec.peaks[precision]
        assert (found.basis, found.computed) == ("stored", False)
        at_mhz = spec.peak_clock_mhz(precision)
        if at_mhz is None:
            continue
        half = peak(spec, precision, at_mhz / 2)
        assert half is not None
        assert half.value_tflops == pytest.approx(spec.peaks[precision] / 2, rel=0.021)
        assert half.basis == ("scaled" if precision in spec.formula_exempt or not spec.sure("sms") else "formula")


def test_tensor_peaks_of_hopper_hold_at_their_own_clock() -> None:
    h100 = store.card("h100-sxm5-80gb")
    tensor, vector = peak(h100, "bf16"), peak(h100, "fp32")
    assert tensor is not None
    assert vector is not None
    assert (tensor.clock_mhz, vector.clock_mhz) == (h100.tensor_boost_mhz, h100.boost_mhz)
    assert h100.tensor_boost_mhz != h100.boost_mhz


def test_a_cut_part_is_scaled_from_its_published_figure() -> None:
    """H20 has 78 SMs but about a quarter of their tensor rate."""
    h20 = store.card("h20-96gb")
    found = peak(h20, "bf16", 1000)
    assert found is not None
    assert found.basis == "scaled"
    by_formula = 78 * store.rates()["gh100"]["bf16"] * 1000 / 1e6
    assert found.value_tflops is not None
    assert found.value_tflops < by_formula / 3


def test_an_unlisted_card_gets_a_computed_peak_where_its_class_is_clear() -> None:
    hopper = peak(Shape(100, 80000, "9.0"), "bf16", 1500)
    assert hopper is not None
    assert hopper.value_tflops == pytest.approx(100 * 4096 * 1500 / 1e6)
    assert hopper.computed
    assert hopper.uncertain
    ada = peak(Shape(24, 8188, "8.9"), "fp32", 2000)
    assert ada is not None
    assert ada.value_tflops == pytest.approx(24 * 256 * 2000 / 1e6)


@pytest.mark.parametrize(
    ("cc", "precision"), [("8.9", "bf16"), ("8.6", "bf16"), ("12.0", "bf16"), ("7.5", "fp16_acc32")]
)
def test_an_ambiguous_class_gives_candidates_and_no_value(cc: str, precision: str) -> None:
    found = peak(Shape(24, 8188, cc), precision, 2000)
    assert found is not None
    assert found.value_tflops is None
    assert len({value for _, value in found.candidates}) > 1


def test_too_little_known_is_none_and_never_zero() -> None:
    assert peak(Shape(24, None, "8.9"), "fp32") is None
    assert peak(Shape(None, None, "8.9"), "fp32", 2000) is None
    assert peak(Shape(24, None, None), "fp32", 2000) is None
    assert peak(Shape(24, None, "8.7"), "fp32", 2000) is None
    assert peak(Shape(24, None, "7.0"), "bf16", 2000) is None
    assert peak(store.card("rtx-4090"), "bf16", 0) is None
    with pytest.raises(KeyError):
        peak(store.card("rtx-4090"), "fp17")


@pytest.mark.parametrize("card_id", ["rtx-4090", "h100-sxm5-80gb", "l4", "b200"])
def test_bandwidth_from_the_memory_clock(card_id: str) -> None:
    spec = store.card(card_id)
    assert bandwidth_gbs(spec.max_mem_mhz, spec.bus_bits) == pytest.approx(spec.bw_gbs, rel=0.01)


def test_bandwidth_without_a_reading_is_none() -> None:
    assert bandwidth_gbs(None, 384) is None
    assert bandwidth_gbs(10501, None) is None
    assert bandwidth_gbs(0, 384) is None
