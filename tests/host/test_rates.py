"""Rates of the machine: pure parsing, two looks, and whose counters they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.host.rates import (
    LEAST_S,
    Rates,
    blkio_counters,
    container_path,
    disk_counters,
    io_counters,
    named_counters,
    network_counters,
    pressure,
)
from gputui.model import catalog
from gputui.model.reading import Absent, Why
from tests.host.tree import Tree

NET = (
    "Inter-|   Receive                     |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier\n"
)


def disk_line(name: str, read: int, written: int, numbers: str = "259 0") -> str:
    return f" {numbers} {name} 10 0 {read} 5 20 0 {written} 9 0 4 14 0 0 0 0\n"


def net_line(name: str, rx: int, tx: int) -> str:
    return f"{name:>6}: {rx} 5 0 0 0 0 0 0 {tx} 6 0 0 0 0 0 0\n"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_disks_are_counted_once():
    text = (
        disk_line("nvme0n1", 100, 200)
        + disk_line("nvme0n1p1", 90, 190)
        + disk_line("sda", 7, 8)
        + disk_line("sda1", 7, 8)
        + disk_line("dm-0", 100, 200)
        + disk_line("loop0", 5, 5)
        + disk_line("zram0", 5, 5)
    )
    expected = {"nvme0n1": (51200, 102400), "sda": (3584, 4096)}
    assert disk_counters(text) == expected
    assert disk_counters(text, ["nvme0n1", "sda", "dm-0", "loop0", "zram0"]) == expected


def test_a_disk_that_stands_alone_counts_even_when_it_is_mapped():
    assert disk_counters(disk_line("dm-0", 2, 4)) == {"dm-0": (1024, 2048)}
    assert disk_counters("") == {}


def test_the_two_kinds_of_groups():
    assert io_counters("259:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n8:0 rbytes=1 wbytes=2\nx\n") == {
        "259:0": (10, 20),
        "8:0": (1, 2),
    }
    assert io_counters("259:0 \n") == {}
    assert blkio_counters("8:0 Read 5\n8:0 Write 7\n8:0 Sync 12\n8:0 Total 12\nTotal 12\n") == {"8:0": (5, 7)}
    assert blkio_counters("Total 0\n") is None


def test_network_without_loopback_and_without_what_is_counted_twice():
    text = NET + net_line("lo", 9, 9) + net_line("eth0", 100, 50) + net_line("docker0", 100, 50)
    assert network_counters(text, ["eth0"]) == {"eth0": (100, 50)}
    assert network_counters(text) == {"eth0": (100, 50), "docker0": (100, 50)}
    assert network_counters(NET + "eth0:100 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n") == {"eth0": (100, 50)}


def test_pressure_of_some_and_of_all():
    text = "some avg10=12.34 avg60=1 avg300=0 total=5\nfull avg10=0.50 avg60=0 avg300=0 total=1\n"
    assert pressure(text, "some") == 12.34
    assert pressure(text, "full") == 0.5
    assert pressure("some avg10=1.00 avg60=0", "full") is None


@pytest.mark.parametrize(
    ("path", "container"),
    [
        ("/", ()),
        ("/user.slice/user-1000.slice/session-3.scope", ()),
        ("/system.slice/ssh.service", ()),
        ("/init.scope", ()),
        ("/system.slice/docker-0123.scope", ("system.slice", "docker-0123.scope")),
        ("/docker/0123", ("docker", "0123")),
        ("/kubepods.slice/pod1.slice/crio-1.scope", ("kubepods.slice", "pod1.slice", "crio-1.scope")),
        ("/lxc.payload.a/system.slice/ssh.service", ("lxc.payload.a",)),
        ("/lxc/a/user.slice/user-0.slice", ("lxc", "a")),
        ("/../../x", ("x",)),
    ],
)
def test_what_of_a_path_is_the_container(path, container):
    assert container_path(path) == container


def v2(tree: Tree, read: int, written: int, usage: int, periods: int = 0, throttled: int = 0, group: str = "") -> None:
    tree.write("proc/self/cgroup", f"0::{group or '/'}\n")
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu io\n")
    tree.write(f"sys/fs/cgroup{group}/io.stat", f"259:0 rbytes={read} wbytes={written} rios=0 wios=0\n")
    tree.write(
        f"sys/fs/cgroup{group}/cpu.stat",
        f"usage_usec {usage}\nuser_usec 0\nnr_periods {periods}\nnr_throttled {throttled}\n",
    )
    tree.write(f"sys/fs/cgroup{group}/io.pressure", "some avg10=20.0 avg60=0\nfull avg10=15.5 avg60=0\n")


def test_two_looks_at_a_container(tree):
    v2(tree, 1000, 2000, 5_000_000, 100, 10)
    tree.write("proc/net/dev", NET + net_line("lo", 5, 5) + net_line("eth0", 1000, 10))
    rates = Rates(tree.root)
    first = rates.read(100.0, cores=4)
    for name in ("host.disk.read", "host.disk.write", "host.network.rx", "host.network.tx", "host.cpu.of_quota"):
        assert first[name] == Absent(Why.NOT_ASKED), name
    v2(tree, 5000, 2000, 9_000_000, 120, 15)
    tree.write("proc/net/dev", NET + net_line("lo", 9999, 9999) + net_line("eth0", 5000, 30))
    second = rates.read(102.0, cores=4)
    assert second == {
        "host.disk.read": 2000,
        "host.disk.write": 0,
        "host.disk.scope": "container",
        "host.network.rx": 2000,
        "host.network.tx": 10,
        "host.cpu.of_quota": 50.0,
        "host.cpu.throttled": 25.0,
        "host.pressure.io.full": 15.5,
        "host.pressure.memory.full": Absent(Why.UNSUPPORTED),
    }


def test_the_containers_own_group_is_read_and_not_the_machines(tree):
    v2(tree, 0, 0, 0)
    v2(tree, 1000, 0, 0, group="/kubepods/pod1/c1")
    rates = Rates(tree.root)
    rates.read(0.0)
    v2(tree, 10_000_000, 0, 0)
    v2(tree, 3000, 0, 0, group="/kubepods/pod1/c1")
    assert rates.read(1.0)["host.disk.read"] == 2000


def test_the_session_of_a_login_is_not_the_machine(tree):
    v2(tree, 0, 0, 0, group="/user.slice/session-1.scope")
    v2(tree, 1000, 0, 0)
    tree.write("proc/self/cgroup", "0::/user.slice/session-1.scope\n")
    rates = Rates(tree.root)
    rates.read(0.0)
    tree.write("sys/fs/cgroup/io.stat", "259:0 rbytes=9000 wbytes=0\n")
    assert rates.read(1.0)["host.disk.read"] == 8000


def test_without_counters_of_the_group_disks_are_the_machines(tree):
    tree.write("proc/diskstats", disk_line("vda", 10, 20))
    rates = Rates(tree.root)
    rates.read(0.0)
    tree.write("proc/diskstats", disk_line("vda", 12, 28))
    found = rates.read(2.0)
    assert (found["host.disk.read"], found["host.disk.write"]) == (512, 2048)
    assert found["host.disk.scope"] == "machine"


def test_a_version_1_container(tree):
    tree.write("proc/self/cgroup", "4:blkio:/docker/abc\n3:cpu:/docker/abc\n2:cpuacct:/docker/abc\n")
    blkio = "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes"
    tree.write(blkio, "8:0 Read 100\n8:0 Write 200\nTotal 300\n")
    tree.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000000\n")
    tree.write("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\n")
    rates = Rates(tree.root)
    rates.read(0.0, cores=2)
    tree.write(blkio, "8:0 Read 600\n8:0 Write 200\nTotal 800\n")
    tree.write("sys/fs/cgroup/cpuacct/cpuacct.usage", "2000000000\n")
    found = rates.read(1.0, cores=2)
    assert found["host.disk.read"] == 500
    assert found["host.cpu.of_quota"] == 50.0
    assert found["host.cpu.throttled"] == Absent(Why.UNSUPPORTED)


def test_a_device_first_touched_between_two_looks_counts_from_zero(tree):
    v2(tree, 100, 0, 0)
    rates = Rates(tree.root)
    rates.read(0.0)
    tree.write("sys/fs/cgroup/io.stat", "259:0 rbytes=100 wbytes=0\n8:0 rbytes=5000 wbytes=0\n")
    assert rates.read(1.0)["host.disk.read"] == 5000


def test_a_mapped_device_is_not_counted_beside_what_it_stands_on(tree):
    tree.write("proc/diskstats", disk_line("nvme0n1", 0, 0) + disk_line("dm-0", 0, 0, "253 0"))
    v2(tree, 0, 0, 0)
    rates = Rates(tree.root)
    rates.read(0.0)
    tree.write("sys/fs/cgroup/io.stat", "259:0 rbytes=4000 wbytes=0\n253:0 rbytes=4000 wbytes=0\n")
    assert rates.read(1.0)["host.disk.read"] == 4000


def test_a_counter_that_goes_back_is_no_rate(tree):
    v2(tree, 9000, 9000, 9_000_000)
    tree.write("proc/net/dev", NET + net_line("eth0", 1000, 1000))
    rates = Rates(tree.root)
    rates.read(0.0, cores=1)
    v2(tree, 10, 10, 10)
    tree.write("proc/net/dev", NET + net_line("eth0", 10, 10))
    found = rates.read(1.0, cores=1)
    for name in ("host.disk.read", "host.disk.write", "host.network.tx", "host.cpu.of_quota"):
        assert found[name] == Absent(Why.NOT_ASKED), name


def test_an_interface_that_is_new_has_no_rate_yet(tree):
    tree.write("proc/net/dev", NET + net_line("eth0", 10, 10))
    rates = Rates(tree.root)
    rates.read(0.0)
    tree.write("proc/net/dev", NET + net_line("eth0", 20, 10) + net_line("eth1", 10**12, 0))
    assert rates.read(1.0)["host.network.rx"] == 10


def test_looks_that_are_too_close_are_one(tree):
    v2(tree, 0, 0, 0)
    rates = Rates(tree.root)
    rates.read(0.0)
    v2(tree, 1000, 0, 0)
    found = rates.read(1.0)
    v2(tree, 10**9, 0, 0)
    assert rates.read(1.0 + LEAST_S / 2) == found


def test_an_empty_root_has_every_reading_and_no_number(tmp_path):
    rates = Rates(tmp_path)
    rates.read(0.0, cores=1)
    found = rates.read(1.0, cores=1)
    assert set(found) == {spec.name for spec in catalog.HOST_RATE_SPECS}
    assert {type(reading) for reading in found.values()} == {Absent}


def test_this_machine_reads_something_from_its_disk(tmp_path):
    if not Path("/proc/diskstats").exists():
        pytest.skip("no /proc/diskstats")
    rates = Rates()
    rates.read(0.0, cores=1)
    file = tmp_path / "block"
    with file.open("wb") as out:
        out.write(os.urandom(1 << 20))
        out.flush()
        os.fsync(out.fileno())
    found = rates.read(1.0, cores=1)
    assert set(found) == {spec.name for spec in catalog.HOST_RATE_SPECS}
    assert isinstance(found["host.network.rx"], (int, Absent))
    assert found["host.disk.scope"] in ("container", "machine")


@given(st.text(max_size=200))
def test_no_text_breaks_the_parsers(text):
    for parse in (disk_counters, io_counters, network_counters, named_counters):
        assert isinstance(parse(text), dict)
    assert blkio_counters(text) is None
    assert pressure(text, "some") is None
