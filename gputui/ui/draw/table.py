"""One line a card, with as many columns as the width takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gputui.model.card import Card, Frame, State
from gputui.model.finding import Finding
from gputui.model.history import History
from gputui.model.reading import Absent, number, text
from gputui.text import _
from gputui.ui.draw.card import badge
from gputui.ui.draw.format import DASH, gib, short_name
from gputui.ui.draw.rows import Row, fit, joined, right
from gputui.ui.draw.spark import BUCKET_S, Cells, bucket_s

SPARK = 12


@dataclass(frozen=True)
class _Line:
    """What a column is drawn from."""

    card: Card
    history: History | None
    frame: Frame
    cells: Cells
    bucket: int


@dataclass(frozen=True)
class Column:
    """A column: its heading, its cells, whether text stands at the right, and how dear it is: the cheapest stay
    longest.
    """

    heading: Callable[[], str]
    width: int
    right: bool
    rank: int
    cell: Callable[[_Line], str]
    role: str = "value"


def _figure(name: str, unit: str = "") -> Callable[[_Line], str]:
    def cell(line: _Line) -> str:
        reading = line.card.get(name)
        if isinstance(reading, Absent) and reading.why.value == "mig":
            return "MIG"
        value = number(reading)
        return DASH if value is None else f"{value:.0f}{unit}"

    return cell


def _power(line: _Line) -> str:
    draw, limit = number(line.card.get("power.draw")), number(line.card.get("enforced.power.limit"))
    left = DASH if draw is None else f"{draw:.0f}"
    return left if limit is None else f"{left}/{limit:.0f}"


def _memory(line: _Line) -> str:
    used, total = number(line.card.get("memory.used")), number(line.card.get("memory.total"))
    return DASH if used is None or total is None else f"{gib(used)}/{total / 1024:.0f}"


def _spark(name: str, top: str | float) -> Callable[[_Line], str]:
    def cell(line: _Line) -> str:
        highest = number(line.card.get(top)) if isinstance(top, str) else top
        if line.history is None or not highest:
            return ""
        size = bucket_s(line.frame.interval_s, line.bucket)
        return line.cells.values(line.history, name, SPARK, size, line.frame.mono, highest)

    return cell


def _why(line: _Line) -> str:
    if line.history is None:
        return ""
    size = bucket_s(line.frame.interval_s, line.bucket)
    return line.cells.causes(line.history, SPARK, size, line.frame.mono)


def _link(line: _Line) -> str:
    generation = number(line.card.get("pcie.link.gen.current"))
    lanes = number(line.card.get("pcie.link.width.current"))
    return DASH if generation is None or lanes is None else f"{generation:.0f}×{lanes:.0f}"


COLUMNS: tuple[Column, ...] = (
    Column(lambda: "", 3, True, 0, lambda line: str(line.card.index), "label"),
    Column(lambda: _("card"), 18, False, 4, lambda line: short_name(line.card.name), "title"),
    Column(lambda: "MHz", 5, True, 1, _figure("clocks.current.sm")),
    Column(lambda: "P", 3, True, 6, lambda line: text(line.card.get("pstate")) or DASH),
    Column(lambda: "W", 8, True, 2, _power),
    Column(lambda: "°C", 4, True, 1, _figure("temperature.gpu")),
    Column(lambda: "%", 4, True, 1, _figure("utilization.gpu")),
    Column(lambda: "GiB", 9, True, 3, _memory),
    Column(lambda: "PCIe", 5, True, 8, _link),
    Column(lambda: _("load"), SPARK + 1, False, 7, _spark("utilization.gpu", 100.0), "spark"),
    Column(lambda: _("power"), SPARK + 1, False, 9, _spark("power.draw", "enforced.power.limit"), "spark"),
    Column(lambda: _("clock"), SPARK + 1, False, 10, _spark("clocks.current.sm", "clocks.max.sm"), "spark"),
    Column(lambda: _("why"), SPARK + 1, False, 5, _why, "spark"),
)
STATE_WIDTH = 12


def columns_for(width: int) -> tuple[Column, ...]:
    """The columns that fit beside the state, dropping the dearest first."""
    chosen = list(COLUMNS)
    while sum(column.width + 1 for column in chosen) + STATE_WIDTH > width and len(chosen) > 4:
        chosen.remove(max(chosen, key=lambda column: column.rank))
    return tuple(chosen)


def heading_row(width: int) -> Row:
    """The line above the cards."""
    parts = [
        (right(column.heading(), column.width) if column.right else fit(column.heading(), column.width)) + " "
        for column in columns_for(width)
    ]
    return joined(((fit("".join(parts) + _("state"), width), "label"),))


def table_row(
    card: Card,
    history: History | None,
    frame: Frame,
    findings: Sequence[Finding],
    selected: bool,
    width: int,
    cells: Cells | None = None,
    bucket: int = BUCKET_S,
) -> Row:
    """One card's line, exactly `width` cells. cells: what was drawn before, to draw less."""
    alive = card.state in (State.OK, State.ASLEEP)
    line = _Line(card, history, frame, cells or Cells(), bucket)
    parts = []
    used = 0
    for column in columns_for(width):
        shown = column.cell(line)
        cell = (right(shown, column.width) if column.right else fit(shown, column.width)) + " "
        role = column.role if alive else "old"
        if column.rank == 0 and selected:
            cell, role = "▶" + cell[1:], "selected"
        parts.append((cell, role))
        used += column.width + 1
    word, role = badge(card, findings, frame.time)
    parts.append((fit(word, width - used), role))
    return joined(tuple(parts))
