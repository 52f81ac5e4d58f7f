"""The table of readings against the catalog, the binding's header, and the promise to read only."""

from __future__ import annotations

import re
from ctypes import sizeof
from pathlib import Path

import pynvml
import pytest

import gputui
from gputui.driver.nvml.api import LAYOUTS, Call, Field
from gputui.driver.nvml.table import ROWS, Row
from gputui.model import catalog

PACKAGE = Path(gputui.__file__).parent


def test_every_row_is_in_the_catalog_once() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert set(names) <= {spec.name for spec in catalog.SPECS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_fast_in_the_catalog_is_asked_each_tick(row: Row) -> None:
    fast = catalog.BY_NAME[row.name].pace == catalog.FAST
    if row.name != "clocks.current.graphics":  # the SM clock's own domain; see table.py
        assert not fast or row.every == "tick"


def test_layouts_have_the_size_their_version_word_says() -> None:
    """nvml.h builds a version word from the structure's size and its version number in the top byte."""
    for name, layout in LAYOUTS.items():
        if layout.version is not None:
            assert layout.version & 0xFFFFFF == sizeof(layout.struct), name


FIELD_NAMES = {
    "power.draw.average": "NVML_FI_DEV_POWER_AVERAGE",
    "power.draw.instant": "NVML_FI_DEV_POWER_INSTANT",
    "power.limit": "NVML_FI_DEV_POWER_REQUESTED_LIMIT",
    "temperature.memory": "NVML_FI_DEV_MEMORY_TEMP",
    "total_energy_consumption": "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    "temperature.tlimit.shutdown": "NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT",
    "temperature.tlimit.slowdown": "NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT",
    "temperature.tlimit.mem_max": "NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT",
    "temperature.tlimit.gpu_max": "NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT",
    "pcie.replay_counter": "NVML_FI_DEV_PCIE_REPLAY_COUNTER",
    "nvlink.count": "NVML_FI_DEV_NVLINK_LINK_COUNT",
    "nvlink.version": "NVML_FI_DEV_NVLINK_GET_VERSION",
    "ecc.mode.current": "NVML_FI_DEV_ECC_CURRENT",
    "ecc.mode.pending": "NVML_FI_DEV_ECC_PENDING",
    "ecc.errors.corrected.volatile.total": "NVML_FI_DEV_ECC_SBE_VOL_TOTAL",
    "ecc.errors.uncorrected.volatile.total": "NVML_FI_DEV_ECC_DBE_VOL_TOTAL",
    "ecc.errors.corrected.aggregate.total": "NVML_FI_DEV_ECC_SBE_AGG_TOTAL",
    "ecc.errors.uncorrected.aggregate.total": "NVML_FI_DEV_ECC_DBE_AGG_TOTAL",
    "retired_pages.single_bit_ecc.count": "NVML_FI_DEV_RETIRED_SBE",
    "retired_pages.double_bit.count": "NVML_FI_DEV_RETIRED_DBE",
    "retired_pages.pending": "NVML_FI_DEV_RETIRED_PENDING",
    "remapped_rows.correctable": "NVML_FI_DEV_REMAPPED_COR",
    "remapped_rows.uncorrectable": "NVML_FI_DEV_REMAPPED_UNC",
    "remapped_rows.pending": "NVML_FI_DEV_REMAPPED_PENDING",
    "remapped_rows.failure": "NVML_FI_DEV_REMAPPED_FAILURE",
    "gpu_recovery_action": "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION",
    "module.power.draw.average": "NVML_FI_DEV_POWER_AVERAGE",
    "module.power.draw.instant": "NVML_FI_DEV_POWER_INSTANT",
    "module.enforced.power.limit": "NVML_FI_DEV_POWER_CURRENT_LIMIT",
}


@pytest.mark.parametrize("row", [row for row in ROWS if isinstance(row.ways[0].source, Field)], ids=lambda r: r.name)
def test_field_ids_are_the_headers(row: Row) -> None:
    if row.name == "power.draw":
        pytest.skip("its fields are those of average and instant")
    field = row.ways[0].source
    assert isinstance(field, Field)
    assert field.id == getattr(pynvml, FIELD_NAMES[row.name])


def test_every_getter_is_a_name_the_binding_knows() -> None:
    text = Path(pynvml.__file__).read_text()
    for row in ROWS:
        for way in row.ways:
            if isinstance(way.source, Call):
                assert f'"{way.source.function}"' in text, way.source.function


SETTER = re.compile(r"nvml\w*(?:Set|Reset|Clear|Enable|Disable|Modify|Remove|Destroy|Create|Freeze)\w*")
READS_ONLY = re.compile(r"nvmlEventSet(Create|Wait|Wait_v2|Free)$")


def test_nothing_in_the_package_names_a_function_that_writes() -> None:
    for path in PACKAGE.rglob("*.py"):
        for name in SETTER.findall(path.read_text()):
            assert READS_ONLY.match(name), f"{path.name}: {name}"


def test_one_module_imports_pynvml() -> None:
    found = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\s*(import|from) pynvml", path.read_text(), re.MULTILINE)
    ]
    assert found == ["driver/nvml/api.py"]
