"""The document of every simulated host and of every scenario is valid; the snapshot key writes one that is."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from gputui.commands.dashboard import _Export
from gputui.driver.scripted import names
from gputui.findings import Evidence, judge
from gputui.schema import load
from gputui.session.document import document, dumps
from tests.findings.test_scenarios import SCENARIOS, evidence_of
from tests.ui.stage import Stage

FRAME = jsonschema.Draft202012Validator(load("frame-1"))
SNAPSHOT = jsonschema.Draft202012Validator(load("snapshot-1"))
HOSTS = [name for name, _about in names() if name not in ("slow-start", "hung")]


@pytest.mark.parametrize("host", HOSTS)
def test_a_simulated_host(host):
    one = Stage(host, 40)
    frame = one.fleet.frame(one.clock.mono(), one.clock.wall())
    histories = {card.uuid: history for card in frame.cards if (history := one.fleet.history(card.uuid))}
    data = json.loads(dumps(document(frame, judge(Evidence(frame, histories)))))
    FRAME.validate(data)
    assert data["simulated"] is True


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario(name):
    evidence = evidence_of(SCENARIOS[name])
    FRAME.validate(json.loads(dumps(document(evidence.frame, judge(evidence), evidence.expect, evidence.probes))))


def test_the_snapshot_key_writes_into_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = _Export("any")(Stage("capped-4090", 60).source)
    assert path.parent == tmp_path
    data = json.loads(path.read_text())
    SNAPSHOT.validate(data)
    FRAME.validate(data["frame"])
    assert "train.py" not in path.read_text()
    assert any(finding["id"] == "power-limit-lowered" for finding in data["frame"]["findings"])


def test_a_folder_that_cannot_be_written_falls_back_to_the_home_folder(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(Path, "cwd", lambda: Path("/proc"))
    assert _Export("any")(Stage("rtx4090", 20).source).parent == home
