"""What this program itself costs, so that nobody must wonder whether it disturbs the job."""

from __future__ import annotations

import os
import time
from pathlib import Path

from gputui.model.wire import Cost
from gputui.text import _
from gputui.ui.draw.rows import Row, fit


class OwnCost:
    """CPU of screen and reader together since the last look, memory, and what a poll takes."""

    def __init__(self) -> None:
        self._before = (time.monotonic(), sum(os.times()[:2]), 0.0)
        self._share = 0.0

    def row(self, cost: Cost | None, width: int) -> Row:
        """One line."""
        now, own, worker = time.monotonic(), sum(os.times()[:2]), cost.cpu_s if cost else 0.0
        passed = now - self._before[0]
        if passed >= 2.0:
            self._share = 100.0 * (own - self._before[1] + worker - self._before[2]) / passed
            self._before = (now, own, worker)
        parts = [
            _("this program: {cpu:.1f} % of a core").format(cpu=self._share),
            _("{mib:.0f} MiB here").format(mib=_resident_mib()),
        ]
        if cost is not None:
            parts.append(_("a poll takes {ms:.1f} ms").format(ms=1000 * cost.poll_s))
            parts.append(_("{calls} driver calls").format(calls=cost.calls))
        return ((fit(" " + " · ".join(parts), width), "label"),)


def _resident_mib() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
