"""`nvidia-smi --query-gpu=… --format=csv`: any columns in any order, old and new names, with or without units.

A log that grows for days is read row by row; what stays in memory is the header's plan and the last row of each card.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gputui.driver.smi.errors import SmiError
from gputui.driver.smi.files import Lines
from gputui.driver.smi.sheet import driver_of, parse_time
from gputui.driver.smi.values import reading, reason_readings, settle, state_of
from gputui.model import catalog, reasons
from gputui.model.card import State
from gputui.model.reading import Reading
from gputui.model.wire import Cards, Listed, Message, Opened, Sample
from gputui.text import _

_ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_serial": "serial",
    "gpu_bus_id": "pci.bus_id",
    "clocks.sm": "clocks.current.sm",
    "clocks.gr": "clocks.current.graphics",
    "clocks.mem": "clocks.current.memory",
    "clocks.video": "clocks.current.video",
    "clocks.current.gr": "clocks.current.graphics",
    "clocks.current.mem": "clocks.current.memory",
    "clocks.max.gr": "clocks.max.graphics",
    "clocks.max.mem": "clocks.max.memory",
    "clocks.applications.gr": "clocks.applications.graphics",
    "clocks.applications.mem": "clocks.applications.memory",
    "clocks.default_applications.gr": "clocks.default_applications.graphics",
    "clocks.default_applications.mem": "clocks.default_applications.memory",
    "retired_pages.sbe": "retired_pages.single_bit_ecc.count",
    "retired_pages.dbe": "retired_pages.double_bit.count",
    "gpu_compute_mode": "compute_mode",
    "persistence_mode": "persistence_mode",
    "pcie.link.gen.gpucurrent": "",
    "vbios_version": "vbios_version",
    "minor_number": "minor_number",
}
_PLAIN = frozenset({"timestamp", "driver_version", "index", "count", "hostname", "kmd_version"})
_REASON = re.compile(r"^clocks_(?:event|throttle)_reasons\.(\w+)$")
_WANTED_KEYS = ("uuid", "pci.bus_id", "serial", "index")


def column_name(heading: str) -> str:
    """A heading without its unit: "power.draw [W]" is power.draw."""
    return re.sub(r"\s*\[.*?\]\s*$", "", heading.strip().strip('"')).strip()


def _canonical(name: str) -> str:
    return _ALIASES.get(name, name)


def is_header(line: str) -> bool:
    """Whether a line is the header of a query log: it names at least one column we know, and no process columns."""
    names = [column_name(part) for part in line.split(",")]
    if "pid" in names or any(name.startswith("used_gpu_memory") for name in names):
        return False
    return any(_canonical(name) in catalog.BY_NAME or _REASON.match(name) or name in _PLAIN for name in names)


@dataclass(frozen=True)
class _Plan:
    """What each column is."""

    columns: tuple[tuple[int, str], ...]
    reasons: tuple[tuple[int, str], ...]
    mask: int | None
    keys: tuple[tuple[str, int], ...]
    timestamp: int | None
    driver: int | None
    index: int | None
    name: int | None
    width: int


def _plan(source: Lines, headings: list[str]) -> _Plan:
    names = [column_name(heading) for heading in headings]
    columns, bits = [], []
    mask: int | None = None
    for place, name in enumerate(names):
        found = _REASON.match(name)
        if found:
            word = found[1]
            if word == "active":
                mask = place
            elif word != "supported":
                bits.append((place, "display_clocks_setting" if word == "display_clock_setting" else word))
            else:
                columns.append((place, "clocks_event_reasons.supported"))
            continue
        canonical = _canonical(name).replace("clocks_throttle_reasons_counters", "clocks_event_reasons_counters")
        if canonical in catalog.BY_NAME:
            columns.append((place, canonical))
    place_of = {_canonical(name): place for place, name in reversed(list(enumerate(names)))}
    if not columns and not bits and mask is None:
        source.wrong(_("none of its columns says anything of a card"))
    return _Plan(
        columns=tuple(columns),
        reasons=tuple((place, word) for place, word in bits if word in reasons.MASKS),
        mask=mask,
        keys=tuple((key, place_of[key]) for key in _WANTED_KEYS if key in place_of),
        timestamp=place_of.get("timestamp"),
        driver=place_of.get("driver_version"),
        index=place_of.get("index"),
        name=place_of.get("name"),
        width=len(names),
    )


def read(source: Lines) -> Iterator[Message]:
    """The messages of every row. Raises SmiError."""
    rows = csv.reader(_without_empty(source), skipinitialspace=True, strict=False)
    try:
        headings = next(rows, [])
        plan = _plan(source, headings)
        yield from _Log(source, plan).messages(rows, headings)
    except csv.Error as error:
        source.wrong(_("the table is damaged ({why})").format(why=error))


def _without_empty(source: Lines) -> Iterator[str]:
    return (line.replace("\0", "") for line in source if line.strip())


class _Log:
    """Rows as messages."""

    def __init__(self, source: Lines, plan: _Plan) -> None:
        self._source = source
        self._plan = plan
        self._time = 0.0
        self._rows = 0
        self._listed: dict[str, Listed] = {}
        self._last: dict[str, list[str]] = {}
        self._in_round: set[str] = set()

    def messages(self, rows: Iterator[list[str]], headings: list[str]) -> Iterator[Message]:
        """All of them. A row with too few cells is the cut end of a log when nothing follows it."""
        short: int | None = None
        for row in rows:
            if short is not None:
                self._source.wrong(_("a row has {n} cells, the header has {all}").format(n=short, all=self._plan.width))
            if row == headings:
                continue  # a log that was started again
            if len(row) < self._plan.width:
                short = len(row)
                continue
            yield from self._row(row)
        if self._rows == 0:
            raise SmiError(_("{file} has a header and no complete row.").format(file=self._source.name))

    def _row(self, row: list[str]) -> Iterator[Message]:
        plan = self._plan
        stamp = self._stamp(row)
        if self._rows == 0:
            driver = row[plan.driver].strip() if plan.driver is not None else ""
            self._time = stamp or 1.0
            yield Opened(driver_of(driver, ""), "nvidia-smi", False, self._time)
        key = self._key(row, stamp)
        self._rows += 1
        if stamp is not None:
            self._time = max(self._time, stamp)
        if stamp is None and key in self._in_round:
            self._time += 1.0
            self._in_round.clear()
        if stamp is None:
            self._in_round.add(key)
        state, readings = self._readings(key, row)
        code = {State.LOST: 15, State.NEEDS_RESET: 16}.get(state)
        if key not in self._listed:
            place = row[plan.index].strip() if plan.index is not None else ""
            index = int(place) if place.isdigit() else len(self._listed)
            name = row[plan.name].strip() if plan.name is not None else _("unnamed card")
            self._listed[key] = Listed(index, key, name)
            yield Cards(tuple(self._listed.values()), self._time, self._time)
        yield Sample(key, self._time, self._time, state, readings, code)

    def _stamp(self, row: list[str]) -> float | None:
        return None if self._plan.timestamp is None else parse_time(row[self._plan.timestamp])

    def _key(self, row: list[str], stamp: float | None) -> str:
        """What tells this row's card from the others: the UUID unless it is masked, else bus id, serial, index."""
        for name, place in self._plan.keys:
            value = row[place].strip()
            if value and not value.startswith("[") and value.strip("GPU-0:."):
                return value if name == "uuid" else f"{name}-{value}"
            if name == "index" and value:
                return f"index-{value}"
        if not self._plan.keys and stamp is not None and self._rows > 0 and stamp == self._time and self._listed:
            self._source.wrong(
                _("two rows of one moment, and no uuid, pci.bus_id, serial or index to tell the cards apart")
            )
        return "only-card"

    def _readings(self, key: str, row: list[str]) -> tuple[State, dict[str, Reading]]:
        """The row's readings. After a card's first row only what changed in it is converted."""
        before = self._last.get(key)
        self._last[key] = row
        state = State.OK
        out: dict[str, Reading] = {}
        changed_reasons = before is None
        for place, name in self._plan.columns:
            if before is None or before[place] != row[place]:
                out[name] = reading(name, row[place])
        if "[GPU" in "".join(row):
            state = next((found for text in row if (found := state_of(text))), State.OK)
        plan = self._plan
        if before is not None:
            places = [place for place, _word in plan.reasons] + ([plan.mask] if plan.mask is not None else [])
            changed_reasons = any(before[place] != row[place] for place in places)
        if changed_reasons and (plan.reasons or plan.mask is not None):
            active = {word: row[place] for place, word in plan.reasons}
            out.update(reason_readings(active, None if plan.mask is None else row[plan.mask]))
        name_text = row[plan.name] if plan.name is not None else ""
        if before is None:
            out = settle(out, name_text)
        return state, out
