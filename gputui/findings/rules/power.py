"""Power limits and clocks: what holds the card below what it was sold as."""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity


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
