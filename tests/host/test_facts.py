"""Readings of the machine from made-up /proc, /sys and /dev trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gputui.host import facts
from gputui.host.cgroup import NO_LIMIT, Cgroup
from gputui.host.facts import HostFacts
from gputui.model import catalog
from gputui.model.reading import Absent, Reading, Why
from tests.host.tree import Tree

UNKNOWN = Absent(Why.UNSUPPORTED)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def read(tree: Tree, **environment: str) -> dict[str, Reading]:
    return dict(HostFacts(tree.root, environment).read(True))


def test_every_reading_of_the_catalog_is_there_even_in_an_empty_root(tmp_path: Path) -> None:
    found = HostFacts(tmp_path, {}).read(True)
    assert set(found) == {spec.name for spec in catalog.HOST_SPECS}
    assert found["host.cpu.quota"] == UNKNOWN
    assert found["host.memory.total"] == UNKNOWN


def test_this_machine_has_the_basic_ones() -> None:
    found = HostFacts().read(True)
    for name in ("host.cpu.count", "host.memory.total", "host.uptime", "host.shm.total"):
        assert not isinstance(found[name], Absent), name


def v2(tree: Tree, group: str = "/", **files: str) -> None:
    tree.write("proc/self/cgroup", f"0::{group}\n")
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu memory io\n")
    for name, text in files.items():
        tree.write(f"sys/fs/cgroup{group.rstrip('/')}/{name.replace('__', '.')}", text)


def test_cpu_quota_of_version_2(tree: Tree) -> None:
    v2(tree, cpu__max="350000 100000\n")
    assert Cgroup(tree.root).cpu_quota() == 3.5


def test_no_quota_is_no_limit(tree: Tree) -> None:
    v2(tree, cpu__max="max 100000\n")
    assert Cgroup(tree.root).cpu_quota() == NO_LIMIT


def test_the_tightest_limit_above_holds(tree: Tree) -> None:
    v2(tree, "/kubepods/pod1/c1", cpu__max="max 100000\n", memory__max="max\n")
    tree.write("sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000\n")
    tree.write("sys/fs/cgroup/kubepods/pod1/memory.max", str(8 << 30))
    tree.write("sys/fs/cgroup/kubepods/cpu.max", "800000 100000\n")
    assert Cgroup(tree.root).cpu_quota() == 2.0
    assert Cgroup(tree.root).memory_limit() == 8192


def test_a_group_path_that_cannot_be_seen_here_falls_back_to_what_can(tree: Tree) -> None:
    v2(tree, cpu__max="400000 100000\n")
    tree.write("proc/self/cgroup", "0::/docker/0123abcd\n")
    assert Cgroup(tree.root).cpu_quota() == 4.0


def v1(tree: Tree, **files: str) -> None:
    tree.write("proc/self/cgroup", "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n")
    for name, text in files.items():
        controller = "memory" if name.startswith("memory") else "cpu"
        tree.write(f"sys/fs/cgroup/{controller}/{name.replace('__', '.')}", text)


def test_version_1(tree: Tree) -> None:
    v1(
        tree,
        cpu__cfs_quota_us="150000\n",
        cpu__cfs_period_us="100000\n",
        memory__limit_in_bytes=str(4 << 30),
        memory__usage_in_bytes=str(3 << 30),
        memory__stat=f"cache 5\ntotal_inactive_file {1 << 30}\n",
    )
    found = read(tree)
    assert found["host.cpu.quota"] == 1.5
    assert found["host.memory.limit"] == 4096
    assert found["host.memory.used"] == 2048


def test_version_1_without_limits(tree: Tree) -> None:
    v1(
        tree,
        cpu__cfs_quota_us="-1\n",
        cpu__cfs_period_us="100000\n",
        memory__limit_in_bytes="9223372036854771712\n",
    )
    assert Cgroup(tree.root).cpu_quota() == NO_LIMIT
    assert Cgroup(tree.root).memory_limit() == NO_LIMIT


def test_fewer_allowed_cpus_are_a_quota_too(tree: Tree) -> None:
    v2(tree, cpu__max="max 100000\n")
    tree.write("proc/self/status", "Cpus_allowed_list:\t1\n")
    assert read(tree)["host.cpu.quota"] == 1.0
    tree.write("proc/self/status", "Cpus_allowed_list:\t0-1\n")
    assert read(tree)["host.cpu.quota"] == NO_LIMIT


def test_memory_of_an_unlimited_container_is_the_machines(tree: Tree) -> None:
    v2(tree, memory__max="max\n")
    tree.write("proc/meminfo", "MemTotal:  2048000 kB\nMemAvailable: 1024000 kB\n")
    found = read(tree)
    assert (found["host.memory.total"], found["host.memory.available"], found["host.memory.used"]) == (2000, 1000, 1000)


def test_pressure_of_our_own_group_comes_first(tree: Tree) -> None:
    tree.write("proc/pressure/cpu", "some avg10=9.50 avg60=0.00 avg300=0.00 total=1\n")
    assert read(tree)["host.pressure.cpu"] == 9.5
    v2(tree, cpu__pressure="some avg10=1.25 avg60=0.00 avg300=0.00 total=1\n")
    assert read(tree)["host.pressure.cpu"] == 1.25


def test_cpu_percent_is_over_the_time_between_two_reads(tree: Tree) -> None:
    host = HostFacts(tree.root, {})
    assert host.read(False)["host.cpu.percent"] == Absent(Why.NOT_ASKED)
    tree.write("proc/stat", "cpu  150 0 150 900 0 0 0 0\ncpu0 1 0 0 0\n")
    assert host.read(False)["host.cpu.percent"] == 50.0


@pytest.mark.parametrize(
    ("release", "files", "platform"),
    [
        ("6.8.0-40-generic", {}, "linux"),
        ("5.15.153.1-microsoft-standard-WSL2", {}, "wsl"),
        ("5.15.136-tegra", {"etc/nv_tegra_release": "# R36"}, "tegra"),
        ("5.15.0", {"proc/device-tree/compatible": "nvidia,p3737-0000\0nvidia,tegra234"}, "tegra"),
    ],
)
def test_platform(tree: Tree, release: str, files: dict[str, str], platform: str) -> None:
    tree.write("proc/sys/kernel/osrelease", release + "\n")
    for path, text in files.items():
        tree.write(path, text)
    assert facts.platform(tree.root) == platform


@pytest.mark.parametrize(
    ("files", "names", "kind"),
    [
        ({}, (), "none"),
        ({"proc/self/cgroup": "0::/user.slice/user-0.slice\n"}, (), "none"),
        ({".dockerenv": ""}, (), "docker"),
        ({"run/.containerenv": ""}, (), "podman"),
        ({"proc/self/cgroup": "4:memory:/docker/abc\n"}, (), "docker"),
        ({"proc/1/cgroup": "0::/kubepods/burstable/pod1\n", ".dockerenv": ""}, (), "kubernetes"),
        ({".dockerenv": ""}, ("KUBERNETES_SERVICE_HOST",), "kubernetes"),
        ({"run/systemd/container": "lxc\n"}, (), "lxc"),
        ({"proc/self/mountinfo": "1 2 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/x\n"}, (), "container"),
        (
            {"proc/self/mountinfo": "1 2 0:50 / / rw - ext4 /dev/sda1 rw\n3 1 0:51 / /mnt/docker rw - ext4 /d rw\n"},
            (),
            "none",
        ),
    ],
)
def test_container(tree: Tree, files: dict[str, str], names: tuple[str, ...], kind: str) -> None:
    for path, text in files.items():
        tree.write(path, text)
    assert facts.container(tree.root, names) == kind


def test_pid_namespace(tree: Tree) -> None:
    link = tree.root / "proc/self/ns/pid"
    link.parent.mkdir(parents=True)
    link.symlink_to("pid:[4026531836]")
    assert facts.pid_namespace(tree.root) == "host"
    link.unlink()
    link.symlink_to("pid:[4026532748]")
    assert facts.pid_namespace(tree.root) == "own"


def test_device_nodes_are_sorted_as_people_count(tree: Tree) -> None:
    for name in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "sda", "nvidia-caps/nvidia-cap1"):
        tree.write(f"dev/{name}", "")
    assert facts.device_nodes(tree.root) == ("nvidia2", "nvidia10", "nvidia-uvm", "nvidiactl")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC: 12.3\n",
            "535.183.01",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n", "580.95.05"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.48  Release Build\n", "590.48"),
        ("something else 12.3\n", UNKNOWN),
    ],
)
def test_driver_module(tree: Tree, text: str, version: Reading) -> None:
    tree.write("proc/driver/nvidia/version", text)
    assert facts.driver_module(tree.root) == version


@pytest.mark.parametrize(("line", "value"), [("67108864", 64), ("unlimited", "unlimited"), ("65536", 0.062)])
def test_memlock(tree: Tree, line: str, value: Reading) -> None:
    tree.write(
        "proc/self/limits", f"Limit   Soft   Hard   Units\nMax locked memory         {line}    unlimited  bytes\n"
    )
    assert facts.memlock(tree.root) == value


def test_a_kernel_log_that_may_not_be_read_is_never_no_errors(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts.kernel_log(tree.root) == UNKNOWN
    file = tree.write("dev/kmsg", "6,1,1,-;hello\n")
    assert facts.kernel_log(tree.root) == "readable"
    real = os.open

    def refused(path: object, *rest: object) -> int:  # root may read everything
        if str(path) == str(file):
            raise PermissionError
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refused)
    assert facts.kernel_log(tree.root) == Absent(Why.NO_PERMISSION)


def test_no_name_of_the_host_or_user_is_among_the_readings() -> None:
    import getpass
    import socket

    values = [str(value) for value in HostFacts().read(True).values()]
    for secret in {socket.gethostname(), getpass.getuser()} - {""}:
        assert secret not in values
