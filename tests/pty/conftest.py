"""Terminals that are closed whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pty.harness import Terminal


@pytest.fixture
def terminal(tmp_path: Any) -> Iterator[Any]:
    """`terminal(arguments, …)` starts the program; see harness.Terminal."""
    opened: list[Terminal] = []

    def start(*arguments: str, **options: Any) -> Terminal:
        environment = {
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "HOME": str(tmp_path),
            **options.pop("environment", {}),
        }
        opened.append(Terminal(arguments, environment=environment, **options))
        return opened[-1]

    yield start
    left = []
    for one in opened:
        if one.status is not None:
            left += one.survivors()
        one.close()
    assert not left, "processes were left behind"
