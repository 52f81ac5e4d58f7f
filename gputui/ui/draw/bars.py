"""The lines around the cards: header, headline, own cost, footer, and the notice when there is nothing to show."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from gputui.model.card import Frame, State
from gputui.model.finding import Finding, Severity
from gputui.model.reading import text
from gputui.problems import say
from gputui.text import _, ngettext
from gputui.ui.draw.format import ago, clock_time, short_name
from gputui.ui.draw.rows import Row, fit, joined


@dataclass(frozen=True)
class HeaderFacts:
    """What the header says beside the frame. paused_s: how long the picture has stood still; None when it moves.

    choice: how many cards are shown and in what order, where that is not all of them by index.
    """

    wall: float
    paused_s: float | None = None
    stalled: bool = False
    worker_gone: bool = False
    choice: Sequence[str] = ()


def header_row(frame: Frame, findings: Sequence[Finding], facts: HeaderFacts, width: int) -> Row:
    """The first line: what is watched at the left, how it is and the time at the right."""
    parts = []
    if frame.simulated:
        parts.append((_("SIMULATED"), "warn"))
    if facts.paused_s is not None:
        parts.append((_("PAUSED {age}").format(age=ago(facts.paused_s)), "warn"))
    elif (age_s := _age(frame)) is not None:
        parts.append((_("data {age} old").format(age=ago(age_s)), "warn"))
    if facts.worker_gone:
        parts.append((_("reader stopped, R starts it"), "bad"))
    parts += [(words, "note") for words in facts.choice if words]
    trouble, role = _counts(findings)
    right_parts = [*parts, (trouble, role), (clock_time(facts.wall), "label")]
    while len(right_parts) > 1 and sum(cell_len(part) + 3 for part, _role in right_parts if part) + 8 > width:
        right_parts.pop()
    right = " · ".join(part for part, _role in right_parts if part)
    left = _left(frame, width - cell_len(right) - 3)
    gap = max(1, width - cell_len(left) - cell_len(right) - 1)
    row: list[tuple[str, str]] = [(" " + left, "title"), (" " * (gap - 1), "label")]
    for number, (part, part_role) in enumerate(part for part in right_parts if part[0]):
        if number:
            row.append((" · ", "label"))
        row.append((part, part_role))
    whole = joined(tuple(row))
    spare = width - sum(cell_len(part) for part, _role in whole)
    return whole if spare >= 0 else joined(((fit(" " + left + " " + right, width), "title"),))


def _age(frame: Frame) -> float | None:
    """The age of the oldest figures that still look alive, when it is more than a late sample explains."""
    ages = [card.age_s for card in frame.cards if card.state is State.OK and card.age_s is not None]
    oldest = max(ages, default=0.0)
    return oldest if oldest > max(3.0, 2.5 * frame.interval_s) else None


def _left(frame: Frame, room: int) -> str:
    names = Counter(short_name(card.name) for card in frame.cards)
    cards = " + ".join(f"{count} × {name}" if count > 1 else name for name, count in names.most_common(2))
    if len(names) > 2:
        cards += " + …"
    version = text(frame.driver.version) if frame.driver else None
    parts = ["gputui", cards]
    if version:
        parts.append(_("driver {version}").format(version=version))
    parts.append(f"{frame.interval_s:g} s")
    while len(parts) > 2 and cell_len(" · ".join(part for part in parts if part)) > room:
        parts.pop()
    return fit(" · ".join(part for part in parts if part), max(6, room)).rstrip()


def _counts(findings: Sequence[Finding]) -> tuple[str, str]:
    fails = sum(finding.severity is Severity.FAIL for finding in findings)
    warns = sum(finding.severity is Severity.WARN for finding in findings)
    words = []
    if fails:
        words.append(ngettext("{n} failure", "{n} failures", fails).format(n=fails))
    if warns:
        words.append(ngettext("{n} warning", "{n} warnings", warns).format(n=warns))
    return " · ".join(words), "bad" if fails else "warn"


def headline_row(findings: Sequence[Finding], width: int) -> Row:
    """The worst finding in one line, or nothing when all is well."""
    worst = next((f for f in findings if f.severity in (Severity.FAIL, Severity.WARN)), None)
    if worst is None:
        return ()
    where = "" if worst.gpu is None else _("card {n}: ").format(n=worst.gpu)
    sentence = _(worst.text).format(**worst.values)
    return joined(((fit(f" ! {where}{sentence}", width), "bad" if worst.severity is Severity.FAIL else "warn"),))


def footer_row(keys: Sequence[tuple[str, str]], width: int, note: str = "") -> Row:
    """Keys and what they do, as many as fit; or a note in their place."""
    if note:
        return joined(((fit(" " + note, width), "note"),))
    row: list[tuple[str, str]] = []
    used = 0
    for key, title in keys:
        need = cell_len(key) + cell_len(title) + 3
        if used + need > width:
            break
        row += [(f" {key}", "key"), (f" {title} ", "label")]
        used += need
    row.append((" " * (width - used), "label"))
    return joined(tuple(row))


def no_match_rows(typed: str, width: int) -> list[Row]:
    """What stands in the place of the cards when the filter shows none."""
    sentence = _("No card matches {filter} now; esc shows all.").format(filter=typed)
    return [(), *(((f"  {line}", "value"),) for line in textwrap.wrap(sentence, max(20, width - 4)))]


def notice_rows(frame: Frame, width: int, can_simulate: bool) -> list[Row]:
    """What stands in the place of the cards while there are none."""
    if frame.problem is not None:
        said = say(frame.problem)
        who = _("Who can mend it: you.") if said.who == "you" else _("Who can mend it: the host.")
        blocks = [(said.sentence, "bad"), (said.action, "value"), (who, "value")]
        if can_simulate:
            blocks.append((_("Press d to look around on a simulated host, R to try again, q to quit."), "key"))
    elif frame.waiting_s is not None:
        blocks = [(_("waiting for driver ({seconds:.0f} s)").format(seconds=frame.waiting_s), "value")]
        if frame.waiting_s >= 5:
            blocks.append((_("Without persistence mode a driver takes a few seconds for each card to start."), "label"))
    elif not frame.cards:
        blocks = [(_("The driver answers; waiting for its list of cards."), "value")]
    else:
        return []
    rows: list[Row] = [()]
    for paragraph, role in blocks:
        rows += [((f"  {line}", role),) for line in textwrap.wrap(paragraph, max(20, width - 4))]
        rows.append(())
    return rows
