"""Screens as text, over sizes, hosts, and both glyph sets. The diff of a golden file is the review of a change."""

from __future__ import annotations

import pytest

from tests.ui.stage import golden, stage

SIZES = {"120x40": (120, 40), "80x24": (80, 24), "40x12": (40, 12)}
SCREENS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "none": ("no-driver", 3, ()),
    "one": ("rtx4090", 300, ()),
    "eight": ("h100x8", 300, ()),
    "many": ("big-64", 60, ()),
    "one-table": ("rtx4090", 300, ("v",)),
    "eight-table": ("h100x8", 300, ("v",)),
    "eight-cards": ("h100x8", 120, ("v", "v")),
    "lost": ("lost-a100", 90, ()),
    "unplugged": ("unplugged", 60, ("v",)),
    "oversold": ("oversold-4090", 90, ()),
    "mig": ("mig-a100", 60, ()),
    "unified": ("gb10", 60, ()),
    "vgpu": ("vgpu", 60, ()),
    "detail": ("rtx4090", 300, ("enter",)),
    "detail-power": ("capped-4090", 200, ("enter", "tab", "1")),
    "detail-session": ("h100x8", 900, ("enter", "4")),
    "findings": ("capped-4090", 200, ("f",)),
    "findings-none": ("gb10", 60, ("f",)),
    "events": ("lost-a100", 90, ("l",)),
    "filter": ("big-64", 60, ("slash", *"temp", "greater_than_sign", *"60", "enter", "greater_than_sign")),
    "filter-typing": ("h100x8", 60, ("slash", *"temp", "greater_than_sign")),
    "filter-none": ("h100x8", 60, ("slash", *"temp", "greater_than_sign", *"200", "enter")),
    "processes": ("h100x8", 60, ("p",)),
    "host": ("rtx4090", 60, ("h",)),
    "probe": ("capped-4090", 100, ("m",)),
    "probe-all": ("h100x8", 60, ("s", "a")),
    "help": ("rtx4090", 10, ("question_mark",)),
    "none-table": ("no-driver", 3, ("v",)),
    "none-processes": ("no-driver", 3, ("p",)),
    "none-findings": ("no-driver", 3, ("f",)),
    "none-events": ("no-driver", 3, ("l",)),
    "none-help": ("no-driver", 3, ("question_mark",)),
    "eight-findings": ("h100x8", 60, ("f",)),
    "many-cards": ("big-64", 60, ("v",)),
    "many-detail": ("big-64", 120, ("end", "enter")),
    "many-processes": ("big-64", 60, ("p",)),
    "many-findings": ("big-64", 60, ("f",)),
    "one-processes": ("rtx4090", 60, ("p",)),
}


@pytest.mark.parametrize("ascii_only", [False, True], ids=["unicode", "ascii"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
async def test_screen(screen, size, ascii_only, update_golden):
    host, seconds, keys = SCREENS[screen]
    async with stage(host, seconds, SIZES[size], keys, ascii_only=ascii_only) as (one, _pilot):
        lines = one.text()
        assert not one.app.draw_errors
    if ascii_only:
        assert all(line.isascii() for line in lines)
    width = SIZES[size][0]
    assert all(len(line) <= width for line in lines)
    golden(f"{screen}-{size}{'-ascii' if ascii_only else ''}", lines, update_golden)
