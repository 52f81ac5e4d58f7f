"""The JSON that leaves the program: valid against its schema, nothing private in it, absent never 0."""

from __future__ import annotations

import json
import stat

import jsonschema
import pytest

from gputui.findings import Judgement, judge
from gputui.model.card import Event, Frame, MigDevice, Problem, Process, State
from gputui.model.finding import Verdict
from gputui.model.reading import Absent, Why
from gputui.schema import load
from gputui.session.document import card_object, document, dumps, overall
from gputui.session.snapshot import snapshot, write_private, write_snapshot
from tests.findings.world import BUSY, IDLE, RTX_4090, evidence

FRAME = jsonschema.Draft202012Validator(load("frame-1"))
SNAPSHOT = jsonschema.Draft202012Validator(load("snapshot-1"))

SECRETS = ("hunter2", "alice", "/home/alice/secret-project", "train.py", "--token")
PRIVATE = (
    Process(
        4100,
        "C",
        "/home/alice/secret-project/bin/python",
        19600.0,
        here=True,
        user="alice",
        command="python train.py --token hunter2",
    ),
    Process(28290, "C", "/home/alice/other", Absent(Why.UNSUPPORTED, 3), here=False),
)


def test_a_document_is_valid_and_round_trips():
    seen = evidence(RTX_4090, {**BUSY, "fan.speed": Absent(Why.UNSUPPORTED, 3)})
    data = json.loads(dumps(document(seen.frame, judge(seen))))
    FRAME.validate(data)
    card = data["gpus"][0]
    assert card["readings"]["power.draw"] == {"value": 438.0, "unit": "W"}
    assert card["readings"]["fan.speed"] == {"absent": "unsupported", "code": 3}
    assert card["verdict"] == data["verdict"] == "pass"


def test_a_zero_is_a_value_and_absent_is_not_a_zero():
    seen = evidence(RTX_4090, {**IDLE, "utilization.memory": Absent(Why.MIG)})
    card = card_object(seen.frame.cards[0], None)
    assert card["readings"]["utilization.gpu"]["value"] == 0
    assert card["readings"]["utilization.memory"] == {"absent": "mig"}
    assert card["reasons"] == []


def test_nothing_private_is_written():
    seen = evidence(RTX_4090, BUSY, processes=PRIVATE)
    text = dumps(document(seen.frame, Judgement())) + dumps(snapshot(seen.frame, seen.histories, Judgement()))
    assert not [secret for secret in SECRETS if secret in text]
    names = [
        process["name"] for process in json.loads(dumps(document(seen.frame, Judgement())))["gpus"][0]["processes"]
    ]
    assert names == ["python", ""]


def test_odd_cards_are_valid_too():
    lost = evidence(RTX_4090, BUSY, state=State.LOST, processes=Absent(Why.IMPLAUSIBLE)).frame
    data = document(lost, Judgement())
    FRAME.validate(data)
    assert data["gpus"][0]["state"] == "lost"
    mig = evidence(RTX_4090, {"utilization.gpu": Absent(Why.MIG)}).frame
    card = mig.cards[0].__class__(
        **{
            **mig.cards[0].__dict__,
            "mig": (MigDevice(0, "MIG-1", "MIG 1g.10gb", 7, 0, 14, 9984.0, Absent(Why.NO_PERMISSION, 4)),),
        }
    )
    FRAME.validate(
        document(Frame(**{**mig.__dict__, "cards": (card,), "events": (Event(1.0, "xid", None, "79"),)}), Judgement())
    )


def test_no_card_read_is_never_a_pass():
    problem = Frame(1e9, 1.0, "nvml", False, None, (), problem=Problem("driver-not-loaded", "", 12))
    FRAME.validate(document(problem, Judgement()))
    assert overall(problem, Judgement()) is Verdict.CANNOT_JUDGE
    assert overall(Frame(1e9, 1.0, "nvml", False, None, ()), Judgement()) is Verdict.CANNOT_JUDGE


def test_a_snapshot_holds_ten_minutes_on_a_grid_of_seconds():
    seen = evidence(RTX_4090, lambda second: {**BUSY, "power.draw": float(second)}, seconds=900)
    data = json.loads(dumps(snapshot(seen.frame, seen.histories, Judgement())))
    SNAPSHOT.validate(data)
    FRAME.validate(data["frame"])
    (series,) = data["history"]
    draw = series["readings"]["power.draw"]
    assert draw["unit"] == "W"
    assert draw["values"] == [float(second) for second in range(300, 900)]
    assert len(series["clocks_event_reasons.mask"]) == 600


def test_a_snapshot_never_overwrites_and_is_private(tmp_path):
    data = {"schema": "gputui.snapshot/1"}
    first = write_snapshot(data, tmp_path, 1_764_547_200.0)
    second = write_snapshot(data, tmp_path, 1_764_547_200.0)
    assert first != second
    assert first.name == "gputui-snapshot-20251201T000000Z.json"
    assert stat.S_IMODE(first.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    (target / "in-the-way").write_text("kept")
    with pytest.raises(OSError):  # noqa: PT011 - the kind differs by file system
        write_private(target, "new")
    assert (target / "in-the-way").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
