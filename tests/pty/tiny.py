"""The smallest app with the terminal's edge around it: one cell that counts. Its argument says how it breaks.

With a second argument, the file it writes what `writer_behind` says to, once a tick.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

from gputui.ui import terminal

TICK_S = 0.05


class Source:
    """What the edge wants of a source."""

    def stop(self) -> None:
        """Nothing runs."""


def main() -> int:
    """Run it the way the dashboard is run."""
    plan = terminal.plan_here()
    terminal.prepare_environment(plan)
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    breaks = sys.argv[1] if len(sys.argv) > 1 else ""
    record = sys.argv[2] if len(sys.argv) > 2 else ""

    def mistake(*_: Any) -> None:
        raise RuntimeError("a mistake of ours")

    class Tiny(App[int]):
        CSS = "Static { height: 1fr; }"
        BINDINGS = [("q", "leave", ""), ("b", "broken", ""), ("ctrl+z", "suspend_process", "")]  # noqa: RUF012
        had_source = breaks != "no-source"
        source = Source()
        before_exit: Callable[[], None] = staticmethod(lambda: None)
        ticks = 0

        def compose(self) -> ComposeResult:
            if breaks == "compose":
                mistake()
            yield Static("begin", id="count")

        def on_mount(self) -> None:
            self.set_interval(TICK_S, self.tick)
            loop = asyncio.get_running_loop()
            if breaks == "timer":
                self.set_timer(0.3, mistake)
            elif breaks == "worker":
                self.run_worker(self.in_worker())
            elif breaks == "callback":
                loop.call_later(0.3, mistake)
            elif breaks == "thread":
                threading.Timer(0.3, mistake).start()
            elif breaks == "loop":
                loop.call_later(0.3, loop.stop)

        async def in_worker(self) -> None:
            await asyncio.sleep(0.3)
            mistake()

        def on_unmount(self) -> None:
            if breaks == "unmount":
                mistake()

        def tick(self) -> None:
            self.ticks += 1
            behind = terminal.writer_behind(self)
            if record:
                with open(record, "a") as file:
                    file.write(f"{int(behind)}\n")
            if not behind:
                filler = "-" * (self.ticks % 2) + "=" * 1500
                self.query_one("#count", Static).update(f"count {self.ticks} {filler}", layout=False)

        def action_broken(self) -> None:
            mistake()

        def action_leave(self) -> None:
            self.before_exit()
            self.exit(0)

        @property
        def crash(self) -> BaseException | None:
            return self._exception

        def _print_error_renderables(self) -> None:
            self._exit_renderables.clear()

    return terminal.run(Tiny(), plan)  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
