"""The fleet: followed by UUID, silent means not answering, lost keeps its last values."""

from __future__ import annotations

from gputui.model.card import Driver, Problem, State
from gputui.model.fleet import Fleet
from gputui.model.reading import Absent, Why
from gputui.model.wire import Beat, Call, Cards, Listed, Opened, Sample

DRIVER = Driver("580", "13.0", "13", "580")
W = 1000.0


def started(*uuids, mono=100.0):
    fleet = Fleet()
    fleet.worker_started(mono, W)
    fleet.eat(Opened(DRIVER, "nvml", False, mono), W)
    list_cards(fleet, mono, *uuids)
    return fleet


def list_cards(fleet, mono, *uuids):
    listed = tuple(Listed(index, uuid, f"Card {uuid}") for index, uuid in enumerate(uuids))
    fleet.eat(Cards(listed, mono, W + mono), W + mono)


def sample(fleet, uuid, mono, state=State.OK, **readings):
    changed = {name.replace("__", "."): value for name, value in readings.items()}
    fleet.eat(Sample(uuid, mono, W + mono, state, changed, code=15 if state is State.LOST else None), W + mono)


def beat(fleet, mono, *calls):
    fleet.eat(Beat(mono, W + mono, tuple(Call(*call) for call in calls)), W + mono)
    fleet.judge(mono, W + mono)


def states(fleet, mono):
    return {card.uuid: card.state for card in fleet.frame(mono, W + mono).cards}


def happened(fleet):
    return [(event.what, event.gpu_uuid) for event in fleet.events]


def test_waiting_for_the_driver_until_it_opens():
    fleet = Fleet()
    fleet.worker_started(100.0, W)
    assert fleet.frame(108.0, W).waiting_s == 8.0
    fleet.eat(Opened(DRIVER, "nvml", False, 108.5), W)
    assert fleet.frame(109.0, W).waiting_s is None


def test_a_problem_ends_the_waiting_and_is_one_event():
    fleet = Fleet()
    fleet.worker_started(100.0, W)
    for _ in range(3):
        fleet.eat(Problem("driver-mismatch", "x", 18), W)
    frame = fleet.frame(101.0, W)
    assert frame.problem is not None
    assert frame.waiting_s is None
    assert happened(fleet) == [("driver-mismatch", None)]


def test_readings_merge_and_what_was_not_sent_stays():
    fleet = started("a")
    sample(fleet, "a", 101, power__draw=10.0, pstate="P8")
    sample(fleet, "a", 102, power__draw=20.0)
    card = fleet.frame(102, W).cards[0]
    assert card.get("power.draw") == 20.0
    assert card.get("pstate") == "P8"


def test_a_reading_that_goes_away_says_since_when():
    fleet = started("a")
    sample(fleet, "a", 101, power__draw=10.0)
    sample(fleet, "a", 102, power__draw=Absent(Why.NO_PERMISSION, 4))
    sample(fleet, "a", 103, power__draw=Absent(Why.LOST, 15))
    assert fleet.frame(103, W).cards[0].get("power.draw") == Absent(Why.LOST, 15, since=W + 102)


def test_count_shrinks_and_indices_shift_but_histories_do_not_mix():
    fleet = started("a", "b", "c")
    for mono in range(101, 104):
        for value, uuid in enumerate("abc"):
            sample(fleet, uuid, mono, clocks__current__sm=value)
    list_cards(fleet, 104, "a", "c")
    for mono in range(104, 107):
        sample(fleet, "a", mono, clocks__current__sm=0)
        sample(fleet, "c", mono, clocks__current__sm=2)
    frame = fleet.frame(107, W + 107)
    by_uuid = {card.uuid: card for card in frame.cards}
    assert by_uuid["b"].state is State.MISSING
    assert by_uuid["b"].missing_since == W + 104
    assert by_uuid["c"].index == 1
    for value, uuid in enumerate("abc"):
        points = {point for _, point in fleet.history(uuid).points("clocks.current.sm", 0)}
        assert points == {float(value)}
    assert happened(fleet) == [("gpu-missing", "b")]


def test_a_missing_card_that_comes_back_is_the_same_card():
    fleet = started("a", "b")
    list_cards(fleet, 102, "a")
    list_cards(fleet, 110, "a", "b")
    assert states(fleet, 110) == {"a": State.OK, "b": State.OK}
    assert happened(fleet) == [("gpu-missing", "b"), ("gpu-back", "b")]


def test_lost_is_one_event_and_keeps_the_last_values():
    fleet = started("a", "b")
    sample(fleet, "a", 101, power__draw=300.0)
    for mono in range(102, 110):
        sample(fleet, "a", mono, State.LOST)
        sample(fleet, "b", mono, power__draw=1.0)
    card = fleet.frame(110, W + 110).card("a")
    assert card.state is State.LOST
    assert card.get("power.draw") == 300.0
    assert card.age_s == 9
    assert card.state_code == 15
    assert happened(fleet) == [("gpu-lost", "a")]


def test_a_call_under_way_for_three_seconds_is_its_card_alone():
    fleet = started("a", "b")
    beat(fleet, 103, ("nvmlDeviceGetPowerUsage", "a", 101.0))
    assert states(fleet, 103) == {"a": State.OK, "b": State.OK}
    beat(fleet, 104, ("nvmlDeviceGetPowerUsage", "a", 101.0))
    assert states(fleet, 104) == {"a": State.NOT_ANSWERING, "b": State.OK}
    beat(fleet, 105)
    sample(fleet, "a", 105, power__draw=1.0)
    fleet.judge(105, W + 105)
    assert states(fleet, 105) == {"a": State.OK, "b": State.OK}
    assert happened(fleet) == [("not-answering", "a"), ("answering-again", "a")]


def test_no_heartbeat_for_three_seconds_is_every_card():
    fleet = started("a", "b")
    for mono in (100.0, 101.0, 102.0, 102.9):
        fleet.judge(mono, W)
    assert set(states(fleet, 102.9).values()) == {State.OK}
    fleet.judge(103.0, W)
    assert set(states(fleet, 103.0).values()) == {State.NOT_ANSWERING}


def test_after_being_stopped_ourselves_silence_proves_nothing_for_three_seconds():
    fleet = started("a")
    fleet.judge(100.5, W)
    fleet.judge(160.0, W)
    assert states(fleet, 160) == {"a": State.OK}
    for mono in (161.0, 162.0, 163.0):
        fleet.judge(mono, W)
    assert states(fleet, 163) == {"a": State.NOT_ANSWERING}


def test_a_dead_worker_makes_all_not_answering_and_a_restart_counts():
    fleet = started("a")
    fleet.worker_ended(101, W + 101, "killed by signal 9")
    assert states(fleet, 101) == {"a": State.NOT_ANSWERING}
    fleet.worker_started(103, W + 103, restart=True)
    fleet.eat(Opened(DRIVER, "nvml", False, 103.1), W)
    list_cards(fleet, 103.1, "a")
    sample(fleet, "a", 103.2, power__draw=1.0)
    assert states(fleet, 103.2) == {"a": State.OK}
    assert fleet.restarts == 1
    assert [what for what, _ in happened(fleet)] == [
        "worker-died",
        "not-answering",
        "worker-restarted",
        "answering-again",
    ]


def test_two_dead_cards_with_one_name_stay_two():
    fleet = started("a", "b")
    sample(fleet, "b", 101, State.LOST)
    assert states(fleet, 101) == {"a": State.OK, "b": State.LOST}


def test_frames_are_frozen_copies():
    fleet = started("a")
    sample(fleet, "a", 101, power__draw=10.0)
    frame = fleet.frame(101, W)
    sample(fleet, "a", 102, power__draw=99.0)
    assert frame.cards[0].get("power.draw") == 10.0
