"""The file behind the key `e`: the frame, ten minutes of history, the events. Nothing private is in it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gputui.findings.evidence import Expect, Judgement, ProbeResult
from gputui.model import catalog
from gputui.model.card import Frame
from gputui.model.history import KEPT, SLOT_S, History
from gputui.session.document import document, dumps, iso

SCHEMA = "gputui.snapshot/1"
SPAN_S = 600.0


def snapshot(
    frame: Frame,
    histories: Mapping[str, History],
    judgement: Judgement,
    expect: Expect = Expect.ANY,
    span_s: float = SPAN_S,
    probes: Iterable[ProbeResult] = (),
) -> dict[str, Any]:
    """The document `gputui.snapshot/1`: a frame document, and one series a card on a grid of whole seconds."""
    return {
        "schema": SCHEMA,
        "frame": document(frame, judgement, expect, probes),
        "history": [
            _series(frame, card.uuid, histories[card.uuid], span_s) for card in frame.cards if card.uuid in histories
        ],
    }


def _series(frame: Frame, uuid: str, history: History, span_s: float) -> dict[str, Any]:
    end = (history.newest or 0.0) + SLOT_S
    count = min(int(span_s // SLOT_S), int(history.span_s // SLOT_S))
    start = end - count * SLOT_S
    readings: dict[str, Any] = {}
    for name in KEPT:
        values: list[float | None] = [None] * count
        for mono, value in history.points(name, start, end):
            values[int((mono - start) // SLOT_S)] = round(value, 3)
        if any(value is not None for value in values):
            readings[name] = {"unit": catalog.unit(name), "values": values}
    masks: list[int | None] = [None] * count
    for mono, mask in history.masks(start, end):
        masks[int((mono - start) // SLOT_S)] = mask
    return {
        "gpu_uuid": uuid,
        "start": iso(frame.time - (frame.mono - start)),
        "step_s": SLOT_S,
        "readings": readings,
        "clocks_event_reasons.mask": masks,
    }


def write_private(path: Path, text: str) -> None:
    """Write a whole file with mode 0600, or leave what was there. Raises OSError."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_snapshot(data: Mapping[str, Any], folder: Path, unix: float) -> Path:
    """Write the snapshot into `folder` under a name with its UTC time, never over an existing file. Raises OSError."""
    stamp = datetime.fromtimestamp(unix, tz=timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"gputui-snapshot-{stamp}.json"
    number = 1
    while path.exists():
        number += 1
        path = folder / f"gputui-snapshot-{stamp}-{number}.json"
    write_private(path, dumps(data))
    return path
