"""Ending a process on a card: only the user's own, only the very one that was looked at.

Between the list on screen and the key a PID may have come to mean another process. So the process is pinned first
(pidfd_open(2), Linux 5.3), then everything the decision rests on is read again: user, start time, open device node;
then the pin must still be alive, which proves that what was read was this process; then the signal goes to the pin
and not to the number. SIGTERM first; SIGKILL only for one that was asked before. In every case of doubt nothing is
sent.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gputui.text import _

SAME_S = 0.02
"""Start times are exact to a clock tick (0.01 s) and rounded to two digits."""


class Outcome(str, Enum):
    """asked: SIGTERM was sent. killed: SIGKILL was sent. gone: it has ended. refused: nothing was sent."""

    ASKED = "asked"
    KILLED = "killed"
    GONE = "gone"
    REFUSED = "refused"


@dataclass(frozen=True)
class Candidate:
    """A process as it was seen. started: Unix time as in `model.card.Process`. uid: whose it was."""

    pid: int
    started: float
    uid: int


@dataclass(frozen=True)
class Result:
    """What happened, and one sentence that says so."""

    outcome: Outcome
    sentence: str


def candidate(pid: int, started: float, root: Path = Path("/")) -> Candidate | None:
    """The process with this PID and start time as it is now; None when there is none.

    Call it when the user first asks.
    """
    facts = _facts(root / "proc", pid)
    if facts is None or abs(facts.started - started) > SAME_S or len(facts.uids) != 1:
        return None
    return Candidate(pid, started, next(iter(facts.uids)))


class Ender:
    """Ends processes, and remembers which were asked, for only those can be killed.

    own: PIDs of this program. None of its calls waits.
    """

    def __init__(self, own: frozenset[int] = frozenset(), root: Path = Path("/")) -> None:
        self._own = own | {os.getpid(), os.getppid()}
        self._proc = root / "proc"
        self._asked: set[Candidate] = set()

    def was_asked(self, who: Candidate) -> bool:
        """Whether SIGTERM was sent to it, so that `force` is possible."""
        return who in self._asked

    def alive(self, who: Candidate) -> bool:
        """Whether this very process still runs; one that only waits to be reaped does not."""
        facts = _facts(self._proc, who.pid)
        return facts is not None and not facts.dead and abs(facts.started - who.started) <= SAME_S

    def end(self, who: Candidate, devices: Sequence[Path], force: bool = False) -> Result:
        """Ask the process to end, or kill it when `force` and it was asked before.

        devices: the device node of the card it was listed under (/dev/nvidiaN); it must have one of them open.
        """
        doubt = self._at_first_sight(who, force)
        if doubt:
            return _refused(doubt, who.pid)
        try:
            pin = os.pidfd_open(who.pid)
        except ProcessLookupError:
            return _gone(who.pid)
        except (OSError, AttributeError):
            return _refused(_no_pin, who.pid)
        try:
            return self._send(who, devices, pin, force)
        finally:
            os.close(pin)

    def _at_first_sight(self, who: Candidate, force: bool) -> Callable[[], str] | None:
        """Why not even to look."""
        if who.pid in self._own or who.pid <= 1:
            return _part_of_us
        if who.uid != os.getuid():
            return _not_yours
        if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
            return _no_pin
        return _not_asked if force and who not in self._asked else None

    def _send(self, who: Candidate, devices: Sequence[Path], pin: int, force: bool) -> Result:
        facts = _facts(self._proc, who.pid)
        if facts is None or facts.dead:
            return _gone(who.pid)
        doubt = self._doubt(who, facts, devices)
        try:
            signal.pidfd_send_signal(pin, 0)
            if doubt:
                return _refused(doubt, who.pid)
            signal.pidfd_send_signal(pin, signal.SIGKILL if force else signal.SIGTERM)
        except ProcessLookupError:
            return _gone(who.pid)
        except PermissionError:
            return _refused(_not_yours, who.pid)
        except OSError as error:
            return _refused(_no_pin if error.errno == errno.ENOSYS else _cannot_look, who.pid)
        if force:
            return Result(Outcome.KILLED, _("PID {pid} was killed (SIGKILL).").format(pid=who.pid))
        self._asked.add(who)
        return Result(
            Outcome.ASKED, _("PID {pid} was asked to end (SIGTERM); ask again to kill it.").format(pid=who.pid)
        )

    def _doubt(self, who: Candidate, facts: _Facts, devices: Sequence[Path]) -> Callable[[], str] | None:
        """Why what was read again does not allow it."""
        if abs(facts.started - who.started) > SAME_S:
            return _another
        if facts.uids != {who.uid}:
            return _not_yours
        holds = _holds(self._proc, who.pid, devices)
        if holds is None:
            return _cannot_look
        return None if holds else _card_closed


def _part_of_us() -> str:
    return _("PID {pid} is a part of gputui or started it; nothing was sent.")


def _not_yours() -> str:
    return _("PID {pid} belongs to another user; nothing was sent.")


def _no_pin() -> str:
    return _("This system cannot pin a process (pidfd), so nothing was sent to PID {pid}; end it with `kill`.")


def _not_asked() -> str:
    return _("PID {pid} has to be asked to end before it can be killed; nothing was sent.")


def _another() -> str:
    return _("PID {pid} is another process by now; nothing was sent.")


def _cannot_look() -> str:
    return _("PID {pid} cannot be looked into to be sure; nothing was sent.")


def _card_closed() -> str:
    return _("PID {pid} does not have this card open any more; nothing was sent.")


def _refused(why: Callable[[], str], pid: int) -> Result:
    return Result(Outcome.REFUSED, why().format(pid=pid))


def _gone(pid: int) -> Result:
    return Result(Outcome.GONE, _("PID {pid} has ended already.").format(pid=pid))


@dataclass(frozen=True)
class _Facts:
    """started: Unix time. uids: real, effective, saved and file system user as one set."""

    started: float
    uids: frozenset[int]
    dead: bool


def _facts(proc: Path, pid: int) -> _Facts | None:
    """What /proc says (fields of proc(5)), None when there is no such process or it cannot be read."""
    try:
        fields = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        status = (proc / str(pid) / "status").read_text(errors="replace")
        boot = (proc / "stat").read_text(errors="replace")
        state, start_ticks = fields[0], int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
    users = re.search(r"^Uid:\s+(.+)$", status, re.MULTILINE)
    booted = re.search(r"^btime (\d+)$", boot, re.MULTILINE)
    if users is None or booted is None:
        return None
    started = round(int(booted[1]) + start_ticks / os.sysconf("SC_CLK_TCK"), 2)
    return _Facts(started, frozenset(int(word) for word in users[1].split()), state in "ZX")


def _holds(proc: Path, pid: int, devices: Sequence[Path]) -> bool | None:
    """Whether the process has one of these device nodes open; None when that cannot be told."""
    wanted = {identity for device in devices if (identity := _identity(device)) is not None}
    if not wanted:
        return None
    try:
        opened = list((proc / str(pid) / "fd").iterdir())
    except OSError:
        return None
    return any(_identity(file) in wanted for file in opened)


def _identity(path: Path) -> tuple[int, int] | None:
    """What makes a file the same under any name: a device's number, for containers rename nodes; else its inode."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (-1, found.st_rdev) if stat.S_ISCHR(found.st_mode) else (found.st_dev, found.st_ino)
