"""What the driver says about processes on a card. Who they are in this container is for gputui.host.processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from ctypes import byref, c_uint, c_ulonglong
from dataclasses import dataclass, replace
from typing import Any

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml import convert
from gputui.driver.nvml.asker import Asker
from gputui.host.processes import Claim
from gputui.model.reading import Absent, Reading, Why

KINDS = {"C": "Compute", "G": "Graphics", "M": "MPSCompute"}
VERSIONS = (3, 2, 1)
TRIES = 3
"""A list may grow between two calls; NVML says so with INSUFFICIENT_SIZE."""
BIGGEST_PID = 2**22
"""Linux's own limit (PID_MAX_LIMIT)."""
NO_INSTANCE = 0xFFFFFFFF
UTILIZATION = "nvmlDeviceGetProcessUtilization"
WINDOW_US = 5_000_000


@dataclass(frozen=True)
class Said:
    """The driver's list. state is "ok", "unreliable", or why there is no list."""

    claims: tuple[Claim, ...] | Absent
    state: Reading


class ProcessLists:
    """The process lists of one card."""

    def __init__(self) -> None:
        self._room = dict.fromkeys(KINDS, 32)
        self._refused: dict[tuple[str, int], int] = {}
        self._mps: list[Claim] = []
        self._utilization = _Utilization()

    def read(self, asker: Asker, nature: convert.Nature, with_mps: bool, mig: Mapping[tuple[int, int], str]) -> Said:
        """The lists together. `mig` names MIG devices by (GPU instance, compute instance); the MPS list, empty on
        nearly every machine, is only asked when `with_mps`.
        """
        claims: list[Claim] = []
        codes: list[int] = []
        for kind in KINDS:
            if kind == "M" and not with_mps:
                claims += self._mps
                continue
            code, found = self._list(asker, kind, mig)
            if found is None:
                return Said(Absent(Why.IMPLAUSIBLE), "unreliable")
            if kind == "M":
                self._mps = found
            else:
                codes.append(code)
            claims += found
        if nvml.SUCCESS not in codes:
            why = convert.absent("processes", codes[0], nature)
            return Said(why, why)
        merged = _merged(claims)
        return Said(tuple(self._utilization.add(asker, merged, nature)) if merged else (), "ok")

    def _list(self, asker: Asker, kind: str, mig: Mapping[tuple[int, int], str]) -> tuple[int, list[Claim] | None]:
        """Code and entries of the newest version that answers. None for the entries: every version that answers
        writes noise, as when driver 535.43.02 grew the structure under its v3 name (nvitop #75, gpustat #161).
        """
        first_code = nvml.FUNCTION_NOT_FOUND
        noise = False
        for version in VERSIONS:
            code = self._refused.get((kind, version))
            if code is None:
                code, entries = self._ask(asker, kind, version)
                if code in convert.NOT_AGAIN:
                    self._refused[kind, version] = code
                if code == nvml.SUCCESS:
                    if all(_plausible(entry.pid) for entry in entries):
                        return code, [_claim(entry, kind, version, mig) for entry in entries]
                    noise = True
                    continue
            if first_code == nvml.FUNCTION_NOT_FOUND:
                first_code = code
        return first_code, None if noise else []

    def _ask(self, asker: Asker, kind: str, version: int) -> tuple[int, list[Any]]:
        suffix = "" if version == 1 else f"_v{version}"
        name = f"nvmlDeviceGet{KINDS[kind]}RunningProcesses{suffix}"
        code = nvml.FUNCTION_NOT_FOUND
        for _ in range(TRIES):
            count = c_uint(self._room[kind])
            entries = nvml.process_array(version, count.value)
            code = asker.call(name, byref(count), entries)
            if code != nvml.INSUFFICIENT_SIZE:
                return code, list(entries[: min(count.value, len(entries))]) if code == nvml.SUCCESS else []
            self._room[kind] = min(65536, max(count.value, self._room[kind]) * 2)
        return code, []


class _Utilization:
    """Share of the SMs per process, over the time since it was last asked.

    The driver keeps a ring of samples and would hand out stale ones again and again (nvtop #15, #110), so it is asked
    only for those newer than the newest seen.
    """

    def __init__(self) -> None:
        self._last_us = 0
        self._room = 128
        self._refused: int | None = None

    def add(self, asker: Asker, claims: list[Claim], nature: convert.Nature) -> list[Claim]:
        first = self._last_us == 0
        code, samples = (self._refused, []) if self._refused is not None else self._ask(asker)
        if code in convert.NOT_AGAIN:
            self._refused = code
        if code not in (nvml.SUCCESS, nvml.NOT_FOUND):
            why = convert.absent("sm_percent", code, nature)
            return [replace(claim, sm_percent=why) for claim in claims]
        newest = max((sample.timeStamp for sample in samples), default=0)
        self._last_us = max(self._last_us, newest)
        if first:
            if abs(newest / 1e6 - time.time()) > WINDOW_US / 1e6:
                return claims  # how old these are cannot be told; the next ones are new
            samples = [sample for sample in samples if sample.timeStamp > newest - WINDOW_US]
        shares: dict[int, list[int]] = {}
        for sample in samples:
            if sample.smUtil <= 100:
                shares.setdefault(sample.pid, []).append(sample.smUtil)
        return [replace(claim, sm_percent=_mean(shares.get(claim.pid))) for claim in claims]

    def _ask(self, asker: Asker) -> tuple[int, list[Any]]:
        code = nvml.INSUFFICIENT_SIZE
        for _ in range(TRIES):
            count = c_uint(self._room)
            samples = nvml.utilization_array(count.value)
            code = asker.call(UTILIZATION, samples, byref(count), c_ulonglong(self._last_us))
            if code != nvml.INSUFFICIENT_SIZE:
                found = samples[: min(count.value, len(samples))] if code == nvml.SUCCESS else []
                return code, [sample for sample in found if sample.timeStamp > self._last_us]
            self._room = min(65536, max(count.value, self._room) * 2)
        return code, []


def _mean(values: list[int] | None) -> Reading:
    return round(sum(values) / len(values), 1) if values else 0


def _plausible(pid: int) -> bool:
    return 0 < pid <= BIGGEST_PID


def _claim(entry: Any, kind: str, version: int, mig: Mapping[tuple[int, int], str]) -> Claim:
    used = entry.usedGpuMemory
    memory: Reading = Absent(Why.UNSUPPORTED)
    if used != nvml.ALL_ONES_64:
        memory = convert.plausible("memory.used", convert.mib(used), None)
    uuid = None
    if version > 1 and entry.gpuInstanceId != NO_INSTANCE:
        uuid = mig.get((entry.gpuInstanceId, entry.computeInstanceId))
    return Claim(entry.pid, kind, memory, mig_uuid=uuid)


def _merged(claims: list[Claim]) -> list[Claim]:
    """One claim a PID and MIG device; its types joined, as a process may compute and draw."""
    merged: dict[tuple[int, str | None], Claim] = {}
    for claim in claims:
        key = claim.pid, claim.mig_uuid
        seen = merged.get(key)
        if seen is None:
            merged[key] = claim
        elif claim.type not in seen.type.split("+"):
            memory = claim.memory_mib if isinstance(seen.memory_mib, Absent) else seen.memory_mib
            merged[key] = replace(seen, type=f"{seen.type}+{claim.type}", memory_mib=memory)
    return list(merged.values())
