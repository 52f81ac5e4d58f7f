"""`gputui status`: one frame as text or JSON."""

from __future__ import annotations

import argparse

from gputui.commands.lines import frame_lines
from gputui.commands.live import histories, judge, let_go, open_watcher, watch
from gputui.commands.output import deliver, exit_code
from gputui.findings.evidence import Expect, Judgement
from gputui.session.document import document, dumps, overall


def run(options: argparse.Namespace) -> int:
    """Read two frames (or watch for --for), print them, and return the verdict's exit code."""
    source = open_watcher(options)
    try:
        frame = watch(source, getattr(options, "watch_s", 0.0), getattr(options, "wait", 30.0))
    finally:
        let_go(source)
    kept = histories(source.fleet, frame)
    judgement = Judgement() if frame.problem else judge(frame, kept, options.expect)
    verdict = overall(frame, judgement)
    if getattr(options, "json", False):
        text = dumps(document(frame, judgement, Expect(options.expect)))
    else:
        text = "\n".join(frame_lines(frame, judgement, verdict)) + "\n"
    deliver(text, getattr(options, "output", None))
    return exit_code(verdict, getattr(options, "strict", False))
