"""Every reading's name, unit and pace. Names are nvidia-smi's own `--query-gpu` names where it has one.

A name nvidia-smi lacks follows its style and is marked `ours`. Pace: `fast` each tick, `slow` every fifth second,
`static` once.
"""

from __future__ import annotations

from dataclasses import dataclass

FAST, SLOW, STATIC = "fast", "slow", "static"


@dataclass(frozen=True)
class Spec:
    """One reading: its name, unit as JSON writes it ("" for text and counts), pace, group on the detail screen."""

    name: str
    unit: str
    pace: str
    group: str
    ours: bool = False


def _specs(table: str) -> tuple[Spec, ...]:
    specs = []
    for row in table.strip().splitlines():
        name, unit, pace, group, *flag = row.split()
        specs.append(Spec(name, "" if unit == "-" else unit, pace, group, bool(flag)))
    return tuple(specs)


_TABLE = """
clocks.current.sm                                MHz  fast   clocks
clocks.current.graphics                          MHz  fast   clocks
clocks.current.memory                            MHz  fast   clocks
clocks.current.video                             MHz  slow   clocks
clocks.max.sm                                    MHz  static clocks
clocks.max.graphics                              MHz  static clocks
clocks.max.memory                                MHz  static clocks
clocks.max.video                                 MHz  static clocks ours
clocks.applications.graphics                     MHz  slow   clocks
clocks.applications.memory                       MHz  slow   clocks
clocks.default_applications.graphics             MHz  static clocks
clocks.default_applications.memory               MHz  static clocks
clocks.max_customer_boost.graphics               MHz  static clocks ours
pstate                                           -    fast   clocks
clocks_event_reasons.active                      -    fast   reasons
clocks_event_reasons.mask                        -    fast   reasons ours
clocks_event_reasons.supported                   -    static reasons
clocks_event_reasons_counters.sw_power_cap       us   slow   reasons
clocks_event_reasons_counters.sync_boost         us   slow   reasons
clocks_event_reasons_counters.sw_thermal_slowdown us  slow   reasons
clocks_event_reasons_counters.hw_thermal_slowdown us  slow   reasons
clocks_event_reasons_counters.hw_power_brake_slowdown us slow reasons
clocks_event_reasons_share.sw_power_cap          %    slow   reasons ours
clocks_event_reasons_share.sync_boost            %    slow   reasons ours
clocks_event_reasons_share.sw_thermal_slowdown   %    slow   reasons ours
clocks_event_reasons_share.hw_thermal_slowdown   %    slow   reasons ours
clocks_event_reasons_share.hw_power_brake_slowdown %  slow   reasons ours
clocks_event_reasons_share.board_limit           %    slow   reasons ours
clocks_event_reasons_share.low_reliability       %    slow   reasons ours
power.draw                                       W    fast   power
power.draw.average                               W    slow   power
power.draw.instant                               W    fast   power
power.draw.kind                                  -    static power   ours
enforced.power.limit                             W    slow   power
power.limit                                      W    slow   power
power.default_limit                              W    static power
power.min_limit                                  W    static power
power.max_limit                                  W    static power
power.management                                 -    static power
total_energy_consumption                         J    slow   power   ours
module.power.draw.average                        W    slow   power
module.power.draw.instant                        W    slow   power
module.enforced.power.limit                      W    slow   power
temperature.gpu                                  C    fast   heat
temperature.memory                               C    slow   heat
temperature.gpu.tlimit                           C    slow   heat
temperature.threshold.slowdown                   C    static heat    ours
temperature.threshold.shutdown                   C    static heat    ours
temperature.threshold.gpu_max                    C    static heat    ours
temperature.threshold.mem_max                    C    static heat    ours
temperature.threshold.acoustic                   C    static heat    ours
temperature.tlimit.slowdown                      C    static heat    ours
temperature.tlimit.shutdown                      C    static heat    ours
temperature.tlimit.gpu_max                       C    static heat    ours
temperature.tlimit.mem_max                       C    static heat    ours
fan.speed                                        %    slow   heat
fan.count                                        -    static heat    ours
fan.speeds                                       -    slow   heat    ours
fan.rpm                                          rpm  slow   heat    ours
utilization.gpu                                  %    fast   load
utilization.memory                               %    fast   load
utilization.encoder                              %    slow   load
utilization.decoder                              %    slow   load
utilization.jpeg                                 %    slow   load
utilization.ofa                                  %    slow   load
memory.total                                     MiB  fast   memory
memory.used                                      MiB  fast   memory
memory.free                                      MiB  fast   memory
memory.reserved                                  MiB  fast   memory
memory.used.includes_reserved                    -    static memory  ours
memory.bar1.total                                MiB  slow   memory  ours
memory.bar1.used                                 MiB  slow   memory  ours
memory.kind                                      -    static memory  ours
pcie.link.gen.current                            -    slow   link
pcie.link.gen.max                                -    static link
pcie.link.gen.gpumax                             -    static link
pcie.link.width.current                          -    slow   link
pcie.link.width.max                              -    static link
pcie.throughput.tx                               KB/s slow   link    ours
pcie.throughput.rx                               KB/s slow   link    ours
pcie.replay_counter                              -    slow   link    ours
nvlink.count                                     -    static link    ours
nvlink.active                                    -    slow   link    ours
nvlink.inactive                                  -    slow   link    ours
nvlink.version                                   -    static link    ours
fabric.state                                     -    slow   link
fabric.status                                    -    slow   link
ecc.mode.current                                 -    slow   health
ecc.mode.pending                                 -    slow   health
ecc.errors.corrected.volatile.total              -    slow   health
ecc.errors.uncorrected.volatile.total            -    slow   health
ecc.errors.corrected.aggregate.total             -    slow   health
ecc.errors.uncorrected.aggregate.total           -    slow   health
retired_pages.single_bit_ecc.count               -    slow   health
retired_pages.double_bit.count                   -    slow   health
retired_pages.pending                            -    slow   health
remapped_rows.correctable                        -    slow   health
remapped_rows.uncorrectable                      -    slow   health
remapped_rows.pending                            -    slow   health
remapped_rows.failure                            -    slow   health
gpu_recovery_action                              -    slow   health
xid.events                                       -    slow   health  ours
persistence_mode                                 -    slow   settings
compute_mode                                     -    slow   settings
mig.mode.current                                 -    slow   settings
mig.mode.pending                                 -    slow   settings
mig.devices                                      -    slow   settings ours
virtualization_mode                              -    static settings ours
driver_model.current                             -    static settings
display_active                                   -    slow   settings
addressing_mode                                  -    static settings
name                                             -    static identity
uuid                                             -    static identity
serial                                           -    static identity
brand                                            -    static identity ours
architecture                                     -    static identity ours
compute_cap                                      -    static identity
gpu_core_count                                   -    static identity ours
multiprocessor_count                             -    static identity ours
memory.bus_width                                 bit  static identity ours
minor_number                                     -    static identity ours
board_part_number                                -    static identity ours
vbios_version                                    -    static identity
inforom.img                                      -    static identity
gsp.version                                      -    static identity ours
pci.bus_id                                       -    static identity
pci.device_id                                    -    static identity
pci.sub_device_id                                -    static identity
processes.state                                  -    slow   processes ours
processes.hidden                                 -    slow   processes ours
"""

_HOST = """
host.cpu.count                  -     static box
host.cpu.quota                  cores slow   box
host.cpu.percent                %     fast   box
host.memory.total               MiB   static box
host.memory.available           MiB   slow   box
host.memory.limit               MiB   slow   box
host.memory.used                MiB   slow   box
host.shm.total                  MiB   slow   box
host.shm.free                   MiB   slow   box
host.pressure.cpu               %     slow   box
host.pressure.memory            %     slow   box
host.pressure.io                %     slow   box
host.uptime                     s     slow   box
host.boot_id                    -     static box
host.kernel                     -     static box
host.platform                   -     static box
host.container                  -     static container
host.pid_namespace              -     static container
host.device_nodes               -     slow   container
host.driver_module              -     static container
host.fingerprints               -     slow   container
host.kernel_log                 -     slow   container
host.memlock                    MiB   static container
"""
"""Readings of the machine; no host name, no user and no address is ever among them."""

_HOST_RATES = """
host.cpu.of_quota               %     fast   rates
host.cpu.throttled              %     fast   rates
host.disk.read                  B/s   fast   rates
host.disk.write                 B/s   fast   rates
host.disk.scope                 -     slow   rates
host.network.rx                 B/s   fast   rates
host.network.tx                 B/s   fast   rates
host.pressure.memory.full       %     slow   rates
host.pressure.io.full           %     slow   rates
"""
"""Rates of the machine between two looks (gputui.host.rates)."""

SPECS: tuple[Spec, ...] = _specs(_TABLE)
HOST_SPECS: tuple[Spec, ...] = _specs(_HOST)
HOST_RATE_SPECS: tuple[Spec, ...] = _specs(_HOST_RATES)
BY_NAME: dict[str, Spec] = {spec.name: spec for spec in SPECS + HOST_SPECS + HOST_RATE_SPECS}
FAST_NAMES: tuple[str, ...] = tuple(spec.name for spec in SPECS if spec.pace == FAST)
SLOW_NAMES: tuple[str, ...] = tuple(spec.name for spec in SPECS if spec.pace == SLOW)
STATIC_NAMES: tuple[str, ...] = tuple(spec.name for spec in SPECS if spec.pace == STATIC)


def unit(name: str) -> str:
    """The unit of a reading as JSON writes it; "" for text, counts and names not listed."""
    spec = BY_NAME.get(name)
    return spec.unit if spec else ""
