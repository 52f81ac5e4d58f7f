"""A reference card in words, for `gputui explain --card NAME`."""

from __future__ import annotations

from collections.abc import Iterator

from gputui.reference import store
from gputui.reference.card import BANDWIDTHS, GEMM, CardSpec
from gputui.reference.health import band, unit_of
from gputui.reference.lookup import NVIDIA
from gputui.text import _, ngettext

Line = tuple[str, str, str]
"""(label, value with unit, source and confidence). Label and value are translated, source ids are not."""


def describe(spec: CardSpec) -> list[Line]:
    """Everything the reference knows of a card. What it does not know has no line."""
    return [
        *_identity(spec),
        *_units(spec),
        *_memory(spec),
        *_power(spec),
        *_links(spec),
        *_peaks(spec),
        *_bands(spec),
        *([(_("Notes"), spec.notes, "")] if spec.notes else []),
    ]


def sources(spec: CardSpec) -> list[tuple[str, str]]:
    """(source id, what it is) for every source the card's fields and bands rest on, in order of first use."""
    found: dict[str, str] = {}
    stated = [*spec.src.values()]
    for precision in (*GEMM, *BANDWIDTHS):
        healthy = band(spec, precision)
        stated.extend(healthy.sources if healthy else ())
    for text in stated:
        for part in text.replace("+", " ").replace(",", " ").split():
            meaning = store.source(part)
            if meaning is not None:
                found[part] = meaning
    return list(found.items())


def _line(spec: CardSpec, label: str, value: object, unit: str, group: str, *fields: str) -> Iterator[Line]:
    """One line, or none when the value is unknown."""
    if value is None or value == () or value == "":
        return
    text = ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in _many(value))
    source = spec.src.get(group, "")
    if any(spec.is_uncertain(field) for field in fields):
        source = f"{source}; {_('uncertain')}" if source else _("uncertain")
    yield label, f"{text} {unit}".rstrip(), source


def _many(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _identity(spec: CardSpec) -> Iterator[Line]:
    yield from _line(spec, _("Name"), spec.nvml_name, "", "name", "nvml_name")
    yield from _line(spec, _("Also called"), spec.aliases, "", "name")
    ids = tuple(f"{NVIDIA:04x}:{device:04x}" for device in spec.pci_ids)
    yield from _line(spec, _("PCI id"), ids, "", "pci_ids", "pci_ids")
    yield from _line(spec, _("Reference id"), spec.id, "", "")
    chip = f"{spec.chip} ({spec.arch})"
    yield from _line(spec, _("Chip"), chip, "", "cores_clocks_memory_power", "chip")
    yield from _line(spec, _("Compute capability"), spec.cc, "", "cores_clocks_memory_power")
    yield from _line(spec, _("Form"), spec.form, "", "cores_clocks_memory_power")
    yield _("Confidence of this entry"), _confidence(spec.confidence), ""


def _units(spec: CardSpec) -> Iterator[Line]:
    group = "cores_clocks_memory_power"
    yield from _line(spec, _("SMs"), spec.sms, "", group, "sms")
    yield from _line(spec, _("CUDA cores"), spec.cuda_cores, "", group, "cuda_cores")
    yield from _line(spec, _("Tensor cores"), spec.tensor_cores, "", group, "tensor_cores")
    yield from _line(spec, _("Base clock"), spec.base_mhz, "MHz", group, "base_mhz")
    yield from _line(spec, _("Boost clock"), spec.boost_mhz, "MHz", group, "boost_mhz")
    yield from _line(spec, _("Clock of the tensor peaks"), spec.tensor_boost_mhz, "MHz", group)
    yield from _line(spec, _("Maximum SM clock"), spec.max_sm_mhz, "MHz", "limits_clocks_temps", "max_sm_mhz")
    yield from _line(spec, _("Maximum memory clock"), spec.max_mem_mhz, "MHz", "limits_clocks_temps")


def _memory(spec: CardSpec) -> Iterator[Line]:
    group = "cores_clocks_memory_power"
    yield from _line(spec, _("Memory"), f"{spec.mem_gib:g} GB {spec.mem_type}", "", group, "mem_gib", "mem_type")
    yield from _line(spec, _("Memory total"), spec.mem_mib, "MiB", "mem_mib", "mem_mib")
    yield from _line(spec, _("Totals also seen"), spec.mem_mib_alt, "MiB", "mem_mib")
    yield from _line(spec, _("Totals of modified cards"), spec.mem_mib_mod, "MiB", "mem_mib")
    yield from _line(spec, _("Memory bus"), spec.bus_bits, "bit", group, "bus_bits")
    yield from _line(spec, _("Memory bandwidth"), spec.bw_gbs, "GB/s", group, "bw_gbs")
    yield from _line(spec, _("L2 cache"), spec.l2_mb, "MB", group, "l2_mb")
    yield from _line(spec, _("ECC"), spec.ecc, "", group, "ecc")


def _power(spec: CardSpec) -> Iterator[Line]:
    group = "limits_clocks_temps"
    yield from _line(spec, _("Default power limit"), spec.tdp_w, "W", "cores_clocks_memory_power", "tdp_w")
    yield from _line(spec, _("Lowest power limit"), spec.min_w, "W", group, "min_w")
    yield from _line(spec, _("Highest power limit"), spec.max_w, "W", group, "max_w")
    yield from _line(spec, _("Slows down at"), spec.slowdown_c, "°C", group, "slowdown_c")
    yield from _line(spec, _("Shuts down at"), spec.shutdown_c, "°C", group, "shutdown_c")
    yield from _line(spec, _("Slows down at T.Limit"), spec.slowdown_tlimit_c, "°C", group, "slowdown_tlimit_c")
    yield from _line(spec, _("Shuts down at T.Limit"), spec.shutdown_tlimit_c, "°C", group, "shutdown_tlimit_c")


def _links(spec: CardSpec) -> Iterator[Line]:
    group = "cores_clocks_memory_power"
    if spec.pcie_gen is not None and spec.pcie_lanes is not None:
        link = f"gen {spec.pcie_gen} x{spec.pcie_lanes}"
        yield from _line(spec, _("PCIe"), link, "", group, "pcie_gen", "pcie_lanes")
    if spec.nvlink_gbs == 0:
        yield from _line(spec, _("NVLink"), _("none"), "", group, "nvlink_gbs")
        return
    yield from _line(spec, _("NVLink, both directions"), spec.nvlink_gbs, "GB/s", group, "nvlink_gbs")
    yield from _line(spec, _("NVLink links"), spec.nvlink_links, "", group, "nvlink_links")


def _peaks(spec: CardSpec) -> Iterator[Line]:
    for precision in GEMM:
        value = spec.peaks.get(precision)
        if value is None:
            continue
        source = _("computed by formula") if precision in spec.derived else spec.src.get("peaks", "")
        if spec.nominal_is_uncertain(precision):
            source = f"{source}; {_('uncertain')}"
        yield _("Dense peak {precision}").format(precision=precision), f"{value:g} {unit_of(precision)}", source


def _bands(spec: CardSpec) -> Iterator[Line]:
    for precision in (*GEMM, *BANDWIDTHS):
        healthy, nominal = band(spec, precision), spec.nominal(precision)
        if healthy is None or nominal is None:
            continue
        low, high = nominal * healthy.low / 100, nominal * healthy.high / 100
        value = f"{low:.4g} - {high:.4g} {unit_of(precision)} ({healthy.low:g} - {healthy.high:g} %)"
        if healthy.from_class:
            basis = _("class {name}").format(name=healthy.band_class)
        else:
            count = ngettext("{count} report", "{count} reports", healthy.reports).format(count=healthy.reports)
            basis = f"{count}: {', '.join(healthy.sources)}"
        label = _("Healthy memory {test}").format(test=precision) if precision in BANDWIDTHS else None
        label = label or _("Healthy {precision}").format(precision=precision)
        yield label, value, f"{basis}; {_confidence(healthy.confidence)}"


def _confidence(word: str) -> str:
    return {
        "high": _("high confidence"),
        "medium": _("medium confidence"),
        "low": _("low confidence"),
    }.get(word, word)
