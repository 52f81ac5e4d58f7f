"""`nvidia-smi -q`: sections nested by their indentation; also several dumps in one file (`-l`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputui.driver.smi.errors import SmiError
from gputui.driver.smi.files import Lines
from gputui.driver.smi.sheet import Dump, Recorder, Sheet, missing_everything, tag
from gputui.model.wire import Message
from gputui.text import _

_HEADER = re.compile(r"=+NVSMI LOG=+")
_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*(.*)$")
_LARGEST_CARD = 4000
"""Lines of one card; newest drivers write about 400."""


def read(source: Lines) -> Iterator[Message]:
    """The messages of every dump. Raises SmiError."""
    recorder = Recorder()
    seen = False
    for dump in _dumps(source):
        dump.sheets = [sheet for sheet in dump.sheets if sheet.lost or not missing_everything(sheet)]
        if dump.sheets:
            seen = True
            yield from recorder.messages(dump)
    if not seen:
        raise SmiError(_("{file} lists no card; it may have been cut off.").format(file=source.name))


def _dumps(source: Lines) -> Iterator[Dump]:
    dump: Dump | None = None
    card: _Card | None = None
    for line in source:
        if _HEADER.search(line):
            if dump is not None:
                yield dump
            dump, card = Dump(), None
            continue
        if dump is None or not line.strip():
            continue
        found = _GPU.match(line)
        if found:
            card = _Card(Sheet(found[1]))
            dump.sheets.append(card.sheet)
            if found[2].strip(": "):
                card.sheet.lost = found[2].strip(": ").rstrip(".")
        elif card is not None:
            card.take(line)
            if card.lines > _LARGEST_CARD:
                source.wrong(_("a card with more than {n} lines; this is not nvidia-smi").format(n=_LARGEST_CARD))
        else:
            _top(dump, line)
    if dump is not None:
        yield dump


def _top(dump: Dump, line: str) -> None:
    label, _colon, value = line.partition(" : ")
    name, value = tag(label), value.strip()
    if name == "timestamp":
        dump.timestamp = value
    elif name == "driver_version":
        dump.driver = value
    elif name == "cuda_version":
        dump.cuda = value


class _Card:
    """The lines of one card as a sheet."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.lines = 0
        self._open: list[tuple[int, str]] = []
        self._process: dict[str, str] | None = None
        self._mig: dict[str, str] | None = None

    def take(self, line: str) -> None:
        """One line of the card."""
        self.lines += 1
        indent = len(line) - len(line.lstrip(" \t"))
        while self._open and self._open[-1][0] >= indent:
            self._open.pop()
        label, colon, value = line.strip().partition(" : ")
        name, value = tag(label), value.strip()
        if not colon and not line.rstrip().endswith(":"):
            self._section(indent, name, line.strip())
            return
        path = [part for _depth, part in self._open]
        if path[:1] == ["processes"]:
            self._in_process(name, value)
        elif path[:1] == ["mig_device"] and self._mig is not None:
            self._mig.setdefault("/".join([*path[1:], name]), value)
        else:
            self.sheet.values.setdefault("/".join([*path, name]), value)
        if colon and not value:
            self._open.append((indent, name))
        elif path[:1] in (["processes"], ["clocks_event_reasons"], ["clocks_throttle_reasons"]):
            return  # lines below one of these belong to the same block

    def _section(self, indent: int, name: str, line: str) -> None:
        if name in ("gpu_is_lost", "gpu_requires_reset") or "GPU is lost" in line:
            self.sheet.lost = line.rstrip(".")
            return
        self._open.append((indent, name))
        if name == "mig_device" and len(self._open) == 1:
            self._mig = {}
            self.sheet.mig.append(self._mig)

    def _in_process(self, name: str, value: str) -> None:
        """A process begins with its GPU instance on newer drivers, with its id on older ones."""
        if name == "process_id":
            self._process = {}
            self.sheet.processes.append(self._process)
        if self._process is not None and name in ("process_id", "type", "name", "used_gpu_memory"):
            self._process[name] = value
