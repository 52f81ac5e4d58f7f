"""The command line as a person or a script meets it: what is printed, and the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from gputui.cli import interval, main, parser, seconds
from gputui.driver.scripted import names
from gputui.schema import load

ROOT = Path(__file__).resolve().parents[2]
FRAME = jsonschema.Draft202012Validator(load("frame-1"))
VERDICTS = {
    "rtx4090": ("pass", 0),
    "capped-4090": ("fail", 1),
    "rtx5090d-as-5090": ("fail", 1),
    "h100-small-memory": ("fail", 1),
    "4090-modded": ("warn", 0),
    "mig-a100": ("pass", 0),
    "gb10": ("pass", 0),
    "vgpu": ("pass", 0),
    "no-driver": ("cannot-judge", 3),
    "mismatch": ("cannot-judge", 3),
}


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gputui", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        timeout=90,
        check=False,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("host", VERDICTS)
def test_status_of_a_simulated_host(host):
    verdict, code = VERDICTS[host]
    done = run("status", "--demo", host, "--json")
    assert done.returncode == code, done.stderr
    data = json.loads(done.stdout)
    FRAME.validate(data)
    assert data["verdict"] == verdict
    assert data["simulated"] is True
    assert data["scenario"] == host
    text = run("status", "--demo", host)
    assert text.returncode == code
    assert "SIMULATED" in text.stdout
    assert "Traceback" not in text.stdout + text.stderr


def test_strict_makes_a_warning_a_failure():
    assert run("status", "--demo", "4090-modded", "--strict").returncode == 1


def test_what_was_rented_decides_about_a_slice():
    assert run("status", "--demo", "mig-a100", "--expect", "whole").returncode == 1
    assert run("status", "--demo", "mig-a100", "--expect", "slice").returncode == 0


def test_watching_longer_judges_more():
    short = json.loads(run("status", "--demo", "oversold-4090", "--json").stdout)
    assert short["verdict"] == "warn" or short["not_judged"]


def test_output_goes_to_a_private_file_and_nothing_to_the_terminal(tmp_path):
    target = tmp_path / "status.json"
    done = run("status", "--demo", "rtx4090", "--json", "-o", str(target))
    assert done.returncode == 0
    assert done.stdout == ""
    FRAME.validate(json.loads(target.read_text()))
    assert target.stat().st_mode & 0o777 == 0o600


def test_no_secret_of_the_screen_is_in_the_json():
    text = run("status", "--demo", "rtx4090", "--json").stdout
    assert "train.py" not in text
    assert '"user"' not in text
    assert '"command"' not in text


USAGE = {
    "a command that does not exist": (["frobnicate"], "frobnicate"),
    "a host that does not exist": (["status", "--demo", "rtx409"], "did you mean rtx4090"),
    "a time that is none": (["status", "--for", "soon"], "not a time"),
    "an interval too short": (["--interval", "0.01"], "0.25 to 60"),
    "a command after --demo": (["--demo", "status"], "gputui status --demo"),
    "a finding that does not exist": (["explain", "power-limit-lowred"], "power-limit-lowered"),
    "a card that does not exist": (["explain", "--card", "voodoo 2"], "voodoo 2"),
    "a folder as output": (["status", "--demo", "rtx4090", "-o", "/"], "cannot write"),
    "a scenario with a mistake": (["status", "--demo", "tests/commands/broken.toml"], "broken.toml"),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_is_one_sentence_and_exit_2(case):
    arguments, words = USAGE[case]
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


FILES = {
    "missing": None,
    "empty": b"",
    "binary": bytes(range(256)) * 40,
    "foreign": b"hello, world\n",
    "json": b'{"schema": "gputui.frame/1"}',
    "cut.xml": b"<?xml version='1.0'?><nvidia_smi_log><gpu id='0'><product_name>x",
    "bomb.xml": b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>]><nvidia_smi_log>&a;</nvidia_smi_log>",
    "long": b"x" * 3_000_000,
    "header-only.csv": b"index, name, power.draw [W]\n",
    "no-header.csv": b"0, NVIDIA H100 80GB HBM3, 692.10 W, 1755 MHz, 71000 MiB\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read_are_one_sentence_and_exit_3(name, tmp_path):
    path = tmp_path / name
    if FILES[name] is not None:
        path.write_bytes(FILES[name])
    done = run("inspect", str(path))
    assert done.returncode == 3
    assert str(path) in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_folder_and_a_pipe_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert run("inspect", str(tmp_path)).returncode == 3
    assert run("inspect", str(tmp_path / "pipe")).returncode == 3


_ROW = "NVIDIA GeForce RTX 4090, P2, {clock} MHz, 268.00 W, 270.00 W, 450.00 W, 60, 99 %, 0x0000000000000004"
LOG = "\n".join(
    (
        "timestamp, index, uuid, name, pstate, clocks.sm [MHz], power.draw [W], enforced.power.limit [W], "
        "power.default_limit [W], temperature.gpu, utilization.gpu [%], clocks_throttle_reasons.active",
        "2026/11/01 10:00:00.100, 0, GPU-1, " + _ROW.format(clock=1900),
        "2026/11/01 10:00:01.100, 0, GPU-1, " + _ROW.format(clock=1905),
        "",
    )
)


def test_a_query_log_with_old_names_and_reordered_columns(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    done = run("inspect", "--json", str(path))
    assert done.returncode == 1
    data = json.loads(done.stdout)
    FRAME.validate(data)
    assert data["source"] == "nvidia-smi"
    assert [finding["id"] for finding in data["findings"] if finding["severity"] == "fail"] == ["power-limit-lowered"]
    assert data["gpus"][0]["readings"]["clocks.current.sm"] == {"value": 1905, "unit": "MHz"}
    rows = [line.split(", ") for line in LOG.splitlines()]
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(", ".join(reversed(row)) for row in rows) + "\n")
    again = json.loads(run("inspect", "--json", str(turned)).stdout)
    assert again["gpus"][0]["readings"] == data["gpus"][0]["readings"]


def test_power_without_a_unit_is_watts(tmp_path):
    path = tmp_path / "nounits.csv"
    path.write_text("index, name, power.draw [W], utilization.gpu [%]\n0, NVIDIA H100 PCIe, 300.00, 97\n")
    readings = json.loads(run("inspect", "--json", str(path)).stdout)["gpus"][0]["readings"]
    assert readings["power.draw"] == {"value": 300.0, "unit": "W"}


def test_several_files_are_one_document_and_the_worst_exit_code(tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("index, name, power.draw [W]\n0, NVIDIA H100 PCIe, 300.00 W\n")
    bad.write_text(LOG)
    done = run("inspect", "--json", str(good), str(bad))
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["schema"] == "gputui.inspection/1"
    assert len(data["documents"]) == 2


def test_a_reader_that_goes_away_is_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -m gputui explain | head -1",
        shell=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_every_finding_is_explained(capsys):
    assert main(["explain"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    for finding in listed:
        assert main(["explain", finding]) == 0
        assert capsys.readouterr().out.startswith(finding)


def test_doctor_without_a_driver_still_says_what_it_can():
    done = run("doctor", "--demo", "rtx4090")
    assert done.returncode == 0
    assert "SIMULATED" in done.stdout
    assert run("doctor", "--demo", "no-driver").returncode == 3
    data = json.loads(run("doctor", "--demo", "rtx4090", "--json").stdout)
    assert data["schema"] == "gputui.doctor/1"


def test_hosts_are_listed(capsys):
    assert main(["--demo", "list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name, _about in names())


@pytest.mark.parametrize(("text", "value"), [("90", 90), ("90s", 90), ("15m", 900), ("24h", 86400), ("0.5", 0.5)])
def test_times(text, value):
    assert seconds(text) == value


def test_options_before_and_after_the_command_are_the_same():
    before = parser().parse_args(["--demo", "gb10", "--expect", "whole", "status"])
    after = parser().parse_args(["status", "--demo", "gb10", "--expect", "whole"])
    assert (before.demo, before.expect, before.interval) == (after.demo, after.expect, after.interval)
    assert interval("0.25") == 0.25
