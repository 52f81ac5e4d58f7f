"""A person's own threshold: a condition and how long it must hold, `temp>85 for 10s`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gputui.alerts.condition import Condition, ConditionError
from gputui.alerts.parse import parse
from gputui.text import _

LONGEST_S = 24 * 3600
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", re.IGNORECASE)
_FOR = re.compile(r"""(?P<condition>.*?)(?:\s+for\b\s*(?P<time>[^"'<>=!~]*))?""", re.IGNORECASE | re.DOTALL)


def seconds(text: str) -> float:
    """A time such as 90, 90s, 15m or 24h in seconds. Raises ValueError with one sentence."""
    found = _SPAN.fullmatch(text.strip())
    if not found:
        raise ValueError(_("{text} is not a time; write 90, 90s, 15m or 24h.").format(text=text.strip() or '""'))
    return float(found[1]) * _UNITS[found[2].lower()]


@dataclass(frozen=True)
class Threshold:
    """What to be told about. text: as typed. for_s: how long it must hold without a break; 0 tells at once."""

    text: str
    condition: Condition
    for_s: float = 0.0

    @classmethod
    def of(cls, typed: str) -> Threshold:
        """The threshold of a typed line. Raises ConditionError."""
        typed = " ".join(typed.split())
        found = _FOR.fullmatch(typed)
        assert found is not None
        condition = parse(found["condition"])
        if found["time"] is None:
            return cls(typed, condition)
        column = found.start("time") + 1
        try:
            for_s = seconds(found["time"])
        except ValueError as error:
            raise ConditionError(str(error), column) from error
        if for_s > LONGEST_S:
            raise ConditionError(_("A threshold can wait for a day at most."), column, _("Write a shorter time."))
        return cls(typed, condition, for_s)
