"""Your own job: is the card waiting for something else?"""

from __future__ import annotations

import statistics

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity


@rule(
    "waiting-for-host",
    family="job",
    needs_s=60,
    means=N_(
        "Your job leaves the card idle part of the time: it waits for data, CPU or disk. Not a fault of the card."
    ),
    decided=N_("A process of yours is on the card, and mean utilization over a minute is between 5 and 80 %."),
    could_be=(N_("small batches"), N_("a phase of the job that needs no card")),
    action=N_("More loader workers, bigger batches, data on a local disk."),
    who="you",
    source="the field's habit: under 80 % utilization while a job runs is looked into",
    verify="nvidia-smi dmon -s u -i {gpu} -c 60",
)
def waiting_for_host(card: CardView) -> Outcome:
    if card.is_mig or card.is_vgpu or not card.own_processes:
        return None
    window = card.limits["window_s"]
    if card.watched_s("utilization.gpu", window) < 0.9 * window:
        return None
    mean = statistics.fmean(value for _mono, value in card.series("utilization.gpu", window))
    if not card.limits["from_percent"] <= mean < card.limits["below_percent"]:
        return None
    pressure = card.host("host.pressure.io")
    return card.found(
        Severity.INFO,
        N_("Your job used the card {mean:.0f} % of the last minute."),
        {
            "utilization.gpu": {"mean": round(mean, 1), "unit": "%"},
            "host.pressure.io": {"seen": pressure, "unit": "%"},
            "host.pressure.cpu": {"seen": card.host("host.pressure.cpu"), "unit": "%"},
        },
        mean=mean,
    )
