"""The common shape of `-q -x` and `-q`: one flat sheet a card, from path to value, and how its paths are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache

from gputui.driver.smi.values import absent, reading, reason_readings, settle, state_of
from gputui.model.card import Driver, MigDevice, Process, State
from gputui.model.reading import Absent, Reading, Why, number
from gputui.model.wire import Cards, Listed, Message, Opened, Sample

PATHS: dict[str, tuple[str, ...]] = {
    "name": ("product_name",),
    "uuid": ("uuid", "gpu_uuid"),
    "serial": ("serial", "serial_number"),
    "brand": ("product_brand",),
    "architecture": ("product_architecture",),
    "minor_number": ("minor_number",),
    "vbios_version": ("vbios_version",),
    "board_part_number": ("board_part_number",),
    "inforom.img": ("inforom_version/img_version", "inforom_version/image_version"),
    "gsp.version": ("gsp_firmware_version",),
    "pci.bus_id": ("pci/pci_bus_id", "pci/bus_id"),
    "pci.device_id": ("pci/pci_device_id", "pci/device_id"),
    "pci.sub_device_id": ("pci/pci_sub_system_id", "pci/sub_system_id"),
    "pcie.link.gen.max": ("pci/pci_gpu_link_info/pcie_gen/max_link_gen", "pci/gpu_link_info/pcie_generation/max"),
    "pcie.link.gen.current": (
        "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
        "pci/gpu_link_info/pcie_generation/current",
    ),
    "pcie.link.gen.gpumax": (
        "pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",
        "pci/gpu_link_info/pcie_generation/device_max",
    ),
    "pcie.link.width.max": ("pci/pci_gpu_link_info/link_widths/max_link_width", "pci/gpu_link_info/link_width/max"),
    "pcie.link.width.current": (
        "pci/pci_gpu_link_info/link_widths/current_link_width",
        "pci/gpu_link_info/link_width/current",
    ),
    "pcie.replay_counter": ("pci/replay_counter", "pci/replays_since_reset"),
    "pcie.throughput.tx": ("pci/tx_util", "pci/tx_throughput"),
    "pcie.throughput.rx": ("pci/rx_util", "pci/rx_throughput"),
    "fan.speed": ("fan_speed",),
    "pstate": ("performance_state",),
    "persistence_mode": ("persistence_mode",),
    "addressing_mode": ("addressing_mode",),
    "display_active": ("display_active",),
    "compute_mode": ("compute_mode",),
    "mig.mode.current": ("mig_mode/current_mig", "mig_mode/current"),
    "mig.mode.pending": ("mig_mode/pending_mig", "mig_mode/pending"),
    "virtualization_mode": ("gpu_virtualization_mode/virtualization_mode",),
    "driver_model.current": ("driver_model/current_dm", "driver_model/current"),
    "gpu_recovery_action": ("gpu_recovery_action",),
    "memory.total": ("fb_memory_usage/total",),
    "memory.reserved": ("fb_memory_usage/reserved",),
    "memory.used": ("fb_memory_usage/used",),
    "memory.free": ("fb_memory_usage/free",),
    "memory.bar1.total": ("bar1_memory_usage/total",),
    "memory.bar1.used": ("bar1_memory_usage/used",),
    "utilization.gpu": ("utilization/gpu_util", "utilization/gpu"),
    "utilization.memory": ("utilization/memory_util", "utilization/memory"),
    "utilization.encoder": ("utilization/encoder_util", "utilization/encoder"),
    "utilization.decoder": ("utilization/decoder_util", "utilization/decoder"),
    "utilization.jpeg": ("utilization/jpeg_util", "utilization/jpeg"),
    "utilization.ofa": ("utilization/ofa_util", "utilization/ofa"),
    "ecc.mode.current": ("ecc_mode/current_ecc", "ecc_mode/current"),
    "ecc.mode.pending": ("ecc_mode/pending_ecc", "ecc_mode/pending"),
    "retired_pages.single_bit_ecc.count": (
        "retired_pages/multiple_single_bit_retirement/retired_count",
        "retired_pages/single_bit_ecc",
    ),
    "retired_pages.double_bit.count": (
        "retired_pages/double_bit_retirement/retired_count",
        "retired_pages/double_bit_ecc",
    ),
    "retired_pages.pending": (
        "retired_pages/pending_blacklist",
        "retired_pages/pending_retirement",
        "retired_pages/pending_page_blacklist",
    ),
    "remapped_rows.correctable": ("remapped_rows/remapped_row_corr", "remapped_rows/correctable_error"),
    "remapped_rows.uncorrectable": ("remapped_rows/remapped_row_unc", "remapped_rows/uncorrectable_error"),
    "remapped_rows.pending": ("remapped_rows/remapped_row_pending", "remapped_rows/pending"),
    "remapped_rows.failure": ("remapped_rows/remapped_row_failure", "remapped_rows/remapping_failure_occurred"),
    "temperature.gpu": ("temperature/gpu_temp", "temperature/gpu_current_temp"),
    "temperature.gpu.tlimit": ("temperature/gpu_temp_tlimit", "temperature/gpu_t_limit_temp"),
    "temperature.memory": ("temperature/memory_temp", "temperature/memory_current_temp"),
    "temperature.threshold.shutdown": ("temperature/gpu_temp_max_threshold", "temperature/gpu_shutdown_temp"),
    "temperature.threshold.slowdown": ("temperature/gpu_temp_slow_threshold", "temperature/gpu_slowdown_temp"),
    "temperature.threshold.gpu_max": ("temperature/gpu_temp_max_gpu_threshold", "temperature/gpu_max_operating_temp"),
    "temperature.threshold.mem_max": (
        "temperature/gpu_temp_max_mem_threshold",
        "temperature/memory_max_operating_temp",
    ),
    "temperature.tlimit.shutdown": (
        "temperature/gpu_temp_max_tlimit_threshold",
        "temperature/gpu_shutdown_t_limit_temp",
    ),
    "temperature.tlimit.slowdown": (
        "temperature/gpu_temp_slow_tlimit_threshold",
        "temperature/gpu_slowdown_t_limit_temp",
    ),
    "temperature.tlimit.gpu_max": (
        "temperature/gpu_temp_max_gpu_tlimit_threshold",
        "temperature/gpu_max_operating_t_limit_temp",
    ),
    "temperature.tlimit.mem_max": (
        "temperature/gpu_temp_max_mem_tlimit_threshold",
        "temperature/memory_max_operating_t_limit_temp",
    ),
    "power.management": ("power_readings/power_management",),
    "power.draw": (
        "gpu_power_readings/power_draw",
        "power_readings/power_draw",
        "gpu_power_readings/average_power_draw",
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/instantaneous_power_draw",
    ),
    "power.draw.average": ("gpu_power_readings/average_power_draw",),
    "power.draw.instant": (
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/instantaneous_power_draw",
    ),
    "enforced.power.limit": (
        "gpu_power_readings/current_power_limit",
        "power_readings/enforced_power_limit",
        "gpu_power_readings/enforced_power_limit",
    ),
    "power.limit": (
        "gpu_power_readings/requested_power_limit",
        "power_readings/power_limit",
        "gpu_power_readings/power_limit",
    ),
    "power.default_limit": ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"),
    "power.min_limit": ("gpu_power_readings/min_power_limit", "power_readings/min_power_limit"),
    "power.max_limit": ("gpu_power_readings/max_power_limit", "power_readings/max_power_limit"),
    "module.power.draw.average": ("module_power_readings/average_power_draw", "module_power_readings/power_draw"),
    "module.power.draw.instant": (
        "module_power_readings/instant_power_draw",
        "module_power_readings/instantaneous_power_draw",
    ),
    "module.enforced.power.limit": ("module_power_readings/current_power_limit",),
    "clocks.current.graphics": ("clocks/graphics_clock", "clocks/graphics"),
    "clocks.current.sm": ("clocks/sm_clock", "clocks/sm"),
    "clocks.current.memory": ("clocks/mem_clock", "clocks/memory"),
    "clocks.current.video": ("clocks/video_clock", "clocks/video"),
    "clocks.applications.graphics": ("applications_clocks/graphics_clock", "applications_clocks/graphics"),
    "clocks.applications.memory": ("applications_clocks/mem_clock", "applications_clocks/memory"),
    "clocks.default_applications.graphics": (
        "default_applications_clocks/graphics_clock",
        "default_applications_clocks/graphics",
    ),
    "clocks.default_applications.memory": (
        "default_applications_clocks/mem_clock",
        "default_applications_clocks/memory",
    ),
    "clocks.max.graphics": ("max_clocks/graphics_clock", "max_clocks/graphics"),
    "clocks.max.sm": ("max_clocks/sm_clock", "max_clocks/sm"),
    "clocks.max.memory": ("max_clocks/mem_clock", "max_clocks/memory"),
    "clocks.max.video": ("max_clocks/video_clock", "max_clocks/video"),
    "clocks.max_customer_boost.graphics": (
        "max_customer_boost_clocks/graphics_clock",
        "max_customer_boost_clocks/graphics",
    ),
    "fabric.state": ("fabric/state",),
    "fabric.status": ("fabric/status",),
}
"""Where a reading stands: in the XML, then in the text, whose labels become paths by `tag`. First found wins."""

_REASONS = ("clocks_event_reasons/", "clocks_throttle_reasons/")
_REASON_WORDS = {
    "idle": "gpu_idle",
    "applications_clocks_setting": "applications_clocks_setting",
    "sw_power_cap": "sw_power_cap",
    "hw_slowdown": "hw_slowdown",
    "hw_thermal_slowdown": "hw_thermal_slowdown",
    "hw_power_brake_slowdown": "hw_power_brake_slowdown",
    "sync_boost": "sync_boost",
    "sw_thermal_slowdown": "sw_thermal_slowdown",
    "display_clock_setting": "display_clocks_setting",
}
_COUNTERS = {
    "sw_power_cap": ("sw_power_cap", "sw_power_capping"),
    "sync_boost": ("sync_boost",),
    "sw_thermal_slowdown": ("sw_therm_slowdown", "sw_thermal_slowdown"),
    "hw_thermal_slowdown": ("hw_therm_slowdown", "hw_thermal_slowdown"),
    "hw_power_brake_slowdown": ("hw_power_brake", "hw_power_braking"),
}
_ECC = {
    "ecc.errors.corrected.{}.total": ("sram_correctable", "dram_correctable"),
    "ecc.errors.uncorrected.{}.total": (
        "sram_uncorrectable",
        "sram_uncorrectable_parity",
        "sram_uncorrectable_secded",
        "sram_uncorrectable_sec_ded",
        "dram_uncorrectable",
    ),
}


def tag(label: str) -> str:
    """A label of the text form as a path element: "HW Power Brake" becomes hw_power_brake."""
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


@dataclass
class Sheet:
    """One card of one dump: values by path, and its repeated blocks."""

    bus_id: str
    values: dict[str, str] = field(default_factory=dict)
    processes: list[dict[str, str]] = field(default_factory=list)
    mig: list[dict[str, str]] = field(default_factory=list)
    lost: str = ""


@dataclass
class Dump:
    """One run of nvidia-smi."""

    timestamp: str = ""
    driver: str = ""
    cuda: str = ""
    sheets: list[Sheet] = field(default_factory=list)


@lru_cache(maxsize=4096)
def _second(text: str) -> float | None:
    """A whole-second time stamp as Unix time. Cards of one moment share it, hence the cache."""
    for pattern in ("%Y/%m/%d %H:%M:%S", "%a %b %d %H:%M:%S %Y"):
        try:
            return datetime.strptime(text, pattern).replace(tzinfo=timezone.utc).timestamp()
        except (ValueError, OverflowError):
            continue
    return None


def parse_time(text: str) -> float | None:
    """A time stamp of nvidia-smi as Unix time, taken as UTC; None when it is none."""
    text = text.strip()
    whole, dot, fraction = text.partition(".")
    second = _second(whole)
    if second is None or not dot:
        return second
    return second + float(f"0.{fraction}") if fraction.isdigit() else None


class Recorder:
    """Dumps as messages: a listing when the cards change, a sample a card."""

    def __init__(self) -> None:
        self._listed: tuple[Listed, ...] = ()
        self._opened = False
        self._time = 0.0

    def messages(self, dump: Dump) -> Iterator[Message]:
        """The messages of one dump."""
        stamp = parse_time(dump.timestamp)
        self._time = max(self._time + (0.0 if self._time == 0 else 0.001), stamp if stamp is not None else self._time)
        if not self._opened:
            self._opened = True
            yield Opened(driver_of(dump.driver, dump.cuda), "nvidia-smi", False, self._time)
        cards = [card_of(sheet, index) for index, sheet in enumerate(dump.sheets)]
        listed = tuple(listing for listing, _sample in cards)
        if listed != self._listed:
            self._listed = listed
            yield Cards(listed, self._time, self._time)
        for listing, (state, readings, processes, mig) in cards:
            yield Sample(listing.uuid, self._time, self._time, state, readings, listing.code, processes, mig)


def driver_of(version: str, cuda: str) -> Driver:
    """The driver's versions from a file."""
    unknown = Absent(Why.NOT_ASKED)
    return Driver(version=version or unknown, cuda=cuda or unknown, nvml=unknown, kernel_module=unknown)


_Taken = tuple[State, dict[str, Reading], "tuple[Process, ...] | Absent", tuple[MigDevice, ...]]


def card_of(sheet: Sheet, index: int) -> tuple[Listed, _Taken]:
    """A sheet as a listing and what was sampled."""
    readings: dict[str, Reading] = {}
    state = State.OK
    for name, paths in PATHS.items():
        given = [sheet.values[path] for path in paths if path in sheet.values]
        if given:
            found = next((text for text in given if absent(text) is None), given[0])
            readings[name] = reading(name, found)
            state = state_of(found) or state
    readings.update(_reasons(sheet.values))
    readings.update(_counters(sheet.values))
    readings.update(_ecc(sheet.values))
    if sheet.lost:
        state = state_of(sheet.lost) or State.ERROR
    called = readings.get("name")
    shown = called if isinstance(called, str) else sheet.bus_id
    readings = settle(readings, shown)
    for kind in ("instant", "average"):
        if number(readings.get(f"power.draw.{kind}")) is not None:
            readings["power.draw.kind"] = kind
    uuid = readings.get("uuid")
    key = uuid if isinstance(uuid, str) else f"PCI-{sheet.bus_id}"
    mig = tuple(_mig(device, number_, key) for number_, device in enumerate(sheet.mig))
    if mig:
        readings["mig.devices"] = len(mig)
    code = {State.LOST: 15, State.NEEDS_RESET: 16}.get(state)
    return (
        Listed(index, _unique(key, sheet), shown, {}, state, code),
        (state, readings, _processes(sheet), mig),
    )


def _unique(key: str, sheet: Sheet) -> str:
    """A masked UUID (all zeros, in files people share) would make several cards one: then the bus id tells them
    apart.
    """
    return f"PCI-{sheet.bus_id}" if re.fullmatch(r"GPU-[0-]*", key) and sheet.bus_id else key


def _reasons(values: dict[str, str]) -> dict[str, Reading]:
    active: dict[str, str] = {}
    for path, text in values.items():
        if path.startswith(_REASONS):
            last = path.rsplit("/", 1)[-1]
            for lead in ("clocks_event_reason_", "clocks_throttle_reason_"):
                last = last.removeprefix(lead)
            active[_REASON_WORDS.get(last, last)] = text
    return reason_readings(active) if active else {}


def _counters(values: dict[str, str]) -> dict[str, Reading]:
    out: dict[str, Reading] = {}
    for path, shown in values.items():
        if path.startswith("clocks_event_reasons_counters/"):
            last = path.rsplit("/", 1)[-1].removeprefix("clocks_event_reasons_counters_")
            for word, names in _COUNTERS.items():
                if last in names:
                    name = f"clocks_event_reasons_counters.{word}"
                    out[name] = reading(name, shown)
    return out


def _ecc(values: dict[str, str]) -> dict[str, Reading]:
    """Totals: newer drivers list SRAM and DRAM apart, older ones have a total by bit count."""
    out: dict[str, Reading] = {}
    for age in ("volatile", "aggregate"):
        for pattern, parts in _ECC.items():
            name = pattern.format(age)
            old = "single_bit" if ".corrected" in name else "double_bit"
            listed = [reading(name, values[path]) for part in parts if (path := f"ecc_errors/{age}/{part}") in values]
            listed += [reading(name, values[path]) for path in (f"ecc_errors/{age}/{old}/total",) if path in values]
            if listed:
                counts = [value for item in listed if (value := number(item)) is not None]
                out[name] = int(sum(counts)) if counts else listed[0]
    return out


def _processes(sheet: Sheet) -> tuple[Process, ...]:
    """Processes; whether they ran in the same container cannot be told from a file. Their paths are left out."""
    out = []
    for block in sheet.processes:
        pid = block.get("pid", block.get("process_id", ""))
        if not pid.strip().isdigit():
            continue
        program = block.get("process_name", block.get("name", "")).replace("\\", "/").split(" ")[0]
        memory = reading("memory.used", block.get("used_memory", block.get("used_gpu_memory", "N/A")))
        out.append(Process(int(pid), block.get("type", "?").strip(), program.rsplit("/", 1)[-1], memory, here=None))
    return tuple(out)


def _mig(device: dict[str, str], place: int, card: str) -> MigDevice:
    def figure(name: str, *paths: str) -> Reading | None:
        return next((reading(name, device[path]) for path in paths if path in device), None)

    def whole(path: str) -> int | None:
        value = device.get(path, "").strip()
        return int(value) if value.isdigit() else None

    total = figure("memory.total", "fb_memory_usage/total")
    gigabytes = number(total)
    units = figure("multiprocessor_count", "device_attributes/shared/multiprocessor_count")
    index = whole("index")
    return MigDevice(
        index=place if index is None else index,
        uuid=f"MIG-{card}-{place}",
        name="MIG" if gigabytes is None else f"MIG {gigabytes / 1024:.0f} GiB",
        gpu_instance=whole("gpu_instance_id"),
        compute_instance=whole("compute_instance_id"),
        multiprocessors=units,
        memory_total_mib=total,
        memory_used_mib=figure("memory.used", "fb_memory_usage/used"),
    )


def missing_everything(sheet: Sheet) -> bool:
    """Whether a card's sheet holds no value at all, as in a file cut off just there."""
    return not any(absent(text) is None for text in sheet.values.values())
