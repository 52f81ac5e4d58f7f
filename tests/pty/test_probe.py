"""A probe from key to reason on the stand-in driver, whose cards no CUDA knows: nothing is loaded, and that is said."""

from __future__ import annotations

import sys

import pytest

from tests.fake_driver.build import NoCompiler
from tests.fake_driver.env import environment
from tests.fake_driver.script import Script

pytestmark = pytest.mark.pty
NOTHING_RUNS = tuple(f"nvmlDeviceGet{kind}RunningProcesses_v3 = none" for kind in ("Compute", "Graphics", "MPSCompute"))
IDLE = (
    "nvmlDeviceGetUtilizationRates = 0 0",
    "nvmlDeviceGetMemoryInfo_v2 = 85520809984 85017952256 589824 502267904",
)


@pytest.fixture
def dashboard(tmp_path, terminal):
    """`dashboard(lines)`: gputui in front of one H100 of the stand-in driver, with an interpreter that seems to have
    torch.
    """
    root = tmp_path / "venv"
    (root / "bin").mkdir(parents=True)
    (root / "pyvenv.cfg").write_text("home = /usr\n")
    python = root / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (root / "lib" / "python3.11" / "site-packages" / "torch-9.9.dist-info").mkdir(parents=True)

    def start(*lines: str):
        try:
            changed = environment(tmp_path, Script("h100").card(0, *lines))
        except NoCompiler as error:
            pytest.skip(str(error))
        wanted = {name: value for name, value in changed.items() if name.startswith(("FAKE_NVML", "LD_LIBRARY"))}
        one = terminal(environment={**wanted, "GPUTUI_PYTHON": str(python)})
        one.wait_for("of 1980", 15)
        one.press("m")
        one.wait_for("torch 9.9", 5)
        return one

    return start


def test_a_card_nobody_uses_is_tried_and_the_reason_is_said(dashboard):
    one = dashboard(*IDLE, *NOTHING_RUNS)
    one.pump(6)  # an idle card is one that was idle for some seconds
    one.press("\r")
    one.wait_for(lambda: "CUDA answers with an error" in one.text() or "another card" in one.text(), 15)
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


def test_a_card_in_use_is_refused(dashboard):
    one = dashboard()
    one.wait_for("not started: 2 processes use it", 5)
    one.press("\r")
    one.pump(1)
    assert "starting" not in one.text()
    one.press("q")
    assert one.wait_end(5) == 0
