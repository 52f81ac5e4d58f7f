"""Asks one card: remembers what it will not answer, asks nothing twice in one sample, and notices that it is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ctypes import c_void_p

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml.api import Api, Call, Field, FieldAnswer, FieldBatch, Raw
from gputui.driver.nvml.convert import NOT_AGAIN
from gputui.driver.nvml.table import Way

_LESS_TELLING = (nvml.FUNCTION_NOT_FOUND, nvml.INVALID_ARGUMENT, nvml.ARGUMENT_VERSION_MISMATCH)
FIELDS = "nvmlDeviceGetFieldValues"


class Lost(Exception):
    """The card is lost: two different functions in a row answered GPU_IS_LOST. Nothing more may be asked of it."""


def stands_in(code: int) -> bool:
    """Whether another way may be tried after this code."""
    return code in NOT_AGAIN or code == nvml.NO_PERMISSION


class Asker:
    """Driver calls for one card. Used by one thread at a time."""

    def __init__(self, api: Api, handle: c_void_p, uuid: str) -> None:
        self.api, self.handle, self.uuid = api, handle, uuid
        self.codes: dict[str, int] = {}
        """The last code of each function in this sample."""
        self._refused: dict[Call | Field, int] = {}
        self._answers: dict[Call, nvml.Answer] = {}
        self._fields: dict[Field, FieldAnswer] = {}
        self._batches: dict[tuple[Field, ...], FieldBatch] = {}
        self._lost_by: str | None = None

    def forget(self) -> None:
        """Ask everything again: the card was reset, or its MIG mode changed."""
        self._refused.clear()

    def start(self, fields: Iterable[Field]) -> None:
        """A new sample, in which these fields are wanted: they are read at once. Raises Lost."""
        self._answers.clear()
        self._fields.clear()
        self.codes.clear()
        self.read(fields)

    def read(self, fields: Iterable[Field]) -> None:
        """Read fields, in one call, besides those of `start`. Raises Lost."""
        wanted = tuple(dict.fromkeys(field for field in fields if field not in self._refused))
        if not wanted:
            return
        batch = self._batches.get(wanted)
        if batch is None:
            if len(self._batches) > 8:  # what is wanted changes a few times at the start, then no more
                self._batches.clear()
            batch = self._batches[wanted] = FieldBatch(wanted)
        code, answers = batch.read(self.api, self.handle, self.uuid)
        self.note(FIELDS, code)
        for field in wanted:
            answer = answers.get(field) or FieldAnswer(code)
            self._fields[field] = answer
            if answer.code in NOT_AGAIN:
                self._refused[field] = answer.code

    def note(self, function: str, code: int) -> None:
        """Keep what a function answered. Raises Lost."""
        self.codes[function] = code
        if code != nvml.GPU_IS_LOST:
            self._lost_by = None
        elif self._lost_by not in (None, function):
            raise Lost
        else:
            self._lost_by = function

    def call(self, function: str, *args: object) -> int:
        """Call a function that writes into what it is given, handle first. Raises Lost."""
        code = self.api.call(function, self.uuid, self.handle, *args)
        self.note(function, code)
        return code

    def get(self, call: Call) -> nvml.Answer:
        """What a getter says, asked at most once a sample; a refusal is remembered. Raises Lost."""
        if call in self._answers:
            return self._answers[call]
        if call in self._refused:
            return self._refused[call], ()
        answer = self.api.ask(call, self.handle, self.uuid)
        self._answers[call] = answer
        if answer[0] in NOT_AGAIN:
            self._refused[call] = answer[0]
        self.note(call.function, answer[0])
        return answer

    def field(self, field: Field) -> FieldAnswer:
        """What a field said; it must have been among those given to `start`, else it is not supported."""
        found = self._fields.get(field)
        return found if found is not None else FieldAnswer(self._refused.get(field, nvml.NOT_SUPPORTED))

    def _value(self, way: Way) -> tuple[int, Raw]:
        if isinstance(way.source, Field):
            answer = self.field(way.source)
            return answer.code, answer.value
        code, values = self.get(way.source)
        return code, values[way.item] if code == nvml.SUCCESS else None

    def first(self, ways: Sequence[Way]) -> tuple[int, Raw, Way | None]:
        """The first way that answers: SUCCESS, value and way. When none does: the most telling code.

        Another way stands in for what this driver cannot or may not do, never for a call that failed this once: memory
        by its old call counts the reserve as used, and one such sample would look like somebody else's memory.
        """
        failed: list[int] = []
        empty: Way | None = None
        for way in ways:
            code, value = self._value(way)
            if code == nvml.SUCCESS and value is not None:
                return code, value, way
            if code == nvml.SUCCESS:
                empty = empty or way
                continue
            if not stands_in(code):
                return code, None, None
            failed.append(code)
        if empty is not None:  # "not available" in the value itself
            return nvml.SUCCESS, None, empty
        telling = [code for code in failed if code not in _LESS_TELLING]
        return (telling or failed)[0], None, None
