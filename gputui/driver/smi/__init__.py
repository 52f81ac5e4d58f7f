"""Saved nvidia-smi output as the messages a worker would have sent: `-q -x` XML, `-q` text, `--query-gpu` CSV.

A file's own time stamps are the clock. They carry no zone and are taken as UTC; only differences between them matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gputui.driver.smi.errors import SmiError
from gputui.driver.smi.files import Kind, opened, sniff
from gputui.model.wire import Message

__all__ = ["Kind", "SmiError", "messages", "sniff"]


def messages(name: str) -> Iterator[Message]:
    """The messages in a file ("-": standard input), in memory that does not grow with it. Raises SmiError."""
    path = Path(name)
    with opened(path) as source:
        kind = sniff(source)
        if kind is Kind.CSV:
            from gputui.driver.smi.query import read
        elif kind is Kind.XML:
            from gputui.driver.smi.xml import read
        else:
            from gputui.driver.smi.text import read
        yield from read(source)
