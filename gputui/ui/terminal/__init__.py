"""The terminal's edge: what it can do, how to leave it as it was, and with which exit code.

What textual 8.2 does by itself was measured in ptys: SIGTERM leaves the alternate screen and mouse reports on, a
hang-up with SIGHUP ignored spins at 100 % of a core for ever, a crash exits with 0, a slow link holds up `q` until
every queued frame is written, and a stalled terminal stops the event loop. This package mends those. Importing it must
not import textual: it decides things textual reads when it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gputui.ui.terminal.plan import Plan, plan, plan_here, prepare_environment, theme_for

if TYPE_CHECKING:
    from gputui.ui.app import DashboardApp

__all__ = ["Plan", "plan", "plan_here", "prepare_environment", "run", "theme_for", "writer_behind"]


def run(app: DashboardApp, plan: Plan) -> int:
    """Run the app. Returns its exit code: 0, 3 when it never had a source, 1 after a crash, 128 + signal."""
    from gputui.ui.terminal.leaving import run as run_and_leave

    return run_and_leave(app, plan)


def writer_behind(app: Any) -> bool:
    """Whether the terminal has not taken the last frame yet; then the next one is left out.

    Textual has no public way to ask. When its private queue has moved, frames are never left out; tests/pty looks for
    it.
    """
    thread = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(thread, "_queue", None)
    return queue is not None and queue.qsize() > 0
