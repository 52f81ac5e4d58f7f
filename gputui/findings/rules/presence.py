"""Cards that are gone, or that only a reset brings back."""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.card import State
from gputui.model.finding import Severity


@rule(
    "gpu-lost",
    family="presence",
    means=N_("The driver says that this card has fallen off the bus: nothing on it answers any more."),
    decided=N_("The driver answers GPU_IS_LOST (NVML 15), or an error for the card itself, while it is still listed."),
    could_be=(N_("a power or riser problem"), N_("a crashed card that a reboot brings back")),
    action=N_("Save your work and export a snapshot now; the host has to reboot or repair the machine."),
    who="host",
    source="nvmlReturn_t GPU_IS_LOST; Xid 79 in NVIDIA's Xid catalogue; dcgm-exporter #604",
    verify="nvidia-smi -L",
)
def gpu_lost(card: CardView) -> Outcome:
    if card.card.state not in (State.LOST, State.ERROR):
        return None
    evidence = {"state": card.card.state.value, "nvml_code": card.card.state_code}
    if card.card.state is State.LOST:
        return card.found(Severity.FAIL, N_("The card has fallen off the bus (NVML 15: GPU is lost)."), evidence)
    return card.found(
        Severity.FAIL,
        N_("The driver lists the card but cannot open it (NVML {code})."),
        evidence,
        code="?" if card.card.state_code is None else card.card.state_code,
    )


@rule(
    "gpu-missing",
    family="presence",
    means=N_("A card that was here earlier in this run is no longer in the driver's list."),
    decided=N_("Its UUID was listed before and is not any more."),
    could_be=(N_("the container was given other devices"), N_("MIG was laid out anew")),
    action=N_("Save your work and export a snapshot now; ask the host what happened to this card."),
    who="host",
    source="dcgm-exporter #348; gpustat #81",
    verify="nvidia-smi -L",
)
def gpu_missing(card: CardView) -> Outcome:
    if card.card.state is not State.MISSING:
        return None
    return card.found(
        Severity.FAIL,
        N_("The card {uuid} was here and is gone."),
        {"uuid": card.card.uuid, "missing_since_unix": card.card.missing_since},
        uuid=card.card.uuid,
    )


@rule(
    "needs-reset",
    family="presence",
    means=N_("The driver will not use this card again before somebody resets it."),
    decided=N_("The driver answers RESET_REQUIRED (NVML 16), or its recovery action is a reset, drain or reboot."),
    action=N_("Ask the host for a GPU reset; from inside a container it is not allowed."),
    who="host",
    source="nvmlReturn_t RESET_REQUIRED; field `GPU Recovery Action` of nvidia-smi",
    verify="nvidia-smi -q -i {gpu}",
)
def needs_reset(card: CardView) -> Outcome:
    action = card.text("gpu_recovery_action")
    if card.card.state is State.NEEDS_RESET:
        return card.found(
            Severity.FAIL, N_("The driver says that the card needs a reset before it works again."), {"nvml_code": 16}
        )
    if action is not None and action.lower() not in ("none", "n/a", ""):
        return card.found(
            Severity.FAIL,
            N_("The driver asks for this recovery action: {action}."),
            {"gpu_recovery_action": action},
            action=action,
        )
    return None
