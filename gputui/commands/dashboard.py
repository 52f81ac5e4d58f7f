"""`gputui`: the dashboard.

The driver worker starts before textual is imported, so that both get ready at the same time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gputui.cli import UsageError
from gputui.commands import status
from gputui.commands.live import histories, judge, let_go, open_watcher
from gputui.findings.evidence import Expect, ProbeResult
from gputui.model.card import Event, Frame
from gputui.model.finding import Finding
from gputui.model.history import History
from gputui.text import _

if TYPE_CHECKING:
    from gputui.alerts.hook import OnFinding
    from gputui.driver.source import Source
    from gputui.settings.load import Loaded


def run(options: argparse.Namespace) -> int:
    """The dashboard; where no screen can be drawn, the text of `status`."""
    from gputui.ui import terminal

    loaded = preferences(options)
    settings = loaded.settings
    options.interval, options.expect = settings.interval, settings.expect
    hook, notes = hook_of(loaded, simulated=bool(options.demo))
    plan = terminal.plan_here(ascii_asked=bool(settings.ascii), mouse_asked=settings.mouse)
    if not plan.usable:
        print(_("gputui: {why}, so here is the status.").format(why=plan.why), file=sys.stderr)
        return status.run(options)
    source = open_watcher(options)
    source.start()
    terminal.prepare_environment(plan)
    from gputui.ui.app import DashboardApp

    app = DashboardApp(
        source,
        ascii_only=plan.ascii,
        theme_name=terminal.theme_for(plan, settings.theme),
        settings=settings,
        keep=_Keep(loaded.path) if loaded.path is not None else None,
        notes=(*loaded.errors, *loaded.warnings, *notes),
        hook=hook,
        export=_Export(options.expect),
        judge=judge_for(options.expect),
        switch_to_demo=lambda: _demo(options),
    )
    try:
        return terminal.run(app, plan)
    finally:
        if hook is not None:
            hook.close()
        let_go(app.source)


def preferences(options: argparse.Namespace) -> Loaded:
    """The settings of this run: flags, environment, file, defaults."""
    from gputui.settings.load import load

    flags = {
        name: getattr(options, field, None)
        for name, field in (
            ("interval", "interval"),
            ("expect", "expect"),
            ("ascii", "ascii"),
            ("mouse", "mouse"),
            ("theme", "theme"),
            ("view", "view"),
            ("sort", "sort"),
            ("filter", "filter"),
            ("bucket", "bucket"),
            ("readonly", "readonly"),
            ("alerts.thresholds", "alert"),
            ("alerts.on_finding", "on_finding"),
        )
    }
    return load(flags)


def hook_of(loaded: Loaded, simulated: bool) -> tuple[OnFinding | None, tuple[str, ...]]:
    """The command for findings, and what is wrong with it. Raises UsageError when a flag named what cannot be started.

    Findings of a simulated host start it only when the flag was given: nobody wants a message at night from a demo.
    """
    from gputui.alerts.hook import OnFinding
    from gputui.settings.load import Place

    given = loaded.origins["alerts.on_finding"].place is Place.FLAG
    if simulated and not given:
        return None, ()
    try:
        return OnFinding.of(loaded.settings.alerts_on_finding), ()
    except ValueError as error:
        if given:
            raise UsageError(str(error)) from error
        return None, (str(error),)


class _Keep:
    """Writes changed settings into the settings file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, changes: Mapping[str, Any]) -> str:
        """The file as a person writes it. Raises OSError with one sentence."""
        from gputui.settings.file import SettingsError, save, shown

        try:
            save(self._path, changes)
        except SettingsError as error:
            raise OSError(str(error)) from error
        return shown(self._path)


def _demo(options: argparse.Namespace) -> Source:
    """The simulated host, started, for the key on the screen that says why there is no driver."""
    source = open_watcher(argparse.Namespace(**{**vars(options), "demo": "rtx4090"}))
    source.start()
    return source


def judge_for(
    expect: str,
) -> Callable[[Frame, Mapping[str, History], Sequence[ProbeResult]], tuple[Sequence[Finding], Sequence[Event]]]:
    """The rules as the screen wants them: what to show, held steady, and what appeared or went."""
    from gputui.findings.watch import Watch

    watch = Watch()

    def judged(
        frame: Frame, kept: Mapping[str, History], probes: Sequence[ProbeResult]
    ) -> tuple[Sequence[Finding], Sequence[Event]]:
        shown, events = watch.update(frame.mono, frame.time, judge(frame, kept, expect, probes))
        return shown.findings, events

    return judged


class _Export:
    """Writes the snapshot of key `e` into the current folder, or the home folder when that one cannot be written."""

    def __init__(self, expect: str) -> None:
        self._expect = expect

    def __call__(self, source: Any, probes: Sequence[ProbeResult] = ()) -> Path:
        from gputui.session.snapshot import snapshot, write_snapshot

        frame = source.fleet.frame(time.monotonic(), time.time())
        kept = histories(source.fleet, frame)
        data = snapshot(frame, kept, judge(frame, kept, self._expect, probes), Expect(self._expect), probes=probes)
        refused: OSError | None = None
        for folder in (Path.cwd(), Path.home()):
            try:
                return write_snapshot(data, folder, frame.time)
            except OSError as error:
                refused = error
        raise OSError(_("no folder can be written: {why}").format(why=refused))
