"""Builds the stand-in and prints what to export to run a program on it: python -m tests.fake_driver FOLDER PROFILE…"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fake_driver.env import environment
from tests.fake_driver.script import NAMES, Script


def main(arguments: list[str]) -> int:
    """Exit code 2 for wrong arguments."""
    if len(arguments) < 2 or set(arguments[1:]) - set(NAMES):
        print(f"usage: python -m tests.fake_driver FOLDER PROFILE…   (profiles: {', '.join(NAMES)})", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    env = environment(folder, Script(*arguments[1:]))
    for name in ("LD_LIBRARY_PATH", "FAKE_NVML_SCRIPT", "FAKE_NVML_CALLS"):
        print(f"export {name}={env[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
