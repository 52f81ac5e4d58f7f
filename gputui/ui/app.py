"""The app: wiring only. Frames come in from a source, screens draw them, actions change what is shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.style import Style
from textual.app import SystemCommand
from textual.screen import Screen

from gputui.alerts.hook import OnFinding
from gputui.driver.source import Source
from gputui.findings.evidence import ProbeResult
from gputui.model.card import Event, Frame
from gputui.model.finding import Finding
from gputui.model.history import History
from gputui.settings.schema import Settings
from gputui.text import _
from gputui.ui import actions, theme
from gputui.ui.charts import Charts
from gputui.ui.choice import Choice
from gputui.ui.cost import OwnCost
from gputui.ui.draw.host import host_row
from gputui.ui.draw.rows import Row
from gputui.ui.parts.alerting import Alerting, Judge
from gputui.ui.parts.charting import Charting
from gputui.ui.parts.choosing import Choosing
from gputui.ui.parts.ending import Ending
from gputui.ui.parts.keeping import Keep, Keeping
from gputui.ui.parts.probing import Probing
from gputui.ui.screens.base import Place
from gputui.ui.screens.dashboard import DashboardScreen
from gputui.ui.screens.detail import DetailScreen
from gputui.ui.screens.pages import EventsScreen, FindingsScreen, HelpScreen
from gputui.ui.terminal import writer_behind

NOTE_S = 6.0
FRESH_S = 0.9
CATCH_UP_S = 0.05
SETTLE_S = 0.03
"""Samples of one tick arrive together; a draw waits this long for the last of them."""


class DashboardApp(Choosing, Charting, Keeping, Alerting, Ending, Probing):
    """Draws frames, decides nothing."""

    CSS = "Screen { background: $background; } Lines { background: $background; }"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS = []  # noqa: RUF012 - each screen's keys come from the registry

    def __init__(
        self,
        source: Source,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        ascii_only: bool = False,
        theme_name: str = "dark",
        export: Callable[[Source, Sequence[ProbeResult]], Path] | None = None,
        judge: Judge | None = None,
        switch_to_demo: Callable[[], Source] | None = None,
        settings: Settings | None = None,
        keep: Keep | None = None,
        notes: Sequence[str] = (),
        hook: OnFinding | None = None,
        live: bool = True,
    ) -> None:
        self.settings = settings or Settings()
        self.palette_name = theme_name
        self.role_styles: dict[str, Style] = theme.styles(theme_name)
        super().__init__()
        self.animation_level = "none"
        for name in theme.NAMES:
            if name != "ansi":
                self.register_theme(theme.textual_theme(name))
        self.theme = theme.textual_name(theme_name)
        self.title = "gputui"
        self.source = source
        self.clock, self.wall = clock, wall
        self.ascii_only = ascii_only
        self.had_source = False
        self.view: str | None = self.settings.view
        self.selected: str | None = None
        self.note = ""
        self.choice = Choice(self.settings.filter, self.settings.sort, self.settings.sort_falling)
        self.charts = Charts(self.settings.span)
        self.findings: tuple[Finding, ...] = ()
        self.findings_by_card: dict[str, list[Finding]] = {}
        self.histories: dict[str, History] = {}
        self.draw_errors: list[str] = []
        self.shown: Frame = source.fleet.frame(clock(), wall())
        self.before_exit: Callable[[], None] = lambda: None
        self._export, self._switch = export, switch_to_demo
        self.start_judging(judge, self.settings, hook)
        self._live = live
        self._note_until = 0.0
        self._paused_at: float | None = None
        self._reading: int | None = None
        self._draw_due = self._catching_up = False
        self._drawn_at = 0.0
        self._cost = OwnCost()
        self._show_cost = self._show_host = False
        self._notes = notes
        self.keep = keep
        self.kept = self.preferences()

    def on_mount(self) -> None:
        """Show the dashboard, and listen to the source."""
        self.push_screen(DashboardScreen())
        if self._notes:
            more = _(" (and {n} more: gputui doctor)").format(n=len(self._notes) - 1) if len(self._notes) > 1 else ""
            self.say(self._notes[0] + more)
        if self._live:
            self._listen()
            self.set_interval(1.0, self._tick)

    def _listen(self) -> None:
        """Follow the source's descriptor, which is another one after a restart."""
        descriptor = self.source.fileno()
        if descriptor == self._reading:
            return
        loop = asyncio.get_running_loop()
        if self._reading is not None:
            loop.remove_reader(self._reading)
        self._reading = descriptor
        if descriptor is not None:
            loop.add_reader(descriptor, self._arrived)

    def _arrived(self) -> None:
        if self.source.pump():
            self.draw_soon()
        if self.source.fileno() is None:
            self._listen()

    def _tick(self) -> None:
        """Once a second: judge silence, keep the worker running, move the clock in the header."""
        self.source.pump()
        self.source.tick()
        self._listen()
        if self.clock() - self._drawn_at > FRESH_S:  # samples that came draw by themselves
            self.draw_soon()

    def draw_soon(self) -> None:
        """Draw once, shortly, however often this is called."""
        if not self._draw_due:
            self._draw_due = True
            self.set_timer(SETTLE_S, self._draw)

    def draw_after_layout(self) -> None:
        """Draw again when new widgets have got their size."""
        self.call_after_refresh(self.draw_soon)

    def _draw(self) -> None:
        self._draw_due = False
        if writer_behind(self):
            self._take()
            if not self._catching_up:
                self._catching_up = True
                self.set_timer(CATCH_UP_S, self._catch_up)
            return
        self.refresh_now()

    def _catch_up(self) -> None:
        """Draw what was left out as soon as the terminal takes it, not only at the next sample."""
        if writer_behind(self):
            self.set_timer(CATCH_UP_S, self._catch_up)
            return
        self._catching_up = False
        self.draw_soon()

    def refresh_now(self) -> None:
        """Take a new frame, and draw it unless the picture is held."""
        self._drawn_at = self.clock()
        self._take()
        if self.note and self.clock() >= self._note_until:
            self.note = ""
        screen = self.screen_stack[-1] if self.screen_stack else None  # none is left while the app ends
        if isinstance(screen, Place) and screen.is_mounted:
            screen.draw()

    def _take(self) -> None:
        """Judge and alert on what is true now, whether it is shown or the picture is held."""
        fleet = self.source.fleet
        frame = fleet.frame(self.clock(), self.wall())
        self.had_source = self.had_source or frame.driver is not None
        for card in frame.cards:
            if card.uuid not in self.histories and (history := fleet.history(card.uuid)) is not None:
                self.histories[card.uuid] = history
        found = self.look_at(frame)
        if self._paused_at is None:
            self.shown, self.findings = frame, found
            self.findings_by_card = {}
            for finding in found:
                if finding.gpu_uuid is not None:
                    self.findings_by_card.setdefault(finding.gpu_uuid, []).append(finding)
        self.choose_cards()

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened."""
        return self.shown.events

    @property
    def paused_s(self) -> float | None:
        """How long the picture has been held; None when it moves."""
        return None if self._paused_at is None else self.clock() - self._paused_at

    @property
    def reader_gone(self) -> bool:
        """Whether the process that reads the driver is gone and a person must start it."""
        return not self.source.fleet.worker_alive and self.shown.problem is None

    @property
    def can_simulate(self) -> bool:
        """Whether a simulated host can be opened at a key."""
        return self._switch is not None and self.shown.problem is not None

    def allowed(self, action: actions.Action) -> bool:
        """Whether an action can do something now; others are not in footer, help or palette."""
        needs = {
            "": True,
            "judge": self.judge is not None and self.shown.problem is None,
            "cards": bool(self.shown.cards),
            "filter": self.choice.filter.condition is not None,
            "ending": not self.settings.readonly,
            "keep": self.keep is not None,
            "export": self._export is not None,
            "demo": self.can_simulate,
            "probe": not self.runs,
            "probing": self.is_probing,
        }
        return needs[action.needs]

    def cost_rows(self, width: int) -> list[Row]:
        """The lines about the machine and about our own cost, when they are asked for."""
        rows = [host_row(self.shown.host, width)] if self._show_host else []
        return [*rows, self._cost.row(self.source.fleet.cost, width)] if self._show_cost else rows

    def say(self, text: str) -> None:
        """A note in the bottom line for some seconds."""
        self.note, self._note_until = text, self.clock() + NOTE_S
        self.draw_soon()

    def choose(self, uuid: str, open_it: bool) -> None:
        """Select a card, and open it."""
        self.selected = uuid
        if open_it:
            self.action_detail()
        self.draw_soon()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette: every action that works here."""
        place = screen.place if isinstance(screen, Place) else "dashboard"
        for action in actions.ACTIONS:
            if place in action.places and self.allowed(action) and action.id != "command_palette":
                yield SystemCommand(action.title(), action.help(), getattr(self, f"action_{action.id}"))

    def action_help(self) -> None:
        place = self.place()
        if place is not None and place.place != "help":
            self.push_screen(HelpScreen(place.place))

    def action_view(self) -> None:
        if isinstance(self.screen, DashboardScreen):
            self.view = "cards" if self.screen.as_table else "table"
            self.draw_soon()

    def action_detail(self) -> None:
        if self.selected is not None and isinstance(self.screen, DashboardScreen):
            self.push_screen(DetailScreen(self.selected))

    def action_findings(self) -> None:
        if self.judge is not None:
            self.push_screen(FindingsScreen())

    def action_events(self) -> None:
        self.push_screen(EventsScreen())

    def action_cost(self) -> None:
        self._show_cost = not self._show_cost
        self.draw_soon()

    def action_host(self) -> None:
        self._show_host = not self._show_host
        self.draw_soon()

    def action_return(self) -> None:
        if not isinstance(self.screen, DashboardScreen) and len(self.screen_stack) > 2:
            self.pop_screen()
            self.draw_soon()

    def action_previous(self) -> None:
        if place := self.place():
            place.move(-1)

    def action_next(self) -> None:
        if place := self.place():
            place.move(1)

    def action_page_up(self) -> None:
        if place := self.place():
            place.page(-1)

    def action_page_down(self) -> None:
        if place := self.place():
            place.page(1)

    def action_first(self) -> None:
        if place := self.place():
            place.edge(False)

    def action_last(self) -> None:
        if place := self.place():
            place.edge(True)

    def action_pause(self) -> None:
        self._paused_at = None if self._paused_at is not None else self.clock()
        self.draw_soon()

    def action_export(self) -> None:
        if self._export is None:
            return
        try:
            path = self._export(self.source, self.probe_results)
        except OSError as error:
            self.say(_("no snapshot was written: {why}").format(why=error))
            return
        self.say(_("snapshot written to {path}").format(path=path))

    def action_simulate(self) -> None:
        if self._switch is None or not self.can_simulate:
            return
        self.source.stop()
        self.source = self._switch()
        self.histories = {}
        self.start_judging(self.judge, self.settings, None)
        self._listen()
        self.draw_soon()

    def action_restart(self) -> None:
        self.source.restart()
        self._listen()
        self.draw_soon()

    def action_redraw(self) -> None:
        self.refresh(layout=True)
        self.draw_soon()

    def action_suspend(self) -> None:
        self.action_suspend_process()

    def action_leave(self) -> None:
        self.before_exit()
        self.stop_probes()
        self.exit(0)

    @property
    def crash(self) -> BaseException | None:
        """The exception that ended the app, if one did."""
        return self._exception

    def _print_error_renderables(self) -> None:
        """No traceback on the user's screen: `terminal.run` says one sentence and where the rest is."""
        self._exit_renderables.clear()
