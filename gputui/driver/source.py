"""What the screen and the commands see of a driver: something that fills a fleet and never blocks.

`Watcher` (watcher.py) runs a worker process; `Inline` (inline.py) runs a simulated host or a file in this process
with a given clock, for tests, pictures and files. Neither method below may wait for a driver.
"""

from __future__ import annotations

from typing import Protocol

from gputui.model.fleet import Fleet


class Source(Protocol):
    """Fills `fleet`."""

    fleet: Fleet

    def start(self) -> None:
        """Begin. Returns at once; what comes of it is in the fleet."""

    def fileno(self) -> int | None:
        """A descriptor that becomes readable when `pump` has something to do, or None. May change after `tick`."""

    def pump(self) -> bool:
        """Take everything that has arrived, without waiting. True when something came."""

    def tick(self) -> None:
        """Judge silence and keep the worker running; call about once a second, after `pump`."""

    def set_interval(self, seconds: float) -> None:
        """Sample every so many seconds from now on, 0.25 to 60."""

    def restart(self) -> None:
        """Start the worker again, because a person asked."""

    def stop(self) -> None:
        """Let go. Returns at once even when the worker cannot be killed."""
