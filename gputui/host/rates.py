"""How busy this container's CPU, disks and network are, between two looks: what `waiting-for-host` is seen by.

Disk and CPU are counted for this container's control group where the kernel does so; else disks are the whole
machine's, and `host.disk.scope` says which. Network counters belong to the network namespace. No name of a device or
interface leaves this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gputui.host.cgroup import Cgroup
from gputui.model.reading import Absent, Reading, Why

SECTOR = 512
"""Bytes of a sector in /proc/diskstats whatever the disk's own (Documentation/admin-guide/iostats.rst)."""
LEAST_S = 0.2
"""Two looks closer than this are one: counters move in steps, and a rate over so short a time is noise."""
CONTAINER, MACHINE = "container", "machine"
_UNSUPPORTED = Absent(Why.UNSUPPORTED)
_STACKED = re.compile(r"(?:dm-|md|loop|ram|zram|sr|fd)\d")
"""Block devices that stand on others, which are counted themselves, or that are no disks."""
_SESSIONS = ("user.slice", "init.scope")
_SCOPE_OF_A_CONTAINER = re.compile(r"docker|libpod|crio|containerd|nerdctl|lxc")

Pair = tuple[int, int]
"""Bytes read and written, or received and sent."""


def disk_counters(diskstats: str, whole: Sequence[str] | None = None) -> dict[str, Pair]:
    """Bytes per disk from /proc/diskstats. whole: names in /sys/block; None tells partitions by their names.

    A device that stands on others counts only when there is nothing else.
    """
    found: dict[str, Pair] = {}
    for line in diskstats.splitlines():
        words = line.split()
        if len(words) >= 10 and words[5].isdecimal() and words[9].isdecimal():
            found[words[2]] = int(words[5]) * SECTOR, int(words[9]) * SECTOR
    disks = {name: pair for name, pair in found.items() if (name in whole if whole else not _partition(name, found))}
    firm = {name: pair for name, pair in disks.items() if not _STACKED.match(name)}
    return firm or disks


def _partition(name: str, among: Mapping[str, Pair]) -> bool:
    """nvme0n1p2 of nvme0n1, sda1 of sda."""
    stem = re.sub(r"p?\d+$", "", name)
    return stem != name and stem in among


def io_counters(text: str) -> dict[str, Pair]:
    """Bytes per device number from a version 2 group's io.stat."""
    found: dict[str, Pair] = {}
    for line in text.splitlines():
        device, _, rest = line.partition(" ")
        values = dict(word.partition("=")[::2] for word in rest.split())
        read, written = values.get("rbytes", ""), values.get("wbytes", "")
        if re.fullmatch(r"\d+:\d+", device) and read.isdecimal() and written.isdecimal():
            found[device] = int(read), int(written)
    return found


def blkio_counters(text: str) -> dict[str, Pair] | None:
    """Bytes per device number from a version 1 group's blkio.throttle.io_service_bytes; None where it counts nothing.

    The root group of version 1 has only its total, 0.
    """
    found: dict[str, Pair] = {}
    for device, way, count in re.findall(r"^(\d+:\d+) (Read|Write) (\d+)$", text, re.MULTILINE):
        read, written = found.get(device, (0, 0))
        found[device] = (read + int(count), written) if way == "Read" else (read, written + int(count))
    return found or None


def network_counters(dev: str, physical: Sequence[str] = ()) -> dict[str, Pair]:
    """Bytes per interface from /proc/net/dev, without loopback.

    physical: interfaces with hardware behind them. Where there are any only they count, for bridges, bonds and the
    ends of containers' cables carry the same bytes again; a container has none and counts what it has.
    """
    found: dict[str, Pair] = {}
    for line in dev.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and len(words) >= 9 and words[0].isdecimal() and words[8].isdecimal() and name.strip() != "lo":
            found[name.strip()] = int(words[0]), int(words[8])
    return {name: pair for name, pair in found.items() if name in physical} or found


def named_counters(text: str) -> dict[str, int]:
    """`name value` lines, such as cpu.stat."""
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.MULTILINE)}


def pressure(text: str, what: str) -> float | None:
    """Percent of the last ten seconds in which some or all (`what`: some, full) tasks waited (PSI, avg10)."""
    found = re.search(rf"^{what} avg10=([0-9.]+)", text, re.MULTILINE)
    return float(found[1]) if found else None


def container_path(path: str) -> tuple[str, ...]:
    """The part of a control group's path that is the container: without the login session or service within it.

    On a machine of one's own nothing is left, which is the whole machine: the job may run in another session.
    """
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for at, part in enumerate(parts):
        own = part == "system.slice" and not any(_SCOPE_OF_A_CONTAINER.search(below) for below in parts[at + 1 :])
        if own or part in _SESSIONS:
            return tuple(parts[:at])
    return tuple(parts)


class _Group(Cgroup):
    """Counter files of this container's control group."""

    def text(self, controller: str, *names: str) -> str | None:
        """The first of these files that there is, in the container's group or the nearest one above it."""
        mount = self._mount if self._unified else self._mount / controller
        parts = container_path(self._paths.get("" if self._unified else controller, "/"))
        for length in range(len(parts), -1, -1):
            for name in names:
                text = _text(mount.joinpath(*parts[:length]) / name)
                if text is not None:
                    return text
        return None

    def disks(self) -> dict[str, Pair] | None:
        """Bytes per device number, None where this group's are not counted."""
        if self._unified:
            text = self.text("io", "io.stat")
            return None if text is None else io_counters(text)
        names = ("blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_service_bytes")
        return blkio_counters(self.text("blkio", *names) or "")

    def cpu(self) -> dict[str, int]:
        """usage_usec, nr_periods, nr_throttled; as many as there are."""
        counters = named_counters(self.text("cpu", "cpu.stat") or "")
        if not self._unified:
            usage = (self.text("cpuacct", "cpuacct.usage") or "").strip()
            if usage.isdecimal():
                counters["usage_usec"] = int(usage) // 1000
        return counters


@dataclass(frozen=True)
class _Look:
    """All counters at one moment. scope: whose the disks are; None when nobody's could be read."""

    mono: float
    cpu: Mapping[str, int]
    disks: Mapping[str, Pair]
    scope: str | None
    network: Mapping[str, Pair] | None


class Rates:
    """Looks at the counters, and says how fast they moved since the look before. One thread at a time."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._group = _Group(root)
        self._before: _Look | None = None
        self._last: dict[str, Reading] = {}

    def read(self, mono: float, cores: float | None = None) -> Mapping[str, Reading]:
        """The readings `host.…` of catalog.HOST_RATE_SPECS; rates are absent at the first look.

        cores: how many this container may use (host.cpu.quota, or host.cpu.count without a quota).
        """
        before = self._before
        if before is not None and 0 <= mono - before.mono < LEAST_S:
            return self._last
        now = self._before = self._look(mono)
        passed = 0.0 if before is None else mono - before.mono
        self._last = {
            **_cpu(before, now, passed, cores),
            **_flow(("host.disk.read", "host.disk.write"), *_disks(before, now), passed),
            "host.disk.scope": now.scope if now.scope is not None else _UNSUPPORTED,
            **_flow(
                ("host.network.rx", "host.network.tx"), None if before is None else before.network, now.network, passed
            ),
            **self._pressure(),
        }
        return self._last

    def _look(self, mono: float) -> _Look:
        stats = _text(self._root / "proc/diskstats")
        disks, scope = self._group.disks(), CONTAINER
        if disks is not None:
            disks = self._firm(disks, stats or "")
        elif stats is not None:
            disks, scope = disk_counters(stats, _names(self._root / "sys/block")), MACHINE
        dev = _text(self._root / "proc/net/dev")
        interfaces = self._root / "sys/class/net"
        physical = [name for name in _names(interfaces) if (interfaces / name / "device").exists()]
        network = None if dev is None else network_counters(dev, physical)
        return _Look(mono, self._group.cpu(), disks or {}, None if disks is None else scope, network)

    @staticmethod
    def _firm(disks: dict[str, Pair], diskstats: str) -> dict[str, Pair]:
        """Without devices that stand on others, unless only those have counted anything."""
        names = {
            f"{words[0]}:{words[1]}": words[2] for words in map(str.split, diskstats.splitlines()) if len(words) > 2
        }
        firm = {device: pair for device, pair in disks.items() if not _STACKED.match(names.get(device, ""))}
        return firm if any(map(any, firm.values())) or not any(map(any, disks.values())) else disks

    def _pressure(self) -> dict[str, Reading]:
        out: dict[str, Reading] = {}
        for what in ("memory", "io"):
            text = self._group.pressure(what) or _text(self._root / "proc/pressure" / what) or ""
            found = pressure(text, "full")
            out[f"host.pressure.{what}.full"] = _UNSUPPORTED if found is None else found
        return out


def _cpu(before: _Look | None, now: _Look, passed: float, cores: float | None) -> dict[str, Reading]:
    """Percent of the CPU time this container may use that it used, and of its periods in which it was held back."""
    used = _grown(before.cpu if before else {}, now.cpu, "usage_usec")
    share: Reading = Absent(Why.NOT_ASKED) if "usage_usec" in now.cpu and cores else _UNSUPPORTED
    if used is not None and cores and passed > 0:
        share = round(min(100.0, used / 1e6 / passed / cores * 100), 1)
    periods = _grown(before.cpu if before else {}, now.cpu, "nr_periods")
    held = _grown(before.cpu if before else {}, now.cpu, "nr_throttled")
    # Without a quota the kernel counts no periods at all: nothing can be held back, and nothing says so.
    throttled: Reading = Absent(Why.NOT_ASKED) if now.cpu.get("nr_periods") else _UNSUPPORTED
    if periods and held is not None:
        throttled = round(min(100.0, held / periods * 100), 1)
    elif periods == 0 and now.cpu.get("nr_periods"):
        throttled = 0.0
    return {"host.cpu.of_quota": share, "host.cpu.throttled": throttled}


def _grown(before: Mapping[str, int], now: Mapping[str, int], name: str) -> int | None:
    """How much a counter grew; None when it was not there twice or went back (another group, a new boot)."""
    if name not in before or name not in now or now[name] < before[name]:
        return None
    return now[name] - before[name]


def _disks(before: _Look | None, now: _Look) -> tuple[Mapping[str, Pair] | None, Mapping[str, Pair] | None]:
    """The disks of two looks. A device that a group has not touched yet is not listed, which is a counter at 0."""
    if now.scope is None:
        return None, None
    if before is None or before.scope != now.scope:
        return None, now.disks
    if now.scope == CONTAINER:
        return {**dict.fromkeys(now.disks, (0, 0)), **before.disks}, now.disks
    return before.disks, now.disks


def _flow(
    names: tuple[str, str], before: Mapping[str, Pair] | None, now: Mapping[str, Pair] | None, passed: float
) -> dict[str, Reading]:
    """Whole bytes a second in both directions, summed over what was there at both looks.

    Unknown when nothing was, or when a counter went back: a device was taken away and another came.
    """
    if now is None:
        return dict.fromkeys(names, _UNSUPPORTED)
    both = before.keys() & now.keys() if before is not None else ()
    if before is None or passed <= 0 or (now and not both):
        return dict.fromkeys(names, Absent(Why.NOT_ASKED))
    out: dict[str, Reading] = {}
    for way, name in enumerate(names):
        grown = [now[device][way] - before[device][way] for device in both]
        out[name] = Absent(Why.NOT_ASKED) if min(grown, default=0) < 0 else int(sum(grown) / passed)
    return out


def _names(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(entry.name for entry in folder.iterdir())
    except OSError:
        return ()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
