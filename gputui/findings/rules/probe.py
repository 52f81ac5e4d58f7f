"""What probes measured, against the reference. Only engines of the reference's own kind (torch, cuBLAS) are graded."""

from __future__ import annotations

from collections.abc import Iterator

from gputui.findings.evidence import ProbeResult
from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity
from gputui.reference.health import Grade, Level, grade
from gputui.reference.links import pcie_rate

GRADED_ENGINES = ("torch", "cublas")
PRECISIONS = {
    "fp16": "fp16_acc32",
    "half": "fp16_acc32",
    "float16": "fp16_acc32",
    "bfloat16": "bf16",
    "float32": "fp32",
}
_HOST_CAUSES = ("power-limit-lowered", "clocks-locked", "hw-thermal-slowdown", "sw-thermal-slowdown", "hw-power-brake")
_LOW = {Level.WARN: Severity.WARN, Level.FAIL: Severity.FAIL}


def _usable(card: CardView, probe_id: str) -> Iterator[ProbeResult]:
    """Finished results of an engine that may be graded, on a whole card nobody else used."""
    if card.is_mig or card.is_vgpu:
        return
    for probe in card.probes(probe_id):
        if probe.state == "done" and probe.value is not None and probe.engine in GRADED_ENGINES:
            yield probe


def _graded(card: CardView, probe_id: str) -> Iterator[tuple[ProbeResult, Grade]]:
    if not card.match.certain:
        return
    for probe in _usable(card, probe_id):
        yield probe, grade(probe.value, card.spec, PRECISIONS.get(probe.dtype, probe.dtype), probe.runs_agreeing)


def _low(card: CardView, probe_id: str, sentence: str) -> Outcome:
    """A result below the healthy band."""
    for probe, graded in _graded(card, probe_id):
        if graded.level not in _LOW:
            continue
        share = graded.share_of_healthy_median or 0.0
        return card.found(
            _LOW[graded.level],
            sentence,
            {
                "measured": {"seen": probe.value, "unit": probe.unit, "dtype": probe.dtype, "engine": probe.engine},
                "share_of_nominal": graded.share_of_nominal,
                "share_of_healthy_median": graded.share_of_healthy_median,
                "runs_agreeing": probe.runs_agreeing,
                "why": graded.why,
                "held_back": list(graded.held_back),
            },
            value=probe.value,
            unit=probe.unit,
            dtype=probe.dtype,
            percent=100 * (share or graded.share_of_nominal or 0.0),
            of="healthy cards" if share else "nominal",
        )
    return None


@rule(
    "matmul-low",
    family="probe",
    means=N_("The card multiplies matrices more slowly than healthy cards of its model."),
    decided=N_(
        "Below the healthy band: a warning. Below 85 % of the healthy median with three or more public "
        "reports and three agreeing runs: a failure (fp32: 80 %)."
    ),
    could_be=(N_("another job on the card"), N_("an old PyTorch for this chip"), N_("a power limit of your own")),
    action=N_("Run it alone three times, a minute apart; then open a ticket with the numbers."),
    who="host",
    source="public measurements in the reference (explain --card)",
    explained_by=(*_HOST_CAUSES, "clock-low-unexplained", "contended", "busy-without-own-process"),
)
def matmul_low(card: CardView) -> Outcome:
    return _low(card, "matmul", N_("{value:.0f} {unit} in {dtype}: {percent:.0f} % of {of}."))


@rule(
    "bandwidth-low",
    family="probe",
    means=N_("The card's memory moves data more slowly than on healthy cards of its model."),
    decided=N_("As matmul-low, against the band for memory bandwidth."),
    could_be=(N_("ECC that was switched on"), N_("hot memory"), N_("another job on the card")),
    action=N_("Run it alone three times, a minute apart; check ECC and memory temperature."),
    who="host",
    source="public measurements in the reference (explain --card)",
    explained_by=(*_HOST_CAUSES, "contended", "busy-without-own-process"),
)
def bandwidth_low(card: CardView) -> Outcome:
    return _low(card, "bandwidth", N_("Memory {dtype}: {value:.0f} {unit}, {percent:.0f} % of {of}."))


@rule(
    "measurement-implausible",
    family="probe",
    means=N_("A result is higher than this model can give: the measurement or the card's identity is in doubt."),
    decided=N_("Above the high end of the healthy band."),
    could_be=(N_("a better card under another name"), N_("a buffer that fits into the cache")),
    action=N_("Repeat it; compare name and PCI id."),
    who="you",
    source="mli/transformers-benchmarks #4; reference bands",
)
def measurement_implausible(card: CardView) -> Outcome:
    for probe_id in ("matmul", "bandwidth"):
        for probe, graded in _graded(card, probe_id):
            if graded.level is Level.IMPLAUSIBLE:
                return card.found(
                    Severity.UNKNOWN,
                    N_("{value:.0f} {unit} in {dtype} is more than this model gives."),
                    {"measured": {"seen": probe.value, "unit": probe.unit}, "why": graded.why},
                    value=probe.value,
                    unit=probe.unit,
                    dtype=probe.dtype,
                )
    return None


@rule(
    "matmul-unstable",
    family="probe",
    means=N_("Speed swings or falls during a long run."),
    decided=N_("Coefficient of variation over 2 % warns, over 5 % in three runs fails; a fall over 7 % too."),
    could_be=(N_("heat"), N_("another job"), N_("CPU limits that starve the card")),
    action=N_("Repeat it; look at heat and at who else uses the card."),
    who="host",
    source="the field's promise of ±3 % over a long run; stas00/ml-engineering",
    explained_by=(*_HOST_CAUSES, "contended", "time-stolen"),
)
def matmul_unstable(card: CardView) -> Outcome:
    for probe in _usable(card, "stress"):
        swing = float(probe.detail.get("cv_percent") or 0.0)
        drift = float(probe.detail.get("drift_percent") or 0.0)
        limits = card.limits
        if swing <= limits["warn_cv_percent"] and drift <= limits["warn_drift_percent"]:
            continue
        bad = swing > limits["fail_cv_percent"] or drift > limits["fail_drift_percent"]
        return card.found(
            Severity.FAIL if bad and probe.runs_agreeing >= limits["runs"] else Severity.WARN,
            N_("Speed swings by {swing:.1f} % and falls by {drift:.1f} % over the run."),
            {"cv_percent": swing, "drift_percent": drift, "runs_agreeing": probe.runs_agreeing},
            swing=swing,
            drift=drift,
        )
    return None


@rule(
    "pcie-bandwidth-low",
    family="probe",
    means=N_("Copies between host and card are slower than the link should carry."),
    decided=N_(
        "Against the healthy rate of the link seen under load: under 85 % warns, under 60 % in three runs fails."
    ),
    could_be=(N_("a NUMA distance"), N_("a virtual machine with copied buffers")),
    action=N_("Use pinned memory and cores near the card; ask about riser and slot."),
    who="host",
    source="PCIe rates; NVIDIA nvbandwidth",
    explained_by=("pcie-degraded",),
)
def pcie_bandwidth_low(card: CardView) -> Outcome:
    for probe in card.probes("pcie"):
        rate = pcie_rate(probe.detail.get("generation"), probe.detail.get("lanes"))
        if probe.state != "done" or probe.value is None or rate is None or rate.healthy_gbs is None:
            continue
        expected = rate.healthy_gbs[0]
        share = probe.value / expected
        if share >= card.limits["warn_below"]:
            continue
        bad = share < card.limits["fail_below"] and probe.runs_agreeing >= card.limits["runs"]
        return card.found(
            Severity.FAIL if bad else Severity.WARN,
            N_("Copies run at {value:.1f} GB/s; this link should carry {expected:.0f} GB/s."),
            {"measured": {"seen": probe.value, "expected": expected, "unit": "GB/s"}},
            value=probe.value,
            expected=expected,
        )
    return None


@rule(
    "peer-bandwidth-low",
    family="probe",
    means=N_("Copies between two cards are slower than their connection should carry."),
    decided=N_("Under 85 % of the expected rate that the probe was given for this connection."),
    could_be=(N_("cards in different sockets"),),
    action=N_("Ask the host to check NVLink or the PCIe switch."),
    who="host",
    source="NVLink and PCIe rates of the reference",
    explained_by=("nvlink-down", "pcie-degraded"),
)
def peer_bandwidth_low(card: CardView) -> Outcome:
    for probe in card.probes("peer"):
        expected = probe.detail.get("expected_gbs")
        if probe.state == "done" and probe.value is not None and expected:
            if probe.value >= card.limits["warn_below"] * expected:
                continue
            return card.found(
                Severity.WARN,
                N_("To card {peer}: {value:.0f} GB/s, expected {expected:.0f} GB/s."),
                {"measured": {"seen": probe.value, "expected": expected, "unit": "GB/s"}},
                peer=probe.detail.get("peer", "?"),
                value=probe.value,
                expected=expected,
            )
    return None


@rule(
    "computes-wrong",
    family="probe",
    means=N_("The same computation gave different bits: results of this card cannot be trusted."),
    decided=N_("Mismatching words in a repeated product or a memory pattern; a failure when they came again."),
    could_be=(N_("one flipped bit on a card without ECC, when it was seen once"),),
    action=N_("Do not train on it; change the machine."),
    who="host",
    source="gpu-burn and DCGM compare results the same way",
)
def computes_wrong(card: CardView) -> Outcome:
    for probe in card.evidence.probes:
        errors = probe.detail.get("errors")
        if probe.gpu_uuid != card.card.uuid or not isinstance(errors, int) or errors <= 0:
            continue
        repeated = bool(probe.detail.get("errors_repeated"))
        return card.found(
            Severity.FAIL if repeated else Severity.WARN,
            N_("{errors} words came out differently in two identical runs."),
            {"errors": errors, "repeated": repeated, "probe": probe.id},
            errors=errors,
        )
    return None


@rule(
    "contended",
    family="probe",
    means=N_("Something else ran on the card during the probe, so its result is not graded."),
    decided=N_("The probe saw another process or load before or while it ran."),
    could_be=(N_("a job of your own"),),
    action=N_("Stop other jobs and repeat it."),
    who="you",
    source="the probe's own watch",
)
def contended(card: CardView) -> Outcome:
    found = [
        probe.id for probe in card.evidence.probes if probe.gpu_uuid == card.card.uuid and probe.state == "contended"
    ]
    if not found:
        return None
    return card.found(
        Severity.UNKNOWN,
        N_("Not graded, because something else used the card: {probes}."),
        {"probes": found},
        probes=", ".join(found),
    )


@rule(
    "clock-telemetry-wrong",
    family="probe",
    means=N_("The clock that the driver reports is not the clock the chip runs at."),
    decided=N_("The clock meter and the driver differ by more than 5 %."),
    could_be=(N_("a clock that changed during the measurement"), N_("rewritten telemetry")),
    action=N_("Trust measured speed, not the shown clock; report it."),
    who="host",
    source="open-gpu-kernel-modules #1266",
)
def clock_telemetry_wrong(card: CardView) -> Outcome:
    for probe in card.probes("clock"):
        shown = probe.detail.get("nvml_mhz")
        if probe.state != "done" or not probe.value or not shown:
            continue
        if abs(probe.value / shown - 1) > card.limits["within"]:
            return card.found(
                Severity.WARN,
                N_("Measured {value:.0f} MHz, the driver says {shown:.0f} MHz."),
                {"measured": {"seen": probe.value, "expected": shown, "unit": "MHz"}},
                value=probe.value,
                shown=shown,
            )
    return None


@rule(
    "slow-together",
    family="probe",
    means=N_("Cards are slower when all work at once: power, cooling or a link is shared too tightly."),
    decided=N_("Running together gives under 90 % of running alone."),
    action=N_("Ask the host about the machine's power supply and cooling."),
    who="host",
    source="ours",
    explained_by=("hw-power-brake", "hw-thermal-slowdown"),
)
def slow_together(card: CardView) -> Outcome:
    for probe in card.probes("together"):
        alone = probe.detail.get("alone")
        if probe.state == "done" and probe.value and alone and probe.value < card.limits["warn_below"] * alone:
            return card.found(
                Severity.WARN,
                N_("Together with the others it gives {percent:.0f} % of what it gives alone."),
                {"together": probe.value, "alone": alone, "unit": probe.unit},
                percent=100 * probe.value / alone,
            )
    return None


@rule(
    "probe-failed",
    family="probe",
    means=N_("A probe could not be run to its end. That says nothing about the card."),
    decided=N_("The probe ended with an error of its own, or was refused for safety."),
    could_be=(N_("too little free memory"), N_("no engine on this machine")),
    action=N_("Look at the reason; `gputui doctor` says what can be run here."),
    who="you",
    source="the probe's own report",
)
def probe_failed(card: CardView) -> Outcome:
    failed = [p for p in card.evidence.probes if p.gpu_uuid == card.card.uuid and p.state == "failed"]
    if not failed:
        return None
    reasons = "; ".join(f"{probe.id}: {probe.detail.get('reason', 'no reason given')}" for probe in failed)
    return card.found(
        Severity.UNKNOWN, N_("Could not be run: {reasons}."), {"probes": [p.id for p in failed]}, reasons=reasons
    )
