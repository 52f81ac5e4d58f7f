"""When the driver itself is the problem: no answer, old answers, impossible answers."""

from __future__ import annotations

from typing import Any

from gputui.findings.registry import HOST, N_, Outcome, rule
from gputui.findings.view import CardView, HostView
from gputui.model.card import State
from gputui.model.finding import Severity
from gputui.model.reading import Absent, Why


def _problem(view: HostView, sentence: str) -> Outcome:
    """A start-up problem with the rule's own id."""
    problem = view.frame.problem
    if problem is None or problem.id != view.rule_id:
        return None
    detail: dict[str, Any] = {"nvml_code": problem.code, "detail": problem.detail}
    return view.found(Severity.FAIL, sentence, detail, detail=problem.detail or "no detail")


@rule(
    "driver-not-loaded",
    family="telemetry",
    scope=HOST,
    means=N_("There is no NVIDIA driver to ask: no library, or no kernel module."),
    decided=N_("libnvidia-ml.so.1 cannot be loaded, or nvmlInit answers DRIVER_NOT_LOADED (9)."),
    could_be=(N_("a container started without GPU access"),),
    action=N_("Start the container with GPU access; if it was, ask the host to load the driver."),
    who="you",
    source="nvmlReturn_t 9 and 12",
    verify="nvidia-smi",
)
def driver_not_loaded(view: HostView) -> Outcome:
    return _problem(view, N_("No NVIDIA driver can be asked ({detail})."))


@rule(
    "driver-mismatch",
    family="telemetry",
    scope=HOST,
    means=N_("The driver was upgraded without a reload: library and kernel module do not fit together."),
    decided=N_("nvmlInit answers LIB_RM_VERSION_MISMATCH (18)."),
    action=N_("Ask the host to reboot, or to reload the kernel module."),
    who="host",
    source="nvmlReturn_t 18; gpustat #147",
    verify="nvidia-smi; cat /proc/driver/nvidia/version",
)
def driver_mismatch(view: HostView) -> Outcome:
    return _problem(view, N_("Driver library and kernel module have different versions ({detail})."))


@rule(
    "no-permission",
    family="telemetry",
    scope=HOST,
    means=N_("You may not open the device files of the cards."),
    decided=N_("nvmlInit, or every card, answers NO_PERMISSION (4)."),
    action=N_("Ask for access to /dev/nvidia*, or restart the container with GPU access."),
    who="host",
    source="nvmlReturn_t 4; nvidia-docker #1671",
    verify="ls -l /dev/nvidia*; nvidia-smi",
)
def no_permission(view: HostView) -> Outcome:
    return _problem(view, N_("No permission to ask the driver ({detail})."))


@rule(
    "no-devices",
    family="telemetry",
    scope=HOST,
    means=N_("The driver runs, but there is no card you can see."),
    decided=N_("nvmlDeviceGetCount answers 0."),
    could_be=(N_("a container started without GPU access"),),
    action=N_("Restart the container with GPU access; if none shows then, ask the host."),
    who="host",
    source="NVML device count; nvtop #318",
    verify="nvidia-smi -L",
)
def no_devices(view: HostView) -> Outcome:
    return _problem(view, N_("The driver is loaded but shows no GPU ({detail})."))


@rule(
    "container-lost-access",
    family="telemetry",
    scope=HOST,
    means=N_("This container has lost its access to the cards while it was running."),
    decided=N_("Every card answers UNKNOWN (999) at once."),
    could_be=(N_("the host's service manager was reloaded (systemctl daemon-reload)"),),
    action=N_("Restart the container; ask the host to stop reloading its service manager under it."),
    who="you",
    source="NVIDIA/nvidia-container-toolkit #48; nvidia-docker #1730",
    verify="nvidia-smi",
)
def container_lost_access(view: HostView) -> Outcome:
    return _problem(view, N_('Every card answers "unknown error" at once ({detail}).'))


@rule(
    "driver-too-old",
    family="telemetry",
    scope=HOST,
    means=N_("The driver is too old to be read at all, or for much of what should be read."),
    decided=N_("The library has no nvmlInit_v2."),
    action=N_("Ask the host for a newer driver."),
    who="host",
    source="NVML symbol versions",
    verify="nvidia-smi",
)
def driver_too_old(view: HostView) -> Outcome:
    return _problem(view, N_("The driver is too old to be read ({detail})."))


@rule(
    "driver-not-answering",
    family="telemetry",
    scope=HOST,
    means=N_("A call into the driver has not come back. Programs on these cards may hang the same way."),
    decided=N_("A call under way for 3 s marks its card, no heartbeat of the reader for 3 s marks all."),
    could_be=(N_("a dying card that slows the driver"), N_("a driver that is still starting up")),
    action=N_("Save your work; only the host can reboot the machine, nothing here can end such a call."),
    who="host",
    source="NVIDIA/open-gpu-kernel-modules #1333; NVSentinel #1576",
    verify="timeout 20 nvidia-smi; echo $?",
)
def driver_not_answering(view: HostView) -> Outcome:
    if view.frame.problem is not None:
        return _problem(view, N_("The driver does not answer ({detail})."))
    silent = [card for card in view.frame.cards if card.state is State.NOT_ANSWERING]
    if not silent:
        return None
    which = ", ".join(str(card.index) for card in silent)
    return view.found(
        Severity.FAIL,
        N_("No answer from the driver for {count} of {all} cards ({which})."),
        {"cards": [card.uuid for card in silent], "age_s": [card.age_s for card in silent]},
        count=len(silent),
        all=len(view.frame.cards),
        which=which,
    )


@rule(
    "telemetry-stale",
    family="telemetry",
    means=N_("The card's readings are old; what is on the screen is not now."),
    decided=N_("The newest sample is older than five intervals and than 10 s, and no call is known to hang."),
    could_be=(N_("a machine with no CPU time left for the reader"),),
    action=N_("Look at the CPU quota of your container first; then as for a driver that does not answer."),
    who="you",
    source="NVSentinel #1748",
)
def telemetry_stale(card: CardView) -> Outcome:
    if card.card.state is not State.OK or card.card.age_s is None or card.frame.source == "nvidia-smi":
        return None
    if card.card.age_s < max(card.limits["least_s"], card.limits["intervals"] * card.frame.interval_s):
        return None
    return card.found(
        Severity.UNKNOWN,
        N_("The readings are {age:.0f} s old."),
        {"age_s": round(card.card.age_s, 1)},
        age=card.card.age_s,
    )


@rule(
    "sensor-stuck",
    family="telemetry",
    needs_s=100,
    means=N_("A sensor gives the same value for minutes while everything around it moves: it cannot be trusted."),
    decided=N_("The temperature is the same to the degree for 100 s while draw or load moved a lot."),
    could_be=(N_("water cooling that holds the chip to the degree"),),
    action=N_("Do not rely on the temperature; ask the host for another driver version."),
    who="host",
    source="FanControl #3097 (driver 576.02)",
    verify="nvidia-smi dmon -s pu -i {gpu}",
)
def sensor_stuck(card: CardView) -> Outcome:
    window = card.limits["window_s"]
    if card.watched_s("temperature.gpu", window) < card.limits["watched_s"] or card.is_vgpu:
        return None
    temperatures = [value for _, value in card.series("temperature.gpu", window)]
    draws = [value for _, value in card.series("power.draw", window)]
    loads = [value for _, value in card.series("utilization.gpu", window)]
    if not draws or not loads or max(temperatures) > min(temperatures):
        return None
    moved = max(draws) - min(draws) >= card.limits["power_range_w"]
    worked = max(loads) - min(loads) >= card.limits["utilization_range_percent"]
    if not (moved and worked):
        return None
    return card.found(
        Severity.UNKNOWN,
        N_("The temperature has read {seen:.0f} °C for {seconds:.0f} s while the draw moved by {range:.0f} W."),
        {"temperature.gpu": {"seen": temperatures[0], "unit": "C"}, "power_range_w": round(max(draws) - min(draws), 1)},
        seen=temperatures[0],
        seconds=card.watched_s("temperature.gpu", window),
        range=max(draws) - min(draws),
    )


@rule(
    "value-implausible",
    family="telemetry",
    means=N_("The driver gave a number that cannot be true; it is kept as evidence and left out of every verdict."),
    decided=N_(
        "A reading far outside what the card can do, such as a draw over one and a half times its highest limit."
    ),
    could_be=(N_("a laptop card that was asleep"), N_("a driver bug")),
    action=N_("Nothing for you to do; mention it when you report something else."),
    who="host",
    source="g-helper #5819 (593 W on a sleeping laptop card); nvtop #409",
    verify="nvidia-smi -q -i {gpu}",
)
def value_implausible(card: CardView) -> Outcome:
    raw = {
        name: reading.raw
        for name, reading in card.card.readings.items()
        if isinstance(reading, Absent) and reading.why is Why.IMPLAUSIBLE
    }
    if not raw:
        return None
    return card.found(
        Severity.UNKNOWN,
        N_("The driver gave impossible values for {names}."),
        {"raw": raw},
        names=", ".join(sorted(raw)),
    )
