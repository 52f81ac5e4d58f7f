"""Safety: which card may be loaded, and when a load must stop."""

from __future__ import annotations

import pytest

from gputui.model.card import Card, Process, State
from gputui.model.history import History
from gputui.model.reading import Absent, Why
from gputui.probes.admit import admit
from gputui.probes.table import PROBES
from gputui.probes.worker.card import Limits, Watch

IDLE = {
    "temperature.gpu": 41,
    "temperature.threshold.slowdown": 90,
    "memory.used": 4.0,
    "utilization.gpu": 0,
}
OURS = Process(4100, "C", "python", 8000.0, here=True)


def card(processes=(), state=State.OK, **readings) -> Card:
    known = {**IDLE, **{name.replace("__", "."): value for name, value in readings.items()}}
    return Card(0, "GPU-1", "NVIDIA GeForce RTX 4090", state, known, processes)


def history(load: float) -> History:
    out = History(slots=60)
    for second in range(20):
        out.add(100.0 + second, {"utilization.gpu": load})
    return out


@pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.id)
def test_a_cool_idle_card_may_be_loaded_and_stops_below_its_slowdown(probe):
    found = admit(card(), history(0), probe)
    assert found.allowed
    assert found.stop_c == 85


@pytest.mark.parametrize(
    ("one", "load", "words"),
    [
        (card((OURS,)), 0, "a process uses it"),
        (card((Process(28290, "C", "", 900.0, here=False),)), 0, "a process"),
        (card((Process(50, "", "train", Absent(Why.NOT_ASKED), here=True, listed=False),)), 0, "a process"),
        (card(memory__used=700.0), 0, "700 MiB"),
        (card(), 60, "at work (60 %)"),
        (card(state=State.LOST), 0, "does not answer"),
        (card(temperature__gpu=78), 0, "too warm"),
        (card(temperature__gpu=Absent(Why.UNSUPPORTED)), 0, "temperature cannot be read"),
    ],
)
def test_refused(one, load, words):
    found = admit(one, history(load), PROBES["stress"])
    assert words in found.why


@pytest.mark.parametrize(
    "one",
    [
        card((Process(900, "G", "Xorg", 120.0, here=True),), memory__used=200.0),
        card(memory__used=900.0, **{"memory.used.includes_reserved": "yes"}),
        card(memory__used=Absent(Why.UNSUPPORTED)),
        card(Absent(Why.NO_PERMISSION)),
    ],
    ids=["a desktop", "an old driver counts its reserve", "no memory reading", "no process list"],
)
def test_not_refused_for_what_is_no_job(one):
    assert admit(one, history(0), PROBES["matmul"]).allowed


def test_a_margin_counts_down_to_the_limit():
    hopper = {"temperature.threshold.slowdown": Absent(Why.UNSUPPORTED), "temperature.gpu.tlimit": 46}
    assert admit(card(**hopper), history(0), PROBES["stress"]).stop_c == 82
    warm = {**hopper, "temperature.gpu.tlimit": 10}
    assert "too warm" in admit(card(**warm), history(0), PROBES["stress"]).why


def test_without_a_temperature_only_short_probes():
    blind = card(temperature__gpu=Absent(Why.VGPU))
    assert admit(blind, history(0), PROBES["bandwidth"]).allowed
    assert not admit(blind, history(0), PROBES["matmul"]).allowed


def watched(readings: list[dict[str, float]], stop_c: float | None = 85, settled: bool = True) -> list[str]:
    """What the worker's own watch asks for, a reading each 0.2 s."""
    asked: list[str] = []
    feed = iter(readings)
    watch = Watch(lambda: next(feed), Limits(stop_c), asked.append, lambda: 0.0)
    if settled:
        watch.settle()
    start = watch._seen
    for at in range(len(readings)):
        watch.look(start + 0.2 * at)
    return asked


FINE = {"temperature_c": 60.0, "reasons": 4.0, "used_mib": 3000.0}


@pytest.mark.parametrize(
    ("readings", "asked"),
    [
        ([FINE] * 60, set()),
        ([{**FINE, "temperature_c": 85.0}], {"too-hot"}),
        ([{**FINE, "reasons": 64.0}, FINE, {**FINE, "reasons": 64.0}], set()),
        ([{**FINE, "reasons": 68.0}] * 2, {"slowed-by-hardware"}),
        ([{**FINE, "reasons": 128.0}] * 2, {"slowed-by-hardware"}),
        ([FINE, *[{"reasons": 4.0}] * 20], set()),
        ([FINE, *[{"reasons": 4.0}] * 40], {"temperature-unreadable"}),
        ([FINE, *[{**FINE, "used_mib": 3300.0}] * 2, FINE], set()),
        ([FINE, *[{**FINE, "used_mib": 3300.0}] * 3], {"contended"}),
        ([FINE, *[{**FINE, "used_mib": 3200.0}] * 9], set()),
    ],
)
def test_the_worker_watches_for_itself(readings, asked):
    assert set(watched(readings)) == asked


def test_a_card_that_never_had_a_temperature_is_not_stopped_for_it():
    assert watched([{"reasons": 0.0}] * 60, stop_c=None) == []


def test_our_own_context_is_nobody_elses_job():
    growing = [{**FINE, "used_mib": 500.0}, *[{**FINE, "used_mib": 1100.0}] * 9]
    assert watched(growing, settled=False) == []
    assert set(watched(growing)) == {"contended"}
