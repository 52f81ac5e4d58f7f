"""Memory totals, SM counts, power, heat, links: doubt in the reference never turns into an accusation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gputui.reference import expected, store
from gputui.reference.links import nvlink_rate, pcie_rate

ALL = pytest.mark.parametrize("spec", store.cards(), ids=lambda spec: spec.id)


@ALL
def test_totals_seen_on_genuine_cards_are_never_low_or_high(spec) -> None:
    if spec.mem_mib is not None:
        assert expected.memory_verdict(spec, spec.mem_mib) == "expected"
        for share in (0.93, 0.96, 1.0, 1.02):
            assert expected.memory_verdict(spec, spec.mem_mib * share) in ("expected", "alternative")
    for total in spec.mem_mib_alt:
        assert expected.memory_verdict(spec, total) in ("expected", "alternative")
    for total in spec.mem_mib_mod:
        assert expected.memory_verdict(spec, total) == "modified"


@ALL
def test_half_the_memory_is_low_and_double_is_high_or_a_known_mod(spec) -> None:
    marketed = spec.mem_gib * 1024
    assert expected.memory_verdict(spec, marketed / 2) == "low"
    assert expected.memory_verdict(spec, marketed * 2.2) == "high"
    assert expected.memory_verdict(spec, marketed * 2) in ("high", "modified")


def test_a_48_gb_4090_is_a_mod_and_not_a_fake() -> None:
    spec = store.card("rtx-4090")
    assert expected.memory_verdict(spec, 49140) == "modified"
    assert expected.memory_verdict(spec, 24564) == "expected"
    assert expected.memory_verdict(spec, 23028) == "alternative"
    assert expected.memory_verdict(spec, 16376) == "low"
    assert expected.memory_verdict(spec, 98304) == "high"


def test_an_uncertain_total_accuses_only_against_the_marketed_capacity() -> None:
    spec = replace(store.card("rtx-4090"), mem_mib=26000, mem_mib_alt=(), uncertain=("mem_mib",))
    assert expected.memory_verdict(spec, 22000) == "expected"
    assert expected.memory_verdict(replace(spec, uncertain=()), 22000) == "low"
    assert expected.memory_verdict(spec, 20000) == "low"
    assert expected.memory_verdict(replace(spec, mem_mib=None, uncertain=()), 24564) == "expected"


@pytest.mark.parametrize("total", [None, 0, -1])
def test_a_total_that_was_not_read_is_unknown(total: float | None) -> None:
    assert expected.memory_verdict(store.card("rtx-4090"), total) == "unknown"


def test_sm_count() -> None:
    spec = store.card("rtx-4090")
    verdicts = [expected.sm_verdict(spec, count) for count in (128, 114, 142, None, 0)]
    assert verdicts == ["expected", "low", "high", "unknown", "unknown"]
    assert expected.sm_verdict(replace(spec, uncertain=("sms",)), 114) == "unknown"
    assert expected.sm_verdict(store.card("a100-sxm-64gb"), 124) == "unknown"


def test_uncertain_values_are_left_out_and_flagged() -> None:
    l20 = store.card("l20")
    assert l20.tdp_w is not None
    assert l20.is_uncertain("tdp_w")
    assert expected.power_limits(l20).default_w is None
    h100 = store.card("h100-sxm5-80gb")
    assert not h100.is_uncertain("tdp_w")
    assert expected.power_limits(h100).default_w == 700
    with pytest.raises(KeyError):
        h100.is_uncertain("tdp")
    assert expected.rated_boost_mhz(store.card("rtx-pro-5000")) is None
    assert expected.rated_boost_mhz(store.card("rtx-4090")) == 2520
    assert expected.max_sm_mhz(store.card("rtx-4090")) is None


def test_heat_limits_are_absolute_or_relative_or_unknown() -> None:
    relative = expected.slowdown(store.card("rtx-4090"))
    assert (relative.celsius, relative.margin_c) == (None, -2)
    known = next(spec for spec in store.cards() if spec.slowdown_c is not None and not spec.is_uncertain("slowdown_c"))
    assert expected.slowdown(known).celsius == known.slowdown_c
    assert expected.shutdown(known).celsius is None or expected.shutdown(known).celsius >= known.slowdown_c


def test_pcie_of_the_card() -> None:
    assert expected.pcie(store.card("rtx-4090")) == (4, 16)
    assert expected.pcie(store.card("gb10")) is None
    assert expected.pcie(store.card("gh200-96gb")) is None
    assert expected.pcie(store.card("b300")) is None
    assert expected.has_c2c(store.card("gb200"))
    assert not expected.has_c2c(store.card("b200"))


def test_pcie_rates() -> None:
    full, half = pcie_rate(4, 16), pcie_rate(4, 8)
    assert full is not None
    assert half is not None
    assert full.healthy_gbs == (22.5, 27.5)
    assert half.healthy_gbs == (11.25, 13.75)
    assert full.line_gbs == pytest.approx(31.508, rel=0.001)
    oldest = pcie_rate(1, 16)
    assert oldest is not None
    assert oldest.healthy_gbs is None
    for generation, lanes in ((None, 16), (4, None), (4, 0), (9, 16), (0, 16), (4, 32)):
        assert pcie_rate(generation, lanes) is None


def test_nvlink_rates() -> None:
    h100 = nvlink_rate(store.card("h100-sxm5-80gb"))
    assert h100 is not None
    assert (h100.links, h100.total_gbs, h100.link_gbs) == (18, 900, 50)
    assert nvlink_rate(store.card("rtx-4090")) is None
    assert nvlink_rate(store.card("a100x")) is None
