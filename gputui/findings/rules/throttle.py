"""Slowed by heat or by the power-brake pin. A single sample is never a failure: it happens at every P-state change."""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity
from gputui.model.reasons import MASKS

_HW_THERMAL, _BRAKE, _SW_THERMAL = (
    MASKS["hw_thermal_slowdown"],
    MASKS["hw_power_brake_slowdown"],
    MASKS["sw_thermal_slowdown"],
)
_VERIFY = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE -i {gpu}"


def _hardware(card: CardView, bit: int, said_once: str, said: str) -> Outcome:
    """What the two hardware slowdowns share: three seconds in a row fail, a single saved sample warns."""
    mask = card.number("clocks_event_reasons.mask")
    if mask is None:
        return card.not_judged("clocks event reasons are not readable")
    evidence = {
        "clocks_event_reasons.mask": hex(int(mask)),
        "temperature.gpu": {"seen": card.number("temperature.gpu"), "unit": "C"},
        "clocks.current.sm": {"seen": card.number("clocks.current.sm"), "unit": "MHz"},
    }
    if card.single_sample:
        return card.found(Severity.WARN, said_once, evidence) if int(mask) & bit else None
    run = card.longest_run(bit, card.limits["window_s"])
    if run < card.limits["row"]:
        return None
    return card.found(Severity.FAIL, said, {**evidence, "seconds_in_a_row": run}, seconds=run)


@rule(
    "hw-thermal-slowdown",
    family="throttle",
    needs_s=3,
    means=N_(
        "The chip reached its thermal limit and the hardware halved its clock, or worse. That is a cooling fault."
    ),
    decided=N_("hw_thermal_slowdown in three seconds in a row. In a single saved sample it is only a warning."),
    could_be=(N_("a fan or pump that just failed"), N_("hot air from the neighbours in the same case")),
    action=N_("Stop long runs on it, and ask the host to repair the cooling or to move you."),
    who="host",
    source="clocks event reason 0x40 (nvml.h); NVSentinel #1668",
    verify=_VERIFY,
)
def hw_thermal_slowdown(card: CardView) -> Outcome:
    return _hardware(
        card,
        _HW_THERMAL,
        N_("At the moment of this capture the hardware was slowing the chip because of heat."),
        N_("The hardware slowed the chip because of heat for {seconds} seconds in a row."),
    )


@rule(
    "hw-power-brake",
    family="throttle",
    needs_s=3,
    means=N_("The power supply or rack pulls the card's power-brake pin: the hardware slows it whatever it computes."),
    decided=N_("hw_power_brake_slowdown in three seconds in a row, at any load. In one saved sample it is a warning."),
    could_be=(N_("a power supply that lost redundancy"), N_("a rack over its power budget")),
    action=N_("Ask the host to check the power supply of the machine; nothing inside the container can change it."),
    who="host",
    source="clocks event reason 0x80 (nvml.h); NVIDIA NVSentinel #1666",
    verify=_VERIFY,
)
def hw_power_brake(card: CardView) -> Outcome:
    return _hardware(
        card,
        _BRAKE,
        N_("At the moment of this capture the power brake was slowing the chip."),
        N_("The power brake slowed the chip for {seconds} seconds in a row."),
    )


@rule(
    "sw-thermal-slowdown",
    family="throttle",
    needs_s=30,
    means=N_("The driver lowers the clock to keep the chip or its memory under their operating temperature."),
    decided=N_(
        "Under load, sw_thermal_slowdown in 5 % of the samples or more, and three seconds in a row, is a warning. A "
        "failure needs 30 % of a minute's samples and a median clock under 90 % of the rated boost."
    ),
    could_be=(N_("the end of a warm-up"), N_("a GeForce card at its own target temperature")),
    action=N_("Ask the host about the cooling; a lower load or power limit of your own helps meanwhile."),
    who="host",
    source="clocks event reason 0x20 (nvml.h)",
    verify=_VERIFY,
    explained_by=("hw-thermal-slowdown",),
)
def sw_thermal_slowdown(card: CardView) -> Outcome:
    times = card.loaded(card.limits["window_s"], card.limits["utilization_percent"])
    if len(times) < card.limits["loaded_s"]:
        return card.not_judged("needs the card under load", card.limits["loaded_s"])
    share = card.mask_share(_SW_THERMAL, times)
    if share is None:
        return card.not_judged("clocks event reasons are not readable")
    run = card.longest_run(_SW_THERMAL, card.limits["window_s"])
    if share < card.limits["warn_from"] or run < card.limits["row"]:
        return None
    clock = card.median("clocks.current.sm", times)
    boost = card.spec.sure("boost_mhz") if card.spec and card.match.certain else None
    slowed = clock is not None and boost is not None and clock < card.limits["clock_below"] * boost
    long_enough = len(times) >= 0.9 * card.limits["window_s"]
    return card.found(
        Severity.FAIL if slowed and long_enough and share >= card.limits["fail_from"] else Severity.WARN,
        N_("Slowed because of heat {percent:.0f} % of the time under load, at {temperature}."),
        {
            "sw_thermal_slowdown": {"share_of_loaded_samples": round(share, 3), "samples": len(times)},
            "clocks.current.sm": {"seen": clock, "expected": boost, "unit": "MHz"},
            "temperature.gpu": {"seen": card.number("temperature.gpu"), "unit": "C"},
            "temperature.memory": {"seen": card.number("temperature.memory"), "unit": "C"},
        },
        percent=100 * share,
        temperature=_degrees(card.number("temperature.gpu")),
    )


def _degrees(celsius: float | None) -> str:
    return "unknown temperature" if celsius is None else f"{celsius:.0f} °C"


@rule(
    "hot",
    family="throttle",
    needs_s=10,
    means=N_("The card is within a few degrees of the point where it must slow down."),
    decided=N_(
        "For 10 s: less than 5 °C to the slowdown temperature (or T.Limit margin of 0 or less), or memory at 100 °C or "
        "more. Memory at 110 °C or more is a failure."
    ),
    could_be=(N_("a warm room or a neighbour's load"),),
    action=N_("Ask the host about the cooling before it starts to slow down."),
    who="host",
    source="NVML temperature thresholds; JEDEC GDDR6X junction limit of 110 °C as Micron states it",
    verify="nvidia-smi -q -d TEMPERATURE -i {gpu}",
    explained_by=("hw-thermal-slowdown", "sw-thermal-slowdown"),
)
def hot(card: CardView) -> Outcome:
    if found := _memory_hot(card):
        return found
    slowdown = card.number("temperature.threshold.slowdown")
    margin = card.number("temperature.gpu.tlimit")
    lowest = _lowest(card, "temperature.gpu")
    if slowdown is not None and lowest is not None and slowdown - lowest < card.limits["margin_warn_c"]:
        return card.found(
            Severity.WARN,
            N_("The chip stays at {seen:.0f} °C; it slows down at {slowdown:.0f} °C."),
            {"temperature.gpu": {"seen": lowest, "expected_below": slowdown, "unit": "C"}},
            seen=lowest,
            slowdown=slowdown,
        )
    # T.Limit is a margin that shrinks to 0 where slowing starts (leptonai/gpud #1208).
    if margin is not None and margin <= 0 and lowest is not None:
        return card.found(
            Severity.WARN,
            N_("The chip has no margin left to the temperature at which it slows down ({seen:.0f} °C now)."),
            {"temperature.gpu.tlimit": {"seen": margin, "expected_above": 0, "unit": "C"}},
            seen=lowest,
        )
    return None


def _lowest(card: CardView, name: str) -> float | None:
    """The lowest value over the time it must hold; None when it was not watched for so long."""
    points = card.series(name, card.limits["held_s"])
    if card.watched_s(name, card.limits["held_s"]) < card.limits["held_s"]:
        return None
    return min(value for _, value in points)


def _memory_hot(card: CardView) -> Outcome:
    lowest = _lowest(card, "temperature.memory")
    if lowest is None or lowest < card.limits["memory_warn_c"]:
        return None
    return card.found(
        Severity.FAIL if lowest >= card.limits["memory_fail_c"] else Severity.WARN,
        N_("The memory stays at {seen:.0f} °C; its limit is {limit:.0f} °C."),
        {"temperature.memory": {"seen": lowest, "expected_below": card.limits["memory_fail_c"], "unit": "C"}},
        seen=lowest,
        limit=card.limits["memory_fail_c"],
    )
