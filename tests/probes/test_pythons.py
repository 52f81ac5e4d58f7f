"""Interpreters with torch are found by what lies beside them."""

from __future__ import annotations

from pathlib import Path

from gputui.probes.pythons import find


def environment(tmp_path: Path, name: str, torch: str | None, system: str | None = None) -> Path:
    """A venv in a folder, with or without torch."""
    root = tmp_path / name
    packages = root / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (root / "bin").mkdir()
    if system is None:
        (root / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    python = root / "bin" / "python"
    python.write_text(f"#!/bin/sh\n# {name}\n")
    python.chmod(0o755)
    if torch:
        (packages / f"torch-{torch}.dist-info").mkdir()
    return python


def test_one_with_torch_comes_first_and_the_named_one_before_it(tmp_path):
    bare = environment(tmp_path, "bare", None)
    with_torch = environment(tmp_path, "with", "2.9.1+cu130")
    named = environment(tmp_path, "named", "2.13.0")
    environ = {"PATH": f"{bare.parent}:{with_torch.parent}", "GPUTUI_PYTHON": str(named)}
    found = find(environ)
    assert [(python.path, python.torch) for python in found[:2]] == [
        (str(named), "2.13.0"),
        (str(with_torch), "2.9.1+cu130"),
    ]
    assert next(python for python in found if python.path == str(bare)).why == "no torch"


def test_the_active_environment_comes_before_the_path(tmp_path):
    active = environment(tmp_path, "active", "1")
    other = environment(tmp_path, "other", "2")
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        found = find({"PATH": str(other.parent), variable: str(active.parent.parent)})
        assert found[0].path == str(active)


def test_what_is_named_and_is_not_there_is_passed_over(tmp_path):
    assert all(python.path != "/none" for python in find({"GPUTUI_PYTHON": "/none", "PATH": ""}))
