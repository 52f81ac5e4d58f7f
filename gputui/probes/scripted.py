"""What a probe would give on a simulated host: from the card's reference and what the scenario did to it.

Time is compressed. Never used on a live driver; every result says that it is simulated.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from gputui.findings.view import match_of
from gputui.model.card import Card
from gputui.model.reading import number
from gputui.probes.run import Run
from gputui.probes.table import Probe
from gputui.probes.wire import Message
from gputui.reference.health import band
from gputui.reference.links import pcie_rate

STEPS = 20
STEP_S = 0.2
_PRECISION = {"matmul": "bf16", "stress": "bf16", "bandwidth": "copy"}


class ScriptedProbe:
    """Behaves like `runner.ProbeProcess` towards the screen."""

    def __init__(self, probe: Probe, card: Card) -> None:
        self.probe, self.card = probe, card
        self.run = Run(probe.id, card.uuid, unit=probe.unit, simulated=True)
        self._stopped = False
        self.stuck = False

    def stop(self) -> None:
        """End at the next step."""
        self._stopped = True
        self.run = replace(self.run, state="stopping")

    async def follow(self) -> AsyncIterator[Run]:
        """Every state until it is over."""
        expected = self._expected()
        self.run = self.run.after(Message("hello", {"pid": 0, "engine": "torch", "engine_version": "simulated"}))
        yield self.run
        for step in range(STEPS):
            await asyncio.sleep(STEP_S)
            if self._stopped:
                self.run = self.run.failed("stopped")
                yield self.run
                return
            share = (step + 1) / STEPS
            left = self.probe.total_s * (1 - share)
            self.run = self.run.after(Message("phase", {"name": "measure", "share": share, "left_s": left}))
            if expected is not None:
                figure = expected * (1 + 0.004 * math.sin(step * 1.7))
                self.run = self.run.after(Message("live", {"values": {self.probe.unit: round(figure, 2)}}))
            yield self.run
        if expected is None:
            self.run = self.run.failed("not-supported", "the simulated card has no reference")
        else:
            self.run = self.run.after(Message("result", self._result(expected)))
        yield self.run

    def _expected(self) -> float | None:
        """The healthy median, less what a lowered limit, heat or another tenant costs."""
        card = self.card
        if self.probe.id == "pcie":
            rate = pcie_rate(_whole(card, "pcie.link.gen.max"), _whole(card, "pcie.link.width.current"))
            return None if rate is None or rate.healthy_gbs is None else rate.healthy_gbs[1]
        spec = match_of(card).spec
        if spec is None:
            return None
        precision = _PRECISION[self.probe.id]
        healthy, nominal = band(spec, precision), spec.nominal(precision)
        if healthy is None or nominal is None:
            return None
        median = healthy.median or (healthy.low + (healthy.high or healthy.low)) / 2
        return median / 100 * nominal * self._share_left()

    def _share_left(self) -> float:
        limit, default = number(self.card.get("enforced.power.limit")), number(self.card.get("power.default_limit"))
        share = 1.0
        if self.probe.id != "bandwidth" and limit is not None and default:
            share *= min(
                1.0, (limit / default) ** 0.5
            )  # below its limit a clock falls about with the root of the power
        if not isinstance(self.card.processes, tuple) or any(p.here is False for p in self.card.processes):
            share *= 0.5
        return share

    def _result(self, value: float) -> dict[str, Any]:
        detail: dict[str, Any] = {"simulated": True, "cv_percent": 0.4, "drift_percent": 0.3, "errors": 0}
        for name, reading in (("generation", "pcie.link.gen.max"), ("lanes", "pcie.link.width.current")):
            found = _whole(self.card, reading)
            if found is not None:
                detail[name] = found
        dtype = {"bandwidth": "copy", "pcie": ""}.get(self.probe.id, "bf16")
        series = [round(figure, 2) for figure in self.run.series]
        return {
            "value": round(value, 2),
            "unit": self.probe.unit,
            "dtype": dtype,
            "detail": detail,
            "series": series,
            "state": "done",
        }


def _whole(card: Card, name: str) -> int | None:
    found = number(card.get(name))
    return None if found is None else int(found)
