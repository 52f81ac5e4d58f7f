"""Interpreters on this machine that have torch. torch is looked for on disk and never imported here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("python3", "python", "python3.13", "python3.12", "python3.11", "python3.10", "python3.9", "python3.8")
_PLACES = (
    "/opt/conda/bin/python",
    "/root/miniconda3/bin/python",
    "/opt/miniconda3/bin/python",
    "/venv/main/bin/python",
    "/workspace/venv/bin/python",
    "/usr/bin/python3",
    "/usr/local/bin/python3",
)
"""Where the images people rent keep theirs: conda's base, vast.ai's /venv/main, RunPod's and AutoDL's."""
_VARIABLE = "GPUTUI_PYTHON"


@dataclass(frozen=True)
class Python:
    """path of an interpreter. torch: version of its torch, "" when there is none. why: it cannot be used."""

    path: str
    torch: str = ""
    why: str = ""


def candidates(environ: Mapping[str, str]) -> Iterator[str]:
    """Paths to look at: what the user named, the active environment, PATH, the usual places."""
    if named := environ.get(_VARIABLE):
        yield named
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if prefix := environ.get(variable):
            yield f"{prefix}/bin/python"
    for name in _NAMES:
        for folder in environ.get("PATH", "").split(os.pathsep):
            if folder and not folder.endswith("/shims") and (found := shutil.which(name, path=folder)):
                yield found
    for root in (environ.get("PYENV_ROOT"), environ.get("HOME") and f"{environ['HOME']}/.pyenv"):
        if root:  # its shims choose another version in every folder
            yield from sorted(str(found) for found in Path(root).glob("versions/*/bin/python"))
    yield from _PLACES


def find(environ: Mapping[str, str]) -> list[Python]:
    """Every interpreter once, those with torch first, in the order of `candidates`. Ours is looked at last."""
    seen: dict[str, Python] = {}
    for path in (*candidates(environ), sys.executable):
        if os.access(path, os.X_OK) and path not in seen and os.path.realpath(path) not in _real(seen):
            seen[path] = _look(path)
    return sorted(seen.values(), key=lambda python: not python.torch)


def _real(seen: Mapping[str, Python]) -> set[str]:
    """A venv's interpreter is a link to another one but has packages of its own."""
    return {os.path.realpath(path) for path in seen if not (Path(path).parent.parent / "pyvenv.cfg").exists()}


def _look(path: str) -> Python:
    """What the folders beside an interpreter say of torch."""
    for prefix in _prefixes(path):
        for library in sorted(prefix.glob("lib*/python3*/*-packages")):
            for entry in sorted(library.glob("torch-*.dist-info")):
                return Python(path, torch=entry.name.removeprefix("torch-").removesuffix(".dist-info"))
            if (library / "torch" / "version.py").is_file():
                return Python(path, torch="?")
    return Python(path, why="no torch")


def _prefixes(path: str) -> list[Path]:
    """The interpreter's own prefix, the one a venv with system packages was made from, and the user's."""
    own = Path(path).parent.parent
    if (own / "pyvenv.cfg").is_file():
        text = (own / "pyvenv.cfg").read_text(errors="replace")
        if "include-system-site-packages = true" not in text:
            return [own]
    return [own, Path(os.path.realpath(path)).parent.parent, Path.home() / ".local"]
