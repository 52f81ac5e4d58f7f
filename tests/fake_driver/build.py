"""Compiles the stand-in driver."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ("nvml.c", "structures.c", "events.c", "script.c", "calls.c")
NAME = "libnvidia-ml.so.1"


class NoCompiler(RuntimeError):
    """There is no C compiler here."""


def build(folder: Path, missing: Collection[str] = ()) -> Path:
    """The library in `folder`, compiled unless it is there already. The functions in `missing` are really absent, as
    in an older driver. Raises NoCompiler; ValueError for a function it never had.
    """
    unknown = set(missing) - functions()
    if unknown:
        raise ValueError(f"the stand-in has no {', '.join(sorted(unknown))}")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise NoCompiler("no C compiler (cc, gcc or clang) is installed")
    library = folder / NAME
    if library.exists():
        return library
    folder.mkdir(parents=True, exist_ok=True)
    exports = folder / "exports.map"
    hidden = "".join(f" {name};" for name in sorted(missing))
    exports.write_text(f"{{ global: nvml*; local:{hidden} *; }};\n")
    partial = folder / "partial.so"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"]
    subprocess.run(
        [compiler, *flags, f"-Wl,--version-script={exports}", f"-Wl,-soname,{NAME}", "-o", str(partial)]
        + [str(HERE / source) for source in SOURCES],
        check=True,
    )
    partial.rename(library)
    return library


def functions() -> set[str]:
    """The names of all functions the stand-in has."""
    names: set[str] = set()
    for path in HERE.glob("*.def"):
        names.update(re.findall(r"\((nvml\w+)\)", path.read_text()))
    return names
