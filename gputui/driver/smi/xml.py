"""`nvidia-smi -q -x`, schema v4 to v13, also several documents in one file (`-l`)."""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from gputui.driver.smi.errors import SmiError
from gputui.driver.smi.files import Lines
from gputui.driver.smi.sheet import Dump, Recorder, Sheet, missing_everything
from gputui.model.wire import Message
from gputui.text import _

LARGEST = 64 * 1024 * 1024
"""Characters of one document. 64 cards take 4 MB."""
_END = "</nvidia_smi_log>"
_BLOCKS = {"process_info": "processes", "mig_device": "mig"}


def read(source: Lines) -> Iterator[Message]:
    """The messages of every document. Raises SmiError."""
    recorder = Recorder()
    seen = False
    for text in _documents(source):
        dump = _parse(source, text)
        if not dump.sheets:
            raise SmiError(_("{file} lists no card.").format(file=source.name))
        seen = True
        yield from recorder.messages(dump)
    if not seen:
        raise SmiError(_("{file} ends in the middle of its first document.").format(file=source.name))


def _documents(source: Lines) -> Iterator[str]:
    """The file cut behind each closing tag."""
    lines: list[str] = []
    size = 0
    for line in source:
        size += len(line) + 1
        if size > LARGEST:
            source.wrong(_("the document is larger than 64 MB, which nvidia-smi does not write"))
        end = line.find(_END)
        if end < 0:
            lines.append(line)
            continue
        lines.append(line[: end + len(_END)])
        yield "\n".join(lines)
        lines, size = [line[end + len(_END) :]], 0
    if "".join(lines).strip():
        raise SmiError(
            _("{file} ends in the middle of a document (line {line}); save it again.").format(
                file=source.name, line=source.number
            )
        )


class _Builder:
    """Expat's events as a dump."""

    def __init__(self) -> None:
        self.dump = Dump()
        self._path: list[str] = []
        self._text: list[str] = []
        self._sheet: Sheet | None = None
        self._block: dict[str, str] | None = None
        self._block_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name)
        self._text = []
        if name == "gpu" and len(self._path) == 2:
            self._sheet = Sheet(attributes.get("id", ""))
            self.dump.sheets.append(self._sheet)
        elif self._sheet is not None and name in _BLOCKS and self._block is None:
            self._block, self._block_depth = {}, len(self._path)
            getattr(self._sheet, _BLOCKS[name]).append(self._block)

    def text(self, data: str) -> None:
        self._text.append(data)

    def end(self, _name: str) -> None:
        value = "".join(self._text).strip()
        depth = len(self._path)
        if self._block is not None and depth > self._block_depth:
            self._block.setdefault("/".join(self._path[self._block_depth :]), value)
        elif self._sheet is not None and depth > 2:
            self._sheet.values.setdefault("/".join(self._path[2:]), value)
        elif depth == 2 and value:
            self._top(self._path[1], value)
        if self._block is not None and depth == self._block_depth:
            self._block = None
        if depth == 2:
            self._sheet = None
        self._path.pop()
        self._text = []

    def _top(self, name: str, value: str) -> None:
        if name == "timestamp":
            self.dump.timestamp = value
        elif name == "driver_version":
            self.dump.driver = value
        elif name == "cuda_version":
            self.dump.cuda = value


def _refuse(*_arguments: object) -> None:
    raise ValueError("entity")


def _parse(source: Lines, text: str) -> Dump:
    """One document. Entities are refused: a small file could unfold to gigabytes."""
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.EntityDeclHandler = _refuse
    parser.buffer_text = True
    start = max(0, text.find("<"))
    try:
        parser.Parse(_without_encoding(text[start:]), True)
    except expat.ExpatError as error:
        source.wrong(_("the XML is damaged ({why})").format(why=expat.errors.messages.get(error.code, str(error))))
    except ValueError:
        source.wrong(_("the XML defines entities, which nvidia-smi does not write"))
    builder.dump.sheets = [sheet for sheet in builder.dump.sheets if not missing_everything(sheet)]
    return builder.dump


def _without_encoding(text: str) -> str:
    """The text without its XML declaration: it is decoded already, whatever the declaration says."""
    if text.startswith("<?xml"):
        return text[text.find("?>") + 2 :].lstrip()
    return text
