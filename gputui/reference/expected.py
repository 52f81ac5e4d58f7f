"""What the reference expects of memory, units, power, heat and links. Everything here leaves uncertain values out."""

from __future__ import annotations

from dataclasses import dataclass

from gputui.reference.card import CardSpec

MIB_PER_MARKETED_GIB = 1024
LOW_SHARE = 0.92
"""Under this share of the model's total something is missing; 0.92 to 0.97 is ECC or a driver's reserve."""
EXPECTED_WITHIN = 0.03
HIGH_SHARE = 1.08
UNSURE_LOW_SHARE = 0.85
"""Against the marketed capacity only. "GB" on the box may be decimal (0.93 of a GiB) and ECC may take 6 percent."""


def memory_verdict(spec: CardSpec, total_mib: float | None) -> str:
    """How the memory total the card shows (MiB, nvmlMemory_t.total) compares with its model's.

    "expected"     within 3 % of `mem_mib`.
    "alternative"  a total also seen on genuine cards (`mem_mib_alt`: ECC the other way, older driver), or 92 to 108 %.
    "modified"     within 3 % of a known after-market memory mod (`mem_mib_mod`): name the mod, do not call it a fake.
    "low"          under 92 %: a slice, or another card. Look for MIG and vGPU first: their totals are slices.
    "high"         over 108 % and no known mod: an unlisted board or mod. Never an accusation by itself.
    "unknown"      the total was not read.
    Where `mem_mib` is absent or uncertain only the marketed capacity can tell against a card, with a band wide enough
    for decimal gigabytes and ECC (85 to 108 %).
    """
    if total_mib is None or total_mib <= 0:
        return "unknown"
    if spec.mem_mib is not None and abs(total_mib / spec.mem_mib - 1) <= EXPECTED_WITHIN:
        return "expected"
    if any(abs(total_mib / other - 1) <= EXPECTED_WITHIN for other in spec.mem_mib_alt):
        return "alternative"
    if any(abs(total_mib / mod - 1) <= EXPECTED_WITHIN for mod in spec.mem_mib_mod):
        return "modified"
    reference = spec.sure("mem_mib")
    if reference is None:
        share, low, inside = total_mib / (spec.mem_gib * MIB_PER_MARKETED_GIB), UNSURE_LOW_SHARE, "expected"
    else:
        share, low, inside = total_mib / reference, LOW_SHARE, "alternative"
    if share < low:
        return "low"
    return "high" if share > HIGH_SHARE else inside


def sm_verdict(spec: CardSpec, sm_count: int | None) -> str:
    """ "expected", "low", "high", or "unknown" when the count was not read or the reference is not sure of its own.

    The count is exact for a model. A MIG device shows its slice's: do not ask this about one.
    """
    sms = spec.sure("sms")
    if sm_count is None or sm_count <= 0 or sms is None:
        return "unknown"
    if sm_count == sms:
        return "expected"
    return "low" if sm_count < sms else "high"


@dataclass(frozen=True)
class PowerLimits:
    """W. None is unknown or uncertain. Board makers choose their own; data-center models come in several powers."""

    default_w: float | None
    min_w: float | None
    max_w: float | None


def power_limits(spec: CardSpec) -> PowerLimits:
    """The model's power limits, W."""
    return PowerLimits(spec.sure("tdp_w"), spec.sure("min_w"), spec.sure("max_w"))


@dataclass(frozen=True)
class HeatLimit:
    """Where a card slows down or shuts down.

    celsius: degrees C. margin_c: T.Limit, degrees relative to the limit, zero or negative; newer drivers print it
    instead. None is unknown.
    """

    celsius: float | None
    margin_c: float | None


def slowdown(spec: CardSpec) -> HeatLimit:
    """Where the model starts to slow down for heat."""
    return HeatLimit(spec.sure("slowdown_c"), spec.sure("slowdown_tlimit_c"))


def shutdown(spec: CardSpec) -> HeatLimit:
    """Where the model shuts down for heat."""
    return HeatLimit(spec.sure("shutdown_c"), spec.sure("shutdown_tlimit_c"))


def rated_boost_mhz(spec: CardSpec) -> float | None:
    """MHz. What a clock under load is compared with; NVML's maximum is 15 to 30 % higher on GeForce."""
    value: float | None = spec.sure("boost_mhz")
    return value


def max_sm_mhz(spec: CardSpec) -> float | None:
    """MHz, the maximum SM clock NVML reports for this model in public logs."""
    value: float | None = spec.sure("max_sm_mhz")
    return value


def pcie(spec: CardSpec) -> tuple[int, int] | None:
    """(generation, lanes) of the card itself, or None.

    None too for cards whose host link is not PCIe: Grace modules use NVLink-C2C, and GB10 reports gen 1 x1 as a
    placeholder.
    """
    generation, lanes = spec.sure("pcie_gen"), spec.sure("pcie_lanes")
    if generation is None or lanes is None or has_c2c(spec):
        return None
    return int(generation), int(lanes)


def has_c2c(spec: CardSpec) -> bool:
    """Whether the host is reached over NVLink-C2C instead of PCIe (GH200, GB200, GB300, GB10)."""
    return spec.form.startswith("Grace") or spec.market == "soc"
