"""Every way of leaving the dashboard: the terminal as it was found, and the truth as exit code."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import termios
import threading
import time
from types import FrameType
from typing import TYPE_CHECKING, Any

from gputui.ui.terminal import crash
from gputui.ui.terminal.driver import EdgeDriver

if TYPE_CHECKING:
    from gputui.ui.app import DashboardApp
    from gputui.ui.terminal.plan import Plan

PATIENCE_S = 0.6
"""How long an exit may take before it is forced: a person who quits must not wait for a slow link."""
WATCH_S = 1.0
LAST_WORDS_S = 0.2
"""How long a terminal that takes nothing is offered the sequences that restore it."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL
_RESTORE = (
    "\x1b\\\x1b[?2026l\x1b[<u\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l"
    "\x1b[?2048l\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l"
)
"""Ends a sequence that was cut off, then turns off everything textual turns on: synchronized output, kitty keys, mouse,
focus, paste, resize reports, screen.
"""


def run(app: DashboardApp, plan: Plan) -> int:
    """Run the app; see gputui.ui.terminal.run."""
    edge = _Edge(app)
    edge.listen()
    try:
        asyncio.run(edge.main(plan))
    except BaseException as error:  # whatever it is: the terminal comes first, then one sentence
        edge.failed(error)
    edge.done()
    if edge.error is not None:
        crash.say(crash.crash_sentence(edge.error))
    return edge.code


class _Edge:
    """The terminal as it was found, and every way of leaving it."""

    def __init__(self, app: DashboardApp) -> None:
        self._app = app
        app.driver_class = EdgeDriver
        app.before_exit = self.hurry
        self._descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
        self._before = termios.tcgetattr(self._descriptor)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake_read, self._wake_write = os.pipe()
        self._deadline: float | None = None
        self._ended = False
        self._ending = threading.Lock()
        self._handlers: dict[int, Any] = {}
        self._thread_hook = threading.excepthook
        self._signal = 0
        self._cut_off = False
        self.error: BaseException | None = None

    @property
    def code(self) -> int:
        """The exit code. A mistake of ours goes before the signal it may have come with."""
        if self.error is not None:
            return 1
        if self._signal:
            return 128 + self._signal
        return 0 if self._app.had_source else 3

    def listen(self) -> None:
        """Take the signals, before asyncio takes SIGINT.

        Not the loop's own signal handling: it would never run while the loop waits for something.
        """
        for number in _SIGNALS:
            self._handlers[number] = signal.signal(number, self._on_signal) or signal.SIG_DFL
        threading.excepthook = self._thread_failed
        threading.Thread(target=self._watch, name="gputui-terminal", daemon=True).start()

    async def main(self, plan: Plan) -> None:
        """Run until the app ends."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._callback_failed)
        if not self._signal:
            await self._app.run_async(mouse=plan.mouse)
        self.error = self.error or self._app.crash

    def hurry(self) -> None:
        """The app is about to end: after PATIENCE_S it is ended. No lock, no thread: a signal handler calls this."""
        if self._deadline is None:
            self._deadline = time.monotonic() + PATIENCE_S
            os.write(self._wake_write, b"!")

    def failed(self, error: BaseException) -> None:
        """Something broke that textual does not see: end, and say so afterwards."""
        if isinstance(error, KeyboardInterrupt):
            self._signal = self._signal or signal.SIGINT
        else:
            self.error = self.error or error
        self.hurry()
        self._exit_app()

    def done(self) -> None:
        """The app has ended: nothing needs to be forced. If it broke half-way, the terminal is put back here."""
        with self._ending:
            self._ended = True
        os.write(self._wake_write, b"!")
        for number, handler in (*self._handlers.items(), (signal.SIGTSTP, signal.SIG_DFL)):
            signal.signal(number, handler)
        threading.excepthook = self._thread_hook
        driver = self._driver
        if driver is not None and driver.on_screen:
            driver.exit_event.set()  # or its input thread keeps the process alive
            terminal = self._put_back("")
            os.dup2(terminal, 2)
            os.close(terminal)
        else:
            self._set_modes()

    @property
    def _driver(self) -> EdgeDriver | None:
        driver = getattr(self._app, "_driver", None)
        return driver if isinstance(driver, EdgeDriver) else None

    def _exit_app(self) -> None:
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._app.exit)
        except RuntimeError:
            pass  # the loop has ended before us

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signal = self._signal or number
        driver = self._driver
        if driver is not None and not driver.on_screen and driver.attrs_before is not None:
            # Stopped by ctrl+z, then ended by `kill %1`: the shell has the terminal, and to touch it from the
            # background would stop us again.
            self._end(restore=False)
        self.hurry()
        self._exit_app()

    def _thread_failed(self, about: threading.ExceptHookArgs) -> None:
        """A thread broke; its traceback must not be written over the screen."""
        if isinstance(about.exc_value, OSError) and (self._cut_off or self._terminal_is_gone()):
            return  # the writer, in `_put_back`, or while `_watch` ends the program
        if about.exc_value is not None:
            self.failed(about.exc_value)

    def _callback_failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A callback of ours broke, which asyncio would only log. What textual does with its own tasks is its own."""
        error = context.get("exception")
        if error is not None and "handle" in context:
            self.failed(error)

    def _terminal_is_gone(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, 0)
        return any(what & _GONE for _descriptor, what in poll.poll(0))

    def _watch(self) -> None:
        """In a thread of its own, since the event loop may be the one that waits: end when it is time to.

        That is when an exit takes too long, and when the terminal is gone but nobody told us: SIGHUP is ignored under
        nohup and in some container shells. Textual's input thread would then spin for ever, and `app.exit` would wait
        for it. After a crash textual exits by itself, so the clock for that starts here.
        """
        poll = select.poll()
        poll.register(self._descriptor, 0)
        poll.register(self._wake_read, select.POLLIN)
        while not self._ended:
            left_s = WATCH_S if self._deadline is None else self._deadline - time.monotonic()
            if left_s <= 0:
                self._end(restore=True)
                return
            for descriptor, what in poll.poll(int(left_s * 1000) + 1):
                if descriptor == self._wake_read:
                    os.read(self._wake_read, 64)
                elif what & _GONE:
                    self._signal = self._signal or signal.SIGHUP
                    self._end(restore=False)
                    return
            if self._app.crash is not None:
                self.hurry()

    def _end(self, restore: bool) -> None:
        """End the process now, whoever else is still waiting for something."""
        if not self._ending.acquire(timeout=PATIENCE_S) or self._ended:
            return  # somebody else is at it
        try:
            self._app.source.stop()
            self.error = self.error or self._app.crash
            sentence = "" if self.error is None else crash.crash_sentence(self.error) + "\n"
            if restore:
                self._put_back(sentence)
        finally:
            os._exit(self.code)

    def _put_back(self, sentence: str) -> int:
        """Restore the terminal although textual's writer may be in the middle of a frame the terminal does not take.

        That frame is thrown away: what follows would wait behind it, and on a screen given back it is rubbish. Returns
        a descriptor of the terminal; number 2 is none any more.
        """
        terminal = os.dup(2)
        waits = os.get_blocking(terminal)
        try:
            self._cut_off = True
            os.set_blocking(terminal, False)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            writer = self._driver.forget_output() if self._driver is not None else None
            termios.tcflush(terminal, termios.TCOFLUSH)
            # A write under way holds the terminal and sleeps on; starting the flow wakes it up. It fills the room once
            # more and ends, since it must not wait any longer. Only then nothing comes after what restores.
            termios.tcflow(terminal, termios.TCOOFF)
            termios.tcflow(terminal, termios.TCOON)
            if writer is not None:
                writer.join(LAST_WORDS_S)
                termios.tcflush(terminal, termios.TCOFLUSH)
            _offer(terminal, (_RESTORE + sentence).encode("utf-8", "replace"))
        except (OSError, termios.error):
            pass  # the terminal is gone
        finally:
            try:
                os.set_blocking(terminal, waits)
            except OSError:
                pass
        self._set_modes()
        return terminal

    def _set_modes(self) -> None:
        try:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)
        except (OSError, termios.error):
            pass  # the terminal is gone


def _offer(terminal: int, data: bytes) -> None:
    """Write without waiting for long."""
    until = time.monotonic() + LAST_WORDS_S
    poll = select.poll()
    poll.register(terminal, select.POLLOUT)
    while data and (left := until - time.monotonic()) > 0:
        if poll.poll(int(left * 1000) + 1):
            try:
                data = data[os.write(terminal, data) :]
            except BlockingIOError:
                time.sleep(0.005)
