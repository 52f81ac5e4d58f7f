"""Reads the compiled data once and gives out cards. tests/tools/build_cards.py makes the file from the sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from gputui.reference.card import CardSpec

_TUPLES = ("aliases", "mem_mib_alt", "mem_mib_mod", "formula_exempt", "uncertain")


@lru_cache(maxsize=1)
def data() -> dict[str, Any]:
    """The whole compiled file. Callers must not change it."""
    # The loader that imported this module also reads files beside it, from a folder or a zip. importlib.resources does
    # the same but takes 10 to 30 ms to import, a tenth of the start-up budget.
    assert __spec__ is not None
    loader: Any = __spec__.loader
    folder = __file__.rpartition("store.py")[0]
    loaded: dict[str, Any] = json.loads(loader.get_data(f"{folder}data/cards.json"))
    return loaded


@lru_cache(maxsize=512)
def card(card_id: str) -> CardSpec:
    """The card with this id; KeyError when there is none."""
    row = dict(data()["cards"][card_id])
    peaks = dict(row.pop("peaks"))
    derived = tuple(peaks.pop("derived", ()))
    for name in _TUPLES:
        row[name] = tuple(row.get(name, ()))
    row["pci_ids"] = tuple(int(text, 16) for text in row["pci_ids"])
    row["pci_subsystems"] = tuple(_packed(text) for text in row.get("pci_subsystems", ()))
    return CardSpec(peaks=peaks, derived=derived, **row)


def _packed(text: str) -> int:
    """ "10de:14a9" as NVML packs it: subsystem << 16 | vendor."""
    vendor, _, subsystem = text.partition(":")
    return int(subsystem, 16) << 16 | int(vendor, 16)


def ids() -> tuple[str, ...]:
    """Every card's id, oldest family first."""
    return tuple(data()["cards"])


def cards() -> tuple[CardSpec, ...]:
    """Every card."""
    return tuple(card(card_id) for card_id in ids())


def with_pci(device: int) -> tuple[CardSpec, ...]:
    """Cards that carry this 16-bit PCI device id."""
    return tuple(card(card_id) for card_id in data()["index"]["pci"].get(f"{device:04x}", ()))


def with_name(name: str) -> tuple[CardSpec, ...]:
    """Cards that carry exactly this name or alias, with or without the "NVIDIA " prefix, case kept."""
    return tuple(card(card_id) for card_id in data()["index"]["name"].get(name.removeprefix("NVIDIA "), ()))


def rates() -> Mapping[str, Mapping[str, Any]]:
    """Rate class to its compute capability ("cc") and dense operations per SM and clock by precision."""
    found: Mapping[str, Mapping[str, Any]] = data()["rates"]
    return found


def source(source_id: str) -> str | None:
    """What a source id such as "S-OKM" stands for, or None."""
    found: str | None = data()["sources"].get(source_id)
    return found
