"""What a condition can name: the catalog's readings, short names for the common ones, and what a card itself is.

A field gives the value a condition compares; None where there is none, which matches nothing (absent is never 0).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from gputui.model import catalog, reasons
from gputui.model.card import Card
from gputui.model.finding import Finding
from gputui.model.reading import Absent, Reading, number

Found = float | str | tuple[str, ...] | None
"""A number in the field's unit, a text, several words, or no value."""
Read = Callable[[Card, Sequence[Finding]], Found]


class Kind(str, Enum):
    """number: has a unit, so only a number fits. word, words: text and lists. either: what the driver made of it."""

    NUMBER = "number"
    WORD = "word"
    WORDS = "words"
    EITHER = "either"


@dataclass(frozen=True)
class Field:
    """One thing to compare. unit as JSON writes it; whole: the reading that is 100 % of this one, for `power>90%`.

    discrete: a step of one matters (a link generation, a P-state), so no margin is put around a threshold.
    """

    name: str
    kind: Kind
    read: Read = field(compare=False)
    unit: str = ""
    whole: str | None = None

    @property
    def discrete(self) -> bool:
        """Whether the value moves in steps that each mean something."""
        return not self.unit


SHORT: dict[str, str] = {
    "temp": "temperature.gpu",
    "temperature": "temperature.gpu",
    "power": "power.draw",
    "limit": "enforced.power.limit",
    "util": "utilization.gpu",
    "utilization": "utilization.gpu",
    "mem": "memory.used",
    "memory": "memory.used",
    "clock": "clocks.current.sm",
    "sm": "clocks.current.sm",
    "fan": "fan.speed",
    "reasons": "reason",
    "findings": "finding",
}
"""Short names and what they stand for."""

_WHOLE = {
    "memory.used": "memory.total",
    "memory.free": "memory.total",
    "power.draw": "enforced.power.limit",
    "clocks.current.sm": "clocks.max.sm",
    "clocks.current.memory": "clocks.max.memory",
}
_CAUSE_WORDS: dict[reasons.Cause, str] = {
    cause: cause.name.lower() for cause in reasons.Cause if cause is not reasons.Cause.NONE
}


def _pstate(card: Card, _findings: Sequence[Finding]) -> Found:
    """P-states compare as numbers: `pstate>2`, `pstate=P0`."""
    word = card.get("pstate")
    if isinstance(word, str) and word[:1] in "Pp" and word[1:].isdecimal():
        return float(word[1:])
    return number(word)


def _reasons(card: Card, _findings: Sequence[Finding]) -> Found:
    """The driver's words, and for each the plain word of the WHY strip: power, heat, brake, locked, idle, other."""
    active = card.reasons
    if isinstance(active, Absent):
        return None
    plain = {_CAUSE_WORDS.get(reasons.cause(reasons.mask_of((word,)))) for word in active}
    return active + tuple(sorted(word for word in plain if word and word not in active))


def _findings(card: Card, findings: Sequence[Finding]) -> Found:
    """Ids and severities of the findings of this card."""
    own = [finding for finding in findings if finding.gpu_uuid == card.uuid]
    return tuple(dict.fromkeys([f.id for f in own] + [f.severity.value for f in own]))


_OF_THE_CARD: dict[str, Field] = {
    one.name: one
    for one in (
        Field("index", Kind.NUMBER, lambda card, _f: float(card.index)),
        Field("name", Kind.WORD, lambda card, _f: card.name),
        Field("uuid", Kind.WORD, lambda card, _f: card.uuid),
        Field("state", Kind.WORD, lambda card, _f: card.state.value),
        Field("pstate", Kind.NUMBER, _pstate),
        Field("reason", Kind.WORDS, _reasons),
        Field("finding", Kind.WORDS, _findings),
    )
}


def _of_reading(name: str) -> Read:
    def read(card: Card, _findings: Sequence[Finding]) -> Found:
        return found(card.get(name))

    return read


def found(reading: Reading) -> Found:
    """A reading as a condition sees it."""
    if isinstance(reading, Absent):
        return None
    value = number(reading)
    if value is not None:
        return value if value == value else None
    return reading if isinstance(reading, (str, tuple)) else str(reading)


def lookup(name: str) -> Field | None:
    """The field of a full or short name in any case, None when there is none."""
    name = name.lower()
    name = SHORT.get(name, name)
    own = _OF_THE_CARD.get(name)
    if own is not None:
        return own
    spec = catalog.BY_NAME.get(name)
    if spec is None or name.startswith("host."):
        return None
    kind = Kind.NUMBER if spec.unit else Kind.EITHER
    return Field(name, kind, _of_reading(name), spec.unit, _WHOLE.get(name))


def names() -> tuple[str, ...]:
    """Every name that can stand at the left of a comparison: short ones first, then what a card is, then readings."""
    full = (spec.name for spec in catalog.SPECS if spec.name not in _OF_THE_CARD)
    return (*SHORT, *_OF_THE_CARD, *full)


def near(name: str) -> str | None:
    """The name that was probably meant, None when nothing comes close."""
    close = difflib.get_close_matches(name.lower(), names(), n=1, cutoff=0.6)
    if close:
        return close[0]
    inside = [known for known in names() if len(name) >= 3 and name.lower() in known]
    return min(inside, key=len) if inside else None
