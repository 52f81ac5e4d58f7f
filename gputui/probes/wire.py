"""Messages of a probe as they arrive: bounded, checked, and whatever is not one is dropped and counted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gputui.probes.worker.wire import LONGEST, REASONS, VERSION


@dataclass(frozen=True)
class Message:
    """kind as in gputui.probes.worker.wire; the other fields are in `fields`."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)


_WANTED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "hello": {"pid": int, "engine": str, "engine_version": str},
    "card": {"uuid": str, "bus_id": str},
    "phase": {"name": str, "share": (int, float), "left_s": (int, float)},
    "live": {"values": dict},
    "result": {"unit": str, "dtype": str, "detail": dict, "series": list},
    "failed": {"reason": str, "detail": str},
}


class Lines:
    """Cuts bytes into messages."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False
        self.dropped = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now."""
        self._rest += data
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            if not newline:
                if len(self._rest) > LONGEST:
                    self._rest, self._skipping = b"", True
                return
            self._rest = rest
            if self._skipping:
                self._skipping = False
                self.dropped += 1
                continue
            message = parsed(line)
            if message is None:
                self.dropped += 1
            else:
                yield message


def parsed(line: bytes) -> Message | None:
    """A line as a message, None when it is none."""
    if len(line) > LONGEST:
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.pop("v", None) != VERSION:
        return None
    kind = data.pop("kind", None)
    wanted = _WANTED.get(kind) if isinstance(kind, str) else None
    if wanted is None or any(not isinstance(data.get(name), types) for name, types in wanted.items()):
        return None
    if kind == "failed" and data["reason"] not in REASONS:
        return None
    if kind == "result" and not _is_number(data.get("value")):
        return None
    if kind == "live":
        data["values"] = {str(name): float(value) for name, value in data["values"].items() if _is_number(value)}
    return Message(kind, data)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
