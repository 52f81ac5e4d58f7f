"""A finding's evidence as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gputui.text import _

_PLAIN = ("seen",)


def evidence_words(evidence: Mapping[str, Any]) -> list[str]:
    """One phrase an entry: "enforced.power.limit 270 W, expected 450 W". Shares of one are said in percent; what was
    not read is left out.
    """
    return [words for name, value in evidence.items() if (words := _entry(name, value))]


def _entry(name: str, value: object) -> str:
    if not isinstance(value, Mapping):
        return "" if value is None else f"{_named(name)} {_said(name, value, '')}"
    unit = str(value.get("unit", ""))
    parts = []
    for key, item in value.items():
        if key == "unit" or item is None:
            continue
        said = _said(key, item, unit)
        parts.append(said if key in _PLAIN else f"{_named(key)} {said}")
    return f"{_named(name)} {', '.join(parts)}" if parts else ""


def _named(key: str) -> str:
    """Names with dots are readings and stay; the others are words of ours."""
    known = {
        "expected": _("expected"),
        "expected_up_to": _("expected at most"),
        "memory_held_by_others": _("memory held by others"),
        "median_when_busy": _("median when busy"),
    }
    return known.get(key) or (key if "." in key else key.replace("_", " "))


def _said(key: str, value: object, unit: str) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, float | int):
        if key.startswith("share") and 0 <= value <= 1:
            return f"{100 * value:.0f} %"
        if isinstance(value, float):
            value = float(f"{value:.4g}")  # four figures, never an exponent
        number = str(value) if key == "pid" or abs(value) >= 1e12 else f"{value:,.12g}"
        plain = unit and not key.startswith(("share", "samples", "count"))
        return f"{number} {unit}" if plain else number
    if isinstance(value, Mapping):
        return " ".join(f"{_named(inner)} {_said(inner, item, '')}" for inner, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_said("", item, "") for item in value)
    return str(value)
