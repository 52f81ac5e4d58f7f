"""Every scenario file through the fleet and the rules; every id has one; with any rule removed, one fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gputui.findings import Evidence, Expect, ProbeResult, judge
from gputui.findings import rules as families
from gputui.findings.explain import all_ids, explain
from gputui.findings.registry import RULES
from gputui.model.card import Event, Problem, Process, State
from gputui.model.reading import Absent, Why
from tests.findings import world

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
SCENARIOS = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
KEYS = {
    "source", "base", "name", "seconds", "idle", "expect", "facts", "moment", "later", "host", "processes",
    "own_until", "events", "probes", "state", "problem", "finds", "never", "interval",
}  # fmt: skip
H100 = {
    **world.A100,
    "pci.device_id": "0x233010DE",
    "pci.sub_device_id": "0x16C110DE",
    "compute_cap": "9.0",
    "multiprocessor_count": 132,
    "memory.total": 81559.0,
    "memory.reserved": 479.0,
    "power.default_limit": 700.0,
    "enforced.power.limit": 700.0,
    "power.limit": 700.0,
    "clocks.max.sm": 1980,
    "clocks.max.memory": 2619,
    "nvlink.count": 18,
    "nvlink.active": 18,
    "fabric.state": "Completed",
    "fabric.status": "Success",
}
BASES: dict[str, tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]] = {
    "rtx4090": (world.RTX_4090, "NVIDIA GeForce RTX 4090", world.BUSY, world.IDLE),
    "a100": (
        world.A100,
        "NVIDIA A100-SXM4-80GB",
        {**world.BUSY, "clocks.current.sm": 1410, "power.draw": 380.0, "pstate": "P0"},
        {**world.IDLE, "pstate": "P0", "power.draw": 58.0},
    ),
    "h100": (
        H100,
        "NVIDIA H100 80GB HBM3",
        {**world.BUSY, "clocks.current.sm": 1905, "power.draw": 655.0, "pstate": "P0", "pcie.link.gen.current": 5},
        {**world.IDLE, "clocks.current.sm": 345, "pstate": "P0", "power.draw": 70.0, "mask": 1},
    ),
}


def reading(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("absent:"):
        return Absent(Why(value.removeprefix("absent:")))
    return tuple(value) if isinstance(value, list) else value


def readings(table: dict[str, Any]) -> dict[str, Any]:
    return {name: reading(value) for name, value in table.items()}


def process(table: dict[str, Any]) -> Process:
    memory = table.get("memory_mib")
    return Process(
        table["pid"],
        table.get("type", "C"),
        table.get("name", "python"),
        Absent(Why.UNSUPPORTED) if memory is None else float(memory),
        here={"yes": True, "no": False, "unknown": None}[table.get("here", "yes")],
        listed=table.get("listed", True),
    )


def evidence_of(scenario: dict[str, Any]) -> Evidence:
    """The scenario as evidence."""
    assert set(scenario) <= KEYS, set(scenario) - KEYS
    facts, name, busy, idle = BASES[scenario.get("base", "rtx4090")]
    moment = {**(idle if scenario.get("idle") else busy), **readings(scenario.get("moment", {}))}
    later = [
        (entry["from"], readings({k: v for k, v in entry.items() if k != "from"}))
        for entry in scenario.get("later", [])
    ]

    def at(second: int) -> dict[str, Any]:
        now = dict(moment)
        for start, table in later:
            if second >= start:
                now.update(table)
        return now

    own: Any = () if scenario.get("idle") else world.OWN_JOB
    if "processes" in scenario:
        listed = scenario["processes"]
        own = reading(listed) if isinstance(listed, str) else tuple(process(table) for table in listed)
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    probes = tuple(
        ProbeResult(
            id=probe["id"],
            gpu_uuid=uuid,
            engine=probe.get("engine", "torch"),
            value=probe.get("value"),
            unit=probe.get("unit", ""),
            dtype=probe.get("dtype", ""),
            state=probe.get("state", "done"),
            runs_agreeing=probe.get("runs", 1),
            detail=probe.get("detail", {}),
        )
        for probe in scenario.get("probes", [])
    )
    made = world.evidence(
        {**facts, **readings(scenario.get("facts", {}))},
        at,
        seconds=scenario.get("seconds", 90),
        name=scenario.get("name", name),
        state=State(scenario.get("state", "ok")),
        processes=own,
        own_until=scenario.get("own_until"),
        host=readings(scenario.get("host", {})),
        expect=Expect(scenario.get("expect", "any")),
        probes=probes,
    )
    events = tuple(Event(made.frame.time, e["what"], uuid, e.get("detail", "")) for e in scenario.get("events", []))
    fields = {**made.frame.__dict__, "events": (*made.frame.events, *events)}
    if "problem" in scenario:
        given = scenario["problem"]
        fields.update(problem=Problem(given["id"], given.get("detail", ""), given.get("code")), cards=())
    return Evidence(type(made.frame)(**fields), made.histories, made.expect, made.probes)


def mistakes(scenario: dict[str, Any], rules: Any = None) -> list[str]:
    """What the rules get wrong in a scenario."""
    found = {finding.id: finding.severity.value for finding in judge(evidence_of(scenario), rules).findings}
    wanted = scenario.get("finds", {})
    out = [f"{id} is {found.get(id)}, not {severity}" for id, severity in wanted.items() if found.get(id) != severity]
    never = scenario.get("never", ["*"])
    for id, severity in found.items():
        accused = severity in ("warn", "fail") and id not in wanted
        if id in never or ("*" in never and accused):
            out.append(f"{id} ({severity}) must not be found")
    return out


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name):
    scenario = SCENARIOS[name]
    assert scenario["source"]
    assert mistakes(scenario) == []


def test_every_finding_has_a_rule_words_and_a_scenario():
    design = (Path(__file__).parent / "ids.txt").read_text("utf-8").split()
    assert set(all_ids()) == set(design)
    for finding_id in all_ids():
        words = explain(finding_id).rule
        assert words.means
        assert words.decided
        assert words.action
        assert words.source
        assert words.who in ("you", "host")
    covered = {id for scenario in SCENARIOS.values() for id in scenario.get("finds", {})}
    assert set(design) - covered == ELSEWHERE


ELSEWHERE = {"memlock-low", "gpu-missing", "driver-not-answering", "telemetry-stale", "same-card-twice"}
"""Ids that need more than one card or a silent worker: test_presence.py has their scenarios."""


@pytest.mark.parametrize("removed", [id for id in (families.load() or RULES) if id not in ELSEWHERE])
def test_without_a_rule_a_scenario_fails(removed):
    left = [rule for id, rule in RULES.items() if id != removed]
    concerned = [scenario for scenario in SCENARIOS.values() if removed in scenario.get("finds", {})]
    assert any(mistakes(scenario, left) for scenario in concerned)
