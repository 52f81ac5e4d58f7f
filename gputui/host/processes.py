"""Who the processes on a card are in this container.

The driver names PIDs. In a container they may be the host's, so a number alone proves nothing: our PID 4100 may be
somebody else's. A process counts as ours only when it has the card's device file open.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gputui.model.card import Process
from gputui.model.reading import Absent, Reading, Why

SCAN_S = 5.0
IDLE_SCAN_S = 10.0
"""How soon a process without a device file is looked at again; there may be thousands. A job that opens the card must
be known before the sharing rules speak of load that is nobody's, at the earliest after 18 s.
"""
EARLY_S = 0.5
_NVIDIA_MAJOR = 195
_WSL = "/dev/dxg"
_FIRST_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of include/linux/proc_ns.h: not inside a container's PID namespace."""


@dataclass(frozen=True)
class Claim:
    """One entry of the driver's process list."""

    pid: int
    type: str
    memory_mib: Reading
    sm_percent: Reading | None = None
    mig_uuid: str | None = None


@dataclass(frozen=True)
class _Held:
    """Device files a process has open: minor numbers; any: a file that stands for every card (WSL). None of both:
    it has none. readable False: we may not look.
    """

    minors: frozenset[int] = frozenset()
    every: bool = False
    readable: bool = True

    def has(self, minor: int | None) -> bool:
        return self.every or (minor in self.minors if minor is not None else bool(self.minors))


@dataclass
class _Seen:
    held: _Held
    again: float


@dataclass(frozen=True)
class _Facts:
    name: str
    user: str | None
    command: str | None
    started: float
    cpu_s: float
    rss_mib: float


class ProcessWatch:
    """Joins the driver's lists with /proc, for all cards; one scan of /proc serves them all. Any thread may call.

    own: PIDs of this program, which has every card open and is nobody's job.
    """

    def __init__(self, root: Path = Path("/"), own: frozenset[int] = frozenset()) -> None:
        self._root = root
        self._proc = root / "proc"
        self._own = own
        self._lock = threading.Lock()
        self._seen: dict[int, _Seen] = {}
        self._scanned = float("-inf")
        self._cpu: dict[tuple[int, float], tuple[float, float, float | None]] = {}
        self._users: dict[int, str | None] = {}
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._page_mib = os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
        self._booted = _boot_time(self._proc)
        self._first_namespace = _link(self._proc / "self/ns/pid") == _FIRST_NAMESPACE
        self._hidden = 0

    @property
    def hidden(self) -> int:
        """Processes that may have a card open without our knowing, as of the last scan: those that may not be looked
        into, and one for a /proc that shows only our own (hidepid). Outside of containers the driver's list names
        every user of a card, so there what may not be looked into hides nothing.
        """
        return self._hidden

    def join(self, claims: Sequence[Claim], minor: int | None, mono: float) -> tuple[Process, ...]:
        """The processes of one card. minor: its device file's number, None when the driver does not say.

        Listed ones first, in the driver's order; then those of ours that hold the card open and are not listed.
        """
        with self._lock:
            if mono - self._scanned >= SCAN_S - EARLY_S:
                self._scan(mono)
            joined = [self._claimed(claim, minor, mono) for claim in claims]
            listed = {claim.pid for claim in claims} | self._own
            for pid, seen in list(self._seen.items()):
                if pid not in listed and seen.held.has(minor):
                    facts = self._facts(pid)
                    if facts is not None:
                        claim = Claim(pid, "", Absent(Why.NOT_ASKED))
                        joined.append(self._process(claim, True, facts, mono, listed=False))
        return tuple(joined)

    def _scan(self, mono: float) -> None:
        """Look at every process that is new or due. Those that are gone are forgotten."""
        self._scanned = mono
        try:
            present = {int(name) for name in os.listdir(self._proc) if name.isdigit()}  # noqa: PTH208
        except OSError:
            present = set()
        for gone in [pid for pid in self._seen if pid not in present]:
            del self._seen[gone]
        for pid in present:
            seen = self._seen.get(pid)
            if seen is None or mono >= seen.again:
                self._look(pid, mono)
        self._cpu = {key: kept for key, kept in self._cpu.items() if key[0] in present}
        closed = sum(not seen.held.readable for seen in self._seen.values())
        self._hidden = int(1 not in present) + (0 if self._first_namespace else closed)

    def _look(self, pid: int, mono: float) -> _Held | None:
        held = self._held(pid)
        if held is None:
            self._seen.pop(pid, None)
            return None
        holds = held.every or held.minors
        self._seen[pid] = _Seen(held, mono + (SCAN_S if holds else IDLE_SCAN_S) - EARLY_S)
        return held

    def _held(self, pid: int) -> _Held | None:
        """Device files the process has open, None when there is no such process (any more)."""
        folder = f"{self._proc}/{pid}/fd"
        try:
            names = os.listdir(folder)  # noqa: PTH208
        except PermissionError:
            return _Held(readable=False)
        except OSError:
            return None
        minors: set[int] = set()
        for name in names:
            path = f"{folder}/{name}"
            try:
                target = os.readlink(path)  # noqa: PTH115
            except OSError:
                continue
            if target == _WSL:
                return _Held(every=True)
            if target.startswith("/dev/nvidia"):
                minor = _minor(path, target)
                if minor is not None:
                    minors.add(minor)
        return _Held(frozenset(minors))

    def _claimed(self, claim: Claim, minor: int | None, mono: float) -> Process:
        """A listed process. It is looked at now: it may have begun after the scan."""
        seen = self._seen.get(claim.pid)
        held = seen.held if seen and seen.held.has(minor) else self._look(claim.pid, mono)
        if held is None:
            return self._process(claim, False, None, mono)
        if not held.readable:
            return self._process(claim, None, None, mono)
        if not held.has(minor):  # a process of ours that only has the same number
            return self._process(claim, False, None, mono)
        facts = self._facts(claim.pid)
        return self._process(claim, facts is not None, facts, mono)

    def _process(
        self, claim: Claim, here: bool | None, facts: _Facts | None, mono: float, listed: bool = True
    ) -> Process:
        if facts is None:
            return Process(
                pid=claim.pid,
                type=claim.type,
                name="",
                memory_mib=claim.memory_mib,
                here=here,
                listed=listed,
                sm_percent=claim.sm_percent,
                mig_uuid=claim.mig_uuid,
            )
        return Process(
            pid=claim.pid,
            type=claim.type,
            name=facts.name,
            memory_mib=claim.memory_mib,
            here=here,
            listed=listed,
            user=facts.user,
            command=facts.command,
            started=facts.started,
            sm_percent=claim.sm_percent,
            cpu_percent=self._cpu_percent(claim.pid, facts, mono),
            rss_mib=facts.rss_mib,
            mig_uuid=claim.mig_uuid,
        )

    def _cpu_percent(self, pid: int, facts: _Facts, mono: float) -> float | None:
        """Percent of one core since the last look; None at the first. Several cards may ask within one tick."""
        key = pid, facts.started
        before = self._cpu.get(key)
        if before is None:
            self._cpu[key] = mono, facts.cpu_s, None
            return None
        since, cpu_s, percent = before
        if mono - since >= 1.0:
            percent = round(max(0.0, facts.cpu_s - cpu_s) / (mono - since) * 100, 1)
            self._cpu[key] = mono, facts.cpu_s, percent
        return percent

    def _facts(self, pid: int) -> _Facts | None:
        """What /proc says of a process, None when it is gone: it may vanish between any two reads (gpustat #95)."""
        folder = self._proc / str(pid)
        try:
            name, _, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
            fields = rest.split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            uid = folder.stat().st_uid
            cpu_ticks, start_ticks = int(fields[11]) + int(fields[12]), int(fields[19])
            resident = int(fields[21])
        except (OSError, IndexError, ValueError):
            return None
        return _Facts(
            name=_printable(name.partition("(")[2]),
            user=self._user(uid),
            command=_printable(command) or None,
            started=round(self._booted + start_ticks / self._ticks, 2),
            cpu_s=cpu_ticks / self._ticks,
            rss_mib=round(resident * self._page_mib, 1),
        )

    def _user(self, uid: int) -> str | None:
        if uid not in self._users:
            import pwd

            try:
                self._users[uid] = pwd.getpwuid(uid).pw_name
            except KeyError:
                self._users[uid] = str(uid)
        return self._users[uid]


def _link(path: Path) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""


def _minor(path: str, target: str) -> int | None:
    """The card's number behind an open file: by the device itself, for containers may rename its file."""
    try:
        found = os.stat(path)  # noqa: PTH116
        if stat.S_ISCHR(found.st_mode):
            number = os.minor(found.st_rdev)
            return number if os.major(found.st_rdev) == _NVIDIA_MAJOR and number < 255 else _by_name(target)
    except OSError:
        pass
    return _by_name(target)


def _by_name(target: str) -> int | None:
    digits = target.removeprefix("/dev/nvidia")
    return int(digits) if digits.isdecimal() else None


def _printable(text: str) -> str:
    """Without control characters: a process names itself, and its name reaches the terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _boot_time(proc: Path) -> float:
    """Unix time of the kernel's start, 0 when unknown."""
    try:
        for line in (proc / "stat").read_text().splitlines():
            if line.startswith("btime "):
                return float(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return 0.0
