"""The lines the driver worker writes to its pipe: one JSON object a line, and the typed messages they become.

Worker to parent: hello, opened, problem, cards, sample, host, event, beat, cost. Parent to worker: {"interval": s},
{"resample": true}; end of file means: end. `mono` is CLOCK_MONOTONIC seconds, which parent and child share on one
machine; `wall` is Unix time. A sample carries only what changed since the last one of that card, so that a quiet card
costs nothing to send.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gputui.model.card import Driver, Event, MigDevice, Problem, Process, State
from gputui.model.reading import Absent, Reading, from_wire, to_wire

PROTOCOL = 1
MAX_LINE = 4 * 1024 * 1024


@dataclass(frozen=True)
class Hello:
    pid: int
    mono: float
    protocol: int = PROTOCOL


@dataclass(frozen=True)
class Opened:
    """The driver answered. scenario names a simulated host."""

    driver: Driver
    source: str
    simulated: bool
    mono: float
    scenario: str | None = None


@dataclass(frozen=True)
class Listed:
    """One card in a listing, with what never changes."""

    index: int
    uuid: str
    name: str
    readings: Mapping[str, Reading] = field(default_factory=dict)
    state: State = State.OK
    code: int | None = None


@dataclass(frozen=True)
class Cards:
    """A complete listing. A card seen before and not in it is missing."""

    cards: tuple[Listed, ...]
    mono: float
    wall: float


@dataclass(frozen=True)
class Sample:
    """What changed for one card at one tick. processes and mig are None when they were not read this tick."""

    uuid: str
    mono: float
    wall: float
    state: State
    changed: Mapping[str, Reading]
    code: int | None = None
    processes: tuple[Process, ...] | Absent | None = None
    mig: tuple[MigDevice, ...] | None = None


@dataclass(frozen=True)
class HostSample:
    """Readings of the machine that changed."""

    mono: float
    wall: float
    changed: Mapping[str, Reading]


@dataclass(frozen=True)
class Call:
    """A driver call under way: its name, the card (None: none in particular), and the monotonic time it began."""

    name: str
    uuid: str | None
    since: float


@dataclass(frozen=True)
class Beat:
    """Heartbeat, one a second whatever the interval."""

    mono: float
    wall: float
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Cost:
    """What reading costs: seconds the last poll of all cards took, driver calls so far, CPU seconds of the worker
    so far.
    """

    mono: float
    poll_s: float
    calls: int
    cpu_s: float


Message = Hello | Opened | Problem | Cards | Sample | HostSample | Event | Beat | Cost


def _readings_out(readings: Mapping[str, Reading]) -> dict[str, Any]:
    return {name: to_wire(value) for name, value in readings.items()}


def _readings_in(data: Mapping[str, Any]) -> dict[str, Reading]:
    return {name: from_wire(value) for name, value in data.items()}


def _process_out(process: Process) -> dict[str, Any]:
    out = {key: value for key, value in process.__dict__.items() if value is not None}
    out["memory_mib"] = to_wire(process.memory_mib)
    if process.sm_percent is not None:
        out["sm_percent"] = to_wire(process.sm_percent)
    return out


def _process_in(data: dict[str, Any]) -> Process:
    fields = dict(data)
    fields["memory_mib"] = from_wire(fields["memory_mib"])
    fields.setdefault("here", None)
    if "sm_percent" in fields:
        fields["sm_percent"] = from_wire(fields["sm_percent"])
    return Process(**fields)


def _mig_out(device: MigDevice) -> dict[str, Any]:
    return {
        key: to_wire(value) if key.startswith(("multi", "memory")) else value
        for key, value in device.__dict__.items()
        if value is not None
    }


def _mig_in(data: dict[str, Any]) -> MigDevice:
    fields: dict[str, Any] = {
        key: from_wire(value) if key.startswith(("multi", "memory")) else value for key, value in data.items()
    }
    return MigDevice(**fields)


def encode(message: Message) -> bytes:
    """One line with its newline."""
    body = _body(message)
    body["t"] = type(message).__name__.lower()
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _body(message: Message) -> dict[str, Any]:
    if isinstance(message, Sample):
        body: dict[str, Any] = {
            "uuid": message.uuid,
            "mono": message.mono,
            "wall": message.wall,
            "state": message.state.value,
            "set": _readings_out(message.changed),
        }
        if message.code is not None:
            body["code"] = message.code
        if message.processes is not None:
            body["processes"] = (
                to_wire(message.processes)
                if isinstance(message.processes, Absent)
                else [_process_out(process) for process in message.processes]
            )
        if message.mig is not None:
            body["mig"] = [_mig_out(device) for device in message.mig]
        return body
    if isinstance(message, HostSample):
        return {"mono": message.mono, "wall": message.wall, "set": _readings_out(message.changed)}
    if isinstance(message, Cards):
        listed = [
            {
                "index": card.index,
                "uuid": card.uuid,
                "name": card.name,
                "state": card.state.value,
                "code": card.code,
                "set": _readings_out(card.readings),
            }
            for card in message.cards
        ]
        return {"cards": listed, "mono": message.mono, "wall": message.wall}
    if isinstance(message, Opened):
        return {
            "driver": _readings_out(message.driver.__dict__),
            "source": message.source,
            "simulated": message.simulated,
            "mono": message.mono,
            "scenario": message.scenario,
        }
    return asdict(message)


def decode(line: bytes | str) -> Message:
    """The message in one line. Raises ValueError for anything a worker of this protocol cannot have written."""
    try:
        data = json.loads(line)
        return _message(data.pop("t"), data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not a worker message: {error}") from error


def _message(kind: str, data: dict[str, Any]) -> Message:
    if kind == "sample":
        processes = data.get("processes")
        if isinstance(processes, dict):
            listed: tuple[Process, ...] | Absent | None = _absent(processes)
        elif processes is None:
            listed = None
        else:
            listed = tuple(_process_in(process) for process in processes)
        mig = data.get("mig")
        return Sample(
            uuid=data["uuid"],
            mono=data["mono"],
            wall=data["wall"],
            state=State(data["state"]),
            changed=_readings_in(data["set"]),
            code=data.get("code"),
            processes=listed,
            mig=None if mig is None else tuple(_mig_in(device) for device in mig),
        )
    if kind == "beat":
        calls = tuple(Call(**call) for call in data["calls"])
        return Beat(mono=data["mono"], wall=data["wall"], calls=calls)
    if kind == "cost":
        return Cost(**data)
    if kind == "hostsample":
        return HostSample(mono=data["mono"], wall=data["wall"], changed=_readings_in(data["set"]))
    if kind == "cards":
        cards = tuple(
            Listed(
                index=card["index"],
                uuid=card["uuid"],
                name=card["name"],
                readings=_readings_in(card["set"]),
                state=State(card["state"]),
                code=card["code"],
            )
            for card in data["cards"]
        )
        return Cards(cards=cards, mono=data["mono"], wall=data["wall"])
    if kind == "opened":
        driver = Driver(**_readings_in(data.pop("driver")))
        return Opened(driver=driver, **data)
    plain: dict[str, type[Hello] | type[Problem] | type[Event]] = {"hello": Hello, "problem": Problem, "event": Event}
    return plain[kind](**data)


def _absent(data: dict[str, Any]) -> Absent:
    value = from_wire(data)
    assert isinstance(value, Absent)
    return value
