"""A card with room to spare: sparklines of several rows, and its processes below. Never more than a few cards."""

from __future__ import annotations

from dataclasses import replace

from gputui.model.card import State
from gputui.ui.draw.card import (
    FULL_ROWS,
    LABEL,
    VALUE,
    Picture,
    clock_row,
    heat_row,
    layout,
    load_row,
    power_row,
    title_row,
    why_row,
)
from gputui.ui.draw.processes import entries, entry_row, heading
from gputui.ui.draw.rows import Row, fit, joined

HIGHEST, HIGHEST_LARGE, LARGE = 3, 5, 28
"""Rows of a sparkline at most; and at most in a panel of LARGE rows or more."""


def heights(rows: int, processes: int) -> tuple[tuple[int, int, int, int], int]:
    """Rows for SM, PWR, TEMP and UTIL, and what is left for the list of processes with its blank line and heading."""
    spare = rows - FULL_ROWS
    listed = min(processes, 3) + 2 if processes and spare >= 6 else 0
    highest = HIGHEST_LARGE if rows >= LARGE else HIGHEST
    found = [1, 1, 1, 1]
    bars = spare - listed
    for _round in range(highest - 1):
        for at in (0, 1, 3, 2):  # clock and power first: they are what a renter compares
            if bars > 0:
                found[at] += 1
                bars -= 1
    return (found[0], found[1], found[2], found[3]), listed + bars


def tall_rows(picture: Picture) -> list[Row]:
    """`picture.rows` rows, each exactly `width` cells."""
    found = [entry for entry in entries(picture.frame) if entry.card.uuid == picture.card.uuid]
    each, left = heights(picture.rows, len(found))
    out = [title_row(picture)]
    for draw, count in zip((clock_row, power_row, heat_row, load_row), each, strict=True):
        out.append(draw(replace(picture, band=(0, count))))
        out += [_band(picture, draw(replace(picture, band=(at, count)))) for at in range(1, count)]
    out.append(why_row(picture))
    blank: Row = ((" " * picture.width, "label"),)
    if found and left >= 3:
        rows = [entry_row(entry, picture.frame.time, False, picture.width) for entry in found[: left - 2]]
        out += [blank, heading(picture.width), *rows]
    return out + [blank] * (picture.rows - len(out))


def _band(picture: Picture, row: Row) -> Row:
    """The sparkline of a row without its words."""
    text = "".join(part for part, _role in row)
    start = 1 + LABEL + VALUE + 1
    shape = text[start : start + layout(picture.width).spark]
    role = "spark" if picture.card.state in (State.OK, State.ASLEEP) else "old"
    return joined(((" " * start, "label"), (fit(shape, picture.width - start), role)))
