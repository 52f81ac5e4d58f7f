"""The runner with real processes: an interpreter that is a script behaves well, badly, or not at all."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gputui.probes import runner
from gputui.probes.runner import Order, ProbeProcess
from gputui.probes.table import PROBES
from gputui.probes.worker import guard

UUID = "GPU-11111111-2222-3333-4444-555555555555"
SPEAK = """
import json, os, signal, sys, time
def say(kind, **fields):
    sys.stdout.write(json.dumps({"v": 1, "kind": kind, **fields}) + "\\n"); sys.stdout.flush()
request = json.loads(sys.stdin.readline())
say("hello", pid=os.getpid(), engine="torch", engine_version="9")
"""
RESULT = 'say("result", state="done", value=161.5, unit="TFLOPS", dtype="bf16", detail={"errors": 0}, series=[160.0])\n'


@pytest.fixture
def interpreter(tmp_path):
    """`interpreter(code)`: the path of a program that runs the code whatever its arguments are."""

    def make(code: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!{sys.executable}\n{SPEAK}\n{code}")
        path.chmod(0o755)
        return str(path)

    return make


def process(python: str, **options) -> ProbeProcess:
    return ProbeProcess(Order(PROBES["matmul"], UUID, "00000000:01:00.0", python, **options))


async def followed(one: ProbeProcess) -> list[str]:
    return [run.state async for run in one.follow()]


async def test_a_result_arrives_with_its_figures(interpreter):
    code = 'say("phase", name="measure", share=0.5, left_s=3)\nsay("live", values={"TFLOPS": 160.5})\n' + RESULT
    one = process(interpreter(code))
    assert (await followed(one))[-1] == "done"
    assert one.run.series == (160.5,)
    result = one.run.as_result()
    assert (result.id, result.gpu_uuid, result.value, result.dtype, result.engine) == (
        "matmul", UUID, 161.5, "bf16", "torch",
    )  # fmt: skip
    assert psutil.pid_exists(one.run.pid) is False


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        ("sys.exit(0)", "mistake", "ended with 0"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "mistake", "SIGSEGV"),
        ('sys.stderr.write("Trace\\nRuntimeError: odd\\n"); sys.exit(7)', "mistake", "ended with 7. RuntimeError: odd"),
        ('say("failed", reason="out-of-memory", detail="2 GiB")', "out-of-memory", "2 GiB"),
        ('say("failed", reason="contended", detail="")', "contended", ""),
        ('print("garbage" * 100000); print("{"); say("result"); sys.exit(3)', "mistake", "ended with 3"),
        ('say("result", value=1e999, unit="", dtype="", detail={}, series=[])', "mistake", "ended with 0"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_is_a_result_with_a_reason(interpreter, code, reason, words):
    one = process(interpreter(code))
    await followed(one)
    assert one.run.state == ("contended" if reason == "contended" else "failed")
    assert one.run.reason == reason
    assert words in one.run.detail
    assert "value" not in one.run.result
    assert one.run.as_result().value is None


async def test_a_program_that_is_not_there(tmp_path):
    one = process(str(tmp_path / "none"))
    assert await followed(one) == ["failed"]
    assert one.run.reason == "no-engine"


@pytest.mark.parametrize(
    ("code", "most_s"),
    [
        ('while sys.stdin.readline() != "stop\\n": pass\nsay("failed", reason="stopped", detail="")', 0.5),
        ("time.sleep(60)", 1.2),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)", 3.0),
    ],
    ids=["hears", "needs SIGTERM", "needs SIGKILL"],
)
async def test_stop_ends_it_by_the_mildest_means_that_works(interpreter, code, most_s):
    one = process(interpreter(code))
    began = None
    async for run in one.follow():
        if run.engine and began is None:
            began = time.monotonic()
            one.stop()
    assert time.monotonic() - began < most_s + 1.0
    assert one.run.reason == "stopped"
    assert not psutil.pid_exists(one.run.pid)
    assert one.run.as_result() is None, "what the user stopped says nothing of the card"


async def test_silence_is_an_end(interpreter, monkeypatch):
    monkeypatch.setattr(runner, "SILENT_S", 0.3)
    one = process(interpreter("time.sleep(60)"))
    await followed(one)
    assert one.run.reason == "deadline"
    assert not psutil.pid_exists(one.run.pid)


async def test_leaving_the_run_ends_the_process(interpreter):
    one = process(interpreter("time.sleep(60)"))
    states = one.follow()
    await anext(states)
    await states.aclose()
    until = time.monotonic() + 5
    while psutil.pid_exists(one.run.pid) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    assert not psutil.pid_exists(one.run.pid)


def test_the_environment_names_the_card_and_nothing_of_ours(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    environ = Order(PROBES["matmul"], UUID, "", "python").environment()
    assert (environ["CUDA_VISIBLE_DEVICES"], environ["CUDA_DEVICE_ORDER"]) == (UUID, "PCI_BUS_ID")
    assert "PYTHONPATH" not in environ


@pytest.fixture(scope="module")
def cuda(tmp_path_factory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("cuda")
    source = Path(__file__).with_name("cuda.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source], check=True)
    return folder


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ({"FAKE_CUDA_UUID": "1" * 8 + "2222333344445555" + "5" * 8}, "no-engine"),
        ({"FAKE_CUDA_UUID": "f" * 32, "FAKE_CUDA_BUS": "0000:01:00.0"}, "wrong-card"),
        ({"FAKE_CUDA_BUS": "0000:01:00.0"}, "no-engine"),
        ({"FAKE_CUDA_BUS": "0000:02:00.0"}, "wrong-card"),
        ({}, "wrong-card"),
        ({"FAKE_CUDA_INIT": "802"}, "cuda-error"),
    ],
    ids=["same uuid", "another uuid", "same bus", "another bus", "nothing readable", "no fabric manager"],
)
async def test_the_right_card_or_none(cuda, monkeypatch, seen, reason):
    """The stand-in for libcuda decides; with the right card the process goes on to torch, which is not here."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cuda))
    for name, value in seen.items():
        monkeypatch.setenv(name, value)
    python = sys.executable
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
        pytest.skip("this interpreter has torch")
    one = process(python)
    await followed(one)
    assert one.run.reason == reason, one.run.detail


def test_what_waits_in_the_pipe_is_no_silence():
    heard, said = os.pipe()
    try:
        assert guard.is_silent(guard.SILENCE_S + 1, heard)
        assert not guard.is_silent(guard.SILENCE_S - 1, heard)
        os.write(said, b"beat\n")
        assert not guard.is_silent(guard.SILENCE_S + 1, heard)
    finally:
        os.close(heard)
        os.close(said)


PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, start_new_session=True)
print(child.pid, flush=True)
while True:
    if sys.argv[2] == "beats":
        child.stdin.write(b"beat\\n"); child.stdin.flush()
    time.sleep(0.2)
"""
CHILD = """
import os, sys, time
from gputui.probes.worker import guard
guard.SILENCE_S = 1.0
one = guard.Guard(os.getppid(), float({deadline}), lambda *a, **k: None)
one.start(0)
while True: time.sleep(0.01)
"""


@pytest.mark.parametrize("how", ["kill", "silent", "deadline", "orphan"])
def test_a_worker_never_outlives_its_parent_or_its_time(how):
    code = CHILD.format(deadline=1 if how == "deadline" else 60)
    if how == "orphan":
        code = code.replace("os.getppid()", "1")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, code, "none" if how == "silent" else "beats"],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    try:
        child = psutil.Process(int(parent.stdout.readline()))
        if how == "kill":
            parent.kill()
        until = time.monotonic() + 5
        while time.monotonic() < until and child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.02)
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        pass
    finally:
        parent.kill()
        parent.wait()
