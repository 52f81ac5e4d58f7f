"""The programs that run on the card: what can be known of them without one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gputui.probes import kernels
from gputui.probes.kernels import KERNELS, ptx

TOOL = Path(__file__).resolve().parents[1] / "tools" / "build_kernels.py"
FOLDER = Path(kernels.__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.ptx"))
TARGETS = (60, 61, 70, 75, 80, 86, 89, 90, 100, 120)
WIDTHS = {"u32": "u32", "u64": "u64", "f32": "f32", "pointer": "u64"}


def header(file: str) -> tuple[str, str]:
    """The version and the target a file should ask for."""
    return ("7.0", "sm_80") if file == "mma" else ("6.0", "sm_60")


def signature(file: str, entry: str) -> list[str]:
    """The types of an entry's parameters, from its text."""
    found = re.search(rf"\.visible \.entry {entry}\((.*?)\)", ptx(file), re.DOTALL)
    assert found, f"{file}.ptx has no entry {entry}"
    return re.findall(r"\.param \.(\w+)", found[1])


@cache
def assemble(file: str, target: int) -> str:
    """What the assembler says for one target: "" when it takes the file."""
    command = ["ptxas", f"-arch=sm_{target}", str(FOLDER / f"{file}.ptx"), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return "" if done.returncode == 0 else (done.stderr + done.stdout).strip() or f"status {done.returncode}"


def unknown(answer: str) -> bool:
    """Whether the assembler is too new or too old for the target."""
    return "is not defined for option" in answer


def test_every_source_is_built_and_described():
    assert sorted(path.stem for path in FOLDER.glob("*.cu")) == FILES
    assert set(FILES) == {kernel.file for kernel in KERNELS.values()}


@pytest.mark.parametrize("file", FILES)
def test_old_drivers_load_it(file):
    version, target = header(file)
    text = ptx(file)
    assert re.findall(r"^\.version (.*)$", text, re.MULTILINE) == [version]
    assert re.findall(r"^\.target (.*)$", text, re.MULTILINE) == [target]
    assert re.findall(r"^\.address_size (.*)$", text, re.MULTILINE) == ["64"]


@pytest.mark.parametrize("file", FILES)
def test_it_names_nobody(file):
    first, *rest = ptx(file).splitlines()
    assert re.fullmatch(
        rf"// Made from {file}\.cu by tests/tools/build_kernels\.py with nvcc [\d.]+; do not edit\.", first
    )
    assert not [line for line in rest if "/" in line or "Build" in line]
    assert not re.search(r"^\s*\.(file|loc|section)\b", "\n".join(rest), re.MULTILINE)


@pytest.mark.parametrize("entry", KERNELS)
def test_table_and_text_agree_on_parameters(entry):
    kernel = KERNELS[entry]
    assert kernel.entry == entry
    assert signature(kernel.file, entry) == [WIDTHS[parameter.type] for parameter in kernel.parameters]


@pytest.mark.parametrize("entry", KERNELS)
def test_table_and_source_agree_on_names_and_types(entry):
    kernel = KERNELS[entry]
    source = (FOLDER / f"{kernel.file}.cu").read_text("utf-8")
    found = re.search(rf"\b{entry}\(([^)]*)\) \{{", source)
    assert found
    written = [tuple(part.replace("const ", "").split()) for part in found[1].split(",")]
    elements = {"uint4": "u32", "float": "f32"}
    for (type_, name), parameter in zip(written, kernel.parameters, strict=True):
        assert name.lstrip("*") == parameter.name
        assert elements.get(type_, type_) == (parameter.element or parameter.type)
        assert name.startswith("*") == (parameter.type == "pointer") == bool(parameter.length)


@pytest.mark.parametrize("entry", KERNELS)
def test_table_says_what_is_read_and_written(entry):
    kernel = KERNELS[entry]
    source = (FOLDER / f"{kernel.file}.cu").read_text("utf-8")
    found = re.search(rf"\b{entry}\(([^)]*)\) \{{", source)
    assert found
    buffers = [part for part in found[1].split(",") if "*" in part]
    outputs = [parameter.output for parameter in kernel.parameters if parameter.type == "pointer"]
    assert outputs == ["const " not in part for part in buffers]
    assert any(outputs)


@pytest.mark.parametrize("entry", KERNELS)
def test_the_block_it_may_have_is_in_the_text(entry):
    kernel = KERNELS[entry]
    found = re.search(rf"\.entry {entry}\(.*?\)\s*(?:\.maxntid (\d+)[^\n]*\s*)?\{{", ptx(kernel.file), re.DOTALL)
    assert found
    if found[1]:
        assert int(found[1]) == kernel.threads
    assert kernel.threads <= 1024


def test_no_entry_is_left_out():
    entries = sorted(entry for file in FILES for entry in re.findall(r"\.entry (\w+)\(", ptx(file)))
    assert entries == sorted(KERNELS)


@pytest.mark.parametrize("file", FILES)
def test_capability_is_the_target(file):
    needed = {kernel.capability for kernel in KERNELS.values() if kernel.file == file}
    assert needed == {divmod(int(header(file)[1].removeprefix("sm_")), 10)}


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas here")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("file", FILES)
def test_it_assembles(file, target):
    if target < int(header(file)[1].removeprefix("sm_")):
        pytest.skip(f"{file} needs {header(file)[1]}")
    answer = assemble(file, target)
    if unknown(answer):
        pytest.skip(f"this ptxas does not know sm_{target}")
    assert answer == ""


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas here")
@pytest.mark.parametrize("file", FILES)
def test_it_assembles_for_three_targets_at_least(file):
    assert len([target for target in TARGETS if assemble(file, target) == ""]) >= 3


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
def test_built_from_the_sources_beside_it():
    done = subprocess.run(
        [sys.executable, str(TOOL), "--check"], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


def test_without_the_compiler_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, str(TOOL)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr == "nvcc, the CUDA compiler, is not on PATH: the kernels can be neither made nor checked.\n"
