"""XID and MIG events as the driver reports them. Registering for events is not a setting; nothing else is written."""

from __future__ import annotations

import time
from ctypes import byref, c_uint, c_ulonglong, c_void_p

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml import convert
from gputui.driver.nvml.api import Api
from gputui.model.card import Event
from gputui.model.reading import Absent, Reading, Why

XID, MIG_CHANGED = 0x8, 0x100
"""nvmlEventTypeXidCriticalError, nvmlEventMigConfigChange (nvml.h)."""
LONGEST_WAIT_S = 1.0
"""A wait is a driver call: longer ones would look like one that hangs."""


class Events:
    """One event set for all cards. Used by the thread that lists cards."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._set: c_void_p | None = None
        self._why_not: Absent | None = None
        self._watched: dict[int, str] = {}

    def watch(self, uuid: str, handle: c_void_p) -> Reading:
        """Register a card; "watched", or why its XID events will not be seen."""
        if not self._open():
            return self._why_not or Absent(Why.NOT_ASKED)
        if handle.value in self._watched:
            return "watched"
        wanted = c_ulonglong()
        code = self._api.call("nvmlDeviceGetSupportedEventTypes", uuid, handle, byref(wanted))
        types = wanted.value & (XID | MIG_CHANGED)
        if code == nvml.SUCCESS and not types & XID:
            return Absent(Why.UNSUPPORTED)
        if code == nvml.SUCCESS:
            code = self._api.call("nvmlDeviceRegisterEvents", uuid, handle, c_ulonglong(types), self._set)
        if code != nvml.SUCCESS:
            return convert.absent("xid.events", code, convert.Nature())
        self._watched[handle.value or 0] = uuid
        return "watched"

    def _open(self) -> bool:
        if self._set is None and self._why_not is None:
            found = c_void_p()
            code = self._api.call("nvmlEventSetCreate", None, byref(found))
            if code == nvml.SUCCESS:
                self._set = found
            else:
                self._why_not = convert.absent("xid.events", code, convert.Nature())
        return self._set is not None

    def wait(self, timeout_s: float) -> list[Event]:
        """The next event, or none within the time. After an error there is one event that says so and never another
        wait: an error that repeats at once would be a busy loop (mocknvml #746).
        """
        if self._set is None or self._why_not is not None or not self._watched:
            return []
        data = nvml.event_data()
        ms = c_uint(max(0, int(min(timeout_s, LONGEST_WAIT_S) * 1000)))
        name = "nvmlEventSetWait_v2" if self._api.has("nvmlEventSetWait_v2") else "nvmlEventSetWait"
        code = self._api.call(name, None, self._set, byref(data), ms)
        if code == nvml.TIMEOUT:
            return []
        if code != nvml.SUCCESS:
            self._why_not = convert.absent("xid.events", code, convert.Nature())
            return [Event(time.time(), "xid-events-ended", None, f"NVML {code}")]
        uuid = self._watched.get(nvml.address(data.device) or 0)
        if data.eventType == XID:
            return [Event(time.time(), "xid", uuid, str(data.eventData))]
        if data.eventType == MIG_CHANGED:
            return [Event(time.time(), "mig-layout-changed", uuid, "reported by the driver")]
        return []

    @property
    def stopped(self) -> Absent | None:
        """Why no events are seen any more, or None."""
        return self._why_not

    def close(self) -> None:
        """Let go of the set."""
        if self._set is not None:
            self._api.call("nvmlEventSetFree", None, self._set)
            self._set = None
