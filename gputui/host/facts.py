"""Readings of the machine (`host.*` of the catalog). No host name, user or address is ever among them.

What is limited here is read from this container's control group; what /proc says is the whole machine's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from gputui.host.cgroup import MIB, Cgroup
from gputui.host.fingerprints import found_here
from gputui.model.reading import Absent, Reading, Why

_UNKNOWN = Absent(Why.UNSUPPORTED)
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's own (PROC_PID_INIT_INO in include/linux/proc_ns.h)."""
_CONTAINERS = (
    ("kubepods", "kubernetes"),
    ("libpod", "podman"),
    ("docker", "docker"),
    ("crio", "cri-o"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
    ("garden", "garden"),
)
"""Words in the paths of control groups and mounts, the most telling first."""


class HostFacts:
    """Reads the machine. One thread at a time."""

    def __init__(self, root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> None:
        self._root = root
        self._names = tuple(os.environ if environment is None else environment)
        self._cgroup: Cgroup | None = None
        self._static: dict[str, Reading] = {}
        self._cpu: tuple[int, int] | None = None

    def read(self, slow: bool) -> Mapping[str, Reading]:
        """The fast readings; all of them when `slow`."""
        out: dict[str, Reading] = {"host.cpu.percent": self._cpu_percent()}
        if not slow and self._static:
            return out
        if self._cgroup is None:
            self._cgroup = Cgroup(self._root)
            self._static = self._once()
        out.update(self._static)
        out.update(self._memory(self._cgroup))
        out.update(self._pressure(self._cgroup))
        out["host.cpu.quota"] = self._quota(self._cgroup)
        out.update(self._shm())
        out["host.uptime"] = self._uptime()
        out["host.device_nodes"] = device_nodes(self._root)
        out["host.fingerprints"] = found_here(self._root, self._names)
        out["host.kernel_log"] = kernel_log(self._root)
        return out

    def _once(self) -> dict[str, Reading]:
        meminfo = _meminfo(self._root)
        return {
            "host.cpu.count": _cpu_count(self._root),
            "host.memory.total": meminfo.get("MemTotal", _UNKNOWN),
            "host.boot_id": _text(self._root / "proc/sys/kernel/random/boot_id") or _UNKNOWN,
            "host.kernel": _text(self._root / "proc/sys/kernel/osrelease") or _UNKNOWN,
            "host.platform": platform(self._root),
            "host.container": container(self._root, self._names),
            "host.pid_namespace": pid_namespace(self._root),
            "host.driver_module": driver_module(self._root),
            "host.memlock": memlock(self._root),
        }

    def _cpu_percent(self) -> Reading:
        """Percent of the whole machine's CPU time that was not idle since the last call; absent at the first."""
        line = (_text(self._root / "proc/stat") or "").partition("\n")[0].split()
        if len(line) < 5 or line[0] != "cpu":
            return _UNKNOWN
        times = [int(word) for word in line[1:9]]
        total, idle = sum(times), times[3] + (times[4] if len(times) > 4 else 0)
        before, self._cpu = self._cpu, (total, idle)
        if before is None or total <= before[0]:
            return Absent(Why.NOT_ASKED)
        busy = 1 - (idle - before[1]) / (total - before[0])
        return round(min(1.0, max(0.0, busy)) * 100, 1)

    def _quota(self, cgroup: Cgroup) -> Reading:
        """Cores this container may use: by quota, or by the CPUs it is pinned to when those are fewer."""
        quota = cgroup.cpu_quota()
        pinned, count = _allowed_cpus(self._root), self._static["host.cpu.count"]
        if pinned is None or not isinstance(count, int) or pinned >= count:
            return quota
        return min(quota, float(pinned)) if isinstance(quota, (int, float)) else float(pinned)

    def _memory(self, cgroup: Cgroup) -> dict[str, Reading]:
        meminfo = _meminfo(self._root)
        total, available = meminfo.get("MemTotal"), meminfo.get("MemAvailable")
        limit = cgroup.memory_limit()
        used: Reading = _UNKNOWN
        if isinstance(limit, (int, float)):
            own = cgroup.memory_used()
            used = own if own is not None else _UNKNOWN
        elif total is not None and available is not None:
            used = round(total - available, 1)
        return {
            "host.memory.available": available if available is not None else _UNKNOWN,
            "host.memory.limit": limit,
            "host.memory.used": used,
        }

    def _pressure(self, cgroup: Cgroup) -> dict[str, Reading]:
        """Share of the last ten seconds in which something waited for the resource (PSI, "some avg10")."""
        out: dict[str, Reading] = {}
        for what in ("cpu", "memory", "io"):
            text = cgroup.pressure(what) or _text(self._root / "proc/pressure" / what) or ""
            found = re.search(r"^some avg10=([0-9.]+)", text, re.MULTILINE)
            out[f"host.pressure.{what}"] = float(found.group(1)) if found else _UNKNOWN
        return out

    def _shm(self) -> dict[str, Reading]:
        try:
            found = os.statvfs(self._root / "dev/shm")
        except OSError:
            return {"host.shm.total": _UNKNOWN, "host.shm.free": _UNKNOWN}
        return {
            "host.shm.total": round(found.f_blocks * found.f_frsize / MIB, 1),
            "host.shm.free": round(found.f_bavail * found.f_frsize / MIB, 1),
        }

    def _uptime(self) -> Reading:
        """Seconds, in steps of ten: it is for the record, and one that changed each time would be sent each time."""
        try:
            return int(float((_text(self._root / "proc/uptime") or "").split()[0])) // 10 * 10
        except (ValueError, IndexError):
            return _UNKNOWN


def platform(root: Path = Path("/")) -> Reading:
    """wsl, tegra or linux."""
    if "microsoft" in (_text(root / "proc/sys/kernel/osrelease") or "").lower():
        return "wsl"
    compatible = _text(root / "proc/device-tree/compatible") or ""
    if "tegra" in compatible or (root / "etc/nv_tegra_release").exists():
        return "tegra"
    return "linux"


def container(root: Path, environment_names: tuple[str, ...] = ()) -> Reading:
    """The kind of container we are in, "container" when its kind is not known, "none"."""
    if "KUBERNETES_SERVICE_HOST" in environment_names:
        return "kubernetes"
    words = "\n".join(_text(root / path) or "" for path in ("proc/self/cgroup", "proc/1/cgroup", "proc/self/mountinfo"))
    mounts_root = re.search(r"^\S+ \S+ \S+ \S+ / .* - overlay ", words, re.MULTILINE) is not None
    paths = "\n".join(
        line
        for line in words.splitlines()
        if re.match(r"\d+:[^:]*:", line) or " /etc/hosts " in line or " / / " in line
    )
    for word, kind in _CONTAINERS:
        if word in paths:
            return kind
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    said = _text(root / "run/systemd/container")
    if said:
        return said
    return "container" if mounts_root else "none"


def pid_namespace(root: Path = Path("/")) -> Reading:
    """ "host" in the machine's own PID namespace, "own" in another: then the driver's PIDs may be the host's."""
    try:
        link = os.readlink(root / "proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return _UNKNOWN
    return "host" if link == _FIRST_PID_NAMESPACE else "own"


def device_nodes(root: Path = Path("/")) -> Reading:
    """Names of the NVIDIA device files there are (and WSL's dxg), sorted with nvidia10 after nvidia9."""
    folder = root / "dev"
    try:
        names = [name for name in os.listdir(folder) if name.startswith("nvidia") or name == "dxg"]  # noqa: PTH208
    except OSError:
        return _UNKNOWN
    files = [name for name in names if not (folder / name).is_dir()]
    return tuple(sorted(files, key=lambda name: (name.rstrip("0123456789"), len(name), name)))


def driver_module(root: Path = Path("/")) -> Reading:
    """Version of the loaded kernel module; absent when none is loaded or a container hides it."""
    text = _text(root / "proc/driver/nvidia/version") or ""
    found = re.search(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)*)\b", text)
    return found.group(1) if found else _UNKNOWN


def memlock(root: Path = Path("/")) -> Reading:
    """How much memory a process may lock, in MiB, or "unlimited"."""
    for line in (_text(root / "proc/self/limits") or "").splitlines():
        if line.startswith("Max locked memory"):
            soft = line.removeprefix("Max locked memory").split()[0]
            if soft == "unlimited":
                return soft
            return round(int(soft) / MIB, 3) if soft.isdecimal() else _UNKNOWN
    return _UNKNOWN


def kernel_log(root: Path = Path("/")) -> Reading:
    """ "readable", or absent. Absent never means that the log has no errors (S99)."""
    try:
        os.close(os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except PermissionError:
        return Absent(Why.NO_PERMISSION)
    except OSError:
        return _UNKNOWN
    return "readable"


def _cpu_count(root: Path) -> Reading:
    """CPUs of the whole machine that are on line, as /proc/stat lists them."""
    count = len(re.findall(r"^cpu\d+ ", _text(root / "proc/stat") or "", re.MULTILINE))
    return count or _UNKNOWN


def _allowed_cpus(root: Path) -> int | None:
    """How many CPUs this process may run on."""
    found = re.search(r"^Cpus_allowed_list:\s*(\S+)", _text(root / "proc/self/status") or "", re.MULTILINE)
    if not found:
        return None
    count = 0
    for part in found.group(1).split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal():
            return None
        count += int(last or first) - int(first) + 1
    return count


def _meminfo(root: Path) -> dict[str, float]:
    """MiB by name."""
    out: dict[str, float] = {}
    for line in (_text(root / "proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            out[name] = round(int(words[0]) / 1024, 1)
    return out


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None
