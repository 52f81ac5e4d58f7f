"""The processes of all cards as lines."""

from __future__ import annotations

from dataclasses import dataclass

from gputui.model.card import Card, Frame, Process
from gputui.model.reading import Absent, number
from gputui.text import _
from gputui.ui.draw.format import DASH, ago, why_words
from gputui.ui.draw.rows import Row, fit, joined, right


@dataclass(frozen=True)
class Entry:
    """A process on a card."""

    card: Card
    process: Process

    @property
    def key(self) -> tuple[str, int, float | None]:
        """What makes it the same process at the next sample."""
        return self.card.uuid, self.process.pid, self.process.started


def entries(frame: Frame) -> list[Entry]:
    """Every process that can be seen, by card, the one with the most memory first."""
    out = []
    for card in frame.cards:
        if not isinstance(card.processes, Absent):
            ordered = sorted(card.processes, key=lambda p: (-(number(p.memory_mib) or 0.0), p.pid))
            out += [Entry(card, process) for process in ordered]
    return out


def who(process: Process) -> str:
    """Command line, or why there is none."""
    if process.here is False:
        return _("outside this container")
    words = process.command or process.name
    if process.here is None:
        return _("{name} (cannot be looked into)").format(name=words)
    return words if process.listed else _("{name} (has the card open, not in the driver's list)").format(name=words)


def _cell(value: float | None, unit: str = "") -> str:
    return DASH if value is None else f"{value:.0f}{unit}"


def heading(width: int) -> Row:
    """The line above."""
    wide = width >= 70
    return joined(
        (
            (
                fit(_line(_("card"), "PID", _("user"), "MiB", "SM %", "CPU %", _("age"), wide) + _("command"), width),
                "label",
            ),
        )
    )


def _line(card: str, pid: str, user: str, memory: str, sm: str, cpu: str, age: str, wide: bool) -> str:
    head = f" {right(card, 4)} {right(pid, 8)} "
    if not wide:
        return f"{head}{right(memory, 7)}  "
    return f"{head}{fit(user, 9)} {right(memory, 7)} {right(sm, 5)} {right(cpu, 6)} {right(age, 7)}  "


def entry_row(entry: Entry, now: float, selected: bool, width: int) -> Row:
    """One process, exactly `width` cells."""
    one = entry.process
    age = DASH if one.started is None else ago(max(0.0, now - one.started))
    sm = None if one.sm_percent is None else number(one.sm_percent)
    text = _line(
        str(entry.card.index),
        str(one.pid),
        one.user or DASH,
        _cell(number(one.memory_mib)),
        _cell(sm),
        _cell(one.cpu_percent),
        age,
        width >= 70,
    )
    text = ("▶" if selected else " ") + text[1:]
    return joined(((text, "selected" if selected else "value"), (fit(who(one), width - len(text)), "tail")))


def silent_rows(frame: Frame, width: int) -> list[Row]:
    """Cards whose list cannot be read, with the reason."""
    return [
        ((fit(_(" card {n}: {why}").format(n=card.index, why=why_words(card.processes.why)), width), "label"),)
        for card in frame.cards
        if isinstance(card.processes, Absent)
    ]
