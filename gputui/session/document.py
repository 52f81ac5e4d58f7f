"""A frame and what was judged of it as one JSON document, `gputui.frame/1` (schema in gputui/schema/frame-1.json).

Locale-free; an absent value is never 0; no command line, user, host name or address is in it (design section 8).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from gputui import __version__
from gputui.findings.evidence import Expect, Judgement, ProbeResult
from gputui.model import catalog
from gputui.model.card import Card, Driver, Event, Frame, MigDevice, Process
from gputui.model.finding import Finding, Verdict, verdict
from gputui.model.reading import Absent, Reading, to_wire

SCHEMA = "gputui.frame/1"

_APART = ("clocks_event_reasons.active",)
"""Readings that have a place of their own in a card's object."""


def iso(unix: float) -> str:
    """Unix time as ISO 8601 in UTC with milliseconds and offset."""
    return datetime.fromtimestamp(unix, tz=timezone.utc).isoformat(timespec="milliseconds")


def _absent(reading: Absent) -> dict[str, Any]:
    out: dict[str, Any] = to_wire(reading)
    if reading.since is not None:
        out["since"] = iso(reading.since)
    return out


def reading_object(name: str, reading: Reading) -> dict[str, Any]:
    """{"value", "unit"} or {"absent": why, …}."""
    if isinstance(reading, Absent):
        return _absent(reading)
    out: dict[str, Any] = {"value": list(reading) if isinstance(reading, tuple) else reading}
    if unit := catalog.unit(name):
        out["unit"] = unit
    return out


def _plain(reading: Reading | None) -> Any:
    """A value where JSON has a bare number: the number, null when never read, {"absent"} otherwise."""
    if reading is None:
        return None
    return _absent(reading) if isinstance(reading, Absent) else to_wire(reading)


def _process(process: Process) -> dict[str, Any]:
    out: dict[str, Any] = {
        "pid": process.pid,
        "type": process.type,
        "name": _basename(process.name) if process.here is not False else "",
        "memory_mib": _plain(process.memory_mib),
        "here": process.here,
        "listed": process.listed,
    }
    if process.sm_percent is not None:
        out["sm_percent"] = _plain(process.sm_percent)
    if process.mig_uuid is not None:
        out["mig_uuid"] = process.mig_uuid
    return out


def _basename(name: str) -> str:
    """The program's name alone: the driver gives a path, and some drivers the arguments too."""
    words = name.replace("\\", "/").split()
    return words[0].rsplit("/", 1)[-1] if words else ""


def _mig(device: MigDevice) -> dict[str, Any]:
    return {
        "index": device.index,
        "uuid": device.uuid,
        "name": device.name,
        "gpu_instance": device.gpu_instance,
        "compute_instance": device.compute_instance,
        "multiprocessors": _plain(device.multiprocessors),
        "memory_total_mib": _plain(device.memory_total_mib),
        "memory_used_mib": _plain(device.memory_used_mib),
    }


def card_object(card: Card, of_card: Verdict | None) -> dict[str, Any]:
    """One card."""
    reasons = card.reasons
    out: dict[str, Any] = {
        "index": card.index,
        "uuid": card.uuid,
        "name": card.name,
        "state": card.state.value,
        "verdict": of_card.value if of_card else None,
        "sampled": None if card.sampled is None else iso(card.sampled),
        "age_s": None if card.age_s is None else round(card.age_s, 3),
        "missing_since": None if card.missing_since is None else iso(card.missing_since),
        "readings": {
            name: reading_object(name, reading) for name, reading in card.readings.items() if name not in _APART
        },
        "reasons": _absent(reasons) if isinstance(reasons, Absent) else list(reasons),
        "processes": (
            _absent(card.processes)
            if isinstance(card.processes, Absent)
            else [_process(process) for process in card.processes]
        ),
        "mig": [_mig(device) for device in card.mig],
    }
    if card.state_code is not None:
        out["state_code"] = card.state_code
    if card.state_since is not None:
        out["state_since"] = iso(card.state_since)
    return out


def _driver(driver: Driver | None) -> dict[str, Any] | None:
    if driver is None:
        return None
    return {
        "version": _plain(driver.version),
        "cuda": _plain(driver.cuda),
        "nvml": _plain(driver.nvml),
        "kernel_module": _plain(driver.kernel_module),
    }


def event_object(event: Event) -> dict[str, Any]:
    """One event."""
    return {"time": iso(event.time), "gpu_uuid": event.gpu_uuid, "what": event.what, "detail": event.detail}


def finding_object(finding: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "gpu": finding.gpu,
        "gpu_uuid": finding.gpu_uuid,
        "summary": finding.summary,
        "evidence": dict(finding.evidence),
        "could_be": list(finding.could_be),
        "action": finding.action,
        "who": finding.who,
        "source": finding.source,
        "verify": finding.verify,
        "checked_on_hardware": finding.checked_on_hardware,
        "consequences": list(finding.consequences),
    }


def _probe(result: ProbeResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "gpu_uuid": result.gpu_uuid,
        "engine": result.engine,
        "dtype": result.dtype,
        "value": result.value,
        "unit": result.unit,
        "state": result.state,
        **dict(result.detail),
    }


def card_verdict(card: Card, judgement: Judgement) -> Verdict:
    """The verdict over one card's own findings."""
    own = [finding for finding in judgement.findings if finding.gpu_uuid == card.uuid]
    return verdict(own, card.age_s is None)


def overall(frame: Frame, judgement: Judgement) -> Verdict:
    """The verdict over everything. With no card read at all there is nothing to judge."""
    nothing = frame.problem is not None or not any(card.age_s is not None for card in frame.cards)
    return verdict(judgement.findings, judgement.required_not_judged or nothing)


def document(
    frame: Frame,
    judgement: Judgement,
    expect: Expect = Expect.ANY,
    probes: Iterable[ProbeResult] = (),
) -> dict[str, Any]:
    """The whole document."""
    host: Mapping[str, Reading] = frame.host
    return {
        "schema": SCHEMA,
        "time": iso(frame.time),
        "source": frame.source,
        "simulated": frame.simulated,
        "scenario": frame.scenario,
        "tool": {"name": "gputui", "version": __version__},
        "driver": _driver(frame.driver),
        "problem": (
            None
            if frame.problem is None
            else {"id": frame.problem.id, "detail": frame.problem.detail, "code": frame.problem.code}
        ),
        "gpus": [card_object(card, card_verdict(card, judgement)) for card in frame.cards],
        "host": {name: reading_object(name, reading) for name, reading in host.items()},
        "events": [event_object(event) for event in frame.events],
        "probes": [_probe(result) for result in probes],
        "expect": expect.value,
        "not_judged": [
            {"id": item.id, "needs_s": item.needs_s, "gpu": item.gpu, "why": item.why} for item in judgement.not_judged
        ],
        "findings": [finding_object(finding) for finding in judgement.findings],
        "verdict": overall(frame, judgement).value,
    }


def dumps(data: Mapping[str, Any]) -> str:
    """The document as text: indented, ASCII, and never NaN."""
    return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
