"""Scenario files: what a simulated host has, and what happens to it.

Format: see hosts/rtx4090.toml, which explains each key.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from gputui.driver.scripted.physics import Body
from gputui.model.card import State
from gputui.text import _

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HOSTS = Path(__file__).parent / "hosts"
_TOP = {"about", "seed", "start", "driver", "host", "models", "cards", "at", "open_s", "problem", "relist"}
_CARD = {"model", "count", "uuid", "name", "programme", "seed", "readings", "body", "processes", "mig", "ambient_step"}
_EVENT = {"t", "card", "state", "code", "set", "absent", "hang_s", "remove", "xid", "processes", "until"}


class ScenarioError(Exception):
    """A scenario that cannot be used; the text is one sentence for the person who named it."""


@dataclass(frozen=True)
class CardScript:
    """One card: the model it is made from, its programme of load, and what it says of itself."""

    uuid: str
    name: str
    body: Body
    programme: tuple[tuple[float, float], ...]
    seed: int
    readings: Mapping[str, Any]
    processes: tuple[Mapping[str, Any], ...] = ()
    mig: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Happening:
    """Something that happens to a card (or to all, card None) at `t` seconds, until `until`."""

    t: float
    until: float
    card: int | None
    state: State | None = None
    code: int | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    remove: bool = False
    xid: int | None = None
    processes: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True)
class Scenario:
    """A whole host."""

    name: str
    about: str
    start: float
    driver: Mapping[str, str]
    host: Mapping[str, Any]
    cards: tuple[CardScript, ...]
    happenings: tuple[Happening, ...] = ()
    open_s: float = 0.0
    problem: Mapping[str, Any] | None = None


def names() -> list[tuple[str, str]]:
    """Every simulated host with one line about it, the healthy card first."""
    found = [(path.stem, str(_read(path).get("about", ""))) for path in sorted(_HOSTS.glob("*.toml"))]
    return sorted(found, key=lambda item: (item[0] != "rtx4090", item[0]))


def load(name: str) -> Scenario:
    """The scenario of a simulated host, or of a file ending in .toml. Raises ScenarioError."""
    path = Path(name) if name.endswith(".toml") or "/" in name else _HOSTS / f"{name}.toml"
    if path.parent == _HOSTS and not path.exists():
        known = [known for known, _about in names()]
        near = difflib.get_close_matches(name, known, 1)
        hint = _("did you mean {near}?").format(near=near[0]) if near else _("`gputui --demo list` names them.")
        raise ScenarioError(_("there is no simulated host {name!r}; {hint}").format(name=name, hint=hint))
    data = _read(path)
    try:
        return _scenario(path.stem, data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        said = error.args[0] if error.args else type(error).__name__
        raise ScenarioError(_("scenario {file} cannot be used: {why}.").format(file=path, why=said)) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as source:
            data: dict[str, Any] = tomllib.load(source)
            return data
    except OSError as error:
        raise ScenarioError(
            _("scenario {file} cannot be read: {why}.").format(file=path, why=error.strerror)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(_("scenario {file} is not valid TOML: {why}.").format(file=path, why=error)) from error


def _known(where: str, data: Mapping[str, Any], allowed: set[str]) -> None:
    unknown = sorted(set(data) - allowed)
    if unknown:
        near = difflib.get_close_matches(unknown[0], allowed, 1)
        raise ValueError(f"{where} has an unknown key {unknown[0]!r}" + (f", did you mean {near[0]!r}" if near else ""))


def _scenario(name: str, data: Mapping[str, Any]) -> Scenario:
    _known("the file", data, _TOP)
    cards: list[CardScript] = []
    models = data.get("models", {})
    library = _read(_HOSTS.parent / "models.toml")
    for entry in data.get("cards", []):
        _known("a card", entry, _CARD)
        model = {**library, **models}.get(entry["model"])
        if model is None:
            raise ValueError(f"no model {entry['model']!r}")
        for _number in range(int(entry.get("count", 1))):
            cards.append(_card(len(cards), entry, model, int(data.get("seed", 1))))
    return Scenario(
        name=name,
        about=str(data.get("about", "")),
        start=float(data.get("start", 0)),
        driver=data.get("driver", {}),
        host=data.get("host", {}),
        cards=tuple(cards),
        happenings=tuple(_happening(entry) for entry in data.get("at", [])),
        open_s=float(data.get("open_s", 0)),
        problem=data.get("problem"),
    )


def _card(number: int, entry: Mapping[str, Any], model: Mapping[str, Any], seed: int) -> CardScript:
    own = {**model.get("body", {}), **entry.get("body", {})}
    allowed = {item.name for item in fields(Body)}
    _known("a body", own, allowed)
    own["ambient"] = own.get("ambient", 28.0) + number * float(entry.get("ambient_step", 0.6))
    programme = tuple((float(seconds), float(percent)) for seconds, percent in entry.get("programme", [[60, 0]]))
    if not programme or min(seconds for seconds, _percent in programme) <= 0:
        raise ValueError("a programme needs phases of more than 0 seconds")
    return CardScript(
        uuid=str(entry.get("uuid", f"GPU-5eed{seed:04x}-{number:04x}-4000-8000-{number:012x}")),
        name=str(entry.get("name", model["name"])),
        body=Body(**own),
        programme=programme,
        seed=int(entry.get("seed", 1)) * 1000 + number * 7 + seed,
        readings={**model.get("readings", {}), **entry.get("readings", {})},
        processes=tuple(entry.get("processes", ())),
        mig=tuple(entry.get("mig", ())),
    )


def _happening(entry: Mapping[str, Any]) -> Happening:
    _known("an [[at]]", entry, _EVENT)
    state = entry.get("state")
    return Happening(
        t=float(entry["t"]),
        until=float(entry.get("until", "inf")),
        card=entry.get("card"),
        state=None if state is None else State(state),
        code=entry.get("code"),
        set=entry.get("set", {}),
        absent=entry.get("absent", {}),
        hang_s=float(entry.get("hang_s", 0)),
        remove=bool(entry.get("remove", False)),
        xid=entry.get("xid"),
        processes=None if "processes" not in entry else tuple(entry["processes"]),
    )
