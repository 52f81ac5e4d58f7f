"""Traces of products that slice, share or intercept a card: libraries in our own memory map, names of environment
variables, files. Names only: the values of variables can hold secrets and are never looked at.

What to look for is data (data/fingerprints.toml); an id found here is evidence that such a product is installed, not
that it does harm.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gputui.model.reading import Reading

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DATA = Path(__file__).parent / "data" / "fingerprints.toml"
_NVIDIA_MAJOR = 195


@dataclass(frozen=True)
class Fingerprint:
    """One product and its traces. strength is "proof" (nothing else leaves this trace) or "hint"."""

    id: str
    product: str
    means: str
    strength: str
    source: str
    libraries: tuple[re.Pattern[str], ...]
    environment: tuple[re.Pattern[str], ...]
    files: tuple[str, ...]


@cache
def fingerprints() -> tuple[Fingerprint, ...]:
    """All of them, from the data file."""
    with open(_DATA, "rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file)["fingerprint"]
    return tuple(
        Fingerprint(
            id=row["id"],
            product=row["product"],
            means=row["means"],
            strength=row["strength"],
            source=row["source"],
            libraries=tuple(re.compile(pattern) for pattern in row.get("libraries", ())),
            environment=tuple(re.compile(pattern) for pattern in row.get("environment", ())),
            files=tuple(row.get("files", ())),
        )
        for row in rows
    )


def describe(identifier: str) -> Fingerprint | None:
    """The fingerprint with this id."""
    return next((found for found in fingerprints() if found.id == identifier), None)


def found_here(root: Path = Path("/"), environment_names: Iterable[str] = ()) -> Reading:
    """Ids of what was found, an empty tuple for nothing."""
    libraries = mapped_libraries(root) | preloaded_libraries(root)
    names = tuple(environment_names)
    found = [print_.id for print_ in fingerprints() if _matches(print_, libraries, names, root)]
    if _foreign_device_major(root):
        found.append("foreign-device-major")
    return tuple(found)


def _matches(print_: Fingerprint, libraries: frozenset[str], names: tuple[str, ...], root: Path) -> bool:
    if any(pattern.fullmatch(name) for pattern in print_.libraries for name in libraries):
        return True
    if any(pattern.fullmatch(name) for pattern in print_.environment for name in names):
        return True
    return any(os.path.lexists(root / path.lstrip("/")) for path in print_.files)


def mapped_libraries(root: Path = Path("/")) -> frozenset[str]:
    """Base names of the shared objects in our own memory map; the driver library and what it pulls in are there once
    the driver was opened.
    """
    try:
        text = (root / "proc/self/maps").read_text(errors="replace")
    except OSError:
        return frozenset()
    paths = (line.split(None, 5)[5] for line in text.splitlines() if line.count("/"))
    return frozenset(path.rsplit("/", 1)[-1] for path in paths if ".so" in path)


def preloaded_libraries(root: Path = Path("/")) -> frozenset[str]:
    """Base names in /etc/ld.so.preload, which every program here loads first."""
    try:
        text = (root / "etc/ld.so.preload").read_text(errors="replace")
    except OSError:
        return frozenset()
    lines = (line.partition("#")[0] for line in text.splitlines())
    return frozenset(word.rsplit("/", 1)[-1] for line in lines for word in re.split(r"[\s:]+", line) if word)


def _foreign_device_major(root: Path) -> bool:
    """Whether a card's device file is not the NVIDIA driver's: a kernel module stands between (Alibaba cGPU)."""
    for index in range(64):
        try:
            found = (root / f"dev/nvidia{index}").stat()
        except OSError:
            continue
        if os.major(found.st_rdev) not in (0, _NVIDIA_MAJOR):
            return True
    return False
