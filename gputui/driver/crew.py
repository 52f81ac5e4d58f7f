"""Threads that read cards: one while all goes well, one more whenever a card keeps the last one waiting.

A card that hangs must not stop the others, so it must have a thread to itself. Giving every card its own from the start
costs memory (64 cards: 5 MB) and, worse, makes them fight for the interpreter lock at every driver call. So one thread
reads card after card, and only when it has been with one card for longer than `patience_s` does the next thread take
over the rest; the first keeps its card for as long as that takes. There are never more threads than cards that hang
plus two.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic


class Crew:
    """Does jobs in order. A job is a callable that must not raise."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._jobs: deque[Callable[[], None]] = deque()
        self._idle = 0
        self._called = 0
        self._progress = 0.0

    def add(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Begin the jobs, behind those not yet begun."""
        with self._ready:
            self._jobs.extend(jobs)
            if self._jobs:
                self._call_one()

    def help(self, patience_s: float) -> float | None:
        """Bring in one more thread if none has taken a job for `patience_s`.

        Returns the seconds after which to ask again, None when every job is taken.
        """
        with self._ready:
            if not self._jobs:
                return None
            left = self._progress + patience_s - monotonic()
            if left <= 0:
                self._call_one()
                return patience_s
            return left

    def _call_one(self) -> None:
        self._progress = monotonic()
        if self._idle > self._called:
            self._called += 1
            self._ready.notify()
            return
        try:
            threading.Thread(target=self._work, daemon=True).start()
        except RuntimeError:  # no more threads allowed here (pids cgroup); those there are go on
            pass

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._jobs:
                    if self._idle > self._called:
                        return  # one spare is enough
                    self._idle += 1
                    while not self._called:
                        self._ready.wait()
                    self._called -= 1
                    self._idle -= 1
                job = self._jobs.popleft()
                self._progress = monotonic()
            job()
