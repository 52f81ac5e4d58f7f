"""The numbers rules decide by, from data/thresholds.toml: each with its source and whether a card has ever
confirmed it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Threshold:
    """The numbers of one finding id, by name; unit and meaning stand beside them in the file."""

    id: str
    numbers: dict[str, float]
    source: str
    checked_on_hardware: bool

    def __getitem__(self, name: str) -> float:
        return self.numbers[name]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    assert __spec__ is not None
    loader: Any = __spec__.loader
    folder = __file__.rpartition("thresholds.py")[0]
    loaded: dict[str, Any] = tomllib.loads(loader.get_data(f"{folder}data/thresholds.toml").decode())
    return loaded


@lru_cache(maxsize=256)
def threshold(finding_id: str) -> Threshold:
    """The thresholds of one finding id; KeyError when the file has none."""
    row = dict(_table()[finding_id])
    source, checked = row.pop("source"), row.pop("checked_on_hardware")
    numbers = {name: float(value) for name, value in row.items() if isinstance(value, (int, float))}
    return Threshold(finding_id, numbers, source, checked)


def ids() -> tuple[str, ...]:
    """Every id that has thresholds."""
    return tuple(_table())
