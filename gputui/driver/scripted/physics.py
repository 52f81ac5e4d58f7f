"""How a card answers to load: clock, power, temperature, fan and reasons as functions of time.

Everything follows from (seed, card, time), so the same second always looks the same however often it is asked. Only
temperature has a memory; it is integrated once on a grid of whole seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

IDLE_BIT, LOCK_BIT, POWER_BIT, SW_HEAT_BIT, HW_HEAT_BITS, BRAKE_BITS = 0x1, 0x2, 0x4, 0x20, 0x48, 0x88


@dataclass(frozen=True)
class Body:
    """What a card is made of. Clocks in MHz, power in W, temperatures in degrees C, times in s."""

    idle_clock: float = 210.0
    boost_clock: float = 2520.0
    idle_memory_clock: float = 405.0
    memory_clock: float = 10501.0
    compute_memory_clock: float = 10251.0
    idle_power: float = 22.0
    full_power: float = 470.0
    limit: float = 450.0
    ambient: float = 28.0
    kelvin_per_watt: float = 0.095
    time_constant: float = 40.0
    slow_at: float = 84.0
    stop_at: float = 92.0
    lock_clock: float | None = None
    hidden_clock: float | None = None
    fan: bool = True
    idle_pstate: str = "P8"
    busy_pstate: str = "P2"


@dataclass(frozen=True)
class Moment:
    """One second of a card."""

    load: float
    clock: float
    memory_clock: float
    power: float
    temperature: float
    fan: float
    mask: int
    pstate: str


def noise(seed: int, time: float, channel: int) -> float:
    """A steady pseudo-random number in [-1, 1] for this seed, whole second and channel."""
    value = math.sin(seed * 12.9898 + math.floor(time) * 78.233 + channel * 37.719) * 43758.5453
    return 2.0 * (value - math.floor(value)) - 1.0


@dataclass
class Card:
    """A body under a programme of load. programme: (seconds, percent) phases that repeat."""

    body: Body
    programme: tuple[tuple[float, float], ...]
    seed: int
    start: float = 0.0
    _temperatures: list[float] = field(default_factory=list)

    def load(self, time: float) -> float:
        """Utilization in percent at this time."""
        total = sum(seconds for seconds, _ in self.programme)
        at = (time + self.start) % total
        level = 0.0
        for seconds, percent in self.programme:
            if at < seconds:
                level = percent
                break
            at -= seconds
        if level <= 0:
            return 0.0
        return max(0.0, min(100.0, level + 2.5 * noise(self.seed, time, 1)))

    def _heat(self, time: float) -> float:
        """Temperature at this time, integrated second by second."""
        if not self._temperatures:
            self._temperatures.append(self.body.ambient + self.body.idle_power * self.body.kelvin_per_watt + 2)
        while len(self._temperatures) <= int(time) + 1:
            second = len(self._temperatures) - 1
            before = self._temperatures[-1]
            power = self._at(float(second), before)[1]
            target = self.body.ambient + power * self.body.kelvin_per_watt
            self._temperatures.append(before + (target - before) / self.body.time_constant)
        low, high = self._temperatures[int(time)], self._temperatures[int(time) + 1]
        return low + (high - low) * (time - int(time))

    def _at(self, time: float, temperature: float) -> tuple[float, float, int]:
        """(clock, power, mask) at this time and temperature."""
        body, load = self.body, self.load(time)
        if load < 1.0:
            wobble = 0.6 * noise(self.seed, time, 2)
            return body.idle_clock, max(1.0, body.idle_power + wobble), IDLE_BIT
        clock, mask = body.boost_clock + 15.0 * round(noise(self.seed, time, 3)), 0
        if body.hidden_clock is not None:
            clock = body.hidden_clock
        if body.lock_clock is not None and body.lock_clock < clock:
            clock, mask = body.lock_clock, mask | LOCK_BIT
        if temperature >= body.stop_at:
            clock, mask = min(clock, body.boost_clock * 0.5), mask | HW_HEAT_BITS
        elif temperature >= body.slow_at:
            clock, mask = clock * (1.0 - 0.035 * (temperature - body.slow_at + 1.0)), mask | SW_HEAT_BIT
        demand = self._demand(clock, load, time)
        if demand > body.limit:
            low, high = body.idle_clock, clock
            for _ in range(16):
                middle = (low + high) / 2
                low, high = (middle, high) if self._demand(middle, load, time) < body.limit else (low, middle)
            clock, mask = low, mask | POWER_BIT
            demand = body.limit * (0.992 + 0.006 * noise(self.seed, time, 4))
        return clock, demand, mask

    def _demand(self, clock: float, load: float, time: float) -> float:
        """Power grows with load, and with the cube of the clock in the upper part of its range."""
        body, share = self.body, clock / self.body.boost_clock
        dynamic = (body.full_power - body.idle_power) * (load / 100.0) * (0.25 * share + 0.75 * share**3)
        return body.idle_power + dynamic * (1.0 + 0.015 * noise(self.seed, time, 5))

    def at(self, time: float) -> Moment:
        """This second."""
        body, load = self.body, self.load(time)
        temperature = self._heat(time)
        clock, power, mask = self._at(time, temperature)
        busy = load >= 1.0
        fan = max(0.0, min(100.0, 30.0 + (temperature - 50.0) * 1.8)) if temperature > 48.0 else 0.0
        return Moment(
            load=load,
            clock=clock,
            memory_clock=body.compute_memory_clock if busy else body.idle_memory_clock,
            power=power,
            temperature=temperature,
            fan=fan if body.fan else 0.0,
            mask=mask,
            pstate=body.busy_pstate if busy else body.idle_pstate,
        )
