"""Reading a driver without a screen: start the worker, wait until every card has been read, give back the fleet."""

from __future__ import annotations

import argparse
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from gputui.cli import UsageError
from gputui.driver.source import Source
from gputui.findings.evidence import Evidence, Expect, Judgement, ProbeResult
from gputui.model.card import Card, Frame, Problem, State
from gputui.model.fleet import Fleet
from gputui.model.history import History
from gputui.text import _

STEP_S = 0.1
SETTLED = (State.LOST, State.ERROR, State.NEEDS_RESET, State.MISSING, State.NOT_ANSWERING, State.ASLEEP)


def open_watcher(options: argparse.Namespace) -> Source:
    """The worker process for the live driver, or for the simulated host of --demo. Raises UsageError for a bad name."""
    from gputui.driver.watcher import Watcher

    source = "nvml"
    if options.demo:
        source = f"scripted:{checked_demo(options.demo)}"
    fleet = Fleet(interval_s=options.interval, source="simulated" if options.demo else "nvml")
    fleet.simulated, fleet.scenario = bool(options.demo), options.demo
    return Watcher(fleet, source=source, interval_s=options.interval)


def let_go(source: Source) -> None:
    """Stop the source without waiting; say so when its worker hangs in the driver and cannot be ended."""
    source.stop()
    gone = getattr(source, "gone", None)
    if gone is not None and not gone():
        left = ", ".join(str(pid) for pid in source.left_behind)  # type: ignore[attr-defined]
        print(
            _(
                "gputui: the process that reads the driver hangs in it and cannot be ended; its PID {pids} remains."
            ).format(pids=left),
            file=sys.stderr,
        )


def checked_demo(name: str) -> str:
    """The name, if a simulated host has it or it is a readable scenario file. Raises UsageError."""
    from gputui.driver.scripted import ScenarioError, check

    try:
        check(name)
    except ScenarioError as error:
        raise UsageError(str(error)) from error
    return name


def histories(fleet: Fleet, frame: Frame) -> dict[str, History]:
    """The history of every card of the frame that has one."""
    found = ((card.uuid, fleet.history(card.uuid)) for card in frame.cards)
    return {uuid: history for uuid, history in found if history is not None}


def judge(frame: Frame, kept: Mapping[str, History], expect: str, probes: Sequence[ProbeResult] = ()) -> Judgement:
    """What the rules say of it."""
    from gputui.findings import judge as judge_evidence

    return judge_evidence(Evidence(frame, kept, Expect(expect), tuple(probes)))


def watch(
    source: Source,
    seconds: float,
    wait_s: float,
    frames: int = 2,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
) -> Frame:
    """Read until every card was sampled `frames` times and `seconds` have passed since the first, or `wait_s` ran out.

    A card that is lost or does not answer is not waited for. When the driver itself never answers, the frame carries
    the problem `driver-not-answering`.
    """
    source.start()
    began = clock()
    first: float | None = None
    while True:
        _pause(source)
        source.pump()
        source.tick()
        now = clock()
        frame = source.fleet.frame(now, wall())
        if frame.problem is not None:
            return frame
        if first is None and any(card.samples for card in frame.cards):
            first = now
        listed = bool(frame.driver) and bool(frame.cards)
        if listed and all(_ready(card, frames) for card in frame.cards) and now - (first or now) >= seconds:
            return frame
        if now - began > wait_s + seconds:
            return frame if listed else _never(source, frame, now - began)


def _pause(source: Source) -> None:
    descriptor = source.fileno()
    if descriptor is None:
        time.sleep(STEP_S)
    else:
        select.select([descriptor], [], [], STEP_S)


def _ready(card: Card, frames: int) -> bool:
    return card.samples >= frames or card.state in SETTLED


def _never(source: Source, frame: Frame, waited_s: float) -> Frame:
    from dataclasses import replace

    calls = source.fleet.calls_under_way(frame.mono)
    died = [event.detail for event in frame.events if event.what == "worker-died"]
    detail = f"{calls[0][0]}, {waited_s:.0f} s" if calls else f"{waited_s:.0f} s"
    if died:
        detail = f"the process that reads it ended, {died[-1]}"
    return replace(frame, problem=Problem("driver-not-answering", detail))
