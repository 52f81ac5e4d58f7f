"""`gputui inspect FILE…`: what saved nvidia-smi output says."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from gputui.cli import CANNOT_JUDGE, FAIL
from gputui.commands.lines import frame_lines
from gputui.commands.live import histories, judge
from gputui.commands.output import deliver, exit_code
from gputui.findings.evidence import Expect, Judgement
from gputui.model.card import Frame
from gputui.model.fleet import Fleet
from gputui.model.wire import Cards, Message, Sample
from gputui.session.document import document, dumps, overall

SCHEMA = "gputui.inspection/1"


def run(options: argparse.Namespace) -> int:
    """Inspect every file; a file that cannot be read gets one sentence. The exit code is the worst."""
    from gputui.driver.smi import SmiError, messages

    documents: list[dict[str, Any]] = []
    texts: list[str] = []
    codes: list[int] = []
    for name in options.files:
        try:
            frame, judgement = _read(messages(name), options.expect)
        except SmiError as error:
            print(f"gputui: {error}", file=sys.stderr)
            codes.append(CANNOT_JUDGE)
            continue
        verdict = overall(frame, judgement)
        codes.append(exit_code(verdict, options.strict))
        if options.json:
            documents.append(document(frame, judgement, Expect(options.expect)))
        else:
            head = [f"== {name}"] if len(options.files) > 1 else []
            texts.append("\n".join(head + frame_lines(frame, judgement, verdict)) + "\n")
    if options.json and documents:
        whole = documents[0] if len(options.files) == 1 else {"schema": SCHEMA, "documents": documents}
        deliver(dumps(whole), options.output)
    elif texts:
        deliver("\n".join(texts), options.output)
    return _worst(codes)


def _read(stream: Iterable[Message], expect: str) -> tuple[Frame, Judgement]:
    """Eat a whole file. Its own time stamps are the clock: the frame's moment is that of its last sample."""
    fleet = Fleet(source="nvidia-smi")
    mono, wall = 0.0, 0.0
    for message in stream:
        if isinstance(message, (Sample, Cards)):
            mono, wall = max(mono, message.mono), max(wall, message.wall)
        fleet.eat(message, wall)
    frame = fleet.frame(mono, wall)
    return frame, judge(frame, histories(fleet, frame), expect)


def _worst(codes: list[int]) -> int:
    """A failure outranks what cannot be judged, which outranks a pass."""
    for code in (FAIL, CANNOT_JUDGE):
        if code in codes:
            return code
    return 0
