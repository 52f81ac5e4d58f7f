"""The live driver as a DriverSource: which cards there are now, and who reads each."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Mapping
from ctypes import c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml import startup
from gputui.driver.nvml.api import Api, Call
from gputui.driver.nvml.card import CardReader, asleep, may_sleep, nothing_read
from gputui.driver.nvml.events import Events
from gputui.driver.protocol import Sampled
from gputui.host.facts import HostFacts
from gputui.host.processes import ProcessWatch
from gputui.host.rates import Rates
from gputui.model.card import Driver, Event, State
from gputui.model.reading import NOT_ASKED, Reading, Why, number
from gputui.model.wire import Listed

PROBE_S = 25.0
"""A lost card is only asked again after this long: each call to it costs the driver a time-out and a line in the kernel
log. The worker waits 30 s; this holds whoever else calls."""
_STATE_OF = {nvml.GPU_IS_LOST: State.LOST, nvml.RESET_REQUIRED: State.NEEDS_RESET}
_UUID = Call("nvmlDeviceGetUUID", "text:96")
_NAME = Call("nvmlDeviceGetName", "text:96")
_PCI = Call("nvmlDeviceGetPciInfo_v3", "pci")
_WITHOUT_NAME = "unreadable"
_UNKNOWN = "unknown-"


@dataclass
class _Seat:
    """A card of the last listing."""

    uuid: str
    name: str
    index: int
    reader: CardReader | None = None
    state: State = State.OK
    code: int | None = None
    probed: float = float("-inf")
    may_sleep: bool = False
    extra: dict[str, Reading] = field(default_factory=dict)


class NvmlSource:
    """See gputui.driver.protocol.DriverSource. root stands in for / in tests."""

    source = "nvml"
    simulated = False
    scenario: str | None = None

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._api: Api | None = None
        self._events: Events | None = None
        self._seats: dict[str, _Seat] = {}
        self._stand_ins: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._lock = threading.Lock()
        self._notes: deque[Event] = deque(maxlen=100)
        self._facts = HostFacts(root)
        self._rates = Rates(root)
        self._watch = ProcessWatch(root, own=frozenset({os.getpid(), os.getppid()}))

    def open(self) -> Driver:
        """Load and initialise the library, once. Cards the kernel has suspended are left asleep: when all are, the
        library is not opened before one of them wakes up. Raises DriverProblem.
        """
        devices = _pci_devices(self._root)
        if devices and all(asleep(bus_id, self._root) for bus_id in devices):
            return startup.asleep_driver(self._root)
        return self._open()

    def _open(self) -> Driver:
        api = startup.start(self._root)
        code, values = api.unsigned("nvmlDeviceGetCount_v2")
        count = int(values[0] or 0) if code == nvml.SUCCESS else 0
        startup.judge_handles([api.handle(index)[0] for index in range(count)])
        self._api, self._events = api, Events(api)
        return startup.driver(api, self._root)

    def cards(self) -> list[Listed]:
        """The cards now, in the driver's order. Their static readings come with their first sample: here a card that
        hangs would keep all the others from being listed.
        """
        if self._api is None:
            devices = _pci_devices(self._root)
            if all(asleep(bus_id, self._root) for bus_id in devices):
                return [self._sleeping(index, bus_id) for index, bus_id in enumerate(devices)]
            self._open()
            assert self._api is not None
        code, values = self._api.unsigned("nvmlDeviceGetCount_v2")
        if code != nvml.SUCCESS:
            return [_listed(seat) for seat in self._seats.values()]
        count = int(values[0] or 0)
        moved = count != len(self._seats)
        seats = [self._seat_at(self._api, index, moved) for index in range(count)]
        with self._lock:
            self._seats = {seat.uuid: seat for seat in seats}
        return [_listed(seat) for seat in sorted(seats, key=lambda seat: seat.index)]

    def _seat_at(self, api: Api, index: int, moved: bool) -> _Seat:
        """The card at an index. A lost one is taken to have kept its index while its probe is not due, unless the
        number of cards has changed: then every index may be another card's.
        """
        before = None if moved else next((seat for seat in self._seats.values() if seat.index == index), None)
        if before and before.state is State.LOST and time.monotonic() - before.probed < PROBE_S:
            return before
        code, handle = api.handle(index, before.uuid if before else None)
        if code != nvml.SUCCESS:
            return self._unreachable(before, index, code)
        if before and before.state is State.LOST and before.reader and before.reader.asker.handle.value == handle.value:
            return before  # its own probe, in sample(), asks the handle
        code, uuid = _ask_text(api, _UUID, handle, before.uuid if before else None)
        if not uuid:
            return self._unreachable(before, index, code)
        uuid = self._key(api, handle, uuid, before)
        seat = self._seats.get(uuid)
        if seat is None or seat.reader is None or seat.reader.asker.handle.value != handle.value:
            seat = self._new_seat(api, handle, uuid, index)
        seat.index = index
        return seat

    def _new_seat(self, api: Api, handle: c_void_p, uuid: str, index: int) -> _Seat:
        text = _ask_text(api, _NAME, handle, uuid)[1] or _WITHOUT_NAME
        reader = CardReader(api, handle, uuid, text, self._watch, lambda what, detail: self._note(what, uuid, detail))
        return _Seat(uuid, text, index, reader)

    def _unreachable(self, before: _Seat | None, index: int, code: int) -> _Seat:
        """A card whose handle, or whose UUID, the driver does not give. It has no handle from here on, so nothing can
        be asked of it.
        """
        seat = _Seat(before.uuid, before.name, index) if before else _Seat(f"{_UNKNOWN}{index}", _WITHOUT_NAME, index)
        seat.state, seat.code, seat.probed = _STATE_OF.get(code, State.ERROR), code, time.monotonic()
        return seat

    def _sleeping(self, index: int, bus_id: str) -> Listed:
        readings: dict[str, Reading] = {"pci.bus_id": bus_id, **nothing_read(Why.NOT_ASKED)}
        uuid, name = _proc_identity(self._root, bus_id)
        if uuid is None:
            uuid = self._stand_ins[bus_id] = f"PCI-{bus_id}"
        return Listed(index, uuid, name, readings, State.ASLEEP)

    def _key(self, api: Api, handle: c_void_p, uuid: str, before: _Seat | None) -> str:
        """What a card is followed by: its UUID; or in this run the stand-in under which it was first listed, asleep or
        unreachable. Under a new name its old one would look like a card that went missing.
        """
        if uuid in self._aliases:
            return self._aliases[uuid]
        key = uuid
        if self._stand_ins:
            code, values = api.ask(_PCI, handle, uuid)
            bus_id = str(values[0]).lower() if code == nvml.SUCCESS else ""
            key = next((name for slot, name in self._stand_ins.items() if bus_id.endswith(slot)), uuid)
        elif before is not None and before.uuid.startswith(_UNKNOWN) and uuid not in self._seats:
            key = before.uuid
        self._aliases[uuid] = key
        return key

    def sample(self, uuid: str, mono: float, slow: bool) -> Sampled:
        """Read one card; see CardReader. A lost card is only probed, and that seldom."""
        seat = self._seats.get(uuid)
        if seat is None:
            return Sampled(State.ASLEEP if self._api is None else State.MISSING, nothing_read(Why.NOT_ASKED))
        if seat.state is State.LOST and not self._back(seat):
            return Sampled(State.LOST, {}, seat.code)
        if seat.reader is None:
            return Sampled(seat.state, {}, seat.code)
        bus_id = seat.reader.bus_id
        if slow and bus_id:
            seat.may_sleep = may_sleep(bus_id, self._root)
        if bus_id and seat.may_sleep and asleep(bus_id, self._root):
            return Sampled(State.ASLEEP, nothing_read(Why.NOT_ASKED))
        sampled = seat.reader.sample(mono, slow)
        seat.state, seat.code = sampled.state, sampled.code
        if sampled.state is State.LOST:
            seat.probed = time.monotonic()
        elif slow and self._events is not None and sampled.processes is not None:
            readings = {**sampled.readings, "xid.events": seat.extra.get("xid.events", NOT_ASKED)}
            sampled = Sampled(sampled.state, readings, sampled.code, sampled.processes, sampled.mig)
        return sampled

    def _back(self, seat: _Seat) -> bool:
        """Whether a lost card answers again. Asks for a new handle, never with the old one."""
        now = time.monotonic()
        if self._api is None or now - seat.probed < PROBE_S:
            return False
        seat.probed = now
        code, handle = self._api.handle(seat.index, seat.uuid)
        if code != nvml.SUCCESS:
            return False
        uuid = _ask_text(self._api, _UUID, handle, seat.uuid)[1]
        if not uuid or self._key(self._api, handle, uuid, seat) != seat.uuid:
            return False
        fresh = self._new_seat(self._api, handle, seat.uuid, seat.index)
        seat.reader, seat.state, seat.code = fresh.reader, State.OK, None
        return True

    def events(self, timeout_s: float) -> list[Event]:
        """XID and MIG events, and what the readers noticed. May return at once with none."""
        events = self._events
        if events is not None:
            for seat in list(self._seats.values()):
                if seat.reader is not None and seat.state is State.OK and "xid.events" not in seat.extra:
                    seat.extra["xid.events"] = events.watch(seat.uuid, seat.reader.asker.handle)
        noted: list[Event] = []
        while self._notes:
            noted.append(self._notes.popleft())
        if noted or events is None:
            return noted
        found = events.wait(timeout_s)
        if events.stopped is not None:
            for seat in self._seats.values():
                seat.extra["xid.events"] = events.stopped
        return found

    def _note(self, what: str, uuid: str, detail: str) -> None:
        self._notes.append(Event(time.time(), what, uuid, detail))

    def host(self, slow: bool) -> Mapping[str, Reading]:
        """Readings of the machine. Its rates with the slow ones: a mean of five seconds says what a card waits for."""
        facts = dict(self._facts.read(slow))
        if slow:
            mono = time.monotonic()
            cores = number(facts.get("host.cpu.quota")) or number(facts.get("host.cpu.count"))
            facts.update(self._rates.read(mono, cores))
        return facts

    def close(self) -> None:
        """Shut the library down. May block."""
        if self._events is not None:
            self._events.close()
        if self._api is not None:
            self._api.call("nvmlShutdown", None)
        self._api = self._events = None


def _listed(seat: _Seat) -> Listed:
    return Listed(seat.index, seat.uuid, seat.name, {"name": seat.name, "uuid": seat.uuid}, seat.state, seat.code)


def _ask_text(api: Api, call: Call, handle: c_void_p, uuid: str | None) -> tuple[int, str]:
    """Code and text; the text is empty when there is none."""
    code, values = api.ask(call, handle, uuid)
    return code, str(values[0] or "") if code == nvml.SUCCESS else ""


def _pci_devices(root: Path) -> list[str]:
    """Bus ids of NVIDIA's display and 3D controllers, as the kernel names them."""
    found = []
    try:
        folders = sorted((root / "sys/bus/pci/devices").iterdir())
    except OSError:
        return []
    for folder in folders:
        try:
            nvidia = (folder / "vendor").read_text().strip() == "0x10de"
            if nvidia and (folder / "class").read_text().startswith("0x03"):
                found.append(folder.name)
        except OSError:
            continue
    return found


def _proc_identity(root: Path, bus_id: str) -> tuple[str | None, str]:
    """UUID and name of a card from the kernel module's own file, which does not wake it. The module shows question
    marks for a UUID it does not know yet: then None.
    """
    try:
        text = (root / "proc/driver/nvidia/gpus" / bus_id / "information").read_text()
    except OSError:
        text = ""
    uuid = re.search(r"^GPU UUID:\s*(GPU-[0-9a-fA-F-]+)\s*$", text, re.MULTILINE)
    model = re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE)
    return uuid.group(1) if uuid else None, model.group(1) if model else _WITHOUT_NAME
