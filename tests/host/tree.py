"""Builds a /proc, /sys and /dev tree in a folder, as far as gputui.host looks at them."""

from __future__ import annotations

import os
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
BOOTED = 1_700_000_000


class Tree:
    """A root folder to write files into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proc/stat", f"cpu  100 0 100 800 0 0 0 0\ncpu0 1 0 0 0\ncpu1 1 0 0 0\nbtime {BOOTED}\n")

    def write(self, path: str, text: str) -> Path:
        """A file and its folders."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def process(
        self, pid: int, name: str, opened: tuple[str, ...] = (), start_ticks: int = 100, cpu_ticks: int = 0
    ) -> Path:
        """A process with device files open; the fields of stat are those of proc(5)."""
        fields = (
            ["S", "1"] + ["0"] * 9 + [str(cpu_ticks), "0"] + ["0"] * 6 + [str(start_ticks), "0", "256"] + ["0"] * 20
        )
        self.write(f"proc/{pid}/stat", f"{pid} ({name}) {' '.join(fields)}\n")
        self.write(f"proc/{pid}/cmdline", f"/usr/bin/{name}\0--secret\0")
        folder = self.root / f"proc/{pid}/fd"
        folder.mkdir(parents=True, exist_ok=True)
        for number, target in enumerate(opened):
            link = folder / str(number)
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        return folder
