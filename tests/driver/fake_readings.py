"""What the product must report of the stand-in's eight H100s: every reading there is, and where it comes from."""

from __future__ import annotations

from tests.fake_driver.script import Script

CARDS = 8
MIB = 1 / (1024 * 1024)
MILLI = 1 / 1000

_NUMBERS = f"""
clocks.current.sm                           nvmlDeviceGetClockInfo(1)                    0 1       -15
clocks.current.graphics                     nvmlDeviceGetClockInfo(0)                    0 1       -15
clocks.current.memory                       nvmlDeviceGetClockInfo(2)                    0 1       -20
clocks.current.video                        nvmlDeviceGetClockInfo(3)                    0 1       -15
clocks.max.graphics                         nvmlDeviceGetMaxClockInfo(0)                 0 1       15
clocks.max.sm                               nvmlDeviceGetMaxClockInfo(1)                 0 1       30
clocks.max.memory                           nvmlDeviceGetMaxClockInfo(2)                 0 1       10
clocks.max.video                            nvmlDeviceGetMaxClockInfo(3)                 0 1       15
clocks.applications.graphics                nvmlDeviceGetApplicationsClock(0)            0 1       -30
clocks.applications.memory                  nvmlDeviceGetApplicationsClock(2)            0 1       -10
clocks.default_applications.graphics        nvmlDeviceGetDefaultApplicationsClock(0)     0 1       -45
clocks.default_applications.memory          nvmlDeviceGetDefaultApplicationsClock(2)     0 1       -25
clocks.max_customer_boost.graphics          nvmlDeviceGetMaxCustomerBoostClock(0)        0 1       -60
clocks_event_reasons.mask                   nvmlDeviceGetCurrentClocksEventReasons       0 1       0
power.draw                                  field 185 u32                                0 {MILLI} -1100
power.draw.average                          field 185 u32                                0 {MILLI} -1100
power.draw.instant                          field 186 u32                                0 {MILLI} -1300
enforced.power.limit                        nvmlDeviceGetEnforcedPowerLimit              0 {MILLI} -1000
power.limit                                 field 192 u32                                0 {MILLI} -500
power.default_limit                         nvmlDeviceGetPowerManagementDefaultLimit     0 {MILLI} -400
power.min_limit                             nvmlDeviceGetPowerManagementLimitConstraints 0 {MILLI} 1000
power.max_limit                             nvmlDeviceGetPowerManagementLimitConstraints 1 {MILLI} 1000
temperature.gpu                             nvmlDeviceGetTemperature(0)                  0 1       1
temperature.memory                          field 82 u32                                 0 1       1
temperature.gpu.tlimit                      nvmlDeviceGetMarginTemperature               0 1       -1
temperature.threshold.shutdown              nvmlDeviceGetTemperatureThreshold(0)         0 1       1
temperature.threshold.slowdown              nvmlDeviceGetTemperatureThreshold(1)         0 1       2
temperature.threshold.mem_max               nvmlDeviceGetTemperatureThreshold(2)         0 1       3
temperature.threshold.gpu_max               nvmlDeviceGetTemperatureThreshold(3)         0 1       4
temperature.tlimit.shutdown                 field 193 s32                                0 1       -1
temperature.tlimit.slowdown                 field 194 s32                                0 1       -1
temperature.tlimit.mem_max                  field 195 s32                                0 1       1
temperature.tlimit.gpu_max                  field 196 s32                                0 1       2
fan.count                                   nvmlDeviceGetNumFans                         0 1       0
utilization.gpu                             nvmlDeviceGetUtilizationRates                0 1       -3
utilization.memory                          nvmlDeviceGetUtilizationRates                1 1       -3
utilization.encoder                         nvmlDeviceGetEncoderUtilization              0 1       1
utilization.decoder                         nvmlDeviceGetDecoderUtilization              0 1       2
utilization.jpeg                            nvmlDeviceGetJpgUtilization                  0 1       3
utilization.ofa                             nvmlDeviceGetOfaUtilization                  0 1       4
memory.total                                nvmlDeviceGetMemoryInfo_v2                   0 {MIB}   1048576
memory.free                                 nvmlDeviceGetMemoryInfo_v2                   1 {MIB}   1048576
memory.used                                 nvmlDeviceGetMemoryInfo_v2                   2 {MIB}   1048576
memory.reserved                             nvmlDeviceGetMemoryInfo_v2                   3 {MIB}   1048576
memory.bar1.total                           nvmlDeviceGetBAR1MemoryInfo                  0 {MIB}   1048576
memory.bar1.used                            nvmlDeviceGetBAR1MemoryInfo                  2 {MIB}   1048576
memory.bus_width                            nvmlDeviceGetMemoryBusWidth                  0 1       0
gpu_core_count                              nvmlDeviceGetNumGpuCores                     0 1       128
minor_number                                nvmlDeviceGetMinorNumber                     0 1       0
pcie.link.gen.current                       nvmlDeviceGetCurrPcieLinkGeneration          0 1       1
pcie.link.gen.max                           nvmlDeviceGetMaxPcieLinkGeneration           0 1       2
pcie.link.gen.gpumax                        nvmlDeviceGetGpuMaxPcieLinkGeneration        0 1       3
pcie.link.width.current                     nvmlDeviceGetCurrPcieLinkWidth               0 1       1
pcie.link.width.max                         nvmlDeviceGetMaxPcieLinkWidth                0 1       2
pcie.throughput.tx                          nvmlDeviceGetPcieThroughput(0)               0 1       7
pcie.throughput.rx                          nvmlDeviceGetPcieThroughput(1)               0 1       9
pcie.replay_counter                         field 94 u32                                 0 1       1
nvlink.count                                field 91 u32                                 0 1       0
ecc.errors.corrected.volatile.total         field 3 u64                                  0 1       1
ecc.errors.uncorrected.volatile.total       field 4 u64                                  0 1       2
ecc.errors.corrected.aggregate.total        field 5 u64                                  0 1       3
ecc.errors.uncorrected.aggregate.total      field 6 u64                                  0 1       4
remapped_rows.correctable                   field 142 u32                                0 1       1
remapped_rows.uncorrectable                 field 143 u32                                0 1       2
clocks_event_reasons_counters.sync_boost    field 76 u64                                 0 {MILLI} 1000
clocks_event_reasons_counters.sw_thermal_slowdown     field 269 u64                      0 {MILLI} 2000
clocks_event_reasons_counters.hw_thermal_slowdown     field 270 u64                      0 {MILLI} 3000
clocks_event_reasons_counters.hw_power_brake_slowdown field 271 u64                      0 {MILLI} 4000
"""
"""Reading, line of the script, which of its numbers, factor, and what each further card has more there."""


def _rows() -> list[tuple[str, str, int, float, int]]:
    rows = []
    for line in _NUMBERS.strip().splitlines():
        name, *key, item, factor, more = line.split()
        rows.append((name, " ".join(key), int(item), float(factor), int(more)))
    return rows


ROWS = _rows()

WORDS: dict[str, object] = {
    "name": "NVIDIA H100 80GB HBM3",
    "brand": "NVIDIA",
    "architecture": "Hopper",
    "board_part_number": "692-2G520-0200-000",
    "vbios_version": "96.00.99.00.01",
    "inforom.img": "G520.0200.00.05",
    "gsp.version": "590.48.01",
    "pci.device_id": "0x233010DE",
    "pci.sub_device_id": "0x16C110DE",
    "virtualization_mode": "None",
    "addressing_mode": "HMM",
    "compute_cap": "9.0",
    "memory.kind": "dedicated",
    "memory.used.includes_reserved": "no",
    "pstate": "P0",
    "clocks_event_reasons.active": ("sw_power_cap",),
    "clocks_event_reasons.supported": (
        "gpu_idle",
        "applications_clocks_setting",
        "sw_power_cap",
        "hw_slowdown",
        "sync_boost",
        "sw_thermal_slowdown",
        "hw_thermal_slowdown",
        "hw_power_brake_slowdown",
        "display_clocks_setting",
    ),
    "power.management": "Enabled",
    "power.draw.kind": "average",
    "ecc.mode.current": "Enabled",
    "ecc.mode.pending": "Enabled",
    "remapped_rows.pending": "No",
    "remapped_rows.failure": "No",
    "gpu_recovery_action": "None",
    "nvlink.version": "4.0",
    "nvlink.active": 18,
    "nvlink.inactive": 0,
    "fabric.state": "Completed",
    "fabric.status": "Success",
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "mig.mode.current": "Disabled",
    "mig.mode.pending": "Disabled",
    "mig.devices": 0,
    "display_active": "Disabled",
    "processes.state": "ok",
    "xid.events": "watched",
    "clocks_event_reasons_share.board_limit": 0.0,
    "clocks_event_reasons_share.low_reliability": 0.0,
    "clocks_event_reasons_share.sync_boost": 0.0,
    "clocks_event_reasons_share.sw_thermal_slowdown": 0.0,
    "clocks_event_reasons_share.hw_thermal_slowdown": 0.0,
    "clocks_event_reasons_share.hw_power_brake_slowdown": 0.0,
}
"""The same on every card."""

GROWING = {
    "total_energy_consumption": (5_000_000.0, 5_100_000.0),
    "clocks_event_reasons_counters.sw_power_cap": (1_000_000, 200_000_000),
    "clocks_event_reasons_share.sw_power_cap": (80.0, 100.0),
}
"""Readings whose value depends on when they are read: lowest and highest."""

ABSENT = {
    "driver_model.current",
    "fan.rpm",
    "fan.speed",
    "fan.speeds",
    "module.enforced.power.limit",
    "module.power.draw.average",
    "module.power.draw.instant",
    "retired_pages.double_bit.count",
    "retired_pages.pending",
    "retired_pages.single_bit_ecc.count",
    "temperature.threshold.acoustic",
}
"""What an H100 does not have."""


def script() -> Script:
    """Eight cards, each with its own numbers."""
    made = Script("h100", count=CARDS)
    base = Script("h100")
    for card in range(CARDS):
        lines = {}
        for _, key, item, _, more in ROWS:
            if more:
                numbers = lines.setdefault(key, base.numbers(0, key))
                numbers[item] = base.numbers(0, key)[item] + more * card
        made.card(card, *[f"{key} = {' '.join(map(str, numbers))}" for key, numbers in lines.items()])
    return made


def per_card(card: int) -> dict[str, object]:
    """Words that differ from card to card."""
    return {
        "uuid": f"GPU-7a1f0000-2222-4333-8444-0000000000{card + 1:02x}",
        "serial": f"16510223000{card + 1:02x}",
        "pci.bus_id": f"00000000:{card + 1:02X}:00.0",
        "multiprocessor_count": 132 + card,
    }
