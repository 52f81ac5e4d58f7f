"""Every setting: its name, what it may be, its default, and what it is for. The file, the environment and the screen of
settings are all made from this table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gputui.alerts.condition import ConditionError
from gputui.alerts.parse import parse
from gputui.alerts.quiet import QuietHours
from gputui.alerts.threshold import Threshold, seconds
from gputui.text import _

AUTO = "auto"
"""How the file writes "decide by yourself"; None in `Settings`."""
THEMES = (AUTO, "dark", "light", "high-contrast", "ansi")
VIEWS = (AUTO, "cards", "table")
SORTS = (
    "index", "name", "state", "clock", "power", "power-share", "temp", "util", "mem", "mem-share", "pstate", "fan",
    "reason", "finding",
)  # fmt: skip
EXPECTS = ("whole", "slice", "any")
SEPARATOR = ";"
"""Between the entries of a list in an environment variable."""
KEYS = "keys"
"""The table of keys, which has a row for each action instead of fixed names."""

Raw = bool | int | float | str | list[str]
"""A value as TOML has it."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run, checked. interval_s, span_s: seconds; bucket_s: whole seconds a sparkline's cell stands
    for; None where the program decides by itself. keys: action id to textual key names.
    """

    interval: float = 1.0
    theme: str | None = None
    view: str | None = None
    ascii: bool | None = None
    mouse: bool | None = None
    bucket: int = 5
    span: float = 600.0
    sort: str = "index"
    sort_falling: bool | None = None
    filter: str = ""
    expect: str = "any"
    readonly: bool = False
    alerts_thresholds: tuple[Threshold, ...] = ()
    alerts_bell: bool = True
    alerts_quiet_hours: QuietHours | None = None
    alerts_on_finding: str = ""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Setting:
    """One setting. take: from a TOML value, or the same typed as text, to the value in `Settings`; raises ValueError.

    allowed: what it may be, to end the sentence "…; allowed: ". about: what it is for, the comment in the file.
    """

    name: str
    default: Raw
    take: Callable[[Any], Any]
    allowed: Callable[[], str]
    about: Callable[[], str]

    @property
    def field(self) -> str:
        """Its name in `Settings`."""
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "GPUTUI_" + self.field.upper()

    @property
    def table(self) -> str:
        """Its table in the file, "" for the top."""
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        """Its key within that table."""
        return self.name.rpartition(".")[2]


def _choice(words: tuple[str, ...]) -> Callable[[Any], str | None]:
    def take(value: Any) -> str | None:
        if isinstance(value, str) and value.lower() in words:
            return None if value.lower() == AUTO else value.lower()
        raise ValueError

    return take


_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in (*_TRUE, *_FALSE):
        return value.lower() in _TRUE
    raise ValueError


def _truth_or_auto(value: Any) -> bool | None:
    return None if isinstance(value, str) and value.lower() == AUTO else _truth(value)


def _time(low: float, high: float) -> Callable[[Any], float]:
    def take(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        found = seconds(value) if isinstance(value, str) else float(value)
        if not low <= found <= high:
            raise ValueError
        return found

    return take


def _whole_seconds(low: int, high: int) -> Callable[[Any], int]:
    def take(value: Any) -> int:
        found = _time(low, high)(value)
        if found != int(found):
            raise ValueError
        return int(found)

    return take


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value.strip()


def _filter(value: Any) -> str:
    line = _text(value)
    if line:
        parse(line)
    return line


def _thresholds(value: Any) -> tuple[Threshold, ...]:
    """A list; text has one or several with ; between."""
    if isinstance(value, str):
        value = [part for part in value.split(SEPARATOR) if part.strip()]
    if not isinstance(value, (list, tuple)):
        raise ValueError
    return tuple(Threshold.of(_text(part)) for part in value)


def _command(value: Any) -> str:
    line = _text(value)
    shlex.split(line)
    return line


def _hours(value: Any) -> QuietHours | None:
    return QuietHours.of(_text(value))


def _one_of(words: tuple[str, ...]) -> Callable[[], str]:
    return lambda: ", ".join(words)


def _yes_no() -> str:
    return "true, false"


def _yes_no_auto() -> str:
    return "auto, true, false"


def keys_of(value: Any) -> tuple[str, ...]:
    """The keys of one action: one name or a list of names. Raises ValueError."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, (list, tuple)) or not found:
        raise ValueError
    for name in found:
        if not isinstance(name, str) or not 0 < len(name) <= 30 or not name.isprintable() or " " in name:
            raise ValueError
    return tuple(dict.fromkeys(found))


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "interval", 1.0, _time(0.25, 60), lambda: _("0.25 to 60 seconds"), lambda: _("Seconds between two samples.")
    ),
    Setting(
        "theme",
        AUTO,
        _choice(THEMES),
        _one_of(THEMES),
        lambda: _("Colours. auto follows what the terminal can do; ansi keeps its own sixteen."),
    ),
    Setting(
        "view",
        AUTO,
        _choice(VIEWS),
        _one_of(VIEWS),
        lambda: _("What to show first. auto: panels as long as they fit, a table otherwise."),
    ),
    Setting(
        "ascii",
        AUTO,
        _truth_or_auto,
        _yes_no_auto,
        lambda: _("Plain ASCII characters only. auto: when the locale says so."),
    ),
    Setting("mouse", AUTO, _truth_or_auto, _yes_no_auto, lambda: _("Use the mouse. auto: not over SSH.")),
    Setting(
        "bucket",
        5,
        _whole_seconds(1, 60),
        lambda: _("1 to 60 whole seconds"),
        lambda: _("Seconds that one cell of a sparkline stands for. More is calmer, and cheaper over a slow link."),
    ),
    Setting(
        "span",
        "10m",
        _time(60, 24 * 3600),
        lambda: _("1m to 24h"),
        lambda: _("How far back the charts of one card reach at first."),
    ),
    Setting("sort", "index", _choice(SORTS), _one_of(SORTS), lambda: _("What the table is sorted by.")),
    Setting(
        "sort_falling",
        AUTO,
        _truth_or_auto,
        _yes_no_auto,
        lambda: _("Largest on top. auto: as the order is usually meant, the hottest or busiest first."),
    ),
    Setting(
        "filter",
        "",
        _filter,
        lambda: _('a condition such as "temp>80" or "state!=ok"'),
        lambda: _("Which cards the table shows; empty for all."),
    ),
    Setting(
        "expect",
        "any",
        _choice(EXPECTS),
        _one_of(EXPECTS),
        lambda: _("What was rented: a whole card or a slice of one."),
    ),
    Setting("readonly", False, _truth, _yes_no, lambda: _("Leave out every action that changes something.")),
    Setting(
        "alerts.thresholds",
        [],
        _thresholds,
        lambda: _('a list such as ["temp>85 for 10s", "power<50% and util>90"]'),
        lambda: _("Your own thresholds. Each is a condition, and how long it must hold."),
    ),
    Setting("alerts.bell", True, _truth, _yes_no, lambda: _("Ring the terminal's bell when an alert begins.")),
    Setting(
        "alerts.quiet_hours",
        "",
        _hours,
        lambda: _("hours such as 22:00-07:00, or nothing"),
        lambda: _("Hours of the local day in which nothing rings."),
    ),
    Setting(
        "alerts.on_finding",
        "",
        _command,
        lambda: _("a command line with its quotes closed"),
        lambda: _(
            "A command to start when a finding begins. No shell; the finding is JSON on its standard input; at most "
            "once a minute and finding; it is killed after 10 s."
        ),
    ),
)
BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}
TABLES: tuple[str, ...] = tuple(dict.fromkeys(setting.table for setting in SETTINGS if setting.table))


def checked(setting: Setting, value: Any) -> Any:
    """The value for `Settings`. Raises ValueError whose text ends the sentence that began with the place."""
    try:
        return setting.take(value)
    except ConditionError as error:
        raise ValueError(f"{setting.name}: {error}") from error
    except ValueError as error:
        sentence = _("{name} cannot be {value}; allowed: {allowed}.")
        shown = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else value
        text = sentence.format(name=setting.name, value=shown, allowed=setting.allowed())
        raise ValueError(text) from error


def raw(setting: Setting, value: Any) -> Raw:
    """A value of `Settings` as the file has it; the reverse of `take`."""
    if value is None:
        return "" if setting.default == "" else AUTO
    if isinstance(value, QuietHours):
        return f"{value.start // 60:02}:{value.start % 60:02}-{value.end // 60:02}:{value.end % 60:02}"
    if isinstance(value, tuple):
        return [part.text if isinstance(part, Threshold) else str(part) for part in value]
    assert isinstance(value, (bool, int, float, str))
    return value
