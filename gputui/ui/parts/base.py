"""What the parts of the app share: the state they read, and what they ask of the app."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.style import Style
from textual.app import App

from gputui.driver.source import Source
from gputui.model.card import Frame
from gputui.model.finding import Finding
from gputui.model.history import History
from gputui.settings.schema import Settings

if TYPE_CHECKING:
    from gputui.findings.evidence import ProbeResult
    from gputui.ui.charts import Charts
    from gputui.ui.choice import Choice
    from gputui.ui.screens.base import Place


class Part(App[int]):
    """A part of the app. `DashboardApp` joins them and fills in what is declared here."""

    source: Source
    clock: Callable[[], float]
    wall: Callable[[], float]
    shown: Frame
    selected: str | None
    view: str | None
    palette_name: str
    role_styles: dict[str, Style]
    findings: tuple[Finding, ...]
    histories: dict[str, History]
    settings: Settings
    choice: Choice
    charts: Charts
    probe_results: tuple[ProbeResult, ...] = ()

    def say(self, text: str) -> None:
        """A note in the bottom line for some seconds."""
        raise NotImplementedError

    def draw_soon(self) -> None:
        """Draw once, shortly, however often this is called."""
        raise NotImplementedError

    def judge_soon(self) -> None:
        """Judge at the next frame, since something new is known."""
        raise NotImplementedError

    def place(self) -> Place | None:
        """The screen in front, when it is one of ours."""
        from gputui.ui.screens.base import Place

        return self.screen if isinstance(self.screen, Place) else None
