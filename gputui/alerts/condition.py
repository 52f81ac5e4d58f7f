"""Conditions on a card: `temp>80`, `state!=ok and power<90%`, `(name~4090 or name~5090) memory>20GiB`.

    condition  := all { "or" all }
    all        := one { ["and"] one }
    one        := "(" condition ")" | name operator value
    operator   := < <= > >= = == != ~          (~ : contains)
    value      := number [unit] | word | "quoted text" | none

Case does not matter. `none` stands for "no value"; an absent reading matches no other comparison. `=` compares a number
at the precision typed: `power=300` is what a screen shows as 300 W. A number in % compares memory with the card's
total, power with its enforced limit, a clock with its maximum. This language is the filter line's and the user
thresholds'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gputui.alerts.fields import Field, Found
from gputui.model.card import Card
from gputui.model.finding import Finding
from gputui.model.reading import number

LESS, AT_MOST, MORE, AT_LEAST, EQUAL, UNEQUAL, CONTAINS = "<", "<=", ">", ">=", "=", "!=", "~"
ORDERING = (LESS, AT_MOST, MORE, AT_LEAST)
MARGIN_SHARE = 0.03
MARGIN_LEAST = 1.0
"""Hysteresis of a threshold: three percent, at least one unit; a value must come back this far."""


class ConditionError(ValueError):
    """What was typed is no condition. The text is one sentence; column counts from 1; hint is what to type instead."""

    def __init__(self, sentence: str, column: int, hint: str = "") -> None:
        super().__init__(f"{sentence} {hint}".strip())
        self.sentence = sentence
        self.column = column
        self.hint = hint


@dataclass(frozen=True)
class Comparison:
    """One field compared with one value. wanted: a number in the field's unit, a word, or None for `none`.

    share: the number is a percentage of the field's whole. within: how far two numbers may differ and still be `=`.
    text: as it was typed, for messages and for `str()`.
    """

    field: Field
    operator: str
    wanted: float | str | None
    text: str
    share: bool = False
    within: float = 0.0

    def judge(self, card: Card, findings: Sequence[Finding] = ()) -> bool | None:
        """True or False; None when the reading has no value, so that nobody can say."""
        value = self.value(card, findings)
        if self.wanted is None:
            empty = value is None or value == () or value == ""
            return empty if self.operator == EQUAL else not empty
        if value is None:
            return None
        if isinstance(value, tuple):
            return self._any(value)
        if isinstance(value, str):
            return self._text(value)
        return self._number(value)

    def value(self, card: Card, findings: Sequence[Finding] = ()) -> Found:
        """What the comparison looks at: the reading, or its share of the whole in %."""
        value = self.field.read(card, findings)
        if not self.share:
            return value
        whole = number(card.get(self.field.whole or ""))
        return 100.0 * value / whole if isinstance(value, float) and whole else None

    def _any(self, values: tuple[str, ...]) -> bool | None:
        wanted = f"{self.wanted:g}" if isinstance(self.wanted, float) else str(self.wanted).lower()
        if self.operator == CONTAINS:
            return any(wanted in value.lower() for value in values)
        same = any(wanted == value.lower() for value in values)
        return same if self.operator == EQUAL else not same if self.operator == UNEQUAL else None

    def _text(self, value: str) -> bool | None:
        """Text the driver gives may be a number in words, such as compute_cap 8.9."""
        if isinstance(self.wanted, float):
            try:
                return self._number(float(value))
            except ValueError:
                return self.operator == UNEQUAL
        wanted = str(self.wanted).lower()
        if self.operator == CONTAINS:
            return wanted in value.lower()
        return (wanted == value.lower()) is (self.operator == EQUAL)

    def _number(self, value: float) -> bool | None:
        wanted = self.wanted
        if not isinstance(wanted, float):
            return self.operator == UNEQUAL
        if self.operator == LESS:
            return value < wanted
        if self.operator == AT_MOST:
            return value <= wanted
        if self.operator == MORE:
            return value > wanted
        if self.operator == AT_LEAST:
            return value >= wanted
        return (abs(value - wanted) <= self.within) is (self.operator == EQUAL)

    def relaxed(self) -> Comparison:
        """The same with the threshold moved back by the margin: what must be false before an alert ends.

        Percentages stay within 0 to 100, so that `util<100` and `util>0` can end.
        """
        wanted = self.wanted
        if not isinstance(wanted, float) or self.operator not in ORDERING or (self.field.discrete and not self.share):
            return self
        percent = self.share or self.field.unit == "%"
        margin = max(MARGIN_SHARE * abs(wanted), MARGIN_LEAST if percent or self.field.unit == "C" else 0.0)
        moved = wanted + margin if self.operator in (LESS, AT_MOST) else wanted - margin
        if percent:
            moved = max(min(0.0, wanted), min(max(100.0, wanted), moved))
        return replace(self, wanted=moved)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Every:
    """All of them hold."""

    parts: tuple[Condition, ...]

    def judge(self, card: Card, findings: Sequence[Finding] = ()) -> bool | None:
        """False as soon as one is false; None when the rest cannot be told."""
        said = [part.judge(card, findings) for part in self.parts]
        return False if False in said else None if None in said else True

    def relaxed(self) -> Every:
        """Each part relaxed."""
        return Every(tuple(part.relaxed() for part in self.parts))

    def __str__(self) -> str:
        return " and ".join(f"({part})" if isinstance(part, Some) else str(part) for part in self.parts)


@dataclass(frozen=True)
class Some:
    """At least one of them holds."""

    parts: tuple[Condition, ...]

    def judge(self, card: Card, findings: Sequence[Finding] = ()) -> bool | None:
        """True as soon as one is true; None when the rest cannot be told."""
        said = [part.judge(card, findings) for part in self.parts]
        return True if True in said else None if None in said else False

    def relaxed(self) -> Some:
        """Each part relaxed."""
        return Some(tuple(part.relaxed() for part in self.parts))

    def __str__(self) -> str:
        return " or ".join(str(part) for part in self.parts)


Condition = Comparison | Every | Some


def comparisons(condition: Condition) -> tuple[Comparison, ...]:
    """Every comparison in a condition, from left to right."""
    if isinstance(condition, Comparison):
        return (condition,)
    return tuple(one for part in condition.parts for one in comparisons(part))
