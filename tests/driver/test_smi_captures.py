"""Real nvidia-smi output, where it lies beside the checkout: `inspect` says what a regular expression finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gputui.cli import main
from gputui.driver.smi import SmiError, messages
from gputui.model import reasons

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "captures"
FILES = sorted(CAPTURES.glob("*")) if CAPTURES.is_dir() else []
READABLE = [f for f in FILES if f.name.endswith((".xml", ".q.txt", ".query-gpu.csv"))]
OTHERS = [f for f in FILES if f not in READABLE]

pytestmark = pytest.mark.skipif(not FILES, reason="no captures of real machines beside this checkout")

XML = {
    "clocks.current.sm": r"<clocks>.*?<sm_clock>(.*?)</sm_clock>",
    "clocks.max.sm": r"<max_clocks>.*?<sm_clock>(.*?)</sm_clock>",
    "memory.total": r"<fb_memory_usage>\s*<total>(.*?)</total>",
    "power.default_limit": r"<default_power_limit>(.*?)</default_power_limit>",
    "power.min_limit": r"<min_power_limit>(.*?)</min_power_limit>",
    "enforced.power.limit": r"<(?:enforced|current)_power_limit>(.*?)</",
    "temperature.gpu": r"<gpu_temp>(.*?)</gpu_temp>",
    "utilization.gpu": r"<gpu_util>(.*?)</gpu_util>",
    "pcie.link.gen.max": r"<max_link_gen>(.*?)</max_link_gen>",
}
TEXT = {
    "clocks.current.sm": r"\n    Clocks\n(?:        .*\n)*?        SM +: (.*)",
    "clocks.max.sm": r"\n    Max Clocks\n(?:        .*\n)*?        SM +: (.*)",
    "memory.total": r"FB Memory Usage\n +Total +: (.*)",
    "power.default_limit": r"Default Power Limit +: (.*)",
    "power.min_limit": r"Min Power Limit +: (.*)",
    "enforced.power.limit": r"Current Power Limit +: (.*)",
    "temperature.gpu": r"GPU Current Temp +: (.*)",
    "utilization.gpu": r"\n    Utilization\n +GPU +: (.*)",
    "pcie.link.gen.max": r"PCIe Generation\n +Max +: (.*)",
}
COLUMNS = {name: name for name in XML}


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n")


def first_number(text: str) -> float | None:
    found = re.match(r"\s*(-?\d+(?:\.\d+)?)", text)
    return float(found[1]) if found else None


def expected(path: Path) -> dict[str, float | None]:
    """What the file says of its first card, found without our parser."""
    text = text_of(path)
    if path.name.endswith(".csv"):
        heading, row = (line.split(", ") for line in text.splitlines()[:2])
        cells = dict(zip([re.sub(r" \[.*", "", name) for name in heading], row, strict=True))
        return {name: first_number(cells[column]) for name, column in COLUMNS.items()}
    patterns = XML if path.name.endswith(".xml") else TEXT
    # A MIG device has blocks of the same names before the card's own.
    text = re.sub(r"<mig_device>.*?</mig_device>", "", text, flags=re.DOTALL)
    text = re.sub(r"^    MIG Device\n(?:        .*\n)+", "", text, flags=re.MULTILINE)
    found = {
        name: re.search(pattern, text, re.DOTALL if pattern in XML.values() else 0)
        for name, pattern in patterns.items()
    }
    return {name: first_number(match[1]) if match else None for name, match in found.items()}


def name_in(path: Path) -> str:
    text = text_of(path)
    if path.name.endswith(".csv"):
        heading, row = (line.split(", ") for line in text.splitlines()[:2])
        return row[heading.index("name")]
    return (
        re.search(r"<product_name>(.*?)</product_name>|Product Name +: (.*)", text).group(1)
        or re.search(  # type: ignore[union-attr]
            r"Product Name +: (.*)", text
        )[1]
    )  # type: ignore[index]


def inspected(path: Path, capsys: pytest.CaptureFixture[str]) -> dict:
    assert main(["inspect", "--json", str(path)]) == 0
    return json.loads(capsys.readouterr().out)


def sentence(path: Path) -> str | None:
    """What is said of a file that cannot be read; None when it can."""
    try:
        list(messages(str(path)))
    except SmiError as error:
        return str(error)
    return None


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_name_limits_and_clocks(path, capsys):
    card = inspected(path, capsys)["gpus"][0]
    assert card["name"] == name_in(path)
    for name, value in expected(path).items():
        seen = card["readings"].get(name, {"absent": "not in the file"})
        assert seen.get("value") == value, name


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_reasons(path, capsys):
    text = text_of(path)
    if path.name.endswith(".csv"):
        mask = int(re.search(r"0x[0-9A-F]{16}, (0x[0-9A-F]{16})", text)[1], 16)  # type: ignore[index]
        active = set(reasons.words(mask))
    elif path.name.endswith(".xml"):
        pattern = r"<clocks_(?:event|throttle)_reason_(\w+)>Active<"
        active = set(re.findall(pattern, text))
    else:
        block = re.search(r"Clocks (?:Event|Throttle) Reasons\n((?:        .*\n)+)", text)[1]  # type: ignore[index]
        words = {"Idle": "gpu_idle"}
        labels = re.findall(r"^ +(.*?) +: Active", block, re.MULTILINE)
        active = {words.get(label, label.lower().replace(" ", "_")) for label in labels}
    assert set(inspected(path, capsys)["gpus"][0]["reasons"]) == active


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_a_healthy_machine_is_not_accused(path, capsys):
    data = inspected(path, capsys)
    accused = [finding for finding in data["findings"] if finding["severity"] == "fail"]
    assert not accused


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_other_kinds_get_one_sentence_and_exit_3(path, capsys):
    assert main(["inspect", "--json", str(path)]) == 3
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1
    assert path.name in out.err


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_cut_off_anywhere_it_is_readings_or_a_sentence(path, tmp_path):
    data = path.read_bytes()
    cut = tmp_path / path.name
    for size in range(0, len(data), max(1, len(data) // 60)):
        cut.write_bytes(data[:size])
        said = sentence(cut)
        assert said is None or str(cut) in said


MIG = [f for f in READABLE if "-mig__" in f.name or "a100-sxm4" in f.name]


@pytest.mark.parametrize("path", MIG, ids=lambda path: path.name)
@pytest.mark.parametrize(
    ("expect", "severity", "code"), [("any", "info", 0), ("slice", "info", 0), ("whole", "fail", 1)]
)
def test_a_slice_is_a_fault_only_where_the_whole_card_was_promised(path, expect, severity, code, capsys):
    assert main(["inspect", "--json", "--expect", expect, str(path)]) == code
    found = {f["id"]: f["severity"] for f in json.loads(capsys.readouterr().out)["findings"]}
    assert found["slice-mig"] == severity


@pytest.mark.parametrize("path", READABLE, ids=lambda path: path.name)
def test_no_warning_on_a_healthy_machine_either(path, capsys):
    data = inspected(path, capsys)
    assert not [finding["id"] for finding in data["findings"] if finding["severity"] == "warn"]
