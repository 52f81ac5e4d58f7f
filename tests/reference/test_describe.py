"""Finding a card by what a person types, and showing all that is known of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gputui.reference import store
from gputui.reference.describe import describe, sources
from gputui.reference.search import search

ROOM = Path(__file__).resolve().parents[2] / "gputui" / "reference"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("4090", "rtx-4090"),
        ("RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("4090d", "rtx-4090-d"),
        ("geforce rtx 3090", "rtx-3090"),
        ("h100 sxm", "h100-sxm5-80gb"),
        ("h100sxm5 80", "h100-sxm5-80gb"),
        ("H100 PCIe", "h100-pcie"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("5060ti 16", "rtx-5060-ti-16gb"),
        ("3060 ti", "rtx-3060-ti"),
        ("t4", "tesla-t4"),
        ("L4", "l4"),
        ("2684", "rtx-4090"),
        ("10de:2330", "h100-sxm5-80gb"),
        ("0x233010DE", "h100-sxm5-80gb"),
        ("6000 ada", "rtx-6000-ada"),
    ],
)
def test_search_puts_the_meant_card_first(text: str, first: str) -> None:
    assert search(text)[0].id == first


@pytest.mark.parametrize("spec", store.cards(), ids=lambda spec: spec.id)
def test_every_card_is_found_by_id_name_and_alias(spec) -> None:
    assert search(spec.id) == [spec]
    for name in (spec.nvml_name, *spec.aliases):
        assert spec in search(name)


def test_search_does_not_confuse_longer_numbers() -> None:
    assert search("a1000") == []
    assert "gb300" not in {spec.id for spec in search("b300")}
    assert {spec.arch for spec in search("a100")} == {"Ampere"}
    assert len(search("h100")) > 5


@pytest.mark.parametrize("text", ["", "   ", "radeon", "rtx 9090", "\x00", "[", "ffff"])
def test_search_finds_nothing_without_a_fuss(text: str) -> None:
    assert search(text) == []


@pytest.mark.parametrize("spec", store.cards(), ids=lambda spec: spec.id)
def test_describe_shows_what_is_known_and_nothing_else(spec) -> None:
    lines = describe(spec)
    labels = [label for label, _, _ in lines]
    assert len(set(labels)) == len(labels)
    assert all(label and value for label, value, _ in lines)
    assert not any("None" in value for label, value, _ in lines if label != "Notes")
    values = {label: value for label, value, _ in lines}
    assert ("SMs" in values) == (spec.sms is not None)
    assert ("Default power limit" in values) == (spec.tdp_w is not None)
    assert spec.nvml_name == values["Name"]
    assert sources(spec)


def test_describe_marks_uncertain_values() -> None:
    said = {label: source for label, _, source in describe(store.card("l20"))}
    assert said["Default power limit"].endswith("uncertain")
    assert "uncertain" not in said["SMs"]


def test_this_room_is_pure() -> None:
    """No textual, pynvml, subprocess, os, time or asyncio, and of our own rooms only text and model."""
    banned = {"textual", "pynvml", "subprocess", "os", "time", "asyncio", "pathlib", "socket", "tomllib", "tomli"}
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] not in banned, (path.name, name)
                if name.startswith("gputui"):
                    assert name.split(".")[1] in ("reference", "text", "model"), (path.name, name)
