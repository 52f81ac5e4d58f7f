"""The terminal's edge: what it can do, how to leave it as it was, and with which exit code.

What textual 8.2 does by itself was measured in ptys: SIGTERM leaves the alternate screen and mouse reports on, a
hang-up with SIGHUP ignored spins at 100 % of a core for ever, a crash exits with 0, and a slow link holds up `q`
until every queued frame is written. This module mends those four. It must not import textual: it decides things
textual reads when it is imported.
"""

from __future__ import annotations

import asyncio
import codecs
import functools
import os
import re
import select
import signal
import sys
import termios
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from gputui.text import _

if TYPE_CHECKING:
    from gputui.ui.app import DashboardApp

PATIENCE_S = 0.8
"""How long an exit may take before it is forced: a person who quits must not wait for a slow link."""
HANGUP_POLL_S = 1.0
_RESTORE = (
    "\x1b[?2026l\x1b[<u\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?2048l"
    "\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l"
)
"""Everything textual turns on, turned off: synchronized output, kitty keys, mouse, focus, paste, resize reports,
screen.
"""


@dataclass(frozen=True)
class Plan:
    """What the terminal can do.

    colors: "256", "standard" (16) or None. why: one sentence when no screen can be drawn.
    """

    usable: bool
    why: str = ""
    ascii: bool = False
    color_system: str | None = "256"
    mouse: bool = True
    ssh: bool = False


def plan_here(ascii_asked: bool = False, mouse_asked: bool | None = None) -> Plan:
    """The plan for this process's own terminal."""
    tty = sys.stdin is not None and sys.stdin.isatty() and sys.__stderr__ is not None and sys.__stderr__.isatty()
    shown = tty and sys.stdout is not None and sys.stdout.isatty()
    return plan({**os.environ, **_locale_given()}, shown, ascii_asked, mouse_asked)


def _locale_given() -> dict[str, str]:
    """The locale variables this process was started with.

    Python itself sets LC_CTYPE=C.UTF-8 when the locale is C or unknown (PEP 538), which would hide what the person
    said.
    """
    given = dict.fromkeys(("LC_ALL", "LC_CTYPE", "LANG"), "")
    try:
        start = Path("/proc/self/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {name: os.environ.get(name, "") for name in given}
    for entry in start.split("\0"):
        name, _equals, value = entry.partition("=")
        if name in given:
            given[name] = value
    return given


def plan(environ: Mapping[str, str], tty: bool, ascii_asked: bool = False, mouse_asked: bool | None = None) -> Plan:
    """Decide from the environment alone."""
    term = environ.get("TERM", "")
    if not tty:
        return Plan(False, _("not a terminal, so here is the status instead of the dashboard."))
    if term == "dumb":
        return Plan(False, _("TERM=dumb cannot show a dashboard, so here is the status."))
    ssh = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"))
    # The Linux console's fonts have the full block, not its eighths.
    ascii_only = ascii_asked or term == "linux" or _plain_locale(environ)
    return Plan(
        True,
        ascii=ascii_only,
        color_system=_colors(environ, term),
        mouse=(not ssh) if mouse_asked is None else mouse_asked,
        ssh=ssh,
    )


def _plain_locale(environ: Mapping[str, str]) -> bool:
    """Whether the locale says, in so many words, that it is not UTF-8. Unset says nothing: most containers set none."""
    name = next((environ[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(key)), "")
    if name in ("C", "POSIX"):
        return True
    charset = re.sub(r"[^a-z0-9]", "", name.partition(".")[2].partition("@")[0].lower())
    return bool(charset) and charset != "utf8"


def _colors(environ: Mapping[str, str], term: str) -> str | None:
    """How many colours. Our palette lies in the 256-colour cube, so true colour would only cost bytes."""
    if environ.get("NO_COLOR"):
        return None
    if "256color" in term or term.endswith("-direct") or environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "256"
    if term in ("xterm-kitty", "alacritty", "foot", "wezterm", "xterm-ghostty", "rio", "contour"):
        return "256"
    return "standard"


def theme_for(plan: Plan, asked: str | None) -> str:
    """The theme a person asked for, or what suits the colours there are."""
    return asked or ("ansi" if plan.color_system == "standard" else "dark")


def prepare_environment(plan: Plan) -> None:
    """Set what textual reads when it is imported, and the encoding it draws in."""
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    os.environ["TEXTUAL_COLOR_SYSTEM"] = plan.color_system or "standard"
    os.environ.setdefault("TEXTUAL_FPS", "15" if plan.ssh else "30")
    os.environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")
    stream = sys.__stderr__
    if stream is not None and (stream.encoding or "").lower().replace("-", "") != "utf8":
        stream.reconfigure(encoding="utf-8", errors="replace")


def writer_behind(app: Any) -> bool:
    """Whether the terminal has not taken the last frame yet; then the next one is left out.

    Textual has no public way to ask. When its private queue has moved, frames are never left out.
    """
    thread = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(thread, "_queue", None)
    return queue is not None and queue.qsize() > 0


def _tolerate_bad_bytes() -> None:
    """Let a byte that is no UTF-8 be one odd key, instead of the end of textual's input thread (textual #6668).

    Old mouse reports, as some terminals send them after a tmux reattach, have such bytes.
    """
    from textual.drivers import linux_driver

    def decoder(name: str) -> Any:
        return functools.partial(codecs.getincrementaldecoder(name), errors="replace")

    if hasattr(linux_driver, "getincrementaldecoder"):
        linux_driver.getincrementaldecoder = decoder


def run(app: DashboardApp, plan: Plan) -> int:
    """Run the app. Returns its exit code: 0, 3 when it never had a source, 1 after a crash, 128 + signal."""
    edge = _Edge(app)
    _tolerate_bad_bytes()
    try:
        asyncio.run(edge.main(plan))
    except KeyboardInterrupt:
        edge.code = edge.code or 128 + signal.SIGINT
    finally:
        edge.done()
    if edge.error is not None:
        sys.stderr.write(_crash_sentence(edge.error) + "\n")
        return 1
    if edge.code:
        return edge.code
    return 0 if app.had_source else 3


class _Edge:
    """The terminal as it was found, and every way of leaving it."""

    def __init__(self, app: DashboardApp) -> None:
        self._app = app
        self._descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
        self._before = termios.tcgetattr(self._descriptor)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leaving = threading.Event()
        self._handlers: dict[int, Any] = {}
        self.code = 0
        self.error: BaseException | None = None

    async def main(self, plan: Plan) -> None:
        """Run until the app ends."""
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            # Not the loop's own signal handling: it would never run while the loop waits for a stalled terminal.
            self._handlers[number] = signal.signal(number, self._on_signal)
        watch = asyncio.create_task(self._watch_hangup())
        self._app.before_exit = self.hurry
        try:
            await self._app.run_async(mouse=plan.mouse)
        finally:
            watch.cancel()
        self.error = self._app.crash

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self.code = self.code or 128 + number
        self.hurry()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._app.exit)

    def hurry(self) -> None:
        """The app is about to end: after PATIENCE_S it is ended."""
        if not self._leaving.is_set():
            self._leaving.set()
            threading.Thread(target=self._force, daemon=True).start()

    def _force(self) -> None:
        time.sleep(PATIENCE_S)
        if self._leaving.is_set():
            self._leave(self.code or (0 if self._app.had_source else 3))

    def _leave(self, code: int) -> None:
        """End the process now.

        What the terminal has not taken is thrown away, or writing on would wait for it again.
        """
        try:
            self._app.source.stop()
        finally:
            try:
                termios.tcflush(self._descriptor, termios.TCOFLUSH)
                os.write(2, _RESTORE.encode())
                termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
            except (OSError, termios.error):
                pass  # the terminal is gone
            os._exit(code)

    async def _watch_hangup(self) -> None:
        """End when the terminal is gone but nobody told us: SIGHUP is ignored under nohup and in some container shells.

        Textual's input thread would then spin for ever, and `app.exit` would wait for it.
        """
        poll = select.poll()
        poll.register(self._descriptor, 0)
        while True:
            await asyncio.sleep(HANGUP_POLL_S)
            if any(what & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _fd, what in poll.poll(0)):
                self._leave(128 + signal.SIGHUP)

    def done(self) -> None:
        """The app has ended by itself: nothing needs to be forced."""
        self._leaving.clear()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
        except (OSError, termios.error):
            pass


def _crash_sentence(error: BaseException) -> str:
    """Write the traceback where it can be found, and say so in one sentence."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    for folder in (os.environ.get("XDG_STATE_HOME"), "~/.local/state", "/tmp"):
        if not folder:
            continue
        path = Path(folder).expanduser() / "gputui" / "crash.log"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError:
            continue
        return _("gputui ended because of a mistake of its own ({what}); please report {path}.").format(
            what=type(error).__name__, path=path
        )
    return _("gputui ended because of a mistake of its own: {what}.").format(what=repr(error))
