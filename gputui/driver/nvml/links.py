"""NVLink: how many links are up. By field value where the driver knows the field, else by a getter a link."""

from __future__ import annotations

from collections.abc import Sequence

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml import convert
from gputui.driver.nvml.api import Call, Field
from gputui.driver.nvml.asker import Asker
from gputui.model.reading import Absent, Reading, Why

STATE_FIELD = 165
MOST_LINKS = 36
"""Blackwell has 18; twice that bounds what a wrong count can make us ask."""
_UP = (1, 3)
"""nvml.h: 0 inactive, 1 active, 2 sleep, 3 active with traffic disabled. A sleeping link is up too, only not awake."""
_SLEEP = 2


class NvLinks:
    """The links of one card."""

    def __init__(self) -> None:
        self.fields: Sequence[Field] = ()
        """Fields to read with each full sample, known after the first."""
        self._last: dict[str, Reading] = {}

    def read(self, asker: Asker, count: Reading | None, nature: convert.Nature, rare: bool) -> dict[str, Reading]:
        """Active and inactive links. `rare`: links without the field may be asked one by one."""
        if isinstance(count, Absent) or not isinstance(count, int) or not count:
            missing = count if isinstance(count, Absent) else Absent(Why.UNSUPPORTED)
            return {"nvlink.active": missing, "nvlink.inactive": missing}
        links = range(min(count, MOST_LINKS))
        if not self.fields:
            self.fields = tuple(Field(STATE_FIELD, link) for link in links)
            asker.read(self.fields)
        answers = [asker.field(field) for field in self.fields]
        states = [answer.value if answer.code == nvml.SUCCESS else None for answer in answers]
        if None not in states:
            self._last = _counted(states)
        elif rare or not self._last:
            self._last = self._one_by_one(asker, links, nature)
        return self._last

    @staticmethod
    def _one_by_one(asker: Asker, links: range, nature: convert.Nature) -> dict[str, Reading]:
        states: list[nvml.Raw] = []
        code = nvml.NOT_SUPPORTED
        for link in links:
            code, values = asker.get(Call("nvmlDeviceGetNvLinkState", "u32", (link,)))
            if code == nvml.SUCCESS:
                states.append(values[0])
        if not states:
            missing = convert.absent("nvlink.active", code, nature)
            return {"nvlink.active": missing, "nvlink.inactive": missing}
        return _counted(states)


def _counted(states: Sequence[nvml.Raw]) -> dict[str, Reading]:
    up = sum(1 for state in states if state in _UP or state == _SLEEP)
    return {"nvlink.active": up, "nvlink.inactive": len(states) - up}
