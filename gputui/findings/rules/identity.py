"""Is it the card it says it is, and all of it? The PCI device id decides; only a certain match may accuse."""

from __future__ import annotations

from gputui.findings.evidence import Expect
from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity
from gputui.reference.expected import memory_verdict, sm_verdict

_VERIFY = "nvidia-smi -q -i {gpu} | grep -E 'Product Name|Device Id|Sub System|Total'"


@rule(
    "name-mismatch",
    family="identity",
    means=N_("The card's name and the id of its chip belong to two different models."),
    decided=N_("The PCI device id is one model's, the name another's; both are in the reference."),
    could_be=(N_("a driver or a library in front of it that changes names"), N_("a name set by the host")),
    action=N_("Stop paid work, export a snapshot, and open a ticket for wrong hardware."),
    who="host",
    source="NVML PCI info against NVIDIA's own table of device ids (NVIDIA/open-gpu-kernel-modules)",
    verify=_VERIFY,
)
def name_mismatch(card: CardView) -> Outcome:
    conflict = card.match.conflict("name")
    if conflict is None or card.is_vgpu:
        return None
    chip = " or ".join(spec.nvml_name for spec in conflict.by_pci)
    return card.found(
        Severity.FAIL,
        N_("It calls itself {name}; its PCI id {device} belongs to {chip}."),
        {"name": card.card.name, "pci.device_id": card.text("pci.device_id"), "model_of_this_id": chip},
        name=card.card.name,
        device=card.text("pci.device_id"),
        chip=chip,
    )


@rule(
    "sm-count-low",
    family="identity",
    means=N_("The chip has fewer multiprocessors than its model: part of it is missing or kept from you."),
    decided=N_("Multiprocessors under the reference count, for a card found by its PCI id, without MIG or vGPU."),
    could_be=(N_("a variant of the model that the reference does not list"),),
    action=N_("Ask the host whether a slice was sold; export a snapshot."),
    who="host",
    source="NVML core count; reference card data",
    verify="nvidia-smi -q -i {gpu}",
    explained_by=("name-mismatch",),
)
def sm_count_low(card: CardView) -> Outcome:
    count = card.number("multiprocessor_count")
    if card.spec is None or not card.match.certain or card.is_mig or card.is_vgpu or count is None:
        return None
    if sm_verdict(card.spec, int(count)) != "low":
        return None
    return card.found(
        Severity.INFO if card.expect is Expect.SLICE else Severity.FAIL,
        N_("The chip has {count:.0f} multiprocessors; {name} has {expected}."),
        {"multiprocessor_count": {"seen": int(count), "expected": card.spec.sms}},
        count=count,
        name=card.spec.nvml_name,
        expected=card.spec.sms,
    )


def _memory(card: CardView) -> str:
    if card.spec is None or not card.match.certain or card.is_mig or card.is_vgpu or card.is_unified:
        return "unknown"
    return memory_verdict(card.spec, card.number("memory.total"))


@rule(
    "memory-size-low",
    family="identity",
    means=N_("You see less memory than this model has: a slice, another card, or a view that was rewritten."),
    decided=N_("Total memory under 92 % of the reference, for a card found by its PCI id, without MIG or vGPU."),
    could_be=(N_("a slice that was sold as one"), N_("a library that limits memory (see interceptor)")),
    action=N_("Ask the host whether a slice was sold; export a snapshot."),
    who="host",
    source="NVML memory v2; reference card data (ECC on GDDR takes 6.25 %, which is not low)",
    verify="nvidia-smi -q -d MEMORY -i {gpu}",
    explained_by=("name-mismatch", "interceptor", "slice-kernel"),
)
def memory_size_low(card: CardView) -> Outcome:
    if _memory(card) != "low" or card.spec is None:
        return None
    total, expected = card.number("memory.total") or 0.0, card.spec.mem_mib or card.spec.mem_gib * 1024
    return card.found(
        Severity.INFO if card.expect is Expect.SLICE else Severity.FAIL,
        N_("You see {total:.1f} GiB of the {expected:.1f} GiB that {name} has."),
        {"memory.total": {"seen": total, "expected": expected, "unit": "MiB"}},
        total=total / 1024,
        expected=expected / 1024,
        name=card.spec.nvml_name,
    )


@rule(
    "memory-modified",
    family="identity",
    means=N_("The card has more memory than its maker ever sold under this name: chips were changed afterwards."),
    decided=N_("Total memory equals that of a known after-market modification of this model."),
    could_be=(N_("exactly what was offered to you"),),
    action=N_("Fine if you were told; otherwise ask, and run a memory test before you trust it."),
    who="host",
    source="reference card data: totals of known memory modifications (tinygrad/open-gpu-kernel-modules #36)",
    verify="nvidia-smi -q -d MEMORY -i {gpu}",
)
def memory_modified(card: CardView) -> Outcome:
    if _memory(card) != "modified" or card.spec is None:
        return None
    total, expected = card.number("memory.total") or 0.0, card.spec.mem_mib or card.spec.mem_gib * 1024
    return card.found(
        Severity.WARN,
        N_("It has {total:.0f} GiB; {name} left the factory with {expected:.0f} GiB, so memory was added."),
        {"memory.total": {"seen": total, "expected": expected, "unit": "MiB"}},
        total=total / 1024,
        expected=expected / 1024,
        name=card.spec.nvml_name,
    )


@rule(
    "unknown-card",
    family="identity",
    means=N_("This model is not in the reference, so its name, size and speed cannot be compared with anything."),
    decided=N_("Neither the PCI device id nor the name is listed."),
    could_be=(N_("a card newer than this program"), N_("a laptop part")),
    action=N_("Look its data up yourself; everything that needs no reference is still judged."),
    who="you",
    source="reference card data",
    verify="nvidia-smi -q -i {gpu}",
)
def unknown_card(card: CardView) -> Outcome:
    if card.match.spec is not None or card.match.candidates or card.is_vgpu or card.text("pci.device_id") is None:
        return None
    return card.found(
        Severity.INFO,
        N_("{name} (PCI id {device}) is not in the reference; it cannot be compared with its model."),
        {"name": card.card.name, "pci.device_id": card.text("pci.device_id")},
        name=card.card.name,
        device=card.text("pci.device_id"),
    )
