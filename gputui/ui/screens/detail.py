"""Everything about one card: each reading, or why it has none; processes; MIG devices."""

from __future__ import annotations

from collections.abc import Callable

from gputui.model import catalog
from gputui.model.card import Card, Process
from gputui.model.reading import Absent, number
from gputui.text import _
from gputui.ui.charts import Pane
from gputui.ui.draw.card import FULL_ROWS, Picture, card_rows
from gputui.ui.draw.format import DASH, reading_text, why_words
from gputui.ui.draw.rows import Row, fit, joined, right
from gputui.ui.screens.base import Page

TWO_COLUMNS = 110


class DetailScreen(Page):
    """One card."""

    place = "detail"

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        super().__init__()

    def chart_rows(self) -> int:
        """Rows of the chart: what is left below the panel, within reason."""
        return max(7, min(18, self.size.height - 2 - FULL_ROWS - 4))

    def rows(self, width: int) -> list[Row]:
        """The card's panel, then everything."""
        app = self.dashboard
        card = app.shown.card(self._uuid)
        if card is None:
            return [((_(" This card is gone."), "warn"),)]
        findings = app.findings_by_card.get(card.uuid, ())
        picture = Picture(
            card, app.histories.get(card.uuid), app.shown, findings, True, width, FULL_ROWS, bucket=app.settings.bucket
        )
        out = card_rows(picture)
        tier = app.source.fleet.tier(card.uuid)
        scene = Pane(card, picture.history, tier, app.shown.mono, width, self.chart_rows(), app.ascii_only)
        out += [(), *app.charts.rows(scene)]
        out += [(), *process_rows(card, width), *mig_rows(card)]
        out += [(), *reading_rows(card, width)]
        return out


def process_rows(card: Card, width: int) -> list[Row]:
    """The processes on a card. Commands and users are shown here and nowhere else."""
    head = ((_(" Processes"), "title"),)
    if isinstance(card.processes, Absent):
        return [head, ((" " + why_words(card.processes.why), "label"),)]
    if not card.processes:
        return [head, ((_(" none that can be seen from here"), "label"),)]
    out: list[Row] = [head]
    for process in sorted(card.processes, key=lambda p: (-(number(p.memory_mib) or 0.0), p.pid)):
        memory = number(process.memory_mib)
        figures = f" {process.pid:>8} {process.type:<4} {right(DASH if memory is None else f'{memory:.0f} MiB', 10)}  "
        out.append(joined(((figures, "value"), (fit(_who(process), width - len(figures)), "tail"))))
    return out


def _who(process: Process) -> str:
    if process.here is False:
        return _("outside this container")
    words = " ".join(part for part in (process.user, process.command or process.name) if part)
    if process.here is None:
        return _("{name} (cannot be looked into)").format(name=words or process.name)
    return words if process.listed else _("{name} (has the card open, not in the driver's list)").format(name=words)


def mig_rows(card: Card) -> list[Row]:
    """The MIG devices of a card."""
    if not card.mig:
        return []
    out: list[Row] = [(), ((_(" MIG devices"), "title"),)]
    for device in card.mig:
        used, total = number(device.memory_used_mib), number(device.memory_total_mib)
        memory = f"{DASH if used is None else f'{used:.0f}'}/{DASH if total is None else f'{total:.0f}'} MiB"
        out.append(((f"  {device.index} {device.name:<14} {memory:>16}  {device.uuid}", "value"),))
    return out


_GROUPS: dict[str, Callable[[], str]] = {
    "clocks": lambda: _("Clocks"),
    "reasons": lambda: _("What limits the clock"),
    "power": lambda: _("Power"),
    "heat": lambda: _("Heat"),
    "load": lambda: _("Load"),
    "memory": lambda: _("Memory"),
    "link": lambda: _("Links"),
    "health": lambda: _("Health"),
    "settings": lambda: _("Settings"),
    "identity": lambda: _("Identity"),
    "processes": lambda: _("Process list"),
}


def reading_rows(card: Card, width: int) -> list[Row]:
    """Every reading by group, in two columns where there is room."""
    columns = 2 if width >= TWO_COLUMNS else 1
    cell = width // columns
    name_width = min(46, cell // 2)
    out: list[Row] = []
    for group, title in _GROUPS.items():
        cells = [_reading(card, spec, name_width, cell) for spec in catalog.SPECS if spec.group == group]
        out += [((f" {title()}", "title"),)]
        for start in range(0, len(cells), columns):
            out.append(joined(tuple(part for row in cells[start : start + columns] for part in row)))
        out.append(())
    return out


def _reading(card: Card, spec: catalog.Spec, name_width: int, cell: int) -> Row:
    reading = card.get(spec.name)
    role = "dim" if isinstance(reading, Absent) else "value"
    text = reading_text(spec.unit, reading)
    return ((fit(f"  {spec.name}", name_width), "label"), (fit(" " + text, cell - name_width), role))
