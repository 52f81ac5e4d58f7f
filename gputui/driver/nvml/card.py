"""One card: every reading the driver gives of it, each with its own reason when it gives none."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from ctypes import c_void_p
from pathlib import Path

from gputui.driver.nvml import api as nvml
from gputui.driver.nvml import convert
from gputui.driver.nvml.api import Api, Call, Field
from gputui.driver.nvml.asker import Asker, Lost
from gputui.driver.nvml.links import NvLinks
from gputui.driver.nvml.mig import MigDevices
from gputui.driver.nvml.processes import ProcessLists, Said
from gputui.driver.nvml.table import (
    ATTRIBUTES,
    COMPUTE_CAPABILITY,
    FABRIC,
    ONCE,
    POWER_AVERAGE,
    POWER_INSTANT,
    RARE,
    ROWS,
    SLOW,
    SUPPORTED_REASONS,
    TICK,
    UNIFIED_NAMES,
    Row,
    Way,
)
from gputui.driver.nvml.throttle import FIELDS, Throttle
from gputui.driver.protocol import Sampled
from gputui.host.processes import Claim, ProcessWatch
from gputui.model.card import MigDevice, Process, State
from gputui.model.catalog import FAST_NAMES
from gputui.model.reading import NOT_ASKED, Absent, Reading, Why, number
from gputui.model.reasons import names, words

RARE_S = 30.0
MIG_S = 10.0
EARLY_S = 2.0
"""A turn that would come this soon is taken now, so that jitter does not put it off by a whole full sample."""

_ROWS = {every: tuple(row for row in ROWS if row.every == every) for every in (TICK, SLOW, RARE, ONCE)}
_BY_NAME = {row.name: row for row in ROWS}
_FAST_FUNCTIONS = frozenset(
    way.source.function for row in _ROWS[TICK] for way in row.ways if isinstance(way.source, Call)
)
_ON_CHIP = Absent(Why.UNSUPPORTED, raw="on-chip")


def _fields(rows: tuple[Row, ...]) -> list[Field]:
    return [way.source for row in rows for way in row.ways if isinstance(way.source, Field)]


_FIELDS = {every: _fields(rows) for every, rows in _ROWS.items()}


class CardReader:
    """Reads one card that has a handle. One thread at a time."""

    def __init__(
        self, api: Api, handle: c_void_p, uuid: str, name: str, watch: ProcessWatch, notify: Callable[[str, str], None]
    ) -> None:
        self.uuid, self.name = uuid, name
        self.asker = Asker(api, handle, uuid)
        self.known: dict[str, Reading] = {}
        self._watch = watch
        self._notify = notify
        self._throttle = Throttle()
        self._links = NvLinks()
        self._lists = ProcessLists()
        self._mig = MigDevices()
        self._mig_found: tuple[MigDevice, ...] = ()
        self._mig_mode: Reading = NOT_ASKED
        self._nature = convert.Nature(unified=any(word in name for word in UNIFIED_NAMES))
        self._ways: dict[str, Way | None] = {}
        self._rare_at = self._mig_at = float("-inf")
        self._max_limit_w: float | None = None
        self._energy: deque[tuple[float, float]] = deque(maxlen=1)

    @property
    def bus_id(self) -> str | None:
        """PCI bus id once it was read."""
        found = self.known.get("pci.bus_id")
        return found if isinstance(found, str) else None

    def sample(self, mono: float, slow: bool) -> Sampled:
        """The readings of one tick; all that is known of the card when `slow`. State LOST when it is."""
        try:
            return self._sample(mono, slow or not self.known)
        except Lost:
            return Sampled(State.LOST, {}, nvml.GPU_IS_LOST)

    def _sample(self, mono: float, slow: bool) -> Sampled:
        first = not self.known
        rare = slow and mono >= self._rare_at - EARLY_S
        turns = [TICK, *[SLOW] * slow, *[RARE] * rare, *[ONCE] * first]
        fields = [field for turn in turns for field in _FIELDS[turn]]
        if slow:
            fields += [*FIELDS, *self._links.fields]
        self.asker.start(fields)
        if rare:
            self._rare_at = mono + RARE_S
            self._learn_nature()
        readings: dict[str, Reading] = {}
        for turn in reversed(turns):
            for row in _ROWS[turn]:
                readings[row.name] = self._row(row)
        self._reasons(readings)
        if not slow:
            state, code = self._state()
            return Sampled(state, readings, code)
        if first:
            readings.update(self._once(readings))
        readings.update(self._full(readings, mono, rare))
        mig = self._read_mig(mono)
        processes = self._processes(rare)
        readings["mig.devices"] = len(mig) if self._nature.mig else self._mig_missing()
        readings["processes.state"] = processes.state
        state, code = self._state()
        joined = self._joined(processes, mono)
        readings["processes.hidden"] = self._watch.hidden
        self.known.update(readings)
        return Sampled(state, dict(self.known), code, joined, mig)

    def _row(self, row: Row) -> Reading:
        """One row of the table. What the nature of the card rules out is not asked."""
        name = row.name
        if self._nature.mig and name.startswith("utilization."):
            return Absent(Why.MIG)
        if self._nature.unified:
            if name.startswith("pcie.link."):
                return _ON_CHIP
            if name.startswith("memory.") and name != "memory.bus_width":
                return Absent(Why.UNIFIED_MEMORY)
        code, raw, way = self.asker.first(row.ways)
        self._ways[name] = way
        if code != nvml.SUCCESS:
            return convert.absent(name, code, self._nature)
        if raw is None:
            return Absent(Why.UNSUPPORTED)
        reading = convert.plausible(name, row.convert(raw), self._max_limit_w)
        if name == "power.max_limit":
            self._max_limit_w = number(reading)
        return reading

    def _learn_nature(self) -> None:
        """MIG and vGPU decide what an unsupported reading means, so they are read before the others."""
        mode = self._row(_BY_NAME["mig.mode.current"])
        virtual = self._row(_BY_NAME["virtualization_mode"])
        if mode != self._mig_mode and self._mig_mode is not NOT_ASKED:
            self.asker.forget()
        self._mig_mode = mode
        self._nature = convert.Nature(mode == "Enabled", virtual == "VGPU", self._nature.unified)

    def _reasons(self, readings: dict[str, Reading]) -> None:
        mask = readings["clocks_event_reasons.mask"]
        if isinstance(mask, int):
            self._throttle.saw(mask)
            readings["clocks_event_reasons.active"] = words(mask)
        elif isinstance(mask, Absent):
            readings["clocks_event_reasons.active"] = mask

    def _state(self) -> tuple[State, int | None]:
        """A card is in trouble when at least half of what is asked each tick says so; one odd answer is not it."""
        codes = [code for function, code in self.asker.codes.items() if function in _FAST_FUNCTIONS]
        for code, state in ((nvml.RESET_REQUIRED, State.NEEDS_RESET), (nvml.UNKNOWN, State.ERROR)):
            if codes and 2 * codes.count(code) >= len(codes):
                return state, code
        return State.OK, None

    def _once(self, readings: dict[str, Reading]) -> dict[str, Reading]:
        """What never changes and is not one plain answer."""
        code, values = self.asker.get(COMPUTE_CAPABILITY)
        capability: Reading
        if code == nvml.SUCCESS:
            capability = f"{values[0]}.{values[1]}"
        else:
            capability = convert.absent("compute_cap", code, self._nature)
        code, mask, _ = self.asker.first(SUPPORTED_REASONS)
        supported: Reading
        if code == nvml.SUCCESS:
            supported = names(mask) if isinstance(mask, int) else Absent(Why.UNSUPPORTED)
        else:
            supported = convert.absent("clocks_event_reasons.supported", code, self._nature)
        return {
            "name": self.name,
            "uuid": self.uuid,
            "compute_cap": capability,
            "clocks_event_reasons.supported": supported,
            "multiprocessor_count": self._multiprocessors(readings["gpu_core_count"], capability),
            "memory.kind": "unified" if self._nature.unified else "dedicated",
        }

    def _multiprocessors(self, cores: Reading, capability: Reading) -> Reading:
        """By the driver's count where it gives one (it documents the getter for MIG), else from the core count."""
        code, values = self.asker.get(ATTRIBUTES)
        counted = values[0] if code == nvml.SUCCESS else None
        return counted if isinstance(counted, int) and counted else convert.multiprocessors(cores, capability)

    def _full(self, readings: dict[str, Reading], mono: float, rare: bool) -> dict[str, Reading]:
        """What a full sample adds to the rows of the table."""
        out: dict[str, Reading] = {
            "power.draw.kind": self._power_kind(readings["power.draw"]),
            "memory.used.includes_reserved": self._includes_reserved(readings["memory.used"]),
            "total_energy_consumption": self._energy_checked(readings["total_energy_consumption"], mono),
        }
        out.update(self._throttle.read(self.asker, mono, self._nature))
        count = readings.get("fan.count", self.known.get("fan.count", NOT_ASKED))
        out.update(self._fans(count))
        out.update(
            self._links.read(
                self.asker, readings.get("nvlink.count", self.known.get("nvlink.count")), self._nature, rare
            )
        )
        if rare:
            out.update(self._fabric())
        return out

    def _power_kind(self, draw: Reading) -> Reading:
        if isinstance(draw, Absent):
            return draw
        way = self._ways.get("power.draw")
        if way == POWER_AVERAGE:
            return "average"
        if way == POWER_INSTANT:
            return "instant"
        # nvmlDeviceGetPowerUsage averages over one second on Ampere and later, except GA100 (NVML documentation).
        capability = self.known.get("compute_cap", NOT_ASKED)
        if not isinstance(capability, str):
            code, values = self.asker.get(COMPUTE_CAPABILITY)
            if code != nvml.SUCCESS:
                return convert.absent("power.draw.kind", code, self._nature)
            capability = f"{values[0]}.{values[1]}"
        return "average" if int(capability.partition(".")[0]) >= 8 and capability != "8.0" else "instant"

    def _includes_reserved(self, used: Reading) -> Reading:
        """Whether memory.used counts the driver's own reserve: it does in the first version of the call."""
        if isinstance(used, Absent):
            return used
        way = self._ways.get("memory.used")
        source = way.source if way else None
        return "no" if isinstance(source, Call) and source.shape == "memory-v2" else "yes"

    def _energy_checked(self, energy: Reading, mono: float) -> Reading:
        """A counter that goes back, or that grew by more than twice the highest limit allows, is a new baseline and no
        value (nvtop #409: 4000 W from a delta).
        """
        joules = number(energy)
        if joules is None:
            return energy
        before = self._energy[0] if self._energy else None
        self._energy.append((mono, joules))
        if before is not None and mono > before[0]:
            watts = (joules - before[1]) / (mono - before[0])
            if watts < 0 or (self._max_limit_w and watts > 2 * self._max_limit_w):
                return Absent(Why.IMPLAUSIBLE, raw=joules)
        return energy

    def _fans(self, count: Reading) -> dict[str, Reading]:
        """Speed in percent of each fan. A card without fans of its own (SXM, passive) has none, which is not 0 %."""
        if count == 0:
            none = Absent(Why.UNSUPPORTED, raw="passive")
            return {"fan.speed": none, "fan.speeds": none}
        calls = [Call("nvmlDeviceGetFanSpeed_v2", "u32", (fan,)) for fan in range(int(number(count) or 0))]
        speeds = [self._fan(call) for call in calls]
        if not speeds or isinstance(speeds[0], Absent):
            single = self._fan(Call("nvmlDeviceGetFanSpeed"))
            speeds = [single] if not isinstance(single, Absent) or not speeds else speeds
        if all(isinstance(speed, Absent) for speed in speeds):
            return {"fan.speed": speeds[0], "fan.speeds": speeds[0]}
        listed = tuple("?" if isinstance(speed, Absent) else str(speed) for speed in speeds)
        return {"fan.speed": speeds[0], "fan.speeds": listed}

    def _fan(self, call: Call) -> Reading:
        code, values = self.asker.get(call)
        if code != nvml.SUCCESS:
            return convert.absent("fan.speed", code, self._nature)
        return convert.plausible("fan.speed", convert.number(values[0]), None)

    def _fabric(self) -> dict[str, Reading]:
        code, state, way = self.asker.first([Way(call) for call in FABRIC])
        if code != nvml.SUCCESS or way is None:
            why: Reading = convert.absent("fabric.state", code, self._nature)
            return {"fabric.state": why, "fabric.status": why}
        word = convert.fabric_state(state)
        if word != "Completed":  # the status is that of a finished registration
            return {
                "fabric.state": word,
                "fabric.status": word if isinstance(word, Absent) else Absent(Why.UNSUPPORTED),
            }
        assert isinstance(way.source, Call)
        status = self.asker.get(way.source)[1][1]
        return {"fabric.state": word, "fabric.status": "Success" if status == nvml.SUCCESS else f"NVML {status}"}

    def _mig_missing(self) -> Reading:
        return self._mig_mode if isinstance(self._mig_mode, Absent) else 0

    def _read_mig(self, mono: float) -> tuple[MigDevice, ...]:
        if not self._nature.mig:
            found: tuple[MigDevice, ...] = ()
        elif mono < self._mig_at - EARLY_S:
            return self._mig_found
        else:
            self._mig_at = mono + MIG_S
            found = self._mig.read(self.asker)
        before, self._mig_found = {device.uuid for device in self._mig_found}, found
        now = {device.uuid for device in found}
        if self.known and before != now:
            self._notify("mig-layout-changed", f"{len(before)} MIG devices before, {len(now)} now")
        return found

    def _processes(self, rare: bool) -> Said:
        instances = {
            (device.gpu_instance, device.compute_instance): device.uuid
            for device in self._mig_found
            if device.gpu_instance is not None and device.compute_instance is not None
        }
        return self._lists.read(self.asker, self._nature, rare, instances)

    def _joined(self, said: Said, mono: float) -> tuple[Process, ...] | Absent:
        if isinstance(said.claims, Absent):
            return said.claims
        minor = self.known.get("minor_number")
        claims: tuple[Claim, ...] = said.claims
        return self._watch.join(claims, minor if isinstance(minor, int) else None, mono)


def _power(bus_id: str, what: str, root: Path) -> str:
    domain, _, rest = bus_id.lower().partition(":")
    try:
        with open(f"{root}/sys/bus/pci/devices/{domain[-4:]}:{rest}/power/{what}") as file:
            return file.read().strip()
    except OSError:
        return ""


def may_sleep(bus_id: str, root: Path = Path("/")) -> bool:
    """Whether the kernel may suspend the device; on servers it may not."""
    return _power(bus_id, "control", root) == "auto"


def asleep(bus_id: str, root: Path = Path("/")) -> bool:
    """Whether the kernel has suspended the device. Any driver call would wake it (nvtop #267, btop #1831).

    bus_id as NVML writes it (00000000:01:00.0) or as the kernel does (0000:01:00.0).
    """
    return _power(bus_id, "runtime_status", root) == "suspended"


def nothing_read(why: Why) -> dict[str, Reading]:
    """The fast readings as absent, for a card that is not read this time: history then has a gap, not old values."""
    return dict.fromkeys(FAST_NAMES, Absent(why))
