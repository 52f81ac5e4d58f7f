"""The product on the stand-in driver: the real watcher, the real worker process, the real ctypes calls."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gputui.model.card import Card, Frame
from tests.driver.steps import Watched
from tests.fake_driver.env import calls, environment
from tests.fake_driver.script import Script

ROOT = Path(__file__).resolve().parents[2]
VARIABLES = ("LD_LIBRARY_PATH", "FAKE_NVML_SCRIPT", "FAKE_NVML_CALLS")


class Rig(Watched):
    """A watcher whose worker reads the stand-in."""

    def __init__(self, env: dict[str, str], interval_s: float) -> None:
        super().__init__("nvml", interval_s)
        self.env = env
        self.began = time.monotonic()

    def frame(self) -> Frame:
        return self.fleet.frame(time.monotonic(), time.time())

    def card(self, uuid: str) -> Card:
        found = self.frame().card(uuid)
        assert found is not None, f"no card {uuid}"
        return found

    def samples(self) -> dict[str, int]:
        return {card.uuid: card.samples for card in self.frame().cards}

    def calls(self, name: str) -> int:
        """Calls of a function so far, or of "card 3"."""
        return calls(self.env)[name]


@contextmanager
def playing(
    monkeypatch: Any, tmp_path: Path, library: Path, script: Script, interval_s: float = 0.25, cards: int | None = None
) -> Iterator[Rig]:
    """The watcher on a script, once `cards` (all of the script) have been read."""
    env = environment(tmp_path, script, library=library)
    for name in VARIABLES:
        monkeypatch.setenv(name, env[name])
    rig = Rig(env, interval_s)
    rig.watcher.start()
    wanted = len(script.profiles) if cards is None else cards
    try:
        if wanted:
            rig.until(lambda: sum(bool(count) for count in rig.samples().values()) >= wanted, what="all cards read")
        yield rig
    finally:
        rig.watcher.stop()
        assert rig.watcher.gone(5.0)


def gputui(
    tmp_path: Path, library: Path, script: Script, *arguments: str, within_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """`python -m gputui …` on a script."""
    env = environment(tmp_path, script, library=library) | {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}
    command = [sys.executable, "-m", "gputui", *arguments]
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=within_s)
