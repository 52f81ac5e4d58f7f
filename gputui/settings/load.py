"""Puts the settings of a run together and says of each where it comes from.

A value that is not allowed is left out with one sentence that names the place, the setting and what is allowed; then
the next place in line counts. So a slip in the file costs one setting and never the screen.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gputui.settings import file
from gputui.settings.file import VARIABLE, Found, SettingsError, config_path, shown
from gputui.settings.schema import BY_NAME, KEYS, SETTINGS, TABLES, Setting, Settings, checked, keys_of
from gputui.text import _

_OTHER_VARIABLES = (VARIABLE,)
_COMMAND = "alerts.on_finding"


class Place(str, Enum):
    """Where a value can come from, the strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True)
class Origin:
    """Where a value comes from; `name` is the flag, the variable or the file."""

    place: Place
    name: str = ""


@dataclass(frozen=True)
class Loaded:
    """The settings, the origin of each by setting name, and what was wrong with what was given.

    errors: values that were left out. warnings: names that nobody knows. path: the settings file, there or not.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    path: Path | None = None


@dataclass
class _Notes:
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def load(
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    path: Path | None = None,
    actions: Iterable[str] = (),
) -> Loaded:
    """The settings of this run. Never raises for what a person wrote.

    flags: setting name to value for the flags that were given; None means not given. path: the settings file instead of
    the usual one. actions: ids that the table of keys may name; without them any id is taken.
    """
    where = os.environ if environment is None else environment
    notes = _Notes()
    path = config_path(where) if path is None else path
    found = _read(path, notes)
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for setting in SETTINGS:
        for origin, value in _given(setting, flags or {}, where, found, path, notes):
            try:
                values[setting.field] = checked(setting, value)
            except ValueError as error:
                notes.errors.append(f"{origin.name}: {error}")
                continue
            origins[setting.name] = origin
            break
        else:
            values[setting.field] = checked(setting, setting.default)
            origins[setting.name] = Origin(Place.DEFAULT)
    values[KEYS] = MappingProxyType(_keys(found.data, path, tuple(actions), notes))
    for name in values[KEYS]:
        origins[f"{KEYS}.{name}"] = Origin(Place.FILE, shown(path) if path else "")
    _unknown_names(found.data, path, notes)
    _unknown_variables(where, notes)
    return Loaded(Settings(**values), MappingProxyType(origins), tuple(notes.errors), tuple(notes.warnings), path)


def _read(path: Path | None, notes: _Notes) -> Found:
    if path is None:
        return Found({})
    try:
        return file.read(path)
    except SettingsError as error:
        notes.errors.append(str(error))
        return Found({})


def _given(
    setting: Setting,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    found: Found,
    path: Path | None,
    notes: _Notes,
) -> list[tuple[Origin, Any]]:
    """Every value that was given for a setting, the strongest first."""
    out: list[tuple[Origin, Any]] = []
    if flags.get(setting.name) is not None:
        out.append((Origin(Place.FLAG, "--" + setting.key.replace("_", "-")), flags[setting.name]))
    if environment.get(setting.variable):
        out.append((Origin(Place.ENVIRONMENT, setting.variable), environment[setting.variable]))
    table = found.data.get(setting.table) if setting.table else found.data
    if path is not None and isinstance(table, Mapping) and setting.key in table:
        if setting.name == _COMMAND and table[setting.key] and not found.trusted:
            notes.errors.append(
                _("{file}: {name} was left out, for others can write to this file; `chmod 600` it.").format(
                    file=shown(path), name=setting.name
                )
            )
        else:
            out.append((Origin(Place.FILE, shown(path)), table[setting.key]))
    return out


def _keys(
    data: Mapping[str, Any], path: Path | None, actions: tuple[str, ...], notes: _Notes
) -> dict[str, tuple[str, ...]]:
    """The table of keys: ids that exist, keys that no other id took before."""
    table = data.get(KEYS, {})
    place = shown(path) if path else ""
    out: dict[str, tuple[str, ...]] = {}
    taken: dict[str, str] = {}
    if not isinstance(table, Mapping):
        notes.errors.append(_("{file}: keys has to be a table, [keys].").format(file=place))
        return out
    for name, value in table.items():
        if actions and name not in actions:
            notes.warnings.append(_unknown(place, f"{KEYS}.{name}", _near(name, actions)))
            continue
        try:
            found = keys_of(value)
        except ValueError:
            notes.errors.append(
                _('{file}: keys.{name} cannot be {value}; allowed: a key such as "f" or a list of keys.').format(
                    file=place, name=name, value=value
                )
            )
            continue
        double = next((key for key in found if key in taken), None)
        if double is not None:
            notes.errors.append(
                _("{file}: keys.{name} was left out, for {key} is the key of {other} already.").format(
                    file=place, name=name, key=double, other=taken[double]
                )
            )
            continue
        for key in found:
            taken[key] = name
        out[name] = found
    return out


def _near(name: str, among: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name, list(among), n=1, cutoff=0.6)
    return close[0] if close else None


def _unknown(place: str, name: str, near: str | None) -> str:
    start = _("{place}: {name} is not known and was left out").format(place=place, name=name)
    return start + (_("; did you mean {near}?").format(near=near) if near else ".")


def _unknown_names(data: Mapping[str, Any], path: Path | None, notes: _Notes) -> None:
    place = shown(path) if path else ""
    for name, value in data.items():
        if name == KEYS:
            continue
        if name in TABLES:
            if not isinstance(value, Mapping):
                notes.errors.append(_("{file}: {name} has to be a table, [{name}].").format(file=place, name=name))
                continue
            names = [f"{name}.{key}" for key in value]
        else:
            names = [name]
        for full in names:
            if full not in BY_NAME:
                # A key in the wrong table has its own name at the end of the right one.
                moved = next((known for known in BY_NAME if known.endswith("." + full)), None)
                notes.warnings.append(_unknown(place, full, moved or _near(full, [*BY_NAME, *TABLES, KEYS])))


def _unknown_variables(environment: Mapping[str, str], notes: _Notes) -> None:
    known = {setting.variable for setting in SETTINGS} | set(_OTHER_VARIABLES)
    for name in sorted(environment):
        if name.startswith("GPUTUI_") and name not in known:
            near = _near(name, known)
            if near:
                notes.warnings.append(_unknown(_("environment"), name, near))
