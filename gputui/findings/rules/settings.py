"""Settings of the driver that a renter should know and cannot change without root."""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity


@rule(
    "persistence-off",
    family="settings",
    means=N_("The driver unloads between jobs: the first call takes seconds and settings are lost. Not a fault."),
    decided=N_("Persistence mode reads Disabled."),
    action=N_("Keep one program open on the card (this one will do), or ask the host for nvidia-persistenced."),
    who="host",
    source="NVIDIA driver persistence documentation",
    verify="nvidia-smi -q -i {gpu} | grep Persistence",
)
def persistence_off(card: CardView) -> Outcome:
    # Windows has no persistence mode: it answers N/A, which is absent here.
    if card.text("persistence_mode") != "Disabled" or card.is_vgpu:
        return None
    return card.found(
        Severity.INFO,
        N_("Persistence mode is off: the first use after a pause takes seconds."),
        {"persistence_mode": "Disabled"},
    )


@rule(
    "ecc-off",
    family="settings",
    means=N_("Memory errors on this card are neither corrected nor counted."),
    decided=N_("ECC mode reads Disabled on a data-centre card that has it switched on when it leaves the factory."),
    could_be=(N_("a host that trades safety for memory"),),
    action=N_("Ask the host to switch ECC on, or check your results more often."),
    who="host",
    source="NVML ECC mode; reference card data",
    verify="nvidia-smi -q -d ECC -i {gpu}",
)
def ecc_off(card: CardView) -> Outcome:
    mode, pending = card.text("ecc.mode.current"), card.text("ecc.mode.pending")
    data_center = card.spec is not None and card.spec.market == "datacenter" and card.match.certain
    if mode != "Disabled" or not data_center:
        return None
    return card.found(
        Severity.INFO,
        N_("ECC is off, so memory errors are neither corrected nor counted."),
        {"ecc.mode.current": mode, "ecc.mode.pending": pending},
    )


@rule(
    "compute-mode-exclusive",
    family="settings",
    means=N_("Only one process, or none, may use this card; a second one fails to start."),
    decided=N_("Compute mode reads Exclusive_Process or Prohibited."),
    action=N_("Plan for one process, or ask the host to set the mode to Default."),
    who="host",
    source="NVML compute mode",
    verify="nvidia-smi -q -i {gpu} | grep 'Compute Mode'",
)
def compute_mode_exclusive(card: CardView) -> Outcome:
    mode = card.text("compute_mode")
    if mode is None or mode.lower() == "default":
        return None
    if mode.lower() == "prohibited":
        return card.found(
            Severity.FAIL, N_("No process may compute on this card (prohibited)."), {"compute_mode": mode}
        )
    return card.found(
        Severity.WARN, N_("Only one process may use this card at a time ({mode})."), {"compute_mode": mode}, mode=mode
    )


@rule(
    "fabric-not-ready",
    family="settings",
    means=N_("The NVSwitch fabric is not up: programs on several cards fail with CUDA error 802."),
    decided=N_("Fabric state is neither Completed nor absent on a card with NVSwitch."),
    could_be=(N_("a machine that has just started: try again in some minutes"),),
    action=N_("Ask the host to start the Fabric Manager service."),
    who="host",
    source="NVML fabric info; NVIDIA Fabric Manager guide; CUDA error 802",
    verify="nvidia-smi -q -i {gpu} | grep -A2 Fabric",
)
def fabric_not_ready(card: CardView) -> Outcome:
    state, status = card.text("fabric.state"), card.text("fabric.status")
    if state is None or state.lower() in ("completed", "not supported", "n/a", "not started"):
        failed = status is not None and status.lower() not in ("success", "n/a", "")
        if state is None or state.lower() != "completed" or not failed:
            return None
    return card.found(
        Severity.FAIL if (state or "").lower() == "completed" else Severity.WARN,
        N_("The NVSwitch fabric is not ready (state {state}, status {status})."),
        {"fabric.state": state, "fabric.status": status},
        state=state,
        status=status or "unknown",
    )
