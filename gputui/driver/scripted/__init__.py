"""Simulated hosts: for --demo, pictures and tests. Marked simulated everywhere; never chosen when nobody asked."""

from __future__ import annotations

import time
from collections.abc import Callable

from gputui.driver.scripted.scenario import ScenarioError, load, names
from gputui.driver.scripted.source import ScriptedSource

__all__ = ["ScenarioError", "ScriptedSource", "check", "names", "open_source"]


def check(name: str) -> None:
    """Raise ScenarioError with one sentence unless `name` is a simulated host or a readable scenario file."""
    load(name)


def open_source(
    name: str, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
) -> ScriptedSource:
    """The host of this name, or of this scenario file. Time 0 of its script is the moment it is opened."""
    return ScriptedSource(load(name), clock, wall)
