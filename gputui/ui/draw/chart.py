"""The large chart of one reading: curve, axes, limit line; and the band of reasons under it.

The curve alone is plotext's (its canvas without axes, as text); everything around it is ours, so that the chart is the
same where plotext cannot be imported: version 6 has a C++ kernel with wheels for glibc only. Without it the curve is
drawn here. Domain and width decide where a value stands, never the data; a gap stays a gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.cells import cell_len

from gputui.model.reasons import Cause
from gputui.text import _
from gputui.ui.draw.format import ago
from gputui.ui.draw.rows import Row, fit, joined, plain, right

Point = tuple[float, float, float]
"""Lowest, mean and highest of what a point stands for."""
Points = Sequence[Point | None]
Curve = Callable[[Points, int, int, tuple[float, float], bool], list[str]]
"""Draws points into rows of text: (points, width, height, domain, ascii)."""

SMALLEST = (24, 5)
"""Below this many columns or rows there is no room for axes, and the curve stands alone."""
_BRAILLE = 0x2800
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Bits of a braille character: column, then row from the bottom (Unicode chapter 21.1)."""


def axis_width(domain: tuple[float, float], unit: str = "", limit: float | None = None) -> int:
    """Cells that the labels at the left take, the axis itself included; the band under a chart begins there too."""
    labels = [_figure(domain[0]), f"{_figure(domain[1])} {unit}".rstrip(), _figure(sum(domain) / 2)]
    if limit is not None:
        labels.append(_figure(limit))
    return max(len(label) for label in labels) + 2


def chart(
    points: Points,
    width: int,
    height: int,
    domain: tuple[float, float],
    *,
    ascii: bool = False,
    unit: str = "",
    span_s: float | None = None,
    limit: float | None = None,
    limit_text: str = "",
    curve: Curve | None = None,
) -> tuple[Row, ...]:
    """`height` rows of exactly `width` cells: labels at the left, curve, time below.

    points: oldest first, evenly spaced over the width; None is a gap. domain: lowest and highest value of the scale, in
    `unit`; a value outside it is drawn at its edge. span_s: seconds from the left edge to now. limit: a value with a
    line of its own. curve: who draws; None takes plotext, or what is here where that is missing.
    """
    if width <= 0 or height <= 0:
        return ()
    axes = width >= SMALLEST[0] and height >= SMALLEST[1]
    left = axis_width(domain, unit, limit) if axes else 0
    rows, columns = height - (2 if axes else 0), width - left
    if domain[1] <= domain[0] or columns <= 0:
        return tuple(((" " * width, "label"),) for _row in range(height))
    lines = (curve or best())(_clamped(points, domain), columns, rows, domain, ascii)
    lines = [fit(line, columns) for line in lines[:rows]]
    if not any(point is not None for point in points):
        lines[rows // 2] = fit(_("no values in this time").center(columns), columns)
    limit_row = None if limit is None else _row_of(limit, rows, domain)
    labels = _labels(rows, domain, unit, limit, limit_row) if axes else {}
    out = []
    for at, line in enumerate(lines):
        row = _with_limit(line, limit_text) if at == limit_row else ((line, "spark"),)
        axis = "┤" if at in labels else "│"
        out.append(((right(labels.get(at, ""), left - 2), "label"), (f" {axis}", "rule"), *row) if axes else row)
    if axes:
        out.append(((" " * (left - 1), "label"), ("└" + "─" * columns, "rule")))
        out.append(((fit(" " * left + _times(columns, span_s), width), "label"),))
    return tuple(joined(_ascii(row) if ascii else row) for row in out)


def reasons_band(causes: Sequence[Cause | None], width: int, left: int = 0, ascii: bool = False) -> Row:
    """The reasons over the same time as one row of `width` cells, `left` of them for its label.

    One cell shows the worst of the causes it stands for; a blank is a time in which reasons were not read.
    """
    columns = max(0, width - left)
    parts = [(right(_("WHY"), left - 2) + "  " if left >= 2 else " " * left, "label")]
    order = tuple(Cause)
    for column in range(columns):
        first = column * len(causes) // columns
        last = max(first + 1, (column + 1) * len(causes) // columns)
        seen = [cause for cause in causes[first:last] if cause is not None]
        worst = max(seen, key=order.index) if seen else None
        parts.append((" ", "dim") if worst is None else (worst.value, _ROLE_OF[worst]))
    row = joined(tuple(parts))
    return _ascii(row) if ascii else row


def legend() -> str:
    """What the letters of the band mean."""
    return _("i idle · p power · h heat · b brake · l locked · ? other")


_ROLE_OF = {
    Cause.NONE: "dim",
    Cause.IDLE: "dim",
    Cause.LOCKED: "tail",
    Cause.OTHER: "tail",
    Cause.POWER: "tail",
    Cause.HEAT: "warn",
    Cause.BRAKE: "warn",
}


def _ascii(row: Row) -> Row:
    return tuple((plain(text.translate(_FRAME)), role) for text, role in row)


_FRAME = str.maketrans({"┤": "+", "└": "+", "╌": "-"})


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def _labels(
    rows: int, domain: tuple[float, float], unit: str, limit: float | None, limit_row: int | None
) -> dict[int, str]:
    """Row to label: both ends, the middle where it is exact to a row, and the limit in place of its neighbours."""
    low, high = domain
    labels = {rows - 1: _figure(low), 0: f"{_figure(high)} {unit}".rstrip()}
    if rows >= 7 and rows % 2:
        labels[rows // 2] = _figure((low + high) / 2)
    if limit is not None and limit_row is not None and limit_row not in (0, rows - 1):
        labels.pop(rows // 2, None) if abs(limit_row - rows // 2) <= 1 else None
        labels[limit_row] = _figure(limit)
    return labels


def _with_limit(line: str, text: str) -> Row:
    """The limit line in the blank cells of a row, its name at the right end where that is free."""
    free = line[: max(0, len(line) - cell_len(text))]
    named = bool(text) and len(free) > len(line) // 2 and not line[len(free) :].strip("\u2800 ")
    free = free if named else line
    parts: list[tuple[str, str]] = [
        ("╌", "rule") if character in "\u2800 " else (character, "spark") for character in free
    ]
    return joined((*parts, (text if named else "", "label")))


def _times(columns: int, span_s: float | None) -> str:
    """The line below: how long ago the left edge and the middle are, and now."""
    if span_s is None:
        return " " * columns
    first, middle, now = (
        _("{age} ago").format(age=ago(span_s)),
        _("{age} ago").format(age=ago(span_s / 2)),
        _("now"),
    )
    used = cell_len(first) + cell_len(now)
    if columns <= used:
        return fit(first, columns)
    space = columns - used - cell_len(middle)
    if space < 6:
        return first + " " * (columns - used) + now
    before = max(2, columns // 2 - cell_len(middle) // 2 - cell_len(first))
    return first + " " * before + middle + " " * (space - before) + now


def _clamped(points: Points, domain: tuple[float, float]) -> list[Point | None]:
    low, high = domain

    def held(value: float) -> float:
        return min(high, max(low, value))

    return [None if point is None else (held(point[0]), held(point[1]), held(point[2])) for point in points]


def _row_of(value: float, rows: int, domain: tuple[float, float]) -> int:
    """The row from the top in which a value stands."""
    return rows - 1 - _step((value - domain[0]) / (domain[1] - domain[0]), rows)


def _step(share: float, cells: int, dots: int = 1) -> int:
    """The dot, from the low end, for a share of the scale. 0 and 1 stand in the middle of the first and last cell, as
    plotext has it, so that a value at the limit falls on the limit's row.
    """
    return min(cells * dots - 1, max(0, int(((cells - 1) * share + 0.5) * dots)))


def own_curve(points: Points, width: int, height: int, domain: tuple[float, float], ascii: bool) -> list[str]:
    """The curve in braille, two by four dots a cell, or in ASCII: the line of the means and the range around it."""
    across, up = (1, 1) if ascii else (2, 4)
    reached: list[tuple[int, int] | None] = [None] * (width * across)
    floor, span = domain[0], domain[1] - domain[0]

    def mark(column: int, low: int, high: int) -> None:
        before = reached[column]
        reached[column] = (low, high) if before is None else (min(before[0], low), max(before[1], high))

    previous: tuple[int, int] | None = None
    for at, point in enumerate(points):
        if point is None:
            previous = None
            continue
        low, mean, high = (_step((value - floor) / span, height, up) for value in point)
        column = _step((at + 0.5) / len(points), width, across)
        mark(column, low, high)
        if previous is not None:
            _join(previous, (column, mean), mark)
        previous = column, mean
    return _letters(reached, width, height) if ascii else _braille(reached, width, height)


def _join(start: tuple[int, int], end: tuple[int, int], mark: Callable[[int, int, int], None]) -> None:
    """Every column from one point to the next, each reaching up or down to where the one before left off."""
    (first, level), (last, target) = start, end
    before = level
    for column in range(first + 1, last + 1):
        now = level + round((target - level) * (column - first) / (last - first))
        mark(column, min(before, now), max(before, now))
        before = now
    if first == last:
        mark(first, min(level, target), max(level, target))


def _braille(reached: Sequence[tuple[int, int] | None], width: int, height: int) -> list[str]:
    cells = [[0] * width for _row in range(height)]
    for column, span in enumerate(reached):
        if span is not None:
            for level in range(span[0], span[1] + 1):
                cells[height - 1 - level // 4][column // 2] |= _DOTS[column % 2][level % 4]
    return ["".join(chr(_BRAILLE + cell) if cell else " " for cell in row) for row in cells]


def _letters(reached: Sequence[tuple[int, int] | None], width: int, height: int) -> list[str]:
    return [
        "".join("*" if span is not None and span[0] <= level <= span[1] else " " for span in reached[:width])
        for level in range(height - 1, -1, -1)
    ]


_plotext: Any = None
"""The module; False once it is known to be missing or broken."""


def best() -> Curve:
    """plotext where it can be imported (the first time costs about 0.1 s), what is here otherwise."""
    global _plotext
    if _plotext is None:
        try:
            import plotext

            # Else it takes the terminal's size, which is the screen's and not the panel's, for the largest it draws.
            plotext.terminal.limit(False, False)
            _plotext = plotext
        except Exception:  # a missing wheel, a kernel that does not load, a version without this API
            _plotext = False
    return plotext_curve if _plotext else own_curve


def plotext_curve(points: Points, width: int, height: int, domain: tuple[float, float], ascii: bool) -> list[str]:
    """The same by plotext 6: one signal of the means, cut at gaps, and one of the ranges.

    Its figure is one for the whole process and not thread-safe: only the screen may draw. Falls back to `own_curve`.
    """
    global _plotext
    if best() is own_curve:
        return own_curve(points, width, height, domain, ascii)
    try:
        return _by_plotext(_plotext.figure, points, width, height, domain, "*" if ascii else "braille")
    except Exception:  # a screen must not end because a library changed its mind about a setting
        _plotext = False
        return own_curve(points, width, height, domain, ascii)


def _by_plotext(
    figure: Any, points: Points, width: int, height: int, domain: tuple[float, float], marker: str
) -> list[str]:
    known = [(at, point) for at, point in enumerate(points) if point is not None]
    figure.clear()
    figure.theme("colorless")
    figure.axes(False)
    figure.plot_size(width, height)
    figure.ruler("x").frequency(0)
    figure.ruler("y").frequency(0)
    figure.ruler("x").lim(-0.5, len(points) - 0.5)
    figure.ruler("y").lim(*domain)
    if known:
        means = figure.signal([at for at, _point in known], [point[1] for _at, point in known], marker=marker).lines()
        for position in range(1, len(known)):
            if known[position][0] - known[position - 1][0] > 1:
                means.line(position, False)
        figure.draw(means)
    wide = [(at, point) for at, point in known if point[0] < point[2]]
    if wide:
        across = [at for at, _point in wide for _end in range(2)]
        ranges = figure.signal(across, [end for _at, point in wide for end in (point[0], point[2])], marker=marker)
        for position in range(1, len(across), 2):
            ranges.line(position, True)
        figure.draw(ranges)
    text: str = figure.build().string(True)
    return [line.replace("\u2800", " ").ljust(width)[:width] for line in text.splitlines()][:height]
