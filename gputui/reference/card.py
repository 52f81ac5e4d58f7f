"""The reference of one card model, and the band a healthy one is expected in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

GEMM = (
    "fp64",
    "fp64_tensor",
    "fp32",
    "fp16_nt",
    "tf32",
    "fp16_acc32",
    "fp16_acc16",
    "bf16",
    "fp8_acc32",
    "fp8_acc16",
    "int8",
    "fp4",
)
"""Names of peaks. fp16_nt is FP16 vector without tensor cores; acc32 and acc16 say how wide the accumulation is. cuBLAS
and PyTorch accumulate in FP32 unless told otherwise, so a plain torch.matmul in half is `fp16_acc32`."""

TENSOR = frozenset({"tf32", "fp16_acc32", "fp16_acc16", "bf16", "fp8_acc32", "fp8_acc16", "int8", "fp4"})
"""Peaks NVIDIA quotes at `tensor_boost_mhz` where a card has one."""

BANDWIDTHS = ("copy", "read", "write", "triad")
"""Device memory tests. They count bytes read plus bytes written, over buffers of at least 1 GB."""


@dataclass(frozen=True)
class CardSpec:
    """One card model. None is unknown, never zero; fields in `uncertain` must not carry an accusation.

    Power, clocks and memory totals vary by board maker: a mismatch in them is a question, not a verdict.

    id:                    our key.
    nvml_name, aliases:    what nvmlDeviceGetName says with current drivers; other spellings.
    pci_ids:               PCI device ids (16 bit) under vendor 0x10DE.
    pci_subsystems:        as NVML packs them, subsystem << 16 | vendor, where the device id alone is not enough.
    market:                geforce, titan, workstation, datacenter or soc.
    cc:                    CUDA compute capability, such as "8.9".
    rate_class:            key of `Rates`: dense operations per SM and clock.
    band_class:            key of the class bands, such as "geforce-tensor".
    sms, cuda_cores, tensor_cores: enabled on this model.
    base_mhz, boost_mhz:   MHz, official SM clocks. tensor_boost_mhz: the lower clock tensor peaks are quoted at.
    max_sm_mhz, max_mem_mhz: MHz, maximum clocks as NVML reports them in public logs.
    mem_gib:               capacity as marketed ("GB" on the box).
    mem_mib:               MiB, nvmlMemory_t.total on a current driver with ECC in its default state.
    mem_mib_alt:           MiB totals also seen on genuine cards (older driver, ECC the other way).
    mem_mib_mod:           MiB totals of after-market memory mods under the same name.
    bus_bits, mem_gbps, bw_gbs: bits; Gbit/s a pin; GB/s (1e9), the published figure.
    l2_mb, l2_mb_cuda:     MB; the second where CUDA reports less than the die has.
    tdp_w, max_w, min_w:   W: default, highest and lowest power limit in NVML.
    pcie_gen, pcie_lanes:  of the card itself, not of the slot.
    nvlink_gbs:            GB/s both directions together; 0 is none.
    slowdown_c, shutdown_c: degrees C. slowdown_tlimit_c, shutdown_tlimit_c: degrees relative to the limit (T.Limit).
    published_ai_tops:     NVIDIA's sparse headline figure; published_ai_tops_is says which dense peak it doubles.
    peaks:                 dense TFLOPS (TOPS for int8) at boost_mhz or tensor_boost_mhz.
    derived:               peaks computed by formula because NVIDIA publishes none.
    formula_exempt:        peaks that do not follow from SMs x rate x clock; only the stored figure may be used.
    confidence:            high, medium or low, for the card as a whole.
    src:                   source ids by group of fields.
    """

    id: str
    nvml_name: str
    market: str
    arch: str
    chip: str
    cc: str
    rate_class: str
    mem_gib: float
    mem_type: str
    form: str
    ecc: str
    confidence: str
    pci_ids: tuple[int, ...]
    peaks: Mapping[str, float]
    src: Mapping[str, str]
    aliases: tuple[str, ...] = ()
    pci_subsystems: tuple[int, ...] = ()
    band_class: str | None = None
    sms: int | None = None
    cuda_cores: int | None = None
    tensor_cores: int | None = None
    base_mhz: float | None = None
    boost_mhz: float | None = None
    tensor_boost_mhz: float | None = None
    max_sm_mhz: float | None = None
    max_mem_mhz: float | None = None
    mem_mib: int | None = None
    mem_mib_alt: tuple[int, ...] = ()
    mem_mib_mod: tuple[int, ...] = ()
    bus_bits: int | None = None
    mem_gbps: float | None = None
    bw_gbs: float | None = None
    l2_mb: float | None = None
    l2_mb_cuda: float | None = None
    tdp_w: float | None = None
    max_w: float | None = None
    min_w: float | None = None
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    nvlink_gen: int | None = None
    nvlink_links: int | None = None
    nvlink_gbs: float | None = None
    slowdown_c: float | None = None
    shutdown_c: float | None = None
    slowdown_tlimit_c: float | None = None
    shutdown_tlimit_c: float | None = None
    published_ai_tops: float | None = None
    published_ai_tops_is: str | None = None
    derived: tuple[str, ...] = ()
    formula_exempt: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    notes: str = ""

    def __hash__(self) -> int:
        return hash(self.id)

    def is_uncertain(self, field: str) -> bool:
        """Whether this field, or peak, is not to be relied on. `field` is a field of this class or a name in GEMM."""
        if field not in _FIELDS and field not in GEMM:
            raise KeyError(f"CardSpec has no field or peak {field!r}")
        return field in self.uncertain

    def sure(self, field: str) -> Any:
        """The field's value when it is known and not uncertain, else None. What a finding may rest on."""
        value = self.peaks.get(field) if field in GEMM else getattr(self, field)
        return None if self.is_uncertain(field) else value

    def nominal(self, precision: str) -> float | None:
        """What 100 percent is: the dense peak (TFLOPS, TOPS for int8) or, for BANDWIDTHS, `bw_gbs` (GB/s)."""
        return self.bw_gbs if precision in BANDWIDTHS else self.peaks.get(precision)

    def nominal_is_uncertain(self, precision: str) -> bool:
        """Whether the nominal figure, or something a derived peak is computed from, is uncertain."""
        if precision in BANDWIDTHS:
            return bool({"bw_gbs", "bus_bits", "mem_gbps"} & set(self.uncertain))
        if precision in self.uncertain:
            return True
        return precision in self.derived and bool({"sms", "boost_mhz"} & set(self.uncertain))

    def peak_clock_mhz(self, precision: str) -> float | None:
        """MHz at which the stored peak of this precision is quoted."""
        if precision in TENSOR and self.tensor_boost_mhz is not None:
            return self.tensor_boost_mhz
        return self.boost_mhz


_FIELDS = frozenset(field.name for field in fields(CardSpec))


@dataclass(frozen=True)
class Band:
    """Where a healthy card of one model is expected, in percent of the nominal figure.

    It holds at the default power limit, with large warm runs on random data, nothing else on the card, no MIG, no vGPU.

    precision:   name in GEMM, or in BANDWIDTHS for device memory.
    low, high:   percent of nominal. median: percent, middle of the public reports; None when there are none.
    reports:     how many public reports of healthy cards of this model stand behind it.
    confidence:  high (three or more reports from two or more sources), medium or low.
    from_class:  no report of this model: the band is its class's. band_class names the class, or the memory type.
    basis:       how the band came about, in English. sources: source ids of the reports.
    """

    precision: str
    low: float
    median: float | None
    high: float
    reports: int
    confidence: str
    from_class: bool
    band_class: str
    basis: str
    sources: tuple[str, ...] = ()
