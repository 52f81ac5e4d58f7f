"""A scenario as a DriverSource: what the script says, in the readings a live driver would give."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gputui.driver.ledger import LEDGER
from gputui.driver.protocol import DriverProblem, Sampled
from gputui.driver.scripted.physics import Card as Physics
from gputui.driver.scripted.physics import Moment
from gputui.driver.scripted.scenario import CardScript, Happening, Scenario
from gputui.model import catalog, reasons
from gputui.model.card import Driver, Event, MigDevice, Problem, Process, State
from gputui.model.reading import Absent, Reading, Why
from gputui.model.wire import Listed

_ABSENT = Absent(Why.UNSUPPORTED, 3)
_WHY = {why.value: why for why in Why}
_COUNTERS = {
    "sw_power_cap": 0x4,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
}


class ScriptedSource:
    """See gputui.driver.protocol.DriverSource."""

    source = "simulated"
    simulated = True

    def __init__(
        self,
        scenario: Scenario,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.scenario: str | None = scenario.name
        self._script = scenario
        self._clock, self._wall = clock, wall
        self._opened = 0.0
        self._cards = {card.uuid: _Simulated(card, number, scenario) for number, card in enumerate(scenario.cards)}
        self._told: set[int] = set()

    @property
    def elapsed(self) -> float:
        """Seconds of the script that have passed."""
        return self._clock() - self._opened

    def open(self) -> Driver:
        """Start the script. Raises DriverProblem when the script says so."""
        self._opened = self._clock()
        if self._script.open_s:
            LEDGER.begin("nvmlInit_v2", None)
            time.sleep(self._script.open_s)
            LEDGER.end()
            self._opened = self._clock()
        if self._script.problem is not None:
            problem = self._script.problem
            raise DriverProblem(Problem(problem["id"], problem.get("detail", ""), problem.get("code")))
        versions = {"version": "580.95.05", "cuda": "13.0", "nvml": "13.580.95.05", **self._script.driver}
        return Driver(
            version=versions["version"],
            cuda=versions["cuda"],
            nvml=versions["nvml"],
            kernel_module=versions.get("kernel_module", versions["version"]),
        )

    def cards(self) -> list[Listed]:
        """The cards present now, in order, with what never changes."""
        now = self.elapsed
        present = [card for card in self._cards.values() if not card.removed(now)]
        return [
            Listed(index, card.script.uuid, card.script.name, card.static(), *card.state_at(now))
            for index, card in enumerate(present)
        ]

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        """One card now. A card that the script lets hang blocks here for as long as it says."""
        now = self.elapsed
        card = self._cards[uuid]
        hang_s = card.hang_left(now)
        if hang_s > 0:
            LEDGER.begin("nvmlDeviceGetPowerUsage", uuid)
            time.sleep(hang_s)
            LEDGER.end()
        return card.sample(self.elapsed, slow)

    def events(self, timeout_s: float) -> list[Event]:
        """XID events of the script whose time has come, each once."""
        out = []
        for number, happening in enumerate(self._script.happenings):
            if happening.xid is not None and happening.t <= self.elapsed and number not in self._told:
                self._told.add(number)
                uuid = None if happening.card is None else self._script.cards[happening.card].uuid
                out.append(Event(self._wall(), "xid", uuid, str(happening.xid)))
        return out

    def host(self, slow: bool) -> Mapping[str, Reading]:
        """The machine of the script."""
        given = {
            name if name.startswith("host.") else f"host.{name}": value for name, value in self._script.host.items()
        }
        busy = given.get("host.pressure.cpu", 0.0)
        rates = {**_RATES, "host.cpu.of_quota": 97.0 if isinstance(busy, float) and busy >= 10 else 38.0}
        readings: dict[str, Reading] = {}
        for spec in catalog.HOST_SPECS + catalog.HOST_RATE_SPECS:
            value = given.get(spec.name, rates.get(spec.name) if given else None)
            readings[spec.name] = _reading(value) if value is not None else _ABSENT
        return readings

    def close(self) -> None:
        """Nothing to let go of."""


_RATES: dict[str, float | int | str] = {
    "host.cpu.throttled": 0.0,
    "host.disk.read": 84_000_000,
    "host.disk.write": 3_100_000,
    "host.disk.scope": "container",
    "host.network.rx": 1_200_000,
    "host.network.tx": 400_000,
    "host.pressure.memory.full": 0.0,
    "host.pressure.io.full": 0.0,
}
"""A machine that reads its training data, where the scenario says nothing else of it."""


def _reading(value: Any) -> Reading:
    """A value of a scenario file: a list is several words, `absent:WHY` is no value."""
    if isinstance(value, list):
        return tuple(str(word) for word in value)
    if isinstance(value, str) and value.startswith("absent:"):
        return Absent(_WHY[value.removeprefix("absent:")])
    found: Reading = value
    return found


class _Simulated:
    """One card of the script."""

    def __init__(self, script: CardScript, number: int, scenario: Scenario) -> None:
        self.script = script
        self._physics = Physics(script.body, script.programme, script.seed, scenario.start)
        self._happenings = [item for item in scenario.happenings if item.card in (None, number)]
        self._fixed = {name: _reading(value) for name, value in script.readings.items()}
        self._energy_j = 250_000.0
        self._counted_s = dict.fromkeys(_COUNTERS, 0.0)
        self._at: float | None = None
        self._slow_at: float | None = None
        self._slow_counted_s = dict(self._counted_s)

    def _now(self, now: float) -> list[Happening]:
        return [item for item in self._happenings if item.t <= now < item.until]

    def removed(self, now: float) -> bool:
        """Whether the card is out of the listing."""
        return any(item.remove for item in self._now(now))

    def state_at(self, now: float) -> tuple[State, int | None]:
        """The scripted state and return code."""
        for item in reversed(self._now(now)):
            if item.state is not None:
                return item.state, item.code
        return State.OK, None

    def hang_left(self, now: float) -> float:
        """How long a call at this moment would block."""
        return max((item.t + item.hang_s - now for item in self._now(now) if item.hang_s), default=0.0)

    def static(self) -> dict[str, Reading]:
        """Readings that never change."""
        base = {name: self._fixed.get(name, _ABSENT) for name in catalog.STATIC_NAMES}
        base["name"], base["uuid"] = self.script.name, self.script.uuid
        return base

    def sample(self, now: float, slow: bool) -> Sampled:
        """Everything a live card would say now."""
        state, code = self.state_at(now)
        if state is not State.OK:
            return Sampled(state, {}, code)
        moment = self._physics.at(now)
        self._count(now, moment)
        readings = self._fast(moment)
        if slow:
            readings.update(self._slow(now, moment))
        processes, mig = (self._processes(now), self._mig()) if slow else (None, None)
        for item in self._now(now):
            readings.update({name: _reading(value) for name, value in item.set.items()})
            readings.update({name: Absent(_WHY[why]) for name, why in item.absent.items()})
        if "clocks_event_reasons.mask" in readings:
            mask = readings["clocks_event_reasons.mask"]
            active = readings["clocks_event_reasons.active"]
            readings["clocks_event_reasons.active"] = reasons.words(mask) if isinstance(mask, int) else active
        return Sampled(State.OK, readings, code, processes, mig)

    def _count(self, now: float, moment: Moment) -> None:
        """Energy and the time spent under each limit, since the last sample."""
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._energy_j += moment.power * passed
        for name, bit in _COUNTERS.items():
            if moment.mask & bit:
                self._counted_s[name] += passed

    def _fast(self, moment: Moment) -> dict[str, Reading]:
        memory_load = round(moment.load * 0.62)
        used = self._memory_used(moment)
        total, reserved = self._number("memory.total"), self._number("memory.reserved")
        clock = min(round(moment.clock / 15) * 15, int(self._number("clocks.max.sm") or 1_000_000))
        out: dict[str, Reading] = {
            "clocks.current.sm": clock,
            "clocks.current.graphics": clock,
            "clocks.current.memory": round(moment.memory_clock),
            "pstate": moment.pstate,
            "clocks_event_reasons.mask": moment.mask,
            "clocks_event_reasons.active": reasons.words(moment.mask),
            "power.draw": round(moment.power, 2),
            "power.draw.instant": round(moment.power * 1.01, 2),
            "temperature.gpu": round(moment.temperature),
            "utilization.gpu": round(moment.load),
            "utilization.memory": memory_load,
            "memory.total": total if total is not None else _ABSENT,
            "memory.reserved": reserved if reserved is not None else _ABSENT,
            "memory.used": used,
            "memory.free": max(0.0, total - used - (reserved or 0.0)) if total is not None else _ABSENT,
        }
        return self._overridden(out)

    def _slow(self, now: float, moment: Moment) -> dict[str, Reading]:
        body, busy = self.script.body, moment.load >= 1.0
        out: dict[str, Reading] = dict.fromkeys(catalog.SLOW_NAMES, _ABSENT)
        passed = 0.0 if self._slow_at is None else now - self._slow_at
        self._slow_at = now
        for name, counted in self._counted_s.items():
            out[f"clocks_event_reasons_counters.{name}"] = round(counted * 1e6)
            share = 0.0 if passed <= 0 else 100.0 * (counted - self._slow_counted_s[name]) / passed
            out[f"clocks_event_reasons_share.{name}"] = round(min(100.0, max(0.0, share)), 1)
        self._slow_counted_s = dict(self._counted_s)
        maximum = self._number("pcie.link.gen.max")
        out.update(
            {
                "clocks.current.video": round(moment.clock * 0.8),
                "power.draw.average": round(moment.power, 2),
                "enforced.power.limit": body.limit,
                "power.limit": body.limit,
                "total_energy_consumption": round(self._energy_j, 1),
                "temperature.memory": round(moment.temperature + 8 + 6 * moment.load / 100),
                "temperature.gpu.tlimit": _ABSENT
                if "temperature.tlimit.slowdown" not in self._fixed
                else 87 - round(moment.temperature),
                "fan.speed": round(moment.fan) if body.fan else _ABSENT,
                "utilization.encoder": 0,
                "utilization.decoder": 0,
                "pcie.link.gen.current": (maximum if busy else 1) if maximum is not None else _ABSENT,
                "pcie.link.width.current": self._fixed.get("pcie.link.width.max", _ABSENT),
                "pcie.throughput.rx": round(4200 * moment.load) if busy else 0,
                "pcie.throughput.tx": round(900 * moment.load) if busy else 0,
                "pcie.replay_counter": 0,
                "persistence_mode": "Enabled",
                "compute_mode": "Default",
                "mig.mode.current": _ABSENT,
                "processes.state": "listed",
            }
        )
        return self._overridden(out)

    def _overridden(self, out: dict[str, Reading]) -> dict[str, Reading]:
        """The model's own word beats the physics: a card without a sensor has none."""
        return {name: self._fixed.get(name, value) for name, value in out.items()}

    def _number(self, name: str) -> float | None:
        value = self._fixed.get(name)
        return value if isinstance(value, (int, float)) else None

    def _memory_used(self, moment: Moment) -> float:
        own = sum(float(process.get("memory_mib", 0)) for process in self.script.processes)
        return float(round(own + 12 + (40 if moment.load >= 1 else 0)))

    def _processes(self, now: float) -> tuple[Process, ...]:
        listed = self.script.processes
        for item in self._now(now):
            if item.processes is not None:
                listed = item.processes
        return tuple(
            _process(tuple(sorted(process.items()))) for process in listed if process.get("listed", True) is not None
        )

    def _mig(self) -> tuple[MigDevice, ...]:
        return tuple(
            MigDevice(
                index=number,
                uuid=str(device.get("uuid", f"MIG-{self.script.uuid[4:-1]}{number}")),
                name=str(device["name"]),
                gpu_instance=int(device.get("gpu_instance", number + 1)),
                compute_instance=int(device.get("compute_instance", 0)),
                multiprocessors=int(device["multiprocessors"]),
                memory_total_mib=float(device["memory_total_mib"]),
                memory_used_mib=float(device.get("memory_used_mib", 0)),
            )
            for number, device in enumerate(self.script.mig)
        )


@lru_cache(maxsize=1024)
def _process(items: tuple[tuple[str, Any], ...]) -> Process:
    """A process of a scenario file."""
    given = dict(items)
    memory = given.get("memory_mib")
    return Process(
        pid=int(given["pid"]),
        type=str(given.get("type", "C")),
        name=str(given.get("name", "")),
        memory_mib=float(memory) if memory is not None else _ABSENT,
        here=given.get("here"),
        listed=bool(given.get("listed", True)),
        user=given.get("user"),
        command=given.get("command"),
        sm_percent=given.get("sm_percent"),
        started=given.get("started"),
    )
