"""Opening a file and telling what it is, from its first piece."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from gputui.driver.smi.errors import SmiError
from gputui.text import _

HEAD_BYTES = 65536
LONGEST_LINE = 1 << 20
"""Characters. No line of nvidia-smi comes near; a longer one is another kind of file."""


class Kind(Enum):
    """What is in a file."""

    XML = "nvidia-smi -q -x"
    TEXT = "nvidia-smi -q"
    CSV = "nvidia-smi --query-gpu"


class Lines:
    """A text file by lines, with its name, its head, and a bound on the length of a line."""

    def __init__(self, name: str, stream: io.TextIOBase, head: str) -> None:
        self.name = name
        self.head = head
        self.number = 0
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        rest = self.head
        while True:
            more = self._stream.read(HEAD_BYTES)
            *lines, rest = (rest + more).split("\n")
            if not more and rest:
                lines.append(rest)
            for line in lines:
                self.number += 1
                if len(line) > LONGEST_LINE:
                    self._too_long()
                yield line.rstrip("\r")
            if not more:
                return
            if len(rest) > LONGEST_LINE:
                self._too_long()

    def _too_long(self) -> None:
        self.wrong(_("has a line of more than a million characters, which nvidia-smi does not write"))

    def wrong(self, what: str) -> None:
        """Raise SmiError with the file and line."""
        raise SmiError(_("{file}, line {line}: {what}.").format(file=self.name, line=self.number or 1, what=what))


@contextmanager
def opened(path: Path) -> Iterator[Lines]:
    """The file as lines. UTF-8 or UTF-16 by its mark, as PowerShell writes it. Raises SmiError."""
    name = str(path)
    try:
        raw: io.BufferedReader = io.BufferedReader(io.FileIO(0, closefd=False)) if name == "-" else _open(path)
    except OSError as error:
        raise SmiError(_("{file} cannot be read: {why}.").format(file=name, why=error.strerror or error)) from error
    try:
        head = raw.peek(4)[:4]
        encoding = "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        stream = io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="\n")
        first = stream.read(HEAD_BYTES)
        yield Lines(name, stream, first)
    except OSError as error:
        raise SmiError(_("{file} cannot be read: {why}.").format(file=name, why=error.strerror or error)) from error
    finally:
        if name != "-":
            raw.close()


def _open(path: Path) -> io.BufferedReader:
    """Open without waiting: a pipe nobody writes to would hold us up for ever."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(0, _("it is a folder; name a file"))
    if not stat.S_ISREG(mode):
        raise OSError(0, _("it is not a regular file; save the output to one, or pass it as -"))
    return io.BufferedReader(io.FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC), closefd=True), HEAD_BYTES)


def sniff(source: Lines) -> Kind:
    """What the file is. Raises SmiError with a sentence for everything that cannot be read."""
    head = source.head
    if not head.strip():
        raise SmiError(_("{file} is empty.").format(file=source.name))
    if "\0" in head:
        raise SmiError(
            _("{file} is a binary file; save `nvidia-smi -q -x > file.xml` and pass that.").format(file=source.name)
        )
    if "<nvidia_smi_log" in head:
        return Kind.XML
    if re.search(r"=+NVSMI LOG=+", head):
        return Kind.TEXT
    first = next(line for line in head.splitlines() if line.strip())
    from gputui.driver.smi.query import is_header

    if is_header(first):
        return Kind.CSV
    raise SmiError(f"{source.name} {_other(head, first)}; " + _("save `nvidia-smi -q -x > file.xml` and pass that."))


def _other(head: str, first: str) -> str:
    """What a file is that cannot be used, in words."""
    columns = [column.strip().split(" ")[0] for column in first.split(",")]
    if first.startswith("# gpu") or first.startswith("#gpu") or re.match(r"#\s*(Date|gpu)", first):
        return _("is a process list (nvidia-smi pmon)") if " pid" in head[:400] else _("is a nvidia-smi dmon log")
    if "pid" in columns and any(column.startswith(("process_name", "used_")) for column in columns):
        return _("is a list of processes (--query-compute-apps), which says nothing of a card")
    if "| NVIDIA-SMI" in head:
        return _("is the table of nvidia-smi, which leaves out limits and reasons")
    if re.search(r"\d+ MiB|\d+ MHz|NVIDIA|GPU-[0-9a-f]{8}", first) and "," in first:
        return _("has no header line, so its columns cannot be told apart (leave out noheader)")
    if first.lstrip().startswith("{") and '"schema"' in head and "gputui" in head:
        return _("is a JSON document of gputui, not output of nvidia-smi")
    if "has failed because it couldn't communicate with the NVIDIA driver" in head:
        return _("holds an error message of nvidia-smi: the driver could not be reached")
    if "No devices were found" in head:
        return _("holds an error message of nvidia-smi: no devices were found")
    return _("is not output of nvidia-smi")
