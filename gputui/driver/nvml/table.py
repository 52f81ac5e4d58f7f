"""Which driver call gives each reading: one row a reading, the ways to get it in the order they are tried.

`every` is how often it is asked: TICK each sample, SLOW each full sample (every fifth second), RARE every thirty
seconds, ONCE. catalog.py has the names and units. Three choices keep a card under twelve calls a refresh:

- clocks.current.graphics is asked with the slow ones: it is the same clock domain as the SM clock.
- Whatever a field value gives comes by field value: all of those are one call.
- Settings that only root can change are RARE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gputui.driver.nvml import convert as to
from gputui.driver.nvml.api import Call, Field, Raw
from gputui.model.reading import Reading

TICK, SLOW, RARE, ONCE = "tick", "slow", "rare", "once"

MODULE = 1
"""Scope of a power field: the whole module (GH200, GB200), where 0 is the GPU (nvml.h NVML_POWER_SCOPE_MODULE)."""


@dataclass(frozen=True)
class Way:
    """One way to get a reading: a getter or a field, and which of the values it writes."""

    source: Call | Field
    item: int = 0


@dataclass(frozen=True)
class Row:
    """One reading."""

    name: str
    every: str
    convert: Callable[[Raw], Reading]
    ways: tuple[Way, ...]


def _get(function: str, *args: int, shape: str = "u32", item: int = 0) -> Way:
    return Way(Call("nvmlDeviceGet" + function, shape, args), item)


def _field(number: int, scope: int = 0) -> Way:
    return Way(Field(number, scope))


def _row(name: str, every: str, convert: Callable[[Raw], Reading], *ways: Way) -> Row:
    return Row(name, every, convert, ways)


def _memory(item_v2: int, item_v1: int | None) -> tuple[Way, ...]:
    """v2 keeps the driver's reserve apart; v1 counts it as used (nvitop #13, gpustat #141)."""
    first = _get("MemoryInfo_v2", shape="memory-v2", item=item_v2)
    return (first,) if item_v1 is None else (first, _get("MemoryInfo", shape="memory-v1", item=item_v1))


def _ecc(field: int, error: int, counter: int) -> tuple[Way, ...]:
    return _field(field), _get("TotalEccErrors", error, counter, shape="u64")


POWER_AVERAGE, POWER_INSTANT, POWER_USAGE = _field(185), _field(186), _get("PowerUsage")
"""Field 185 is the average of one second, on Ampere and later except GA100; 186 is instantaneous (nvml.h)."""
REASONS = (_get("CurrentClocksEventReasons", shape="u64"), _get("CurrentClocksThrottleReasons", shape="u64"))
"""The second is the name before driver 535; same bits."""
SUPPORTED_REASONS = (
    _get("SupportedClocksEventReasons", shape="u64"),
    _get("SupportedClocksThrottleReasons", shape="u64"),
)
GRAPHICS, SM, MEMORY, VIDEO = range(4)

ROWS: tuple[Row, ...] = (
    # identity
    _row("serial", ONCE, to.said, _get("Serial", shape="text:30")),
    _row("brand", ONCE, to.brand, _get("Brand")),
    _row("architecture", ONCE, to.architecture, _get("Architecture")),
    _row("gpu_core_count", ONCE, to.number, _get("NumGpuCores")),
    _row("memory.bus_width", ONCE, to.number, _get("MemoryBusWidth")),
    _row("minor_number", ONCE, to.number, _get("MinorNumber")),
    _row("board_part_number", ONCE, to.said, _get("BoardPartNumber", shape="text:80")),
    _row("vbios_version", ONCE, to.said, _get("VbiosVersion", shape="text:32")),
    _row("inforom.img", ONCE, to.said, _get("InforomImageVersion", shape="text:16")),
    _row("gsp.version", ONCE, to.said, _get("GspFirmwareVersion", shape="bare-text:64")),
    _row("pci.bus_id", ONCE, to.said, _get("PciInfo_v3", shape="pci", item=0)),
    _row("pci.device_id", ONCE, to.hexadecimal, _get("PciInfo_v3", shape="pci", item=1)),
    _row("pci.sub_device_id", ONCE, to.hexadecimal, _get("PciInfo_v3", shape="pci", item=2)),
    _row("virtualization_mode", ONCE, to.virtualization, _get("VirtualizationMode")),
    _row(
        "driver_model.current",
        ONCE,
        to.driver_model,
        _get("DriverModel_v2", shape="u32x2"),
        _get("DriverModel", shape="u32x2"),
    ),
    _row("addressing_mode", ONCE, to.addressing, _get("AddressingMode", shape="addressing")),
    # clocks
    _row("clocks.current.sm", TICK, to.number, _get("ClockInfo", SM)),
    _row("clocks.current.memory", TICK, to.number, _get("ClockInfo", MEMORY)),
    _row("clocks.current.graphics", SLOW, to.number, _get("ClockInfo", GRAPHICS)),
    _row("clocks.current.video", RARE, to.number, _get("ClockInfo", VIDEO)),
    _row("clocks.max.graphics", ONCE, to.number, _get("MaxClockInfo", GRAPHICS)),
    _row("clocks.max.sm", ONCE, to.number, _get("MaxClockInfo", SM)),
    _row("clocks.max.memory", ONCE, to.number, _get("MaxClockInfo", MEMORY)),
    _row("clocks.max.video", ONCE, to.number, _get("MaxClockInfo", VIDEO)),
    _row("clocks.applications.graphics", RARE, to.number, _get("ApplicationsClock", GRAPHICS)),
    _row("clocks.applications.memory", RARE, to.number, _get("ApplicationsClock", MEMORY)),
    _row("clocks.default_applications.graphics", ONCE, to.number, _get("DefaultApplicationsClock", GRAPHICS)),
    _row("clocks.default_applications.memory", ONCE, to.number, _get("DefaultApplicationsClock", MEMORY)),
    _row("clocks.max_customer_boost.graphics", ONCE, to.number, _get("MaxCustomerBoostClock", GRAPHICS)),
    _row("pstate", TICK, to.pstate, _get("PerformanceState"), _get("PowerState")),
    _row("clocks_event_reasons.mask", TICK, to.number, *REASONS),
    # power
    _row("power.draw", TICK, to.watts, POWER_AVERAGE, POWER_INSTANT, POWER_USAGE),
    _row("power.draw.instant", TICK, to.watts, POWER_INSTANT),
    _row("power.draw.average", TICK, to.watts, POWER_AVERAGE),
    _row("enforced.power.limit", SLOW, to.watts, _get("EnforcedPowerLimit"), _field(190)),
    _row("power.limit", SLOW, to.watts, _field(192), _get("PowerManagementLimit")),
    _row("power.default_limit", ONCE, to.watts, _get("PowerManagementDefaultLimit"), _field(189)),
    _row("power.min_limit", ONCE, to.watts, _get("PowerManagementLimitConstraints", shape="u32x2"), _field(187)),
    _row(
        "power.max_limit", ONCE, to.watts, _get("PowerManagementLimitConstraints", shape="u32x2", item=1), _field(188)
    ),
    _row("power.management", ONCE, to.enabled, _get("PowerManagementMode")),
    _row("total_energy_consumption", SLOW, to.joules, _field(83), _get("TotalEnergyConsumption", shape="u64")),
    _row("module.power.draw.average", SLOW, to.watts, _field(185, MODULE)),
    _row("module.power.draw.instant", SLOW, to.watts, _field(186, MODULE)),
    _row("module.enforced.power.limit", SLOW, to.watts, _field(190, MODULE)),
    # heat
    _row("temperature.gpu", TICK, to.signed, _get("Temperature", 0), _get("TemperatureV", 0, shape="temperature-v1")),
    _row("temperature.memory", SLOW, to.signed, _field(82)),
    _row("temperature.gpu.tlimit", SLOW, to.signed, _get("MarginTemperature", shape="margin")),
    _row("temperature.threshold.shutdown", ONCE, to.signed, _get("TemperatureThreshold", 0)),
    _row("temperature.threshold.slowdown", ONCE, to.signed, _get("TemperatureThreshold", 1)),
    _row("temperature.threshold.mem_max", ONCE, to.signed, _get("TemperatureThreshold", 2)),
    _row("temperature.threshold.gpu_max", ONCE, to.signed, _get("TemperatureThreshold", 3)),
    _row("temperature.threshold.acoustic", ONCE, to.signed, _get("TemperatureThreshold", 5)),
    _row("temperature.tlimit.shutdown", ONCE, to.signed, _field(193)),
    _row("temperature.tlimit.slowdown", ONCE, to.signed, _field(194)),
    _row("temperature.tlimit.mem_max", ONCE, to.signed, _field(195)),
    _row("temperature.tlimit.gpu_max", ONCE, to.signed, _field(196)),
    _row("fan.count", ONCE, to.number, _get("NumFans")),
    _row("fan.rpm", RARE, to.number, _get("FanSpeedRPM", 0, shape="fan-rpm")),
    # load
    _row("utilization.gpu", TICK, to.number, _get("UtilizationRates", shape="utilization", item=0)),
    _row("utilization.memory", TICK, to.number, _get("UtilizationRates", shape="utilization", item=1)),
    _row("utilization.encoder", SLOW, to.number, _get("EncoderUtilization", shape="u32x2")),
    _row("utilization.decoder", SLOW, to.number, _get("DecoderUtilization", shape="u32x2")),
    _row("utilization.jpeg", RARE, to.number, _get("JpgUtilization", shape="u32x2")),
    _row("utilization.ofa", RARE, to.number, _get("OfaUtilization", shape="u32x2")),
    # memory
    _row("memory.total", TICK, to.mib, *_memory(0, 0)),
    _row("memory.free", TICK, to.mib, *_memory(1, 1)),
    _row("memory.used", TICK, to.mib, *_memory(2, 2)),
    _row("memory.reserved", TICK, to.mib, *_memory(3, None)),
    _row("memory.bar1.total", RARE, to.mib, _get("BAR1MemoryInfo", shape="bar1", item=0)),
    _row("memory.bar1.used", RARE, to.mib, _get("BAR1MemoryInfo", shape="bar1", item=2)),
    # link
    _row("pcie.link.gen.current", SLOW, to.number, _get("CurrPcieLinkGeneration")),
    _row("pcie.link.gen.max", ONCE, to.number, _get("MaxPcieLinkGeneration")),
    _row("pcie.link.gen.gpumax", ONCE, to.number, _get("GpuMaxPcieLinkGeneration")),
    _row("pcie.link.width.current", SLOW, to.number, _get("CurrPcieLinkWidth")),
    _row("pcie.link.width.max", ONCE, to.number, _get("MaxPcieLinkWidth")),
    _row("pcie.throughput.tx", SLOW, to.number, _get("PcieThroughput", 0)),
    _row("pcie.throughput.rx", SLOW, to.number, _get("PcieThroughput", 1)),
    _row("pcie.replay_counter", SLOW, to.number, _field(94), _get("PcieReplayCounter")),
    _row("nvlink.count", ONCE, to.number, _field(91)),
    _row("nvlink.version", ONCE, to.nvlink_version, _field(166), _get("NvLinkVersion", 0)),
    # health
    _row("ecc.mode.current", SLOW, to.enabled, _field(1), _get("EccMode", shape="u32x2", item=0)),
    _row("ecc.mode.pending", SLOW, to.enabled, _field(2), _get("EccMode", shape="u32x2", item=1)),
    _row("ecc.errors.corrected.volatile.total", SLOW, to.number, *_ecc(3, 0, 0)),
    _row("ecc.errors.uncorrected.volatile.total", SLOW, to.number, *_ecc(4, 1, 0)),
    _row("ecc.errors.corrected.aggregate.total", SLOW, to.number, *_ecc(5, 0, 1)),
    _row("ecc.errors.uncorrected.aggregate.total", SLOW, to.number, *_ecc(6, 1, 1)),
    _row("retired_pages.single_bit_ecc.count", SLOW, to.number, _field(29), _get("RetiredPages", 0, shape="count")),
    _row("retired_pages.double_bit.count", SLOW, to.number, _field(30), _get("RetiredPages", 1, shape="count")),
    _row("retired_pages.pending", SLOW, to.yes, _field(31), _get("RetiredPagesPendingStatus")),
    _row("remapped_rows.correctable", SLOW, to.number, _field(142), _get("RemappedRows", shape="u32x4", item=0)),
    _row("remapped_rows.uncorrectable", SLOW, to.number, _field(143), _get("RemappedRows", shape="u32x4", item=1)),
    _row("remapped_rows.pending", SLOW, to.yes, _field(144), _get("RemappedRows", shape="u32x4", item=2)),
    _row("remapped_rows.failure", SLOW, to.yes, _field(145), _get("RemappedRows", shape="u32x4", item=3)),
    _row("gpu_recovery_action", SLOW, to.recovery, _field(230)),
    # settings
    _row("persistence_mode", RARE, to.enabled, _get("PersistenceMode")),
    _row("compute_mode", RARE, to.compute_mode, _get("ComputeMode")),
    _row("mig.mode.current", RARE, to.enabled, _get("MigMode", shape="u32x2", item=0)),
    _row("mig.mode.pending", RARE, to.enabled, _get("MigMode", shape="u32x2", item=1)),
    _row("display_active", RARE, to.enabled, _get("DisplayActive")),
)
"""Readings that are worked out from several, or are lists, are in card.py and the modules it names."""

FABRIC = (
    Call("nvmlDeviceGetGpuFabricInfoV", "fabric-v3"),
    Call("nvmlDeviceGetGpuFabricInfoV", "fabric-v2"),
    Call("nvmlDeviceGetGpuFabricInfo", "fabric-v1"),
)
COMPUTE_CAPABILITY = Call("nvmlDeviceGetCudaComputeCapability", "u32x2")
ATTRIBUTES = Call("nvmlDeviceGetAttributes_v2", "attributes")

UNIFIED_NAMES = ("GB10", "Thor", "Orin", "Xavier", "Tegra", "nvgpu")
"""Integrated devices by the words in their names. NVML has no query for it, and the memory call alone does not tell:
on the same GB10 one driver answers NOT_SUPPORTED, another gives the host's total (nvitop #195, #208)."""
