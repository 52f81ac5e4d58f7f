"""PCIe and NVLink. An idle card drops its PCIe link on purpose, so PCIe is judged under load only."""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity


@rule(
    "pcie-degraded",
    family="link",
    needs_s=60,
    means=N_("The link to the host runs narrower or slower than card and slot can; copying data takes longer."),
    decided=N_(
        "The best link seen during at least 60 s of load is below the highest generation or width that card and slot "
        "have together."
    ),
    could_be=(N_("a riser or a shared slot, often declared in the offer"), N_("a load that never used the link")),
    action=N_("Matters when you move much data: measure host-device copies, and ask for another slot."),
    who="host",
    source="NVML link information; open-gpu-kernel-modules #1010; nvtop #6 for the idle drop",
    verify="nvidia-smi -q -i {gpu} | grep -A12 'GPU Link Info'",
)
def pcie_degraded(card: CardView) -> Outcome:
    highest_generation, highest_width = card.number("pcie.link.gen.max"), card.number("pcie.link.width.max")
    if not highest_generation or not highest_width or card.is_vgpu or card.is_unified:
        return None
    times = set(card.loaded(card.limits["window_s"], card.limits["utilization_percent"]))
    if len(times) < card.limits["loaded_s"]:
        return card.not_judged("needs the card under load", card.limits["loaded_s"])
    generation = _best(card, "pcie.link.gen.current", times)
    width = _best(card, "pcie.link.width.current", times)
    if generation is None or width is None or (generation >= highest_generation and width >= highest_width):
        return None
    return card.found(
        Severity.WARN,
        N_("Under load the link runs gen {generation:.0f} x{width:.0f}; it can do gen {top:.0f} x{wide:.0f}."),
        {
            "pcie.link.gen.current": {"seen": generation, "expected": highest_generation},
            "pcie.link.width.current": {"seen": width, "expected": highest_width},
        },
        generation=generation,
        width=width,
        top=highest_generation,
        wide=highest_width,
    )


def _best(card: CardView, name: str, times: set[float]) -> float | None:
    values = [value for mono, value in card.series(name, card.limits["window_s"]) if mono in times]
    return max(values) if values else None


@rule(
    "nvlink-down",
    family="link",
    means=N_("Some of the card's NVLink connections are down; traffic between cards is slower."),
    decided=N_("Some links are active, but fewer than the model has."),
    could_be=(N_("a machine that is built with fewer links"),),
    action=N_("Ask the host to check the links (nvidia-smi nvlink -s)."),
    who="host",
    source="NVML NVLink state; reference card data",
    verify="nvidia-smi nvlink -s -i {gpu}",
)
def nvlink_down(card: CardView) -> Outcome:
    active = card.number("nvlink.active")
    expected = card.spec.sure("nvlink_links") if card.spec and card.match.certain else None
    # Cards without a bridge have all links inactive, which is how they are built.
    if not active or not expected or active >= expected or card.is_mig or card.is_vgpu:
        return None
    return card.found(
        Severity.WARN,
        N_("{active:.0f} of {expected} NVLink connections are up."),
        {"nvlink.active": {"seen": active, "expected": expected}},
        active=active,
        expected=expected,
    )
