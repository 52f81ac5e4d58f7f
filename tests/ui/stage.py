"""The dashboard on a simulated host and a clock that moves when told: the same picture every time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gputui.commands.dashboard import judge_for
from gputui.driver.inline import Inline
from gputui.driver.scripted import open_source
from gputui.model.fleet import Fleet
from gputui.ui.app import DashboardApp

START_MONO, START_WALL = 100_000.0, 1_764_547_200.0


class Clock:
    """Monotonic and wall time in step."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    def mono(self) -> float:
        return START_MONO + self.elapsed

    def wall(self) -> float:
        return START_WALL + self.elapsed


class Stage:
    """A host that has run for some seconds, and the app in front of it."""

    def __init__(self, host: str, seconds: int, **options: Any) -> None:
        self.clock = Clock()
        self.fleet = Fleet(source="simulated", simulated=True, scenario=host)
        self.source = Inline(
            open_source(host, self.clock.mono, self.clock.wall), self.fleet, clock=self.clock.mono, wall=self.clock.wall
        )
        self.source.start()
        self.run(seconds)
        options.setdefault("judge", judge_for("any"))
        self.app = DashboardApp(self.source, clock=self.clock.mono, wall=self.clock.wall, live=False, **options)

    def run(self, seconds: int) -> None:
        """Let time pass, a sample a second."""
        for _ in range(seconds):
            self.clock.elapsed = int(self.clock.elapsed) + 1.11
            self.source.pump()
            self.source.tick()

    def text(self) -> list[str]:
        """The screen, a line each, without spaces at the end."""
        return ["".join(part.text for part in strip).rstrip() for strip in self.app.screen._compositor.render_strips()]

    def has(self, words: str) -> bool:
        return any(words in line for line in self.text())


@asynccontextmanager
async def stage(
    host: str = "rtx4090",
    seconds: int = 120,
    size: tuple[int, int] = (120, 40),
    keys: tuple[str, ...] = (),
    **options: Any,
) -> AsyncIterator[tuple[Stage, Any]]:
    """The app, drawn once; `keys` are pressed first."""
    one = Stage(host, seconds, **options)
    async with one.app.run_test(size=size) as pilot:
        await drawn(one, pilot)
        for _ in range(3):  # findings must hold for some seconds before they are shown
            one.run(5)
            one.app.refresh_now()
        await drawn(one, pilot)
        for key in keys:
            await pilot.press(key)
            await drawn(one, pilot)
        yield one, pilot


async def drawn(one: Stage, pilot: Any) -> None:
    """Until everything is laid out and drawn: a view that has just opened gets its size first."""
    for _ in range(2):
        await pilot.pause(0)  # every message that is there is handled; only the last wait is for a quiet process
        one.app.refresh_now()
    await pilot.pause()


def golden(name: str, lines: list[str], update: bool) -> None:
    """Compare with the file of this name in tests/golden, or write it."""
    path = Path(__file__).resolve().parents[1] / "golden" / f"{name}.txt"
    text = "\n".join(lines).rstrip("\n") + "\n"
    if update or not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        assert update, f"{path.name} was missing and has been written; look at it and run again"
    assert text == path.read_text(encoding="utf-8"), f"the screen {name} has changed; --update-golden accepts it"
