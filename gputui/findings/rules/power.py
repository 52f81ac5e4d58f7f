"""Power limits and clocks: what holds the card below what it was sold as."""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity
from gputui.model.reasons import MASKS

LIMITING = sum(bit for word, bit in MASKS.items() if word != "gpu_idle")
"""Every reason but idle, which says nothing against a limit: it was seen set under load (RTX 2080 SUPER, 591.86)."""


def _under_load(card: CardView) -> list[float] | None:
    """The loaded seconds of the rule's window, None when there are too few to judge."""
    times = card.loaded(card.limits["window_s"], card.limits["utilization_percent"])
    return times if len(times) * max(1.0, card.frame.interval_s) >= card.limits["loaded_s"] else None


@rule(
    "power-limit-lowered",
    family="power",
    means=N_("Somebody lowered the card's power limit below the maker's default, so it runs slower under load."),
    decided=N_(
        "Enforced limit ÷ default limit: under 95 % is a warning, under 90 % a failure; exactly 90 % is not a failure. "
        "Without a default limit nothing is said."
    ),
    could_be=(
        N_("a limit you set yourself, or one your plan names"),
        N_("a cap by the machine's management controller, when the enforced limit is below the requested one"),
    ),
    action=N_("Ask the host to restore the default limit (nvidia-smi -pl, as root on the host)."),
    who="host",
    source="NVML limits; lium.io rejects hosts under 90 % of the default limit (Datura-ai/lium-io #1053, #1071)",
    verify="nvidia-smi -q -d POWER -i {gpu}",
)
def power_limit_lowered(card: CardView) -> Outcome:
    enforced, default = card.number("enforced.power.limit"), card.number("power.default_limit")
    if enforced is None or not default:
        return card.not_judged("enforced or default power limit is not readable")
    share = enforced / default
    if share >= card.limits["warn_below"]:
        return None
    requested = card.number("power.limit")
    by_controller = requested is not None and enforced < requested
    sentence = (
        N_(
            "The power limit is {enforced:.0f} W of {default:.0f} W ({percent:.0f} %), "
            "below the {requested:.0f} W that is set; something outside the driver caps it."
        )
        if by_controller
        else N_("The power limit is {enforced:.0f} W; this card's default is {default:.0f} W ({percent:.0f} %).")
    )
    return card.found(
        Severity.FAIL if share < card.limits["fail_below"] else Severity.WARN,
        sentence,
        {
            "enforced.power.limit": {"seen": enforced, "expected": default, "unit": "W"},
            "power.limit": {"seen": requested, "unit": "W"},
            "share_of_default": round(share, 4),
        },
        enforced=enforced,
        default=default,
        percent=100 * share,
        requested=requested or 0.0,
    )


@rule(
    "power-capped-externally",
    family="power",
    needs_s=30,
    means=N_("Something outside the driver's own limit holds the card's power down."),
    decided=N_(
        "Under load the driver lowers clocks for power (sw_power_cap) in at least 10 % of the samples, yet the median "
        "draw is under 80 % of the enforced limit."
    ),
    could_be=(N_("a short load that had not reached its power yet"), N_("power smoothing on data-centre Blackwell")),
    action=N_("Ask the host to check the machine's power supply, cables and management controller."),
    who="host",
    source="a Dell case held 240 W of 400 W (l4rz iDRAC #3); open-gpu-kernel-modules #483",
    verify="nvidia-smi -q -d POWER,PERFORMANCE -i {gpu}",
    explained_by=("power-limit-lowered", "hw-power-brake"),
)
def power_capped_externally(card: CardView) -> Outcome:
    limit = card.number("enforced.power.limit")
    times = _under_load(card)
    if limit is None or times is None or card.is_mig or card.is_vgpu:
        return card.not_judged("needs the card under load", card.limits["loaded_s"])
    share, draw = card.mask_share(MASKS["sw_power_cap"], times), card.median("power.draw", times)
    if share is None or draw is None or share < card.limits["share"] or draw >= card.limits["draw_below"] * limit:
        return None
    return card.found(
        Severity.WARN,
        N_("The driver slows the card for power at {draw:.0f} W, far below its limit of {limit:.0f} W."),
        {
            "power.draw": {"seen": draw, "expected": limit, "unit": "W"},
            "sw_power_cap": {"share_of_loaded_samples": round(share, 3), "samples": len(times)},
        },
        draw=draw,
        limit=limit,
    )


@rule(
    "power-limited",
    family="power",
    needs_s=10,
    means=N_("The card runs at its power limit. Under full load that is how nearly every card is meant to run."),
    decided=N_("Under load, sw_power_cap in at least 10 % of the samples, draw at 90 % of the enforced limit or more."),
    action=N_("Nothing to do."),
    who="you",
    source="DCGM leaves SW power cap out of its fail mask (nvvs DcgmRecorder)",
    verify="nvidia-smi -q -d POWER,PERFORMANCE -i {gpu}",
    explained_by=("power-limit-lowered",),
)
def power_limited(card: CardView) -> Outcome:
    limit = card.number("enforced.power.limit")
    times = _under_load(card)
    if limit is None or times is None:
        return None
    share, draw = card.mask_share(MASKS["sw_power_cap"], times), card.median("power.draw", times)
    if share is None or draw is None or share < card.limits["share"] or draw < card.limits["draw_from"] * limit:
        return None
    return card.found(
        Severity.INFO,
        N_("Runs at its power limit of {limit:.0f} W ({percent:.0f} % of the time), as designed."),
        {"power.draw": {"seen": draw, "expected": limit, "unit": "W"}, "sw_power_cap": round(share, 3)},
        limit=limit,
        percent=100 * share,
    )


@rule(
    "low-power-variant",
    family="power",
    means=N_("This board's own default power limit is lower than that of the model it is named after."),
    decided=N_("Default limit under 95 % of the reference card's, for a card found by its PCI id."),
    could_be=(N_("a board made for less power and sold as such"), N_("a default limit set by the machine's maker")),
    action=N_("Ask the host which board this is, and compare its price with that of the full one."),
    who="host",
    source="NVML default limit; reference card data",
    verify="nvidia-smi -q -d POWER -i {gpu}",
)
def low_power_variant(card: CardView) -> Outcome:
    default = card.number("power.default_limit")
    expected = card.spec.sure("tdp_w") if card.spec and card.match.certain else None
    if default is None or expected is None or default >= card.limits["warn_below"] * expected:
        return None
    return card.found(
        Severity.WARN,
        N_("The board's default power limit is {default:.0f} W; {name} has {expected:.0f} W."),
        {"power.default_limit": {"seen": default, "expected": expected, "unit": "W"}},
        default=default,
        expected=expected,
        name=card.spec.nvml_name if card.spec else card.card.name,
    )


@rule(
    "clocks-locked",
    family="power",
    needs_s=10,
    means=N_("Somebody with root on the host fixed the clocks; the card cannot go faster whatever it has to do."),
    decided=N_(
        "Under load, applications_clocks_setting in at least half of the samples while the SM clock is under 95 % of "
        "the rated boost; or the card's highest clock itself is under 95 % of the model's."
    ),
    could_be=(N_("clocks you locked yourself"), N_("a plan that promises steady clocks")),
    action=N_("Ask the host to reset the clocks (nvidia-smi -rgc and -rac, as root on the host)."),
    who="host",
    source="clocks event reason 0x2 (nvml.h); canonical/hardware-observer #331",
    verify="nvidia-smi -q -d CLOCK,PERFORMANCE -i {gpu}",
)
def clocks_locked(card: CardView) -> Outcome:
    if card.is_vgpu or card.spec is None or not card.match.certain:
        return None
    highest, model_highest = card.number("clocks.max.sm"), card.spec.sure("max_sm_mhz")
    if highest is not None and model_highest and highest < card.limits["max_below"] * model_highest:
        return card.found(
            Severity.WARN,
            N_("The card's highest SM clock is set to {highest:.0f} MHz; {name} goes to {expected:.0f} MHz."),
            {"clocks.max.sm": {"seen": highest, "expected": model_highest, "unit": "MHz"}},
            highest=highest,
            expected=model_highest,
            name=card.spec.nvml_name,
        )
    times, boost = _under_load(card), card.spec.sure("boost_mhz")
    if times is None or boost is None:
        return None
    share, clock = card.mask_share(MASKS["applications_clocks_setting"], times), card.median("clocks.current.sm", times)
    if share is None or clock is None or share < card.limits["share"] or clock >= card.limits["clock_below"] * boost:
        return None
    return card.found(
        Severity.WARN,
        N_("Clocks are locked at {clock:.0f} MHz; {name} is rated for {boost:.0f} MHz."),
        {
            "clocks.current.sm": {"seen": clock, "expected": boost, "unit": "MHz"},
            "applications_clocks_setting": {"share_of_loaded_samples": round(share, 3)},
        },
        clock=clock,
        boost=boost,
        name=card.spec.nvml_name,
    )


@rule(
    "clock-low-unexplained",
    family="power",
    needs_s=30,
    means=N_("Under full load the clock is far below what the model is rated for, and the driver gives no reason."),
    decided=N_(
        "At 95 % utilization or more for 30 s, no reason set in 10 % of the samples, median SM clock under 90 % of the "
        "rated boost. A failure only when a low matmul result agrees."
    ),
    could_be=(N_("a power cap that the driver does not see"), N_("clock readings that are not true")),
    action=N_("Run the matmul probe; if it is low too, send both to the host."),
    who="host",
    source="a B200 locked at 1,597 of 1,965 MHz showed no reason",
    verify="nvidia-smi -q -d CLOCK,PERFORMANCE -i {gpu}",
    explained_by=(
        "clocks-locked",
        "power-limit-lowered",
        "power-capped-externally",
        "hw-thermal-slowdown",
        "sw-thermal-slowdown",
        "hw-power-brake",
    ),
)
def clock_low_unexplained(card: CardView) -> Outcome:
    if card.is_vgpu or card.is_mig or card.is_unified or card.spec is None or not card.match.certain:
        return None
    times, boost = _under_load(card), card.spec.sure("boost_mhz")
    if times is None or boost is None:
        return card.not_judged("needs the card under load", card.limits["loaded_s"])
    share, clock = card.mask_share(LIMITING, times), card.median("clocks.current.sm", times)
    if share is None or clock is None or share >= card.limits["share"] or clock >= card.limits["clock_below"] * boost:
        return None
    low_matmul = any((p.detail.get("of_healthy") or 1.0) < card.limits["matmul_below"] for p in card.probes("matmul"))
    return card.found(
        Severity.FAIL if low_matmul else Severity.WARN,
        N_(
            "Under full load the SM clock is {clock:.0f} MHz; {name} is rated for {boost:.0f} MHz, "
            "and the driver gives no reason."
        ),
        {
            "clocks.current.sm": {"seen": clock, "expected": boost, "unit": "MHz"},
            "clocks_event_reasons": {"share_of_loaded_samples": round(share, 3), "samples": len(times)},
        },
        clock=clock,
        boost=boost,
        name=card.spec.nvml_name,
    )
