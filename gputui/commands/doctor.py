"""`gputui doctor`: what this machine lets us read, and what the terminal can show.

Reads only; probes and network are not touched.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gputui import __version__
from gputui.cli import CANNOT_JUDGE, OK
from gputui.commands.live import let_go, open_watcher, watch
from gputui.commands.output import deliver
from gputui.model import catalog
from gputui.model.card import Card, Frame, State
from gputui.model.reading import Absent, Reading, number
from gputui.problems import say
from gputui.session.document import dumps
from gputui.text import _

SCHEMA = "gputui.doctor/1"
GOOD, NOTE, BAD = "ok", "note", "bad"
_MARK = {GOOD: "ok  ", NOTE: "note", BAD: "BAD "}


@dataclass(frozen=True)
class Line:
    """One thing looked at. state: ok, note (works, worth knowing), bad (something will not work)."""

    group: str
    what: str
    state: str
    detail: str


def run(options: argparse.Namespace) -> int:
    """Print what was found; exit 0 when cards can be read, 3 when they cannot."""
    source = open_watcher(options)
    try:
        frame = watch(source, 0.0, wait_s=15.0)
    finally:
        let_go(source)
    lines = [
        *_program(),
        *_device_nodes(),
        *_driver(frame),
        *_cards(frame),
        *_box(frame),
        *_probes(),
        *_terminal(),
        *_settings(options),
    ]
    if options.json:
        deliver(dumps({"schema": SCHEMA, "lines": [asdict(line) for line in lines]}), None)
    else:
        deliver(_text(lines), None)
    return CANNOT_JUDGE if frame.problem else OK


def _text(lines: list[Line]) -> str:
    out: list[str] = []
    group = ""
    width = max(len(line.what) for line in lines)
    for line in lines:
        if line.group != group:
            group = line.group
            out += ["", group] if out else [group]
        out.append(f"  {_MARK[line.state]} {line.what:<{width}}  {line.detail}")
    return "\n".join(out) + "\n"


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _program() -> list[Line]:
    group = _("Program")
    lines = [Line(group, "gputui", GOOD, f"{__version__}, Python {platform.python_version()}")]
    for package in ("textual", "nvidia-ml-py", "psutil", "plotext"):
        found = _installed(package)
        lines.append(
            Line(group, package, GOOD, found)
            if found
            else Line(group, package, BAD, _("not installed; install gputui again with pip"))
        )
    return lines


def _device_nodes(folder: Path = Path("/dev")) -> list[Line]:
    group = _("Device files")
    nodes = sorted(node for node in folder.glob("nvidia*") if not node.is_dir())
    if not nodes:
        return [Line(group, "/dev/nvidia*", BAD, _("none; in a container: it was started without GPU access"))]
    lines = []
    for node in nodes:
        allowed = os.access(node, os.R_OK | os.W_OK)
        detail = _("may be opened") if allowed else _("may not be opened: ask for access")
        lines.append(Line(group, str(node), GOOD if allowed else BAD, detail))
    return lines


def _driver(frame: Frame) -> list[Line]:
    group = _("Driver")
    if frame.problem is not None:
        return [Line(group, frame.problem.id, BAD, say(frame.problem).line())]
    lines = []
    if frame.simulated:
        lines.append(Line(group, _("source"), NOTE, _("SIMULATED host {name}").format(name=frame.scenario or "")))
    if frame.driver is not None:
        for what, reading in (
            (_("driver"), frame.driver.version),
            ("CUDA", frame.driver.cuda),
            ("NVML", frame.driver.nvml),
            (_("kernel module"), frame.driver.kernel_module),
        ):
            lines.append(_reading_line(group, what, reading))
    return lines


def _reading_line(group: str, what: str, reading: Reading, unit: str = "") -> Line:
    if isinstance(reading, Absent):
        return Line(group, what, NOTE, _("not readable ({why})").format(why=reading.why.value))
    shown = ", ".join(reading) if isinstance(reading, tuple) else str(reading)
    return Line(group, what, GOOD, f"{shown} {unit}".strip() or _("none"))


def _cards(frame: Frame) -> list[Line]:
    group = _("Cards")
    lines = []
    for card in frame.cards:
        what = f"{card.index} {card.name}"
        if card.state is not State.OK:
            code = "" if card.state_code is None else f" (NVML {card.state_code})"
            lines.append(Line(group, what, BAD, card.state.value + code))
            continue
        lines.append(Line(group, what, GOOD, _coverage(card)))
    return lines


def _coverage(card: Card) -> str:
    """How many of the readings this card gives, and why not the others."""
    asked = [spec.name for spec in catalog.SPECS if spec.name in card.readings]
    absent = [reading for name in asked if isinstance(reading := card.get(name), Absent)]
    reasons = Counter(reading.why.value for reading in absent)
    listed = ", ".join(f"{count} {why}" for why, count in reasons.most_common())
    text = _("{have} of {all} readings").format(have=len(asked) - len(absent), all=len(catalog.SPECS))
    return f"{text}; {listed}" if listed else text


def _box(frame: Frame) -> list[Line]:
    group = _("Machine, as this container sees it")
    lines = []
    for spec in catalog.HOST_SPECS:
        reading = frame.host.get(spec.name)
        if reading is None or spec.name in ("host.boot_id", "host.cpu.percent"):
            continue
        value = number(reading)
        shown: Reading = round(value, 1) if isinstance(reading, float) and value is not None else reading
        lines.append(_reading_line(group, spec.name.removeprefix("host."), shown, spec.unit))
    return lines


def _terminal() -> list[Line]:
    from gputui.ui.terminal import plan_here

    group = _("Terminal")
    plan = plan_here()
    lines = [Line(group, "TERM", GOOD if plan.usable else NOTE, os.environ.get("TERM", _("not set")))]
    if not plan.usable:
        lines.append(Line(group, _("dashboard"), NOTE, plan.why))
    lines.append(Line(group, _("colours"), GOOD, str(plan.color_system or _("none"))))
    lines.append(Line(group, _("characters"), GOOD, "ASCII" if plan.ascii else "Unicode"))
    lines.append(Line(group, _("mouse"), GOOD, _("on") if plan.mouse else _("off (over SSH it is off unless --mouse)")))
    lines.append(Line(group, _("encoding"), GOOD, str(getattr(sys.__stderr__, "encoding", "?"))))
    return lines


def _probes() -> list[Line]:
    """Which interpreter the probes of the dashboard would use, and why not the others."""
    from gputui.probes.pythons import find
    from gputui.settings.file import shown

    group = _("Probes")
    found = find(os.environ)
    lines = [
        Line(group, shown(Path(python.path)), GOOD, _("torch {version}").format(version=python.torch))
        if python.torch
        else Line(group, shown(Path(python.path)), NOTE, _("no torch"))
        for python in found
    ]
    if not any(python.torch for python in found):
        lines.append(Line(group, _("engine"), NOTE, _("none: probes need an interpreter with torch (GPUTUI_PYTHON)")))
    lines.append(Line(group, _("checked"), NOTE, _("this version's probes have not run on a real card yet")))
    return lines


def _settings(options: argparse.Namespace) -> list[Line]:
    """Which file is used, what in it was left out, and what is not as usual."""
    from gputui.commands.dashboard import preferences
    from gputui.settings.file import shown
    from gputui.settings.load import Place

    group = _("Settings")
    loaded = preferences(argparse.Namespace(**{**vars(options), "interval": None, "expect": None}))
    where = shown(loaded.path) if loaded.path is not None else _("none")
    there = loaded.path is not None and loaded.path.exists()
    lines = [Line(group, _("file"), GOOD, where if there else _("{file}, not there").format(file=where))]
    for name, origin in loaded.origins.items():
        if origin.place is not Place.DEFAULT:
            lines.append(Line(group, name, GOOD, _("set by {where}").format(where=origin.name)))
    lines += [Line(group, _("left out"), BAD, sentence) for sentence in loaded.errors]
    lines += [Line(group, _("not known"), NOTE, sentence) for sentence in loaded.warnings]
    return lines
