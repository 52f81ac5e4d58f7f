"""Which driver call is under way, and since when: what a heartbeat reports while a call hangs.

A driver call can sleep in the kernel for minutes and nothing can interrupt it. The only way to say which call that is,
is to have written it down before. `begin` and `end` therefore surround every driver call and cost a few hundred
nanoseconds together; nothing here takes a lock, because each thread writes its own slot only and a dict store is one
bytecode under the interpreter lock.

    from gputui.driver.ledger import LEDGER

    LEDGER.begin("nvmlDeviceGetPowerUsage", uuid)
    try:
        …
    finally:
        LEDGER.end()
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable
from itertools import count
from time import monotonic

from gputui.model.wire import Call


class Ledger:
    """Calls under way, one a thread, and how many there have been."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._calls: dict[int, tuple[str, str | None, float]] = {}
        self._counter = count(1)
        self._count = 0

    def begin(self, name: str, uuid: str | None = None) -> None:
        """This thread is about to call `name`, for the card `uuid` or for none in particular."""
        self._count = next(self._counter)
        self._calls[get_ident()] = (name, uuid, self._clock())

    def end(self) -> None:
        """This thread's call came back. Without a `begin` it does nothing."""
        self._calls.pop(get_ident(), None)

    def under_way(self) -> tuple[Call, ...]:
        """Calls that have begun and not ended, oldest first. Any thread may ask."""
        while True:
            try:
                calls = list(self._calls.values())
                break
            except RuntimeError:  # a slot came or went while we copied; it is short, so copy again
                continue
        return tuple(Call(*call) for call in sorted(calls, key=lambda call: call[2]))

    @property
    def count(self) -> int:
        """Driver calls begun so far, over all threads; behind by at most one a thread."""
        return self._count


LEDGER = Ledger()
"""The worker process has one."""
