"""The command line that starts a worker, safe from whatever lies in the user's current folder.

People run gputui beside files named `pynvml.py`, `json.py` or `gputui/`. The worker therefore starts isolated (-I: no
current folder, no PYTHON* variables) and without `site` (-S: .pth files and sitecustomize run code, some of which
prints). It gets the search path of this process instead, less the current folder, and takes the package `gputui` from
where this one came from.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_BOOT = (
    "import sys;"
    "home,rest=sys.argv[1:3];"
    "standard=sys.path[:];"
    "sys.path.insert(0,home);import gputui;"
    "sys.path[:]=standard+[p for p in rest.split('\\n') if p and p not in standard];"
    "from gputui.driver.worker import main;main(sys.argv[3:])"
)


def worker_command(source: str, interval_s: float) -> list[str]:
    """argv of a worker for `source`. Only `gputui/__init__.py` is imported with the package's folder in front."""
    home = str(Path(__file__).resolve().parent.parent.parent)
    flags = ["-I", "-S"] + (["-B"] if sys.dont_write_bytecode else [])
    paths = "\n".join(_search_path())
    return [sys.executable, *flags, "-c", _BOOT, home, paths, "--source", source, "--interval", repr(interval_s)]


def _search_path() -> list[str]:
    """Where this process finds modules, less the current folder and anything relative to it."""
    try:
        here = os.path.realpath(Path.cwd())
    except FileNotFoundError:  # it was removed under us
        here = ""
    return [path for path in sys.path if Path(path).is_absolute() and os.path.realpath(path) != here]
