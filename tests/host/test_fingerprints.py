"""Traces of slicers: found by library name, variable name or file, and not where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputui.host.fingerprints import describe, fingerprints, found_here
from tests.host.tree import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def maps(*paths: str) -> str:
    return "".join(f"7f00-7f01 r-xp 00000000 08:01 123                        {path}\n" for path in paths)


def test_a_clean_machine_has_none(tree: Tree) -> None:
    tree.write(
        "proc/self/maps",
        maps("/usr/lib/libnvidia-ml.so.580.95.05", "/usr/lib/libcuda.so.580.95.05", "/usr/lib/libc.so.6", "[heap]"),
    )
    names = (
        "PATH",
        "LD_LIBRARY_PATH",
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "CUDA_HOME",
        "CUDA_CACHE_PATH",
    )
    assert found_here(tree.root, names) == ()


@pytest.mark.parametrize(
    ("path", "identifier"),
    [
        ("/usr/local/vgpu/libvgpu.so", "hami"),
        ("/opt/x/libcuda-control.so", "vcuda"),
        ("/usr/lib/libnvshare.so.1", "nvshare"),
        ("/opt/cricket-client.so", "cricket"),
    ],
)
def test_libraries(tree: Tree, path: str, identifier: str) -> None:
    tree.write("proc/self/maps", maps("/usr/lib/libc.so.6", path))
    assert found_here(tree.root) == (identifier,)
    tree.write("proc/self/maps", maps("/usr/lib/libc.so.6"))
    tree.write("etc/ld.so.preload", f"# added by the platform\n{path}\n")
    assert found_here(tree.root) == (identifier,)


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("CUDA_DEVICE_MEMORY_LIMIT", "hami"),
        ("CUDA_DEVICE_MEMORY_LIMIT_3", "hami"),
        ("ALIYUN_COM_GPU_MEM_DEV", "cgpu"),
        ("CUDA_MPS_PIPE_DIRECTORY", "mps"),
        ("RCUDA_DEVICE_COUNT", "rcuda"),
        ("LD_PRELOAD", "ld-preload"),
    ],
)
def test_names_of_variables(tree: Tree, name: str, identifier: str) -> None:
    assert found_here(tree.root, (name,)) == (identifier,)
    assert found_here(tree.root, ("X" + name, name.lower())) == ()


@pytest.mark.parametrize(
    ("path", "identifier"),
    [("tmp/vgpulock", "hami"), ("etc/vcuda/vcuda.config", "vcuda"), ("proc/cgpu_km/major", "cgpu")],
)
def test_files(tree: Tree, path: str, identifier: str) -> None:
    tree.write(path, "")
    assert found_here(tree.root) == (identifier,)


def test_every_id_can_be_explained() -> None:
    identifiers = [print_.id for print_ in fingerprints()]
    assert len(set(identifiers)) == len(identifiers)
    for print_ in fingerprints():
        assert describe(print_.id) is print_
        assert print_.means
        assert print_.source
        assert print_.strength in ("proof", "hint")
    assert describe("no-such-thing") is None
