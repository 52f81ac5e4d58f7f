"""Make the .ptx files of the kernels from their .cu files.

    python tests/tools/build_kernels.py [--check]

Needs nvcc. What nvcc writes asks for a driver as new as itself; the header is lowered to what the code really needs, so
that drivers since r450 load it. With --check nothing is written and the status is 1 when a file is stale. The status is
2 where that cannot be said: no nvcc, or another release of it than made the files, which may word the same code
differently.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[2] / "gputui" / "probes" / "kernels"

COMMON = ("75", "6.0", "sm_60")
"""Compiled for, and the .version and .target written. nvcc 13 knows no card older than 75; the code uses nothing newer
than 60."""
SPECIAL = {"mma": ("80", "7.0", "sm_80")}
"""bf16 on tensor cores came with 8.0."""


class CannotBuildError(Exception):
    """Why, in a sentence for the person who asked."""


def release(nvcc: str) -> str:
    """The release of the compiler, such as "13.0"."""
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"release (\d+\.\d+)", text)
    if not found:
        raise CannotBuildError(f"{nvcc} does not say which release it is.")
    return found[1]


def header(source: Path, made_with: str) -> str:
    """First line of a file we ship."""
    return f"// Made from {source.name} by tests/tools/build_kernels.py with nvcc {made_with}; do not edit."


def ship(text: str, source: Path, made_with: str) -> str:
    """What nvcc wrote, for old drivers: header lowered, and no comments, which name the compiler's build."""
    _, version, target = SPECIAL.get(source.stem, COMMON)
    text = re.sub(r"[ \t]*//.*", "", text)
    text = re.sub(r"^\.version .*$", f".version {version}", text, flags=re.MULTILINE)
    text = re.sub(r"^\.target .*$", f".target {target}", text, flags=re.MULTILINE)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join([header(source, made_with), *lines, ""])


def build(source: Path, nvcc: str, made_with: str) -> str:
    """The text to ship for one source."""
    arch = SPECIAL.get(source.stem, COMMON)[0]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.ptx"
        command = [nvcc, "-ptx", "-O3", f"-arch=compute_{arch}", str(source), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CannotBuildError(f"nvcc refused {source.name}:\n{done.stderr}{done.stdout}".rstrip())
        return ship(out.read_text("utf-8"), source, made_with)


def other_release(sources: list[Path], made_with: str) -> str | None:
    """The first line of a shipped file that another release made, None when there is none."""
    for source in sources:
        shipped = source.with_suffix(".ptx")
        first = shipped.read_text("utf-8").split("\n", 1)[0] if shipped.exists() else ""
        found = re.search(r"with nvcc (\d+\.\d+);", first)
        if found and found[1] != made_with:
            return found[1]
    return None


def main(arguments: list[str] | None = None) -> int:
    """Write or check every file."""
    parser = argparse.ArgumentParser(description="Make the .ptx files of the kernels from their .cu files.")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a file is stale")
    check: bool = parser.parse_args(arguments).check
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("nvcc, the CUDA compiler, is not on PATH: the kernels can be neither made nor checked.", file=sys.stderr)
        return 2
    sources = sorted(KERNELS.glob("*.cu"))
    stale = []
    try:
        made_with = release(nvcc)
        before = other_release(sources, made_with)
        if check and before:
            print(f"The files were made with nvcc {before} and this is {made_with}: no comparison.", file=sys.stderr)
            return 2
        for source in sources:
            text = build(source, nvcc, made_with)
            shipped = source.with_suffix(".ptx")
            if shipped.exists() and shipped.read_text("utf-8") == text:
                continue
            stale.append(shipped.name)
            if not check:
                shipped.write_text(text, "utf-8")
    except CannotBuildError as error:
        print(error, file=sys.stderr)
        return 2
    if check and stale:
        print(f"Stale, run tests/tools/build_kernels.py: {', '.join(stale)}", file=sys.stderr)
        return 1
    print(f"{len(sources)} kernels: {'written ' + ', '.join(stale) if stale else 'nothing to do'}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
