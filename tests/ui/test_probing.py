"""Probes at a key: a sheet first, one card after another, results that reach the rules, and a way to stop."""

from __future__ import annotations

import pytest

from gputui.probes import scripted
from gputui.probes.run import Run
from gputui.probes.table import PROBES
from gputui.ui.screens.probe import ProbeScreen
from tests.ui.stage import drawn, stage


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(scripted, "STEPS", 3)
    monkeypatch.setattr(scripted, "STEP_S", 0.0)


@pytest.fixture
def slow(monkeypatch, quick):
    monkeypatch.setattr(scripted, "STEPS", 500)
    monkeypatch.setattr(scripted, "STEP_S", 0.02)


async def over(one, pilot) -> None:
    for _ in range(200):
        if one.app.runs and not one.app.is_probing:
            break
        await pilot.pause(0.01)
    assert not one.app.is_probing
    one.run(6)
    await drawn(one, pilot)


@pytest.mark.parametrize(
    ("key", "title"), [("m", "matmul"), ("s", "stress"), ("b", "memory bandwidth"), ("B", "copies")]
)
async def test_a_key_opens_a_sheet_and_nothing_runs(key, title):
    async with stage(keys=(key,)) as (one, _pilot):
        assert isinstance(one.app.screen, ProbeScreen)
        assert one.has(title)
        assert one.has("enter starts")
        assert one.app.runs == ()


async def test_enter_runs_it_and_the_result_says_its_shares_and_that_it_is_simulated():
    async with stage(keys=("m", "enter")) as (one, pilot):
        await over(one, pilot)
        assert one.has("% of healthy cards")
        assert one.has("SIMULATED")
        (result,) = one.app.probe_results
        assert (result.id, result.dtype, result.state) == ("matmul", "bf16", "done")
        assert not {finding.id for finding in one.app.findings} & {"matmul-low", "measurement-implausible"}


async def test_a_low_result_is_a_consequence_of_its_cause():
    async with stage("capped-4090", 100, keys=("m", "enter")) as (one, pilot):
        await over(one, pilot)
        one.run(6)
        await drawn(one, pilot)
        found = {finding.id: finding for finding in one.app.findings}
        assert "matmul-low" in found["power-limit-lowered"].consequences


async def test_all_cards_one_after_another():
    async with stage("h100x8", keys=("b", "a")) as (one, pilot):
        states: list[tuple[str, ...]] = []
        keep = one.app._keep

        def note(at: int, run: Run) -> None:
            keep(at, run)
            states.append(tuple(run.state for run in one.app.runs))

        one.app._keep = note
        await pilot.press("enter")
        await over(one, pilot)
        assert len(one.app.probe_results) == 8
        assert all(sum(state in ("starting", "running") for state in now) <= 1 for now in states)


async def test_x_stops_it_and_those_that_wait_and_nothing_is_concluded(slow):
    async with stage("h100x8", keys=("s", "a", "enter")) as (one, pilot):
        assert one.app.is_probing
        await pilot.press("escape", "x")
        await over(one, pilot)
        assert {run.reason for run in one.app.runs} == {"stopped"}
        assert one.app.probe_results == ()


async def test_the_sheet_cannot_change_what_runs(slow):
    async with stage("h100x8", keys=("s", "enter")) as (one, pilot):
        await pilot.press("escape", "m", "enter", "a")
        assert [run.probe for run in one.app.runs] == ["stress"]
        await pilot.press("x")
        await over(one, pilot)


async def test_a_live_card_in_use_is_refused_and_a_machine_without_torch_says_so(monkeypatch):
    from dataclasses import replace

    from gputui.probes import pythons

    monkeypatch.setattr(pythons, "find", lambda environ: [])
    async with stage("h100x8") as (one, _pilot):
        one.app.shown = replace(one.app.shown, simulated=False)
        sheet = one.app._sheet(PROBES["matmul"])
        assert "a process uses it" in next(iter(sheet.refused.values()))
        assert "No interpreter with torch" in sheet.no_engine
        one.app.sheet = sheet
        one.app.action_probe_start()
        assert one.app.runs == ()


async def test_results_go_into_the_evidence(tmp_path, monkeypatch):
    import json

    from gputui.commands.dashboard import _Export

    monkeypatch.chdir(tmp_path)
    async with stage(keys=("m", "enter"), export=_Export("any"), size=(200, 30)) as (one, pilot):
        await over(one, pilot)
        await pilot.press("escape", "e")
        (path,) = tmp_path.glob("gputui-snapshot-*.json")
        (probe,) = json.loads(path.read_text())["frame"]["probes"]
        assert (probe["id"], probe["engine"], probe["state"]) == ("matmul", "torch", "done")


async def test_a_mistake_of_ours_costs_the_run_and_not_the_dashboard(monkeypatch):
    def broken(self, value):
        raise ZeroDivisionError

    monkeypatch.setattr(scripted.ScriptedProbe, "_result", broken)
    async with stage("h100x8", keys=("m", "a", "enter")) as (one, pilot):
        await over(one, pilot)
        assert {(run.state, run.detail) for run in one.app.runs} == {("failed", "ZeroDivisionError")}
        assert one.app.is_running
