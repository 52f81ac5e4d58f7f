"""The in-process source on a clock that the test moves."""

from __future__ import annotations

from gputui.driver.inline import Inline
from gputui.driver.protocol import Sampled
from gputui.model.card import Driver, Event, State
from gputui.model.fleet import Fleet
from gputui.model.reading import Absent, Why
from gputui.model.wire import Listed, Opened, Sample, decode, encode
from tests.driver.sources import NoDriver

WALL = 1_700_000_000.0


class Simulated:
    """Two cards whose readings are their own time; what was asked is written down."""

    source, simulated, scenario = "scripted", True, "test"

    def __init__(self) -> None:
        self.asked: list[tuple[str, float, bool]] = []
        self.listed = [Listed(0, "a", "Card"), Listed(1, "b", "Card")]
        self.states = {"a": State.OK, "b": State.OK}
        self.pending: list[Event] = []
        self.listings = self.opened = self.closed = 0

    def open(self) -> Driver:
        self.opened += 1
        return Driver("580", "13.0", "13", Absent(Why.UNSUPPORTED))

    def cards(self) -> list[Listed]:
        self.listings += 1
        return list(self.listed)

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        self.asked.append((uuid, mono, slow))
        return Sampled(self.states[uuid], {"power.draw": mono}, processes=() if slow else None)

    def events(self, timeout_s: float) -> list[Event]:
        assert timeout_s == 0.0, "nothing in this process may wait"
        events, self.pending = self.pending, []
        return events

    def host(self, slow: bool) -> dict[str, object]:
        return {"constant": 1}

    def close(self) -> None:
        self.closed += 1


class Rig:
    def __init__(self, interval_s: float = 1.0) -> None:
        self.now = 100.0
        self.fleet = Fleet()
        self.source = Simulated()
        self.inline = Inline(self.source, self.fleet, lambda: self.now, lambda: WALL + self.now, interval_s)
        self.inline.start()

    def go(self, until: float, step: float = 0.125) -> None:
        while self.now < until:
            self.now += step
            self.inline.pump()
            self.inline.tick()

    def frame(self):
        return self.fleet.frame(self.now, WALL + self.now)

    def asked(self, uuid: str) -> list[float]:
        return [round(mono, 3) for name, mono, _ in self.source.asked if name == uuid]


def test_the_first_pump_reads_and_the_next_waits_for_its_tick():
    rig = Rig()
    assert rig.frame().waiting_s is None
    assert rig.frame().simulated
    assert rig.frame().scenario == "test"
    assert [card.samples for card in rig.frame().cards] == [0, 0]
    assert rig.inline.pump()
    assert not rig.inline.pump()
    assert [card.get("power.draw") for card in rig.frame().cards] == [100.0, 100.0]
    assert rig.fleet.host == {"constant": 1}
    assert rig.source.asked == [("a", 100.0, True), ("b", 100.0, True)]
    rig.go(103.0)
    assert rig.asked("a") == [100.0, 100.125, 101.125, 102.125]
    assert rig.inline.fileno() is None


def test_a_jump_of_the_clock_is_one_reading_and_no_accusation():
    rig = Rig()
    rig.go(101.0)
    count = len(rig.source.asked)
    rig.now += 3600
    rig.inline.pump()
    rig.inline.tick()
    assert len(rig.source.asked) == count + 2
    assert [card.state for card in rig.frame().cards] == [State.OK, State.OK]
    assert list(rig.fleet.events) == []
    assert [value for _, value in rig.fleet.history("a").points("power.draw", 200.0)] == [rig.now]


def test_history_has_each_second_once():
    rig = Rig()
    rig.go(130.0)
    moments = [moment for moment, _ in rig.fleet.history("a").points("power.draw", 101.0)]
    assert moments == [float(second) for second in range(101, 130)]
    assert sum(slow for uuid, mono, slow in rig.source.asked if uuid == "a" and mono > 100.5) == 5


def test_a_lost_card_is_listed_at_once_and_asked_again_after_thirty_seconds():
    rig = Rig()
    rig.go(101.5)
    listings = rig.source.listings
    rig.source.states["a"] = State.LOST
    rig.go(102.5)
    assert rig.source.listings == listings + 1
    rig.source.states["a"] = State.OK
    rig.go(131.0)
    assert rig.asked("a")[-1] == 102.125
    assert rig.frame().card("a").state is State.LOST
    rig.go(134.0)
    assert rig.frame().card("a").state is State.OK
    assert [event.what for event in rig.fleet.events] == ["gpu-lost", "answering-again"]
    assert rig.frame().card("b").samples > 30


def test_a_card_goes_missing_at_the_next_listing_or_with_an_event():
    rig = Rig()
    rig.go(101.5)
    del rig.source.listed[0]
    rig.go(105.0)
    assert rig.frame().card("a").state is State.OK
    rig.go(112.0)
    assert rig.frame().card("a").state is State.MISSING
    rig.source.listed = [Listed(0, "a", "Card"), Listed(1, "b", "Card")]
    rig.source.pending = [Event(WALL, "mig-changed", "a")]
    rig.go(113.5)
    assert rig.frame().card("a").state is State.OK
    assert [event.what for event in rig.fleet.events] == ["gpu-missing", "mig-changed", "gpu-back"]


def test_the_interval_restart_and_stop():
    rig = Rig()
    rig.go(101.0)
    rig.inline.set_interval(0.01)
    assert rig.fleet.interval_s == 0.25
    count = len(rig.asked("a"))
    rig.go(103.0, step=0.0625)
    assert len(rig.asked("a")) - count in (8, 9)
    rig.inline.restart()
    assert (rig.source.opened, rig.source.closed, rig.fleet.restarts) == (2, 1, 1)
    rig.go(104.0)
    assert rig.frame().card("a").state is State.OK
    rig.inline.stop()
    rig.inline.stop()
    assert rig.source.closed == 2
    assert not rig.inline.pump()


def test_no_driver_is_a_problem():
    fleet = Fleet()
    inline = Inline(NoDriver(), fleet, lambda: 1.0, lambda: WALL)
    inline.start()
    assert not inline.pump()
    inline.tick()
    assert fleet.frame(2.0, WALL).problem.id == "driver-not-loaded"


def test_messages_of_a_file_are_played_at_their_own_time():
    fleet = Fleet()
    inline = Inline(None, fleet, lambda: 50.0, lambda: WALL)
    inline.start()
    driver = Driver("580", "13.0", "13", Absent(Why.UNSUPPORTED))
    sample = Sample("a", 9.0, 1009.0, State.OK, {"power.draw": 5.0})
    rig = Rig()
    listing = rig.inline._roster
    listing.forget()
    cards = listing.list(rig.source.listed, 8.0, 1008.0)
    lost = Sample("a", 10.0, 1010.0, State.LOST, {}, code=15)
    inline.play(decode(encode(message)) for message in (Opened(driver, "smi", False, 8.0), cards, sample, lost))
    inline.tick()
    frame = fleet.frame(50.0, WALL)
    assert frame.source == "smi"
    assert frame.card("a").state is State.LOST
    assert frame.card("a").sampled == 1009.0
    assert [(event.time, event.what) for event in frame.events] == [(1010.0, "gpu-lost")]
