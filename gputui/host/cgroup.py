"""The limits of this container: CPU, memory and pressure of its control group, version 1 or 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gputui.model.reading import Absent, Reading, Why

MIB = 1024 * 1024
NO_LIMIT = "max"
"""The kernel's own word for "no limit"."""
_HUGE = 1 << 60
"""Version 1 writes a number near 2**63 for no limit."""


class Cgroup:
    """The control group of this process."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._mount = root / "sys/fs/cgroup"
        self._paths = _paths(root)
        self._unified = (self._mount / "cgroup.controllers").exists()

    def _folders(self, controller: str) -> Iterator[Path]:
        """Our group and those above it, as far as they can be seen: the tightest limit of them holds."""
        mount = self._mount if self._unified else self._mount / controller
        path = self._paths.get("" if self._unified else controller, "/").strip("/")
        parts = path.split("/") if path else []
        for length in range(len(parts), -1, -1):
            folder = mount.joinpath(*parts[:length])
            if folder.is_dir():
                yield folder

    def cpu_quota(self) -> Reading:
        """Cores this container may use; "max" without a limit."""
        found: list[float] = []
        seen = False
        for folder in self._folders("cpu"):
            if self._unified:
                quota, _, period = (_text(folder / "cpu.max") or "").partition(" ")
            else:
                quota, period = _text(folder / "cpu.cfs_quota_us") or "", _text(folder / "cpu.cfs_period_us") or ""
            seen = seen or bool(quota)
            if quota not in ("", "max", "-1"):
                try:
                    found.append(int(quota) / int(period))
                except (ValueError, ZeroDivisionError):
                    continue
        if found:
            return round(min(found), 3)
        # The group at the very top has no limit file in version 2: that is no limit, not an unknown one.
        return NO_LIMIT if seen or self._unified else Absent(Why.UNSUPPORTED)

    def memory_limit(self) -> Reading:
        """MiB this container may use; "max" without a limit."""
        name = "memory.max" if self._unified else "memory.limit_in_bytes"
        found: list[int] = []
        seen = False
        for folder in self._folders("memory"):
            text = _text(folder / name)
            seen = seen or bool(text)
            if text and text.isdecimal() and int(text) < _HUGE:
                found.append(int(text))
        if found:
            return round(min(found) / MIB, 1)
        return NO_LIMIT if seen or self._unified else Absent(Why.UNSUPPORTED)

    def memory_used(self) -> float | None:
        """MiB in use by this container without file cache that can be dropped, None when it is not counted here."""
        name = "memory.current" if self._unified else "memory.usage_in_bytes"
        for folder in self._folders("memory"):
            text = _text(folder / name)
            if text and text.isdecimal():
                cache = _counter(folder / "memory.stat", "inactive_file" if self._unified else "total_inactive_file")
                return round(max(0, int(text) - (cache or 0)) / MIB, 1)
        return None

    def pressure(self, what: str) -> str | None:
        """The text of this group's own pressure file (`cpu`, `memory`, `io`), None when it has none."""
        if not self._unified:
            return None
        return next((text for folder in self._folders("") if (text := _text(folder / f"{what}.pressure"))), None)


def _paths(root: Path) -> dict[str, str]:
    """Our path per controller; "" is version 2's."""
    out: dict[str, str] = {}
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            out[controller] = path
    return out


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _counter(path: Path, name: str) -> int | None:
    for line in (_text(path) or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdecimal():
            return int(value)
    return None
