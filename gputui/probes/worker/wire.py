"""Lines of JSON from a probe to the program, one message a line. Each has `kind`:

hello     pid, python, engine, engine_version
card      uuid, bus_id, name: the card CUDA gave us, before anything is allocated
phase     name, share (0 to 1), left_s
live      values: {name: number}, about once a second
result    state "done", value, unit, dtype, shape, detail, series
failed    reason (a word of REASONS), detail: a result too, and never the card's fault
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any

VERSION = 1
LONGEST = 256 * 1024
"""Bytes of a line."""
REASONS = (
    "wrong-card",
    "no-engine",
    "out-of-memory",
    "not-supported",
    "cuda-error",
    "stopped",
    "too-hot",
    "slowed-by-hardware",
    "temperature-unreadable",
    "contended",
    "deadline",
    "parent-gone",
    "mistake",
)


class Speaker:
    """Writes messages to a descriptor of its own; what libraries print goes elsewhere. Any thread may call."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def say(self, kind: str, **fields: Any) -> None:
        """One message. A parent that is gone is the guard's business."""
        message: dict[str, Any] = {"v": VERSION, "kind": kind}
        message.update(fields)
        data = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(data) > LONGEST:
            raise ValueError(f"message of {len(data)} bytes")
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                pass
