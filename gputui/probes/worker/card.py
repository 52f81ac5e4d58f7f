"""The card while a probe runs, read by this process itself: the driver's library by ctypes, getters only.

A probe must be safe without the program that started it, so it does not rely on its readings.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

PERIOD_S = 0.2
_NAMES = (
    ("temperature_c", "nvmlDeviceGetTemperature", (0,), 1.0),
    ("power_w", "nvmlDeviceGetPowerUsage", (), 1e-3),
    ("sm_mhz", "nvmlDeviceGetClockInfo", (1,), 1.0),
    ("generation", "nvmlDeviceGetCurrPcieLinkGeneration", (), 1.0),
    ("lanes", "nvmlDeviceGetCurrPcieLinkWidth", (), 1.0),
)
_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
_HARD = 0x40 | 0x80
"""HW thermal slowdown and power brake."""


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Reader:
    """One card by UUID. Readings that fail are left out. Raises OSError when there is no library or no such card."""

    def __init__(self, uuid: str, library: str = "libnvidia-ml.so.1") -> None:
        self._nvml = ctypes.CDLL(library)
        self._handle = ctypes.c_void_p()
        if self._nvml.nvmlInit_v2() != 0:
            raise OSError("the driver's library does not start")
        if self._nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self._handle)) != 0:
            raise OSError("the driver does not know " + uuid)

    def read(self) -> dict[str, float]:
        """temperature_c, power_w, sm_mhz, generation, lanes, reasons (mask), used_mib."""
        out: dict[str, float] = {}
        for name, function, arguments, factor in _NAMES:
            value = self._number(function, arguments)
            if value is not None:
                out[name] = value * factor
        mask = ctypes.c_ulonglong()
        for function in _REASONS:
            if self._ask(function, ctypes.byref(mask)):
                out["reasons"] = float(mask.value)
                break
        memory = _Memory()
        if self._ask("nvmlDeviceGetMemoryInfo", ctypes.byref(memory)):
            out["used_mib"] = memory.used / 2**20
        return out

    def _number(self, function: str, arguments: tuple[int, ...]) -> float | None:
        value = ctypes.c_uint()
        if not self._ask(function, *arguments, ctypes.byref(value)) or value.value == 0xFFFFFFFF:
            return None
        return float(value.value)

    def _ask(self, function: str, *arguments: Any) -> bool:
        try:
            call = getattr(self._nvml, function)
        except AttributeError:
            return False
        return bool(call(self._handle, *arguments) == 0)


class Limits:
    """When a probe must stop. Degrees Celsius; grown_mib: memory that others took since the start."""

    def __init__(self, stop_c: float | None, grown_mib: float = 256.0, blind_s: float = 5.0) -> None:
        self.stop_c, self.grown_mib, self.blind_s = stop_c, grown_mib, blind_s


class Watch:
    """Reads the card five times a second in a thread, keeps the series, and asks the probe to stop when it must."""

    def __init__(
        self,
        read: Callable[[], dict[str, float]],
        limits: Limits,
        stop: Callable[[str], None],
        own: Callable[[], float],
    ) -> None:
        self._read, self._limits, self._stop, self._own = read, limits, stop, own
        self.series: list[tuple[float, dict[str, float]]] = []
        self._hard = 0
        self._seen = time.monotonic()
        self._settled = False
        self._others: float | None = None
        self._more = 0

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self.look(time.monotonic())
            time.sleep(PERIOD_S)

    def look(self, now: float) -> None:
        """One reading and what follows from it."""
        seen = self._read()
        self.series.append((now, seen))
        heat = seen.get("temperature_c")
        if heat is None:
            if self._limits.stop_c is not None and now - self._seen > self._limits.blind_s:
                self._stop("temperature-unreadable")
        else:
            self._seen = now
            if self._limits.stop_c is not None and heat >= self._limits.stop_c:
                self._stop("too-hot")
        self._hard = self._hard + 1 if int(seen.get("reasons", 0)) & _HARD else 0
        if self._hard >= 2:
            self._stop("slowed-by-hardware")
        self._look_for_others(seen.get("used_mib"))

    def _look_for_others(self, used: float | None) -> None:
        """Memory that is neither ours nor was there before: somebody's job has begun (three readings in a row)."""
        if used is None or not self._settled:  # our own context alone takes 250 to 600 MiB
            return
        others = used - self._own()
        if self._others is None or others < self._others:
            self._others = others
        self._more = self._more + 1 if others - self._others > self._limits.grown_mib else 0
        if self._more >= 3:
            self._stop("contended")

    def settle(self) -> None:
        """The context and the buffers are there: what is in use now and not ours is the state to compare with."""
        self._others, self._more, self._settled = None, 0, True

    def between(self, start: float, end: float) -> list[dict[str, float]]:
        """The readings of a span of monotonic time."""
        return [seen for at, seen in list(self.series) if start <= at <= end]
