"""The settings file: where it is, reading it, and changing it without losing what a person wrote into it.

A change replaces the lines of that setting and nothing else; before anything is written, the new text is read back and
must hold the old settings with just this change. Where no such edit is found (an inline table, say), the file is
written anew from the documented text and the old one kept beside it as `config.toml.old`.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gputui.settings.schema import BY_NAME, KEYS, SETTINGS, Raw, Setting, checked, keys_of
from gputui.settings.schema import raw as raw_of
from gputui.text import _

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "config.toml"
VARIABLE = "GPUTUI_CONFIG"
"""Names another settings file; empty for none at all."""
LARGEST = 256 * 1024
_LONGEST_VALUE = 200
"""Lines a value may span in the file."""


class SettingsError(Exception):
    """The file cannot be read or written; the text is one sentence for the user."""


@dataclass(frozen=True)
class Found:
    """What the file says. trusted: nobody but its owner, who is us or root, can write to it."""

    data: Mapping[str, Any]
    trusted: bool = True


def config_path(environment: Mapping[str, str] | None = None) -> Path | None:
    """Where the settings file is, whether it exists or not; None when there is no place for one."""
    where = os.environ if environment is None else environment
    if VARIABLE in where:
        return Path(os.path.expanduser(where[VARIABLE])) if where[VARIABLE] else None  # noqa: PTH111 never raises
    base = where.get("XDG_CONFIG_HOME", "")
    if base and Path(base).is_absolute():
        return Path(base) / "gputui" / NAME
    from platformdirs import user_config_dir

    folder = Path(user_config_dir("gputui"))
    return folder / NAME if folder.is_absolute() else None


def shown(path: Path) -> str:
    """The path as a person writes it."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


def read(path: Path) -> Found:
    """What the file says, nothing when there is none. Raises SettingsError."""
    text, trusted = _text(path)
    return Found(_parsed(path, text), trusted)


def _parsed(path: Path, text: str | None) -> dict[str, Any]:
    try:
        return {} if text is None else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            _("{file} is not valid TOML and was left out: {why}.").format(file=shown(path), why=str(error).rstrip("."))
        ) from error


def _text(path: Path) -> tuple[str | None, bool]:
    """The file's text, None when there is none; and whether only we can write to it."""
    try:
        # Without O_NONBLOCK a named pipe in its place would stop the program before its first screen.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None, True
    except OSError as error:
        raise SettingsError(
            _("{file} cannot be read: {why}.").format(file=shown(path), why=error.strerror or error)
        ) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SettingsError(_("{file} is not a file and was left out.").format(file=shown(path)))
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise SettingsError(_("{file} is larger than 256 KiB and was left out.").format(file=shown(path)))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(_("{file} is not UTF-8 text and was left out.").format(file=shown(path))) from error
    return text, status.st_uid in (os.getuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def template(values: Mapping[str, Raw] | None = None, keys: Mapping[str, Raw] | None = None) -> str:
    """The documented file: every setting with its comment; defaults stand commented out, `values` and `keys` do not."""
    given = values or {}
    out = [
        _comment(_("Settings of gputui. A line without # is in force; delete it to go back to the default.")),
        _comment(_("A flag on the command line or an environment variable (GPUTUI_INTERVAL, …) wins over this file.")),
        "",
    ]
    table = ""
    for setting in SETTINGS:
        if setting.table != table:
            table = setting.table
            out += [f"[{table}]", ""]
        out += [_comment(setting.about()), _comment(_("Allowed: {what}.").format(what=setting.allowed()))]
        line = f"{setting.key} = {toml(given.get(setting.name, setting.default))}"
        out += [line if setting.name in given else f"# {line}", ""]
    out += [f"[{KEYS}]", "", _comment(_("Your own keys: the id of an action and its key, or a list of keys."))]
    out += [f"# findings = {toml('f')}", *(f"{_bare(name)} = {toml(value)}" for name, value in (keys or {}).items())]
    return "\n".join(out) + "\n"


def _comment(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False))


def toml(value: Raw) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
    return "[" + ", ".join(toml(part) for part in value) + "]"


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)


def save(path: Path, changes: Mapping[str, Any]) -> None:
    """Write changed settings: name (`alerts.bell`, `keys.detail`) to value as in `Settings` or the file, None for
    default.

    To say "auto" in the file write "auto". Whatever else is in the file stays as it is. Raises SettingsError, and
    ValueError for a value that is not allowed; then nothing was written.
    """
    wanted = {name: None if value is None else _raw(name, value) for name, value in changes.items()}
    text, _trusted = _text(path)
    before = _parsed(path, text)
    now = template() if text is None else text
    whole = False
    for name, value in wanted.items():
        edited = _edited(now, name, value)
        if edited is None:
            whole = True
            break
        now = edited
    if whole:
        if text is not None:
            _write(path.with_name(path.name + ".old"), text)
        now = _anew(before, wanted)
    _write(path, now)


def _raw(name: str, value: Any) -> Raw:
    """A changed value as the file has it, checked."""
    table, _dot, key = name.rpartition(".")
    if table == KEYS and key:
        try:
            found = keys_of(value)
        except ValueError as error:
            raise ValueError(_("{name} has to be a key or a list of keys.").format(name=name)) from error
        return found[0] if len(found) == 1 else list(found)
    setting = BY_NAME.get(name)
    if setting is None:
        raise ValueError(_("{name} is not a setting.").format(name=name))
    plain = value if isinstance(value, (bool, int, float, str, list)) else raw_of(setting, value)
    checked(setting, plain)
    return plain


def _with(data: Mapping[str, Any], name: str, value: Raw | None) -> dict[str, Any]:
    """The data with one setting changed. What stands in the place of its table without being one gives way."""
    table, _dot, key = name.rpartition(".")
    inside = data.get(table, {}) if table else data
    changed = {other: old for other, old in inside.items() if other != key} if isinstance(inside, Mapping) else {}
    if value is not None:
        changed[key] = value
    return {**data, table: changed} if table else changed


def _edited(text: str, name: str, value: Raw | None) -> str | None:
    """The text with one setting changed and every other line as it was; None when no edit of lines does that."""
    before = tomllib.loads(text)
    wanted = _with(before, name, value)
    if _bare_of_empty(before) == _bare_of_empty(wanted):
        return text
    lines = text.split("\n")
    table, _dot, key = name.rpartition(".")
    new = [] if value is None else [f"{_bare(key)} = {toml(value)}"]
    own, inserts = _places(lines, table, key)
    candidates = [
        [*lines[:at], *new, *lines[end:]]
        for at in own
        for end in range(at + 1, min(at + _LONGEST_VALUE, len(lines)) + 1)
    ]
    candidates += [[*lines[:at], *new, *lines[at:]] for at in inserts]
    candidates.append([*lines, f"[{table}]", *new, ""] if table else [*new, *lines])
    return next(("\n".join(candidate) for candidate in candidates if _means(candidate, wanted)), None)


def _places(lines: list[str], table: str, key: str) -> tuple[list[int], list[int]]:
    """Lines on which the setting stands; and where it could be put: before its commented line, at the table's end.

    A line that looks like the table's header may be part of a text, so there can be several ends; what is meant by an
    edit is checked afterwards.
    """
    own: list[int] = []
    commented: list[int] = []
    ends: dict[int, int] = {}
    here, headed = "", 0
    pattern = re.compile(rf"\s*(#?)\s*[\"']?{re.escape(key)}[\"']?\s*=")
    for at, line in enumerate(lines):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$", line)
        if header:
            here, headed = header[1].strip("\"'"), at
        if here != table or not line.strip():
            continue
        ends[headed] = at + 1
        found = pattern.match(line)
        if found and not header:
            (commented if found[1] else own).append(at)
    return own, commented + list(ends.values())


def _means(lines: list[str], wanted: Mapping[str, Any]) -> bool:
    """Whether the lines say exactly what is wanted. An empty table is no table."""
    try:
        found = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return _bare_of_empty(found) == _bare_of_empty(wanted)


def _bare_of_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value != {}}


def _anew(before: Mapping[str, Any], changes: Mapping[str, Raw | None]) -> str:
    """The documented file with what was known of the old one and the changes."""
    for name, value in changes.items():
        before = _with(before, name, value)
    values = {setting.name: value for setting in SETTINGS if (value := _inside(before, setting)) is not None}
    table = before.get(KEYS)
    keys = table if isinstance(table, Mapping) else {}
    return template(values, {name: value for name, value in keys.items() if _are_keys(value)})


def _inside(data: Mapping[str, Any], setting: Setting) -> Raw | None:
    """The value of a setting where it is one that is allowed."""
    place = data.get(setting.table) if setting.table else data
    value: Raw | None = place.get(setting.key) if isinstance(place, Mapping) else None
    try:
        checked(setting, value)
    except ValueError:
        return None
    return value


def _are_keys(value: Any) -> bool:
    try:
        return bool(keys_of(value))
    except ValueError:
        return False


def _write(path: Path, text: str) -> None:
    """Whole or not at all, for our eyes only; a link stays a link to the file it names."""
    try:
        target = path.resolve()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SettingsError(_("{file} cannot be written: {why}.").format(file=shown(path), why=why)) from error
