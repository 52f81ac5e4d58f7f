"""The rooms of the house: who may import whom, and what never appears in the package."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gputui"
FILES = sorted(PACKAGE.rglob("*.py"))

PURE = ("model", "reference", "findings")
OUTSIDE = {"textual", "pynvml", "subprocess", "os", "time", "asyncio", "threading", "socket", "psutil"}
ORDER = [
    "model",
    "reference",
    "findings",
    "host",
    "driver",
    "session",
    "probes",
    "alerts",
    "settings",
    "ui",
    "commands",
]
"""Rooms from the ground up: a room imports itself and those before it. `host` and `driver` are one floor."""


def imports(path: Path) -> set[str]:
    """Every module a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room(module: str) -> str:
    """The room of a module of ours, such as "driver" for gputui.driver.smi.text."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", [f for f in FILES if f.relative_to(PACKAGE).parts[0] in PURE], ids=lambda p: p.stem)
def test_pure_rooms_know_nothing_of_the_outside(path):
    assert not {module.split(".")[0] for module in imports(path)} & OUTSIDE


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_point_down(path):
    floor = path.relative_to(PACKAGE).parts[0]
    if floor not in ORDER:
        return
    ours = {room(module) for module in imports(path) if module.startswith("gputui.")}
    above = {other for other in ours & set(ORDER) if ORDER.index(other) > ORDER.index(floor)}
    assert not above


def test_one_file_imports_the_driver_binding():
    assert len([path for path in FILES if "pynvml" in imports(path)]) <= 1


def test_only_the_screen_imports_textual():
    using = [path for path in FILES if any(module.split(".")[0] == "textual" for module in imports(path))]
    assert {path.relative_to(PACKAGE).parts[0] for path in using} <= {"ui"}


def test_no_file_writes_to_a_driver():
    setter = re.compile(r"nvml\w*?(?:Set|Reset|Clear|Freeze|Create|Destroy)\w*")
    allowed = {"nvmlEventSetCreate", "nvmlEventSetWait_v2", "nvmlEventSetWait", "nvmlEventSetFree"}
    found = {match for path in FILES for match in setter.findall(path.read_text("utf-8"))}
    assert found <= allowed


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["status", "--help"], ["explain", "power-limit-lowered"]], ids=" ".join
)
def test_text_commands_do_not_import_the_screen(arguments):
    code = (
        "import sys\nfrom gputui.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "heavy = {'textual', 'plotext', 'pynvml', 'psutil', 'rich'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert done.stdout.rstrip().endswith("HEAVY []"), done.stdout + done.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_can_be_read_in_one_sitting(path):
    assert len(path.read_text("utf-8").splitlines()) <= 450
