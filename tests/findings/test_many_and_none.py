"""Rules that need several cards or a silent worker; and what no input may do: crash a rule, or turn absence into
a fault.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gputui.findings import Evidence, Expect, judge
from gputui.findings.watch import APPEAR_S, GO_S, Watch
from gputui.model import catalog
from gputui.model.card import Card, Driver, Frame, MigDevice, Process, State
from gputui.model.finding import Severity
from gputui.model.fleet import Fleet
from gputui.model.history import History
from gputui.model.reading import Absent, Why
from gputui.model.wire import Beat, Cards, HostSample, Listed, Opened, Sample
from tests.findings.world import BUSY, RTX_4090, evidence, ids, judged

DRIVER = Driver("580", "13.0", "13", "580")


def host(*uuids: str, facts=RTX_4090, readings=None) -> Fleet:
    """Several cards, sampled once."""
    fleet = Fleet()
    fleet.worker_started(100.0, 1000.0)
    fleet.eat(Opened(DRIVER, "nvml", False, 100.0), 1000.0)
    listed = tuple(Listed(n, uuid, "NVIDIA GeForce RTX 4090", dict(facts)) for n, uuid in enumerate(uuids))
    fleet.eat(Cards(listed, 100.0, 1000.0), 1000.0)
    for uuid in uuids:
        fleet.eat(Sample(uuid, 100.1, 1000.1, State.OK, readings or {"power.draw": 20.0}), 1000.1)
    return fleet


def found(fleet: Fleet, mono: float) -> dict[str, str]:
    frame = fleet.frame(mono, 900.0 + mono)
    histories = {card.uuid: fleet.history(card.uuid) for card in frame.cards}
    return {f.id: f.severity.value for f in judge(Evidence(frame, histories)).findings}  # type: ignore[arg-type]


def test_a_card_that_left_the_list():
    fleet = host("a", "b")
    fleet.eat(Cards((Listed(0, "a", "x"),), 110.0, 1010.0), 1010.0)
    assert found(fleet, 110.0)["gpu-missing"] == "fail"
    assert "gpu-missing" not in found(host("a", "b"), 101.0)


def test_a_silent_worker_and_an_answering_one():
    fleet = host("a", "b")
    for mono in (101.0, 102.0, 103.0, 104.0):
        fleet.judge(mono, 1000.0)
    assert found(fleet, 104.0)["driver-not-answering"] == "fail"
    fresh = host("a", "b")
    fresh.eat(Beat(103.5, 1003.5), 1003.5)
    fresh.judge(104.0, 1004.0)
    assert "driver-not-answering" not in found(fresh, 104.0)


def test_readings_that_are_old_while_the_worker_lives():
    fleet = host("a")
    for mono in range(101, 125):
        fleet.eat(Beat(float(mono), 900.0 + mono), 900.0 + mono)
        fleet.judge(float(mono), 900.0 + mono)
    assert found(fleet, 125.0)["telemetry-stale"] == "unknown"
    assert "telemetry-stale" not in found(fleet, 105.0)


def test_one_card_under_two_names():
    assert (
        found(host("a", "b", facts={**RTX_4090, "pci.bus_id": "00000000:01:00.0"}), 101.0)["same-card-twice"] == "fail"
    )
    assert "same-card-twice" not in found(host("a", facts={**RTX_4090, "pci.bus_id": "00000000:01:00.0"}), 101.0)


def test_memlock_matters_with_several_cards():
    two, one = host("a", "b"), host("a")
    for fleet in (two, one):
        fleet.eat(HostSample(101.0, 1001.0, {"host.memlock": 0.0625}), 1001.0)
    assert found(two, 101.0)["memlock-low"] == "info"
    assert "memlock-low" not in found(one, 101.0)


@pytest.mark.parametrize("why", Why)
@pytest.mark.parametrize("expect", Expect)
def test_absence_is_never_a_fault(why, expect):
    facts = {spec.name: Absent(why, 3) for spec in catalog.SPECS}
    machine = {spec.name: Absent(why) for spec in catalog.HOST_SPECS}
    for name in ("NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3", "?"):
        seen = evidence(facts, facts, name=name, processes=Absent(why), host=machine, expect=expect, seconds=70)
        assert not ids(judge(seen), "warn", "fail")


value = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(max_size=12),
    st.lists(st.text(max_size=5), max_size=3).map(tuple),
    st.builds(Absent, st.sampled_from(Why), st.none() | st.integers(0, 999), st.none() | st.text(max_size=3)),
)
names = st.sampled_from([spec.name for spec in catalog.SPECS])
process = st.builds(
    Process,
    st.integers(0, 2**32 - 1),
    st.text(max_size=3),
    st.text(max_size=9),
    value,
    st.none() | st.booleans(),
    st.booleans(),
)
mig = st.builds(MigDevice, st.integers(0, 7), st.text(max_size=6), st.text(max_size=6))
card = st.builds(
    Card,
    index=st.integers(0, 64),
    uuid=st.sampled_from(["a", "b", "MIG-c"]),
    name=st.sampled_from(["NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3", ""]) | st.text(max_size=9),
    state=st.sampled_from(State),
    readings=st.dictionaries(names, value, max_size=25),
    processes=st.lists(process, max_size=3).map(tuple) | st.builds(Absent, st.sampled_from(Why)),
    mig=st.lists(mig, max_size=2).map(tuple),
    age_s=st.none() | st.floats(0, 1e6),
    samples=st.integers(0, 9),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(card, max_size=4),
    st.dictionaries(st.sampled_from([spec.name for spec in catalog.HOST_SPECS]), value, max_size=8),
    st.sampled_from(Expect),
    st.booleans(),
)
def test_no_input_can_crash_a_rule(cards, machine, expect, with_history):
    histories = {}
    for one in cards if with_history else []:
        history = histories.setdefault(one.uuid, History(slots=90))
        for second in range(70):
            history.add(1000.0 + second, one.readings)
    frame = Frame(1e9, 1070.0, "nvml", False, DRIVER, tuple(cards), host=machine)
    for finding in judge(Evidence(frame, histories, expect)).findings:
        assert finding.summary


def test_a_state_must_hold_to_appear_and_to_go():
    bad = judged({**RTX_4090, "enforced.power.limit": 270.0}, BUSY)
    good = judged(RTX_4090, BUSY)
    watch = Watch()

    def shown(mono: float, judgement) -> tuple[set[str], list[str]]:
        seen, events = watch.update(mono, mono, judgement)
        return {f.id for f in seen.findings if f.severity is Severity.FAIL}, [event.what for event in events]

    assert shown(0, bad) == (set(), [])
    assert shown(2, good) == (set(), [])
    assert shown(3, bad) == (set(), [])
    assert shown(3 + APPEAR_S, bad) == ({"power-limit-lowered"}, ["finding-appeared"])
    assert shown(10, good)[0] == {"power-limit-lowered"}
    assert shown(11, bad)[0] == {"power-limit-lowered"}
    assert shown(12, good)[0] == {"power-limit-lowered"}
    assert shown(12 + GO_S, good) == (set(), ["finding-went"])


def test_a_lost_card_is_said_at_once():
    lost = judged(RTX_4090, BUSY, state=State.LOST)
    seen, events = Watch().update(0, 0, lost)
    assert "gpu-lost" in {f.id for f in seen.findings}
    assert [event.what for event in events] == ["finding-appeared"]
