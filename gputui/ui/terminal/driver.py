"""Textual's driver for a POSIX terminal, with the four things it lacks at the edges.

Its private parts that are used here (`_writer_thread._queue`, `_get_terminal_size`, `_run_input_thread`) are looked for
by tests/pty/test_textual.py.
"""

from __future__ import annotations

import codecs
import functools
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

SIZE_UNKNOWN = (80, 24)
MOST_WAITING = 3
"""Writes that may wait behind the one under way: with synchronized output a frame is three."""
SYNC_START = "\x1b[?2026h"
LONGEST_CONTROL = 64
"""Characters. What is longer is a frame; modes and queries are all shorter, and are never left out."""
BEHIND_S = 0.15
"""A burst, such as a change of screens, is written in less."""
CAUGHT_UP_S = 0.1
MOST_ODD_INPUT = 1000
"""Times the reading of keys is taken up again before it counts as a mistake of ours."""


def _forgiving_decoder(name: str) -> Any:
    """A byte that is no UTF-8 is one odd key, instead of the end of textual's input thread (textual #6668).

    Old mouse reports, as some terminals send them after a tmux reattach, have such bytes.
    """
    return functools.partial(codecs.getincrementaldecoder(name), errors="replace")


if hasattr(linux_driver, "getincrementaldecoder"):
    linux_driver.getincrementaldecoder = _forgiving_decoder


class EdgeDriver(LinuxDriver):
    """The driver, which also knows whether the terminal is in its hands."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.on_screen = False
        """The terminal is in the modes a screen needs, and somebody must put it back."""
        self._left_out = False
        self._in_time = 0.0

    def start_application_mode(self) -> None:
        """Take the terminal. Not when we were sent on in the background: then textual goes back to sleep."""
        before = self._writer_thread
        # In the background textual only finds out that it must sleep again. A `kill %1` continues us and ends us at
        # once, and must then find that the terminal is not ours.
        self.on_screen = self.attrs_before is None or self._in_foreground()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.on_screen = self._writer_thread is not before
        queue = getattr(self._writer_thread, "_queue", None)
        if queue is not None:
            # Its 30 writes fill up while a terminal is stalled, and then the event loop waits: no key is heard, no
            # sample taken. Nothing piles up without it, since `write` leaves frames out.
            queue.maxsize = 0

    def _in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self.fileno) == os.getpgrp()
        except OSError:
            return True

    def write(self, data: str) -> None:
        """Write, unless it is a frame and the terminal is behind: a key that draws a screen must not queue up another
        one on a slow link. When the terminal has caught up, the screen is drawn whole.
        """
        queue = getattr(self._writer_thread, "_queue", None)
        now = time.monotonic()
        if queue is None or queue.qsize() <= MOST_WAITING:
            self._in_time = now
        frame = len(data) > LONGEST_CONTROL or data == SYNC_START
        if frame and now - self._in_time > BEHIND_S:
            if not self._left_out:
                self._left_out = True
                self._loop.call_later(CAUGHT_UP_S, self._catch_up)
            return
        super().write(data)

    def _catch_up(self) -> None:
        queue = getattr(self._writer_thread, "_queue", None)
        if not self.on_screen:
            self._left_out = False
        elif queue is not None and queue.qsize():
            self._loop.call_later(CAUGHT_UP_S, self._catch_up)
        else:
            self._left_out = False
            self._app.refresh()

    def close(self) -> None:
        """Textual waits here until everything is written; then the terminal is back."""
        super().close()
        self.on_screen = False

    def _disable_mouse_support(self) -> None:
        """Also take back the reports in pixels, which textual 8.2 leaves on."""
        super()._disable_mouse_support()
        if self._mouse_pixels:
            self.write("\x1b[?1016l")

    def forget_output(self) -> threading.Thread | None:
        """Let the writer end after the write that is under way. Returns it, to be waited for."""
        queue = getattr(self._writer_thread, "_queue", None)
        if queue is not None:
            with queue.mutex:
                queue.queue.clear()
            queue.put_nowait(None)
        return self._writer_thread

    def _get_terminal_size(self) -> tuple[int, int]:
        """(columns, rows): of the window, else what COLUMNS and LINES say, else 80×24.

        Some ways into a container give a window of 0×0.
        """
        given = (_positive(os.environ.get("COLUMNS")), _positive(os.environ.get("LINES")))
        for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
            try:
                window = os.get_terminal_size(stream.fileno()) if stream is not None else (0, 0)
            except (OSError, ValueError):
                continue
            if window[0] > 0 and window[1] > 0:
                return window[0], window[1]
        return given[0] or SIZE_UNKNOWN[0], given[1] or SIZE_UNKNOWN[1]

    def _run_input_thread(self) -> None:
        """Read keys until the end; go on after input textual's parser cannot read, such as `ESC [ 9 : R u`."""
        for _attempt in range(MOST_ODD_INPUT):
            try:
                self.run_input_thread()
                return
            except (ValueError, OverflowError):
                if self.exit_event.is_set():
                    return
            except OSError:
                return  # the terminal is gone; who watches for that ends the program
        super()._run_input_thread()


def _positive(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
