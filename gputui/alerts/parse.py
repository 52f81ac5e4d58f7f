"""Text to condition. Every mistake is one sentence that says where it is and what to type instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from gputui.alerts import units
from gputui.alerts.condition import (
    CONTAINS,
    EQUAL,
    ORDERING,
    UNEQUAL,
    Comparison,
    Condition,
    ConditionError,
    Every,
    Some,
)
from gputui.alerts.fields import Field, Kind, lookup, near
from gputui.text import _

DEEPEST = 50
"""Parentheses within parentheses; more is a slip of the hand and would exhaust the stack."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<operator><=|>=|==|!=|≤|≥|≠|<|>|=|~)|(?P<open>\()|(?P<close>\))|(?P<quoted>"[^"]*"|'[^']*')"""
    r"""|(?P<word>[^\s()<>=!~≤≥≠"']+)|(?P<wrong>\S))"""
)
_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(\D*)")
_SAME = {"==": EQUAL, "≤": "<=", "≥": ">=", "≠": UNEQUAL}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


def parse(text: str) -> Condition:
    """The condition. Raises ConditionError."""
    return _Parser(_tokens(text), len(text) + 1).whole()


def _tokens(text: str) -> list[_Token]:
    out = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        column = match.start(kind) + 1
        if kind == "wrong":
            sign = match[kind]
            if sign in "\"'":
                raise ConditionError(
                    _("The quote at column {n} is never closed.").format(n=column), column, _("Add one at the end.")
                )
            raise ConditionError(
                _("{sign} at column {n} is not understood.").format(sign=sign, n=column), column, _("Write !=.")
            )
        out.append(_Token(kind, match[kind], column))
    return out


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[_Token], end: int) -> None:
        self._tokens = tokens
        self._end = end
        self._at = 0
        self._depth = 0

    def whole(self) -> Condition:
        if not self._tokens:
            raise ConditionError(_("There is no condition."), 1, _("Try `temp>80` or `state!=ok`."))
        condition = self._some()
        left = self._peek()
        if left is not None:
            raise ConditionError(
                _("The parenthesis at column {n} was never opened.").format(n=left.column), left.column, _("Remove it.")
            )
        return condition

    def _peek(self, ahead: int = 0) -> _Token | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def _word(self, word: str) -> bool:
        """Whether the next token is this joining word, which it then takes; a field's name comes before an operator."""
        token, after = self._peek(), self._peek(1)
        if token is None or token.kind != "word" or token.text.lower() != word:
            return False
        if after is not None and after.kind == "operator":
            return False
        self._at += 1
        return True

    def _some(self) -> Condition:
        parts = [self._every()]
        while self._word("or"):
            parts.append(self._every())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _every(self) -> Condition:
        parts = [self._one()]
        while True:
            joined = self._word("and")
            token = self._peek()
            if not joined and (token is None or token.kind == "close" or self._is_or(token)):
                return parts[0] if len(parts) == 1 else Every(tuple(parts))
            parts.append(self._one())

    def _is_or(self, token: _Token) -> bool:
        after = self._peek(1)
        joins = token.kind == "word" and token.text.lower() == "or"
        return joins and not (after is not None and after.kind == "operator")

    def _one(self) -> Condition:
        token = self._peek()
        if token is None:
            raise ConditionError(
                _("Something is missing at the end."), self._end, _("Write a comparison such as `temp>80`.")
            )
        if token.kind == "open":
            return self._group(token)
        if token.kind != "word":
            raise ConditionError(
                _("A name is missing before {sign} at column {n}.").format(sign=token.text, n=token.column),
                token.column,
                _("Write a comparison such as `temp>80`."),
            )
        return self._comparison(token)

    def _group(self, opened: _Token) -> Condition:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ConditionError(
                _("There are too many parentheses within parentheses at column {n}.").format(n=opened.column),
                opened.column,
                _("Use fewer."),
            )
        self._at += 1
        inside = self._some()
        closing = self._peek()
        if closing is None:
            raise ConditionError(
                _("The parenthesis at column {n} is never closed.").format(n=opened.column),
                opened.column,
                _("Add ) at the end."),
            )
        self._at += 1
        self._depth -= 1
        return inside

    def _comparison(self, name: _Token) -> Condition:
        operator = self._peek(1)
        if operator is None or operator.kind != "operator":
            hint = _("Compare it, as in `{name}>0`.") if lookup(name.text) else _("Try `name~{name}`.")
            raise ConditionError(
                _("{name} at column {n} stands alone.").format(name=name.text, n=name.column),
                name.column,
                hint.format(name=name.text),
            )
        field = lookup(name.text)
        if field is None:
            close = near(name.text)
            raise ConditionError(
                _("{name} at column {n} is not a reading.").format(name=name.text, n=name.column),
                name.column,
                _("Did you mean {close}?").format(close=close) if close else _("Try temp, power, util, mem or state."),
            )
        value = self._peek(2)
        if value is None or value.kind not in ("word", "quoted"):
            raise ConditionError(
                _("A value is missing after {text}.").format(text=name.text + operator.text),
                value.column if value else self._end,
                _("Write a number or a word there."),
            )
        self._at += 3
        typed = value.text
        if value.kind == "word" and self._unit_follows(typed):
            unit = self._peek()
            assert unit is not None
            typed += unit.text
            self._at += 1
        return _compared(field, name, _SAME.get(operator.text, operator.text), _Token(value.kind, typed, value.column))

    def _unit_follows(self, typed: str) -> bool:
        """`80 C`: a bare number, then a word that is a unit and not the name of the next comparison."""
        token, after = self._peek(), self._peek(1)
        number = _NUMBER.fullmatch(typed)
        return (
            number is not None
            and not number[2]
            and token is not None
            and token.kind == "word"
            and token.text.lower() in units.ALL
            and not (after is not None and after.kind == "operator")
        )


def _compared(field: Field, name: _Token, operator: str, value: _Token) -> Comparison:
    text = f"{name.text}{operator}{value.text}"
    if value.kind == "quoted":
        return _words(field, name, operator, value.text[1:-1], value, text)
    if value.text.lower() == "none":
        if operator not in (EQUAL, UNEQUAL):
            raise ConditionError(
                _("none at column {n} has no size.").format(n=value.column),
                value.column,
                _("Write {name}=none or {name}!=none.").format(name=name.text),
            )
        return Comparison(field, operator, None, text)
    if operator != CONTAINS and field.kind in (Kind.NUMBER, Kind.EITHER):
        number = _number(field, name, operator, value, text)
        if number is not None:
            return number
    return _words(field, name, operator, value.text, value, text)


def _number(field: Field, name: _Token, operator: str, value: _Token, text: str) -> Comparison | None:
    """A comparison with a number; None when the value is no number and the field may hold a word."""
    typed = value.text
    if field.name == "pstate" and typed[:1] in "Pp":
        typed = typed[1:]
    matched = _NUMBER.fullmatch(typed)
    if matched is None:
        return None
    try:
        number = Decimal(matched[1])
    except InvalidOperation:
        return None
    unit = matched[2].strip()
    share = unit.lower() in ("%", "percent") and field.unit != "%" and field.whole is not None
    factor = 1.0 if share else units.factor(unit, field.unit)
    if factor is None:
        if field.kind is Kind.EITHER:
            return None
        raise ConditionError(
            _("{value} at column {n} has the wrong unit.").format(value=value.text, n=value.column),
            value.column,
            _("{name} is in {unit}.").format(name=name.text, unit=units.shown(field.unit))
            if field.unit
            else _("{name} has no unit.").format(name=name.text),
        )
    exponent = number.as_tuple().exponent
    last_digit = 10.0 ** int(exponent) if isinstance(exponent, int) else 1.0
    within = 0.0 if field.discrete and not share else last_digit * factor / 2
    return Comparison(field, operator, float(number) * factor, text, share, within)


def _words(field: Field, name: _Token, operator: str, wanted: str, value: _Token, text: str) -> Comparison:
    if field.kind is Kind.NUMBER:
        if operator == CONTAINS:
            sentence = _("~ looks for a word, and {name} is a number.").format(name=name.text)
            hint = _("Use one of < <= > >= = !=.")
        else:
            sentence = _("{value} at column {n} is not a number.").format(value=value.text, n=value.column)
            hint = _("Write a number, or {name}=none for cards without this reading.").format(name=name.text)
        raise ConditionError(sentence, value.column, hint)
    if operator in ORDERING:
        raise ConditionError(
            _("{name} is a word and has no size.").format(name=name.text),
            name.column,
            _("Use =, != or ~ (contains)."),
        )
    return Comparison(field, operator, wanted, text)
