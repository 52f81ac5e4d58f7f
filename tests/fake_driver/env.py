"""The environment in which a program finds the stand-in driver where it looks for NVIDIA's."""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tests.fake_driver.build import build
from tests.fake_driver.script import Script

_RECORD = struct.Struct("72sQ")


def environment(
    tmp_path: Path,
    script: Script | str,
    missing: Collection[str] = (),
    library: Path | None = None,
    one_clock: bool = False,
) -> dict[str, str]:
    """os.environ, changed so that libnvidia-ml.so.1 is the stand-in, playing this script. `library` is one that was
    built before; without it one is built in tmp_path. With `one_clock` the script's seconds count from now for every
    process, so that one that is started again does not see the first seconds once more. Raises NoCompiler.
    """
    built = library or build(tmp_path / "driver", missing)
    path = tmp_path / "script.txt"
    path.write_text(script if isinstance(script, str) else script.text(), encoding="utf-8")
    found = dict(os.environ)
    found["LD_LIBRARY_PATH"] = f"{built.parent}:{found.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    found["FAKE_NVML_SCRIPT"] = str(path)
    found["FAKE_NVML_CALLS"] = str(tmp_path / "calls.bin")
    found.pop("FAKE_NVML_START", None)
    if one_clock:
        found["FAKE_NVML_START"] = repr(time.monotonic())
    return found


def calls(where: Path | dict[str, str]) -> Counter[str]:
    """Calls so far by function, and under "card N" those about one card. `where` is the file, or the environment."""
    path = where if isinstance(where, Path) else Path(where["FAKE_NVML_CALLS"])
    found: Counter[str] = Counter()
    for name, count in _RECORD.iter_unpack(path.read_bytes() if path.exists() else b""):
        if count:
            found[name.rstrip(b"\0").decode()] = count
    return found
