"""A PID in the driver's list is ours only when that process has the card's device file open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gputui.host.processes import IDLE_SCAN_S, SCAN_S, Claim, ProcessWatch
from gputui.model.reading import Absent, Why
from tests.host.tree import BOOTED, CLOCK_TICKS, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def claim(pid: int, memory: int = 2048) -> Claim:
    return Claim(pid, "C", memory)


def test_a_process_with_the_device_open_is_ours(tree: Tree) -> None:
    tree.process(4100, "python3", ("/dev/null", "/dev/nvidiactl", "/dev/nvidia3"), start_ticks=5 * CLOCK_TICKS)
    (found,) = ProcessWatch(tree.root).join([claim(4100)], 3, 0.0)
    assert (found.here, found.listed, found.name, found.memory_mib) == (True, True, "python3", 2048)
    assert found.command == "/usr/bin/python3 --secret"
    assert found.started == BOOTED + 5
    assert found.rss_mib == pytest.approx(256 * os.sysconf("SC_PAGE_SIZE") / 2**20)


def test_the_device_is_told_by_its_number(tree: Tree) -> None:
    tree.process(4100, "python3", ("/dev/nvidia3",))
    assert ProcessWatch(tree.root).join([claim(4100)], 13, 0.0)[0].here is False
    tree.process(4101, "python3", ("/dev/nvidia13",))
    assert ProcessWatch(tree.root).join([claim(4101)], 13, 0.0)[0].here is True


def test_a_pid_that_is_not_here_is_outside_this_container(tree: Tree) -> None:
    (found,) = ProcessWatch(tree.root).join([claim(28290)], 0, 0.0)
    assert (found.here, found.name, found.user, found.memory_mib) == (False, "", None, 2048)


def test_an_unrelated_process_with_the_same_number_is_not_ours(tree: Tree) -> None:
    tree.process(4100, "nginx", ("/dev/null", "/dev/nvidiactl"))
    (found,) = ProcessWatch(tree.root).join([claim(4100)], 0, 0.0)
    assert found.here is False
    assert found.name == ""
    assert found.command is None


def test_a_process_we_may_not_look_into_is_neither(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree.process(4100, "python3", ("/dev/nvidia0",))
    real = os.listdir

    def refused(path: object) -> list[str]:  # root may read everything, so the refusal itself has to be made up
        if str(path) == str(folder):
            raise PermissionError
        return real(path)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(os, "listdir", refused)
    (found,) = ProcessWatch(tree.root).join([claim(4100)], 0, 0.0)
    assert (found.here, found.name) == (None, "")


@pytest.mark.parametrize(
    ("namespace", "with_first", "hidden"),
    [("pid:[4026532201]", True, 1), ("pid:[4026532201]", False, 2), ("pid:[4026531836]", True, 0), (None, True, 1)],
)
def test_what_may_have_a_card_open_unseen_is_counted(tree, monkeypatch, namespace, with_first, hidden) -> None:
    closed = tree.process(4100, "python3", ("/dev/nvidia0",))
    tree.process(4101, "shell", ("/dev/null",))
    if with_first:
        tree.process(1, "init")
    if namespace:
        (tree.root / "proc/self/ns").mkdir(parents=True)
        (tree.root / "proc/self/ns/pid").symlink_to(namespace)
    real = os.listdir

    def refused(path: object) -> list[str]:
        if str(path) == str(closed):
            raise PermissionError
        return real(path)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(os, "listdir", refused)
    watch = ProcessWatch(tree.root)
    watch.join([], 0, 0.0)
    assert watch.hidden == hidden
    monkeypatch.undo()
    watch.join([], 0, IDLE_SCAN_S)
    assert watch.hidden == hidden - (0 if namespace == "pid:[4026531836]" else 1)


def test_ours_that_the_driver_does_not_list_are_added(tree: Tree) -> None:
    tree.process(50, "train", ("/dev/nvidia0",))
    tree.process(51, "shell", ("/dev/null",))
    tree.process(52, "other-card", ("/dev/nvidia1",))
    tree.process(53, "gputui", ("/dev/nvidia0",))
    found = ProcessWatch(tree.root, own=frozenset({53})).join([], 0, 0.0)
    assert [(p.pid, p.listed, p.here, p.name) for p in found] == [(50, False, True, "train")]
    assert found[0].memory_mib == Absent(Why.NOT_ASKED)


def test_a_process_that_ends_while_it_is_read_leaves_quietly(tree: Tree) -> None:
    tree.process(50, "train", ("/dev/nvidia0",))
    watch = ProcessWatch(tree.root)
    assert watch.join([claim(50)], 0, 0.0)[0].here is True
    (tree.root / "proc/50/stat").unlink()
    (found,) = watch.join([claim(50)], 0, 0.1)  # inside the scan period: its entry is from before
    assert found.here is False
    shutil.rmtree(tree.root / "proc/50")
    assert watch.join([], 0, SCAN_S) == ()


def test_a_pid_that_came_back_is_another_process(tree: Tree) -> None:
    tree.process(50, "first", ("/dev/nvidia0",), start_ticks=100, cpu_ticks=900 * CLOCK_TICKS)
    watch = ProcessWatch(tree.root)
    before = watch.join([claim(50)], 0, 0.0)[0]
    tree.process(50, "second", ("/dev/nvidia0",), start_ticks=100_000, cpu_ticks=CLOCK_TICKS)
    after = watch.join([claim(50)], 0, SCAN_S)[0]
    assert (before.name, after.name) == ("first", "second")
    assert before.started != after.started
    assert after.cpu_percent is None  # never a difference between two processes


def test_cpu_is_percent_of_a_core_between_two_looks(tree: Tree) -> None:
    tree.process(50, "train", ("/dev/nvidia0",), cpu_ticks=0)
    watch = ProcessWatch(tree.root)
    assert watch.join([claim(50)], 0, 0.0)[0].cpu_percent is None
    tree.process(50, "train", ("/dev/nvidia0",), cpu_ticks=10 * CLOCK_TICKS)
    assert watch.join([claim(50)], 0, 5.0)[0].cpu_percent == 200.0


def test_processes_without_a_card_are_looked_at_seldom(tree: Tree) -> None:
    folder = tree.process(51, "shell", ("/dev/null",))
    watch = ProcessWatch(tree.root)
    assert watch.join([], 0, 0.0) == ()
    (folder / "9").symlink_to("/dev/nvidia0")
    assert watch.join([], 0, SCAN_S) == ()
    assert [p.pid for p in watch.join([], 0, IDLE_SCAN_S)] == [51]


def test_wsl_has_one_file_for_every_card(tree: Tree) -> None:
    tree.process(50, "train", ("/dev/dxg",))
    assert ProcessWatch(tree.root).join([claim(50)], None, 0.0)[0].here is True


def test_control_characters_of_a_name_do_not_get_through(tree: Tree) -> None:
    tree.process(50, "a\x1b[2Jb", ("/dev/nvidia0",))
    assert ProcessWatch(tree.root).join([claim(50)], 0, 0.0)[0].name == "a\ufffd[2Jb"


def test_without_proc_nothing_is_claimed(tmp_path: Path) -> None:
    assert ProcessWatch(tmp_path).join([claim(1)], 0, 0.0)[0].here is False
