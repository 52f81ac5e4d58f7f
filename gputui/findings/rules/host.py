"""The box around the card, from what can be read without loading it."""

from __future__ import annotations

from gputui.findings.registry import HOST, N_, Outcome, rule
from gputui.findings.view import HostView
from gputui.model.finding import Severity
from gputui.model.reading import number


@rule(
    "cpu-quota-low",
    family="host",
    scope=HOST,
    means=N_("This container may use fewer CPU cores than a data loader needs; nproc shows the whole machine's."),
    decided=N_("CPU quota of the cgroup under two cores a card."),
    action=N_("Compare with the offer; choose a plan with more cores if your data loading is slow."),
    who="host",
    source="vast.ai self-test asks for two cores a GPU; cgroup documentation",
    verify="cat /sys/fs/cgroup/cpu.max",
)
def cpu_quota_low(view: HostView) -> Outcome:
    quota, cards = view.host("host.cpu.quota"), len(view.frame.cards)
    if quota is None or not cards or quota >= view.limits["cores_per_card"] * cards:
        return None
    count = view.host("host.cpu.count")
    return view.found(
        Severity.WARN,
        N_("You get {quota:.1f} CPU cores for {cards} cards; nproc shows {count:.0f}."),
        {"host.cpu.quota": {"seen": quota, "expected_from": view.limits["cores_per_card"] * cards, "unit": "cores"}},
        quota=quota,
        cards=cards,
        count=count or 0,
    )


@rule(
    "ram-limit-low",
    family="host",
    scope=HOST,
    means=N_(
        "This container may use less memory than the cards have: loading a big model fails with no clear message."
    ),
    decided=N_("Memory limit of the cgroup under 95 % of the cards' memory together."),
    action=N_("Compare with the offer; load models in pieces, or choose a plan with more memory."),
    who="host",
    source="vast.ai self-test rule; cgroup documentation",
    verify="cat /sys/fs/cgroup/memory.max",
)
def ram_limit_low(view: HostView) -> Outcome:
    limit = view.host("host.memory.limit")
    totals = [number(card.get("memory.total")) for card in view.frame.cards]
    together = sum(total for total in totals if total is not None)
    if limit is None or not together or limit >= view.limits["share_of_card_memory"] * together:
        return None
    return view.found(
        Severity.WARN,
        N_("The memory limit is {limit:.0f} GiB; the cards have {together:.0f} GiB."),
        {"host.memory.limit": {"seen": limit, "expected_from": together, "unit": "MiB"}},
        limit=limit / 1024,
        together=together / 1024,
    )


@rule(
    "shm-small",
    family="host",
    scope=HOST,
    means=N_("/dev/shm is so small that PyTorch DataLoader workers crash with a bus error."),
    decided=N_("/dev/shm of 64 MiB or less, which is Docker's default."),
    action=N_("Start the container with a larger one (--shm-size), or use num_workers=0."),
    who="you",
    source="Docker default; PyTorch DataLoader documentation",
    verify="df -h /dev/shm",
)
def shm_small(view: HostView) -> Outcome:
    total = view.host("host.shm.total")
    if total is None or total > view.limits["small_mib"]:
        return None
    return view.found(
        Severity.WARN,
        N_("/dev/shm has {total:.0f} MiB; DataLoader workers need more."),
        {"host.shm.total": {"seen": total, "expected_above": view.limits["small_mib"], "unit": "MiB"}},
        total=total,
    )


@rule(
    "memlock-low",
    family="host",
    scope=HOST,
    means=N_("Little memory may be locked: InfiniBand and GPUDirect registration fail."),
    decided=N_("A memlock limit under 64 MiB on a machine with more than one card."),
    action=N_("Start the container with --ulimit memlock=-1 when you train across machines."),
    who="you",
    source="NCCL documentation, troubleshooting",
    verify="ulimit -l",
)
def memlock_low(view: HostView) -> Outcome:
    limit = view.host("host.memlock")
    if limit is None or len(view.frame.cards) < 2 or limit >= view.limits["small_mib"]:
        return None
    return view.found(
        Severity.INFO,
        N_("Only {limit:.3g} MiB may be locked in memory; InfiniBand needs more."),
        {"host.memlock": {"seen": limit, "expected_from": view.limits["small_mib"], "unit": "MiB"}},
        limit=limit,
    )


def _measured(view: HostView, probe_id: str, sentence: str) -> Outcome:
    """A measurement of the box under the threshold."""
    for probe in view.evidence.probes:
        if probe.id == probe_id and probe.state == "done" and probe.value is not None:
            expected = probe.detail.get("sold") or view.limits["warn_below"]
            floor = expected * view.limits["share"] if "sold" in probe.detail else expected
            if probe.value < floor:
                return view.found(
                    Severity.WARN,
                    sentence,
                    {"measured": {"seen": probe.value, "expected_from": floor, "unit": probe.unit}},
                    value=probe.value,
                    unit=probe.unit,
                    expected=floor,
                )
    return None


@rule(
    "disk-slow",
    family="host",
    scope=HOST,
    means=N_("The disk reads or writes slowly; loading data and saving checkpoints take long."),
    decided=N_("Sequential rate under 500 MB/s, or under half of what was sold."),
    action=N_("Keep data in memory or ask for local NVMe."),
    who="host",
    source="disk probe of this program",
)
def disk_slow(view: HostView) -> Outcome:
    return _measured(view, "disk", N_("The disk moves {value:.0f} {unit}; {expected:.0f} are expected."))


@rule(
    "disk-iops-low",
    family="host",
    scope=HOST,
    means=N_("The disk answers few small reads a second; data sets of many small files load slowly."),
    decided=N_("Fewer than 10,000 reads of 4 KiB a second."),
    action=N_("Pack small files together, or ask for local NVMe."),
    who="host",
    source="disk probe of this program",
)
def disk_iops_low(view: HostView) -> Outcome:
    return _measured(view, "disk-iops", N_("The disk answers {value:.0f} small reads a second."))


@rule(
    "network-slow",
    family="host",
    scope=HOST,
    means=N_("The network is much slower than what was sold."),
    decided=N_("Under half of the rate you said was sold, to the server you named."),
    could_be=(N_("a slow server at the other end"),),
    action=N_("Try another server; then show the host both numbers."),
    who="host",
    source="network probe of this program, to a server you typed",
)
def network_slow(view: HostView) -> Outcome:
    return _measured(view, "network", N_("The network moves {value:.0f} {unit}; {expected:.0f} are expected."))
