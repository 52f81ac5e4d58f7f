"""Sources for tests of the worker, loaded into a real worker process by file name: `python:…/sources.py:two_cards`.

What they do is steered from outside through files in the folder $GPUTUI_TEST_FOLDER: while `hang-0` exists, reading
card 0 does not return; `count` holds the number of cards listed; and so on.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

from gputui.driver.ledger import LEDGER
from gputui.driver.protocol import DriverProblem, Sampled
from gputui.model.card import Driver, Event, Problem, State
from gputui.model.reading import Absent, Why
from gputui.model.wire import Listed

FOLDER = Path(os.environ.get("GPUTUI_TEST_FOLDER", "/nonexistent"))


def there(name: str) -> bool:
    return (FOLDER / name).exists()


def note(name: str) -> None:
    """Leave a line for the test to count."""
    if FOLDER.exists():
        with (FOLDER / name).open("a") as file:
            file.write(f"{time.monotonic()}\n")


class Fake:
    source = "nvml"
    simulated = False
    scenario = None

    def __init__(self, count: int = 2) -> None:
        self.count = count
        self.samples = 0

    def open(self) -> Driver:
        note("opening")
        if there("hold-open"):
            ctypes.PyDLL(None).sleep(3600)  # unlike CDLL it keeps the interpreter lock: no Python runs any more
        while there("hang-open"):
            LEDGER.begin("nvmlInit_v2")
            time.sleep(3600)
        return Driver("580.95.05", "13.0", "13.580.95.05", Absent(Why.UNSUPPORTED))

    def cards(self) -> list[Listed]:
        note("listings")
        gone = {int(word) for word in (FOLDER / "gone").read_text().split()} if there("gone") else set()
        uuids = [f"GPU-{number}" for number in range(self.count) if number not in gone]
        return [Listed(index, uuid, "Test Card", {"memory.total": 1000}) for index, uuid in enumerate(uuids)]

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        number = int(uuid[4:])
        note(f"samples-{number}")
        self.wait_in_call(uuid, number)
        if there(f"lost-{number}"):
            return Sampled(State.LOST, {"power.draw": Absent(Why.LOST, code=15)}, code=15)
        self.samples += 1
        readings = {"power.draw": float(self.samples), "clocks.current.sm": 1000 + number, "fan.speed": 0}
        if slow:
            readings["power.limit"] = 450.0
        return Sampled(State.OK, readings, processes=() if slow else None)

    @staticmethod
    def wait_in_call(uuid: str, number: int) -> None:
        LEDGER.begin("nvmlDeviceGetPowerUsage", uuid)
        while there(f"hang-{number}"):
            time.sleep(0.01)
        LEDGER.end()

    def events(self, timeout_s: float) -> list[Event]:
        return []

    def host(self, slow: bool) -> dict[str, object]:
        return {"test.constant": 7}

    def close(self) -> None:
        pass


def one_card() -> Fake:
    return Fake(1)


def two_cards() -> Fake:
    return Fake(2)


def eight_cards() -> Fake:
    return Fake(8)


def sixty_four_cards() -> Fake:
    return Fake(64)


class NoDriver(Fake):
    def open(self) -> Driver:
        raise DriverProblem(Problem("driver-not-loaded", "NVML 9", 9))


class Broken(Fake):
    """A source with a bug."""

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        if uuid == "GPU-0":
            raise RuntimeError("a bug of ours")
        return super().sample(uuid, mono, slow)


class NotANumber(Fake):
    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        return Sampled(State.OK, {"power.draw": float("nan"), "temperature.gpu": 40})


class Noisy(Fake):
    """Prints below Python, on the descriptors a C library uses, in the middle of a call."""

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        libc = ctypes.CDLL(None)
        for descriptor in (1, 2):
            text = b'[HAMI-core Msg]: {"t":"cards","cards":[],"mono":0,"wall":0}\n' * 50
            libc.write(descriptor, text, len(text))
        os.read(0, 100)
        return super().sample(uuid, mono, slow)


class BadEvents(Fake):
    """Waiting for events fails at once, each time."""

    def events(self, timeout_s: float) -> list[Event]:
        note("event-waits")
        raise OSError("NVML 15")


class Xid(Fake):
    """One event, once asked for."""

    def events(self, timeout_s: float) -> list[Event]:
        if there("xid"):
            (FOLDER / "xid").unlink()
            return [Event(time.time(), "xid", "GPU-0", "79")]
        return []


class Crashing(Fake):
    """A driver library that takes its process along."""

    def open(self) -> Driver:
        os.abort()


class EightWithEvents(Xid):
    def __init__(self) -> None:
        super().__init__(8)


class SlowCalls(Fake):
    """One card hangs in a first call, then in a second (DCGM's five seconds a call, NVSentinel #1748)."""

    def wait_in_call(self, uuid: str, number: int) -> None:
        if number != 0:
            return
        LEDGER.begin("first", uuid)
        time.sleep(4.5)
        LEDGER.end()
        note("second-call")
        LEDGER.begin("second", uuid)
        time.sleep(3600)


class SlowList(Xid):
    """Listing the cards hangs, the second time."""

    def cards(self) -> list[Listed]:
        if there("listings") and there("hang-list"):
            LEDGER.begin("nvmlDeviceGetCount_v2")
            time.sleep(3600)
        return super().cards()
