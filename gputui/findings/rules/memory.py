"""Memory health: what the card has repaired, what waits for a reset, what it cannot repair.

GeForce cards do not count memory errors: absent stays absent and nothing is said. Aggregate counters are the card's
history, not today's fault.
"""

from __future__ import annotations

from gputui.findings.registry import N_, Outcome, rule
from gputui.findings.view import CardView
from gputui.model.finding import Severity

_VERIFY = "nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT -i {gpu}"
_SOURCE = "NVIDIA GPU memory error management documentation"


def _yes(card: CardView, name: str) -> bool:
    """Whether a Yes/No reading says yes."""
    return (card.text(name) or "").lower() in ("yes", "true", "1")


@rule(
    "ecc-uncorrected",
    family="memory",
    means=N_("Since the driver was loaded, memory gave wrong data that could not be corrected. Results may be wrong."),
    decided=N_("The volatile count of uncorrected ECC errors is above 0."),
    could_be=(N_("a single event; it stays counted until the driver is reloaded"),),
    action=N_("Check what ran at that time, and ask the host for a GPU reset and a memory test, or for another card."),
    who="host",
    source=_SOURCE + "; Azure HPC node health checks (azure_gpu_ecc.nhc)",
    verify=_VERIFY,
)
def ecc_uncorrected(card: CardView) -> Outcome:
    count = card.number("ecc.errors.uncorrected.volatile.total")
    if not count:
        return None
    return card.found(
        Severity.FAIL,
        N_("{count:.0f} memory errors could not be corrected since the driver was loaded."),
        {"ecc.errors.uncorrected.volatile.total": {"seen": count, "expected": 0}},
        count=count,
    )


@rule(
    "ecc-corrected-rising",
    family="memory",
    needs_s=60,
    means=N_("The card corrects memory errors at a steady pace: today's results are right, the memory is wearing out."),
    decided=N_("The volatile count of corrected errors is above a thousand."),
    could_be=(N_("a counter that has run for months"),),
    action=N_("Tell the host; watch whether uncorrected errors or remapped rows follow."),
    who="host",
    source=_SOURCE,
    verify=_VERIFY,
)
def ecc_corrected_rising(card: CardView) -> Outcome:
    count = card.number("ecc.errors.corrected.volatile.total")
    if count is None or count <= card.limits["warn_above"]:
        return None
    return card.found(
        Severity.WARN,
        N_("{count:.0f} memory errors were corrected since the driver was loaded."),
        {"ecc.errors.corrected.volatile.total": {"seen": count, "expected_up_to": card.limits["warn_above"]}},
        count=count,
    )


@rule(
    "row-remap-failed",
    family="memory",
    means=N_("The card could not replace a bad memory row. NVIDIA's rule for this flag is to exchange the card."),
    decided=N_("The row remapper's failure flag is set."),
    action=N_("Do not train on it; ask the host for another card."),
    who="host",
    source=_SOURCE + " (RMA criterion)",
    verify=_VERIFY,
)
def row_remap_failed(card: CardView) -> Outcome:
    if not _yes(card, "remapped_rows.failure"):
        return None
    return card.found(
        Severity.FAIL,
        N_("A bad memory row could not be replaced; the card is due for exchange."),
        {"remapped_rows.failure": "Yes"},
    )


@rule(
    "row-remap-pending",
    family="memory",
    means=N_("A bad memory row will be replaced at the next reset; until then it is in use."),
    decided=N_("The row remapper's pending flag is set."),
    action=N_("Ask the host for a GPU reset before you use it for something that matters."),
    who="host",
    source=_SOURCE,
    verify=_VERIFY,
    explained_by=("row-remap-failed",),
)
def row_remap_pending(card: CardView) -> Outcome:
    if not _yes(card, "remapped_rows.pending"):
        return None
    return card.found(
        Severity.WARN,
        N_("A bad memory row waits for a reset to be replaced."),
        {"remapped_rows.pending": "Yes"},
    )


@rule(
    "rows-remapped",
    family="memory",
    means=N_("The card has replaced memory rows in its life. Repaired rows do no harm; many of them foretell more."),
    decided=N_("Rows replaced after uncorrectable errors: above 0 is worth knowing, above 512 a failure."),
    action=N_("Watch uncorrected errors; above a handful, prefer another card for long runs."),
    who="host",
    source=_SOURCE + "; Azure HPC node health checks fail at 512",
    verify=_VERIFY,
    explained_by=("row-remap-failed",),
)
def rows_remapped(card: CardView) -> Outcome:
    count = card.number("remapped_rows.uncorrectable")
    if not count:
        return None
    severity = Severity.INFO
    if count > card.limits["fail_above"]:
        severity = Severity.FAIL
    elif count > card.limits["warn_above"]:
        severity = Severity.WARN
    return card.found(
        severity,
        N_("{count:.0f} memory rows were replaced after uncorrectable errors."),
        {"remapped_rows.uncorrectable": {"seen": count, "expected_up_to": card.limits["warn_above"]}},
        count=count,
    )


@rule(
    "pages-pending",
    family="memory",
    means=N_("Memory pages are to be retired at the next reset; until then they are in use."),
    decided=N_("The page retirement pending flag is set (cards before Ampere)."),
    action=N_("Ask the host for a GPU reset or reboot before long runs."),
    who="host",
    source="NVIDIA dynamic page retirement documentation",
    verify=_VERIFY,
)
def pages_pending(card: CardView) -> Outcome:
    if not _yes(card, "retired_pages.pending"):
        return None
    return card.found(
        Severity.FAIL, N_("Bad memory pages wait for a reset to be retired."), {"retired_pages.pending": "Yes"}
    )


@rule(
    "pages-retired",
    family="memory",
    means=N_("The card has taken memory pages out of use in its life (cards before Ampere)."),
    decided=N_("Retired pages together: above 10 is a warning, above 60 the card is due for exchange."),
    action=N_("Prefer another card for long runs when there are many."),
    who="host",
    source="NVIDIA dynamic page retirement documentation (64 pages at most; exchange at 60)",
    verify=_VERIFY,
)
def pages_retired(card: CardView) -> Outcome:
    single, double = card.number("retired_pages.single_bit_ecc.count"), card.number("retired_pages.double_bit.count")
    count = (single or 0) + (double or 0)
    if count <= card.limits["warn_above"]:
        return None
    return card.found(
        Severity.FAIL if count >= card.limits["fail_from"] else Severity.WARN,
        N_("{count:.0f} memory pages are retired."),
        {
            "retired_pages.single_bit_ecc.count": single,
            "retired_pages.double_bit.count": double,
            "expected_up_to": card.limits["warn_above"],
        },
        count=count,
    )


_XID_FAIL = frozenset({48, 62, 64, 74, 79, 92, 95, 119, 120})
_XID_YOURS = frozenset({13, 31, 43, 45})


@rule(
    "xid",
    family="memory",
    means=N_("The driver logged an error for this card while this program ran."),
    decided=N_(
        "Xid events seen in this run: 48, 62, 64, 74, 79, 92, 95, 119, 120 fail; 13, 31, 43, 45 are usually the "
        "program's own fault and are only noted; others warn. None seen does not prove that none happened before."
    ),
    could_be=(N_("an error in your own program, for 13, 31, 43 and 45"),),
    action=N_("Look the number up in NVIDIA's Xid catalogue; send it with its time to the host."),
    who="host",
    source="NVIDIA Xid catalogue; Azure HPC node health checks (azure_gpu_xid.nhc)",
    verify="dmesg | grep Xid",
    explained_by=("gpu-lost", "needs-reset"),
)
def xid(card: CardView) -> Outcome:
    seen = [event for event in card.frame.events if event.what == "xid" and event.gpu_uuid == card.card.uuid]
    numbers = sorted({number for event in seen if (number := _xid_number(event.detail)) is not None})
    if not numbers:
        return None
    severity = Severity.WARN
    if set(numbers) & _XID_FAIL:
        severity = Severity.FAIL
    elif set(numbers) <= _XID_YOURS:
        severity = Severity.INFO
    listed = ", ".join(str(number) for number in numbers)
    return card.found(
        severity,
        N_("The driver logged Xid {numbers} for this card."),
        {"xid": numbers, "times_unix": [event.time for event in seen]},
        numbers=listed,
    )


def _xid_number(detail: str) -> int | None:
    """The number in an event's detail, such as "79" or "Xid 79"."""
    digits = "".join(character if character.isdigit() else " " for character in detail).split()
    return int(digits[0]) if digits else None
