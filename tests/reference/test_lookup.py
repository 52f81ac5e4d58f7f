"""Which card is this: PCI id before name before shape, and nobody is accused for an id or a name we do not list."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gputui.reference import store
from gputui.reference.lookup import Shape, device_id, find

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT.parent / "shared" / "captures"
with (Path(__file__).parent / "data" / "driver_names.csv").open(newline="", encoding="utf-8") as _file:
    DRIVER_NAMES = list(csv.DictReader(_file))
"""Rows of NVIDIA's own table (S-OKM): genuine name, device id and subsystem. kind: what of it we list."""


def packed(text: str) -> int | None:
    vendor, _, subsystem = text.partition(":")
    return int(subsystem, 16) << 16 | int(vendor, 16) if subsystem else None


@pytest.mark.parametrize(
    ("value", "device"),
    [
        (0x233010DE, 0x2330),
        (0x10DE2330, 0x2330),
        (0x2330, 0x2330),
        (None, None),
        (0xFFFFFFFF, None),
        (0xFFFFFFFFFFFFFFFF, None),
        (0xFFFF, None),
        (0, None),
        (-1, None),
        (0x73BF1002, None),
    ],
)
def test_device_id_forms(value: int | None, device: int | None) -> None:
    assert device_id(value) == device


@pytest.mark.parametrize("spec", store.cards(), ids=lambda spec: spec.id)
def test_every_card_is_found_by_its_own_marks(spec) -> None:
    shape = Shape(spec.sms, spec.mem_mib, spec.cc)
    subsystem = spec.pci_subsystems[0] if spec.pci_subsystems else None
    for device in spec.pci_ids:
        match = find(device << 16 | 0x10DE, subsystem, spec.nvml_name, shape)
        assert match.spec == spec
        assert match.by == "pci"
        assert match.certain
        assert not match.conflicts
    by_name = find(None, None, spec.nvml_name, shape)
    assert spec in by_name.candidates
    assert by_name.by == "name"
    assert not by_name.certain
    for alias in spec.aliases:
        assert spec in find(name=alias).candidates


@pytest.mark.parametrize("row", DRIVER_NAMES, ids=lambda row: f"{row['name']} {row['device']}".replace(" ", "-"))
def test_no_genuine_name_is_called_a_mismatch(row: dict[str, str]) -> None:
    match = find(int(row["device"], 16) << 16 | 0x10DE, packed(row["subsystem"]), row["name"])
    assert match.conflict("name") is None
    seen = (bool(match.pci_listed), bool(match.name_listed))
    assert (
        seen
        == {
            "listed": (True, True),
            "id-listed": (True, False),
            "name-listed": (False, True),
            "unlisted": (False, False),
        }[row["kind"]]
    )
    assert match.certain == (row["kind"] == "listed")
    if row["kind"] == "name-listed":
        assert match.conflict("pci-unlisted") is not None


def test_a_name_of_another_listed_card_is_a_conflict_and_the_pci_id_wins() -> None:
    match = find(0x250410DE, None, "NVIDIA GeForce RTX 4090", Shape(28, 12288, "8.6"))
    assert match.spec == store.card("rtx-3060-12gb")
    assert match.by == "pci"
    conflict = match.conflict("name")
    assert conflict is not None
    assert [spec.id for spec in conflict.by_name] == ["rtx-4090"]
    assert store.card("rtx-3060-12gb") in conflict.by_pci


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (0x2684, "GeForce RTX 4090"),
        (0x2684, "NVIDIA GeForce RTX 4090"),
        (0x2684, None),
        (0x2684, ""),
        (0x2684, "NVIDIA Graphics Device"),
        (0x20B0, "NVIDIA A100-SXM4-40GB MIG 1g.5gb"),
        (0x20B0, "GRID A100-10C"),
    ],
)
def test_healthy_neighbours_of_the_conflict(device: int, name: str | None) -> None:
    match = find(device << 16 | 0x10DE, None, name)
    assert match.by == "pci"
    assert match.spec is not None
    assert not match.conflicts


def test_a_name_is_compared_whole_and_with_its_case() -> None:
    for name in ("NVIDIA B", "NVIDIA GeForce RTX 4090 Laptop GPU", "nvidia geforce rtx 4090", "NVIDIA A10", "4090"):
        assert {spec.nvml_name for spec in find(name=name).candidates} <= {name}
    assert [spec.id for spec in find(name="NVIDIA GB300").candidates] == ["gb300"]


def test_shared_ids_are_told_apart() -> None:
    assert find(0x25B610DE, 0x157E10DE).spec == store.card("a2")
    assert find(0x25B610DE, 0x10DE14A9).spec == store.card("a16")
    assert find(0x25B610DE).spec is None
    assert {spec.id for spec in find(0x25B610DE).candidates} == {"a2", "a16"}
    assert find(0x25B610DE, name="NVIDIA A16").spec == store.card("a16")
    five = "NVIDIA GeForce RTX 5060 Ti"
    assert find(0x2D0410DE, None, five, Shape(memory_mib=8151)).spec == store.card("rtx-5060-ti-8gb")
    assert find(0x2D0410DE, None, five, Shape(memory_mib=16311)).spec == store.card("rtx-5060-ti-16gb")
    assert find(0x2D0410DE, None, five).spec is None


def test_shared_names_are_told_apart_by_shape() -> None:
    name = "NVIDIA GeForce RTX 3080"
    assert find(name=name, shape=Shape(memory_mib=12288)).spec == store.card("rtx-3080-12gb")
    assert find(name=name, shape=Shape(sm_count=68)).spec == store.card("rtx-3080-10gb")
    assert find(name=name, shape=Shape(memory_mib=20480)).spec == store.card("rtx-3080-10gb")
    assert find(name=name).spec is None
    assert len(find(name=name).candidates) == 2


def test_by_name_a_wrong_shape_leaves_no_card_but_a_conflict() -> None:
    """A laptop 4090 sold under the desktop name: another die, an id we do not list."""
    match = find(0x271710DE, None, "NVIDIA GeForce RTX 4090", Shape(76, 16376, "8.9"))
    assert match.spec is None
    assert match.conflict("pci-unlisted") is not None
    assert match.conflict("shape") is not None
    assert find(None, None, "NVIDIA GeForce RTX 4090", Shape(128, 24564, "8.9")).spec == store.card("rtx-4090")


def test_shape_names_a_card_only_when_it_states_nothing_else() -> None:
    shape = Shape(128, 24564, "8.9")
    assert find(shape=shape).by == "shape"
    assert find(shape=shape).spec == store.card("rtx-4090")
    assert not find(shape=shape).certain
    stated = find(0x999910DE, None, "NVIDIA GeForce RTX 9999", shape)
    assert stated.spec is None
    assert stated.candidates == (store.card("rtx-4090"),)
    assert find(shape=Shape(sm_count=128)).candidates == ()
    assert find(shape=Shape(3, 100, "8.9")).by is None


def test_nothing_read_is_nothing_found() -> None:
    match = find()
    assert (match.spec, match.by, match.candidates, match.conflicts) == (None, None, (), ())
    assert (match.pci_listed, match.name_listed) == (None, None)


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="no captures beside the repository")
def test_cards_of_real_captures_are_not_accused() -> None:
    found = 0
    for path in sorted(CAPTURES.glob("*.xml")):
        root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", path.read_text(encoding="utf-8", errors="replace")))
        for gpu in root.iter("gpu"):
            device = int(gpu.findtext("pci/pci_device_id", "0"), 16)
            subsystem = int(gpu.findtext("pci/pci_sub_system_id", "0"), 16)
            total = gpu.findtext("fb_memory_usage/total", "").split()
            memory = float(total[0]) if total and total[0].isdigit() else None
            match = find(device, subsystem, gpu.findtext("product_name"), Shape(memory_mib=memory))
            assert not match.conflicts, path.name
            found += match.certain
    assert found > 3
