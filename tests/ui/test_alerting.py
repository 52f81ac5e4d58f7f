"""Thresholds, the bell, quiet, and the command for findings, at the screen."""

from __future__ import annotations

import json
import sys
import time

import pytest

from gputui.alerts.hook import OnFinding
from gputui.alerts.threshold import Threshold
from gputui.cli import main
from gputui.settings.schema import Settings
from tests.ui.stage import drawn, stage

ALWAYS = Settings(alerts_thresholds=(Threshold.of("temp>20 for 3s"),))
NEVER = Settings(alerts_thresholds=(Threshold.of("temp>150 for 3s"),))


def events(one) -> list[tuple[str, str]]:
    return [(event.what, event.detail) for event in one.fleet.events if event.what.startswith("threshold")]


async def test_a_crossed_threshold_is_a_note_an_event_a_headline_and_one_bell():
    async with stage("rtx4090", 60, settings=NEVER) as (one, pilot):
        rings = []
        one.app.bell = lambda: rings.append(1)
        one.app.start_judging(one.app.judge, ALWAYS, None)
        for _second in range(8):
            one.run(1)
            one.app.refresh_now()
        await drawn(one, pilot)
        assert rings == [1]
        assert events(one) == [("threshold-crossed", "temp>20 for 3s")]
        assert one.app.note == "card 0: temp>20 for 3s"
        assert one.has("Your threshold temp>20 for 3s is crossed")


async def test_a_threshold_that_is_not_crossed_is_silent():
    async with stage("rtx4090", 60, settings=NEVER) as (one, _pilot):
        assert events(one) == []
        assert not one.has("threshold")


async def test_z_is_quiet_and_alerts_are_kept_all_the_same():
    async with stage("rtx4090", 60, settings=NEVER) as (one, pilot):
        rings = []
        one.app.bell = lambda: rings.append(1)
        one.app.start_judging(one.app.judge, ALWAYS, None)
        await pilot.press("z")
        await drawn(one, pilot)
        assert one.has("quiet")
        for _second in range(8):
            one.run(1)
            one.app.refresh_now()
        assert rings == []
        assert events(one) == [("threshold-crossed", "temp>20 for 3s")]
        await pilot.press("z")
        await drawn(one, pilot)
        assert one.app.note == "alerts ring again"


async def test_alerts_go_on_while_the_picture_is_held():
    async with stage("rtx4090", 60, settings=NEVER, keys=("space",)) as (one, _pilot):
        one.app.start_judging(one.app.judge, ALWAYS, None)
        for _second in range(8):
            one.run(1)
            one.app.refresh_now()
        assert events(one) == [("threshold-crossed", "temp>20 for 3s")]


async def test_the_command_gets_the_finding(tmp_path):
    target = tmp_path / "told.json"
    code = f"import sys; open({str(target)!r}, 'a').write(sys.stdin.read())"
    hook = OnFinding([sys.executable, "-c", code])
    async with stage("rtx4090", 60, settings=ALWAYS, hook=hook) as (one, _pilot):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not (target.exists() and target.read_text()):
            one.app.refresh_now()
            await _pilot.pause(0.05)
        assert json.loads(target.read_text())["id"] == "threshold"
    hook.close()
    assert hook.pids == ()


def test_a_command_that_is_not_there_is_wrong_usage(capsys, monkeypatch):
    monkeypatch.setenv("GPUTUI_CONFIG", "")
    assert main(["--demo", "--on-finding", "no-such-program-here"]) == 2
    assert "no-such-program-here" in capsys.readouterr().err


def test_a_threshold_with_a_slip_is_explained(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--alert", "tmep>80"])
    assert ended.value.code == 2
    assert "Did you mean temp?" in capsys.readouterr().err
