"""The probes themselves, on the CPU, with torch of an interpreter that GPUTUI_PYTHON names or that is found here."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from gputui.probes.pythons import find
from gputui.probes.runner import Order, ProbeProcess
from gputui.probes.table import PROBES
from gputui.probes.worker.measure import Rate, quantile, summary
from gputui.probes.worker.torch_work import Torch

WORKER = Path(__file__).resolve().parents[2] / "gputui" / "probes" / "worker"


@pytest.fixture(scope="module")
def torch_python() -> str:
    found = find(os.environ)
    if not found or not found[0].torch:
        pytest.skip("no interpreter with torch")
    return found[0].path


@pytest.mark.parametrize(
    ("probe", "unit", "dtype"),
    [("matmul", "TFLOPS", "bf16"), ("stress", "TFLOPS", "bf16"), ("bandwidth", "GB/s", "copy"), ("pcie", "GB/s", "")],
)
async def test_each_probe_measures_something(torch_python, probe, unit, dtype):
    one = ProbeProcess(Order(PROBES[probe], "", "", torch_python, device="cpu", seconds=2.5, warm_s=0.3))
    states = [run.state async for run in one.follow()]
    assert states[-1] == "done", (one.run.reason, one.run.detail)
    assert one.run.series
    result = one.run.as_result()
    assert result.value > 0
    assert (result.unit, result.dtype) == (unit, dtype)
    if probe in ("matmul", "stress"):
        assert result.detail["errors"] == 0
        assert result.detail["p5"] <= result.value <= result.detail["p95"]


async def test_stop_is_heard_between_launches(torch_python):
    one = ProbeProcess(Order(PROBES["stress"], "", "", torch_python, device="cpu", seconds=60, warm_s=0.1))
    async for run in one.follow():
        if run.series:
            one.stop()
    assert one.run.reason == "stopped"


def test_quantiles():
    assert quantile([3, 1, 2], 0.5) == 2
    assert quantile([0.0, 10.0], 0.05) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_a_rate_that_falls_has_drift_and_a_steady_one_none():
    steady, falling = Rate(1.0), Rate(1.0)
    for second in range(20):
        steady.add(second, 0.5)
        falling.add(second, 0.5 * (1 + second / 20))
    assert summary(steady, 0)["cv_percent"] == 0
    assert summary(steady, 0)["drift_percent"] == 0
    assert summary(falling, 0)["drift_percent"] > 40


@pytest.mark.parametrize("path", sorted(WORKER.glob("*.py")), ids=lambda path: path.name)
def test_the_worker_is_python_3_8_and_imports_nothing_of_ours_but_itself(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gputui"):
            assert node.module.startswith("gputui.probes.worker")
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("removeprefix", "removesuffix"), "3.9"


class Product:
    """A matrix as far as the check of its bits looks at one."""

    def __init__(self, value: int) -> None:
        self.value = value

    def clone(self) -> Product:
        return Product(self.value)

    def __eq__(self, other: object) -> Product:  # type: ignore[override]
        return Product(self.value == other.value)

    __hash__ = None

    def all(self) -> Product:
        return self

    def item(self) -> int:
        return self.value


@pytest.mark.parametrize(("products", "compares"), [([7, 7, 7, 7], True), ([7, 7, 8, 7], False), ([7, 8, 9, 1], False)])
def test_a_library_that_does_not_repeat_its_bits_accuses_no_card(products, compares):
    values = iter(products)
    out = Product(next(values))

    def work() -> None:
        out.value = next(values)

    assert (Torch._repeatable(None, work, out) is not None) is compares
