"""The chart: exact size, the same place for the same value whoever draws, gaps that stay gaps."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputui.model.reasons import Cause
from gputui.ui.draw import chart as module
from gputui.ui.draw.chart import axis_width, chart, legend, own_curve, plotext_curve, reasons_band
from gputui.ui.draw.rows import width_of

CURVES = [own_curve, plotext_curve]
ROLES = {"value", "label", "tail", "rule", "spark", "warn", "dim"}
DOMAIN = (0.0, 100.0)


def text(rows):
    return ["".join(part for part, _role in row) for row in rows]


def steady(value, count=60):
    return [(value, value, value)] * count


def columns_drawn(lines):
    """The columns in which any line has something."""
    return {column for line in lines for column, character in enumerate(line) if character not in " \u2800"}


def rows_drawn(lines):
    return {row for row, line in enumerate(lines) if line.strip(" \u2800")}


def test_plotext_is_what_draws_here():
    """The package declares it; the tests below would compare our curve with itself otherwise."""
    assert module.best() is plotext_curve


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize("value", [0, 10, 50, 73, 100])
def test_a_steady_value_is_one_line_at_its_height(curve, ascii, value):
    lines = curve(steady(value), 60, 11, DOMAIN, ascii)
    assert rows_drawn(lines) == {10 - round(value / 10)}
    assert len(columns_drawn(lines)) >= 59


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("ascii", [False, True])
def test_a_gap_stays_a_gap(curve, ascii):
    points = [*steady(50, 20), *[None] * 20, *steady(50, 20)]
    drawn = columns_drawn(curve(points, 60, 9, DOMAIN, ascii))
    assert not drawn & set(range(22, 38))
    assert drawn & set(range(2, 18))
    assert drawn & set(range(42, 58))


@pytest.mark.parametrize("curve", CURVES)
def test_the_range_of_a_bucket_shows(curve):
    narrow = rows_drawn(curve(steady(50), 60, 11, DOMAIN, False))
    wide = rows_drawn(curve([*steady(50, 30), (20, 50, 90), *steady(50, 30)], 60, 11, DOMAIN, False))
    assert narrow == {5}
    assert wide == {1, 2, 3, 4, 5, 6, 7, 8}


@pytest.mark.parametrize("curve", CURVES)
def test_one_point_alone_shows(curve):
    assert columns_drawn(curve([None, (50, 50, 50), None], 60, 9, DOMAIN, False))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.floats(0, 100), min_size=2, max_size=60), st.integers(20, 100), st.integers(4, 16))
def test_both_draw_the_same_figure(values, width, height):
    """To a cell: each cell that one draws has one of the other's beside it."""
    points = [None if value is None else (value, value, value) for value in values]
    one, other = (curve(points, width, height, DOMAIN, False) for curve in CURVES)

    def cells(lines):
        return {(r, c) for r, line in enumerate(lines) for c, letter in enumerate(line) if letter not in " \u2800"}

    def beside(cell, drawn):
        return any((cell[0] + r, cell[1] + c) in drawn for r in (-1, 0, 1) for c in (-1, 0, 1))

    own, theirs = cells(one), cells(other)
    assert [cell for cell in own if not beside(cell, theirs)] == []
    assert [cell for cell in theirs if not beside(cell, own)] == []


points = st.lists(
    st.none()
    | st.tuples(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4)).map(lambda p: tuple(sorted(p))),
    max_size=80,
)


@settings(max_examples=120, deadline=None)
@given(
    points, st.integers(0, 130), st.integers(0, 20), st.sampled_from(CURVES), st.booleans(),
    st.none() | st.floats(-50, 500), st.none() | st.floats(1, 1e5),
)  # fmt: skip
def test_any_chart_is_exactly_its_size(points, width, height, curve, ascii, limit, span_s):
    rows = chart(
        points, width, height, (0, 450), ascii=ascii, unit="W", limit=limit, limit_text="limit", span_s=span_s,
        curve=curve,
    )  # fmt: skip
    assert len(rows) == (height if width else 0)
    assert {width_of(row) for row in rows} <= {width}
    assert {role for row in rows for _text, role in row} <= ROLES
    if ascii:
        assert all(line.isascii() for line in text(rows))


def test_axes_limit_and_time_are_named():
    rows = chart(
        steady(300), 80, 13, (0, 450), unit="W", limit=350, limit_text="enforced limit", span_s=600, curve=own_curve
    )
    lines = text(rows)
    assert lines[0].startswith("450 W ┤")
    assert lines[10].startswith("    0 ┤")
    assert lines[2].startswith("  350 ┤╌")
    assert lines[2].endswith("enforced limit")
    assert lines[-1].split() == ["10", "min", "ago", "5", "min", "ago", "now"]
    assert axis_width((0, 450), "W", 350) == lines[0].index("┤") + 1


def test_a_curve_on_the_limit_line_hides_it_and_not_the_other_way_round():
    rows = chart(
        steady(350), 80, 12, (0, 450), unit="W", limit=350, limit_text="enforced limit", span_s=60, curve=own_curve
    )
    line = next(row for row in rows if "350" in row[0][0])
    assert "╌" not in "".join(part for part, role in line if role == "spark")
    assert sum(len(part) for part, role in line if role == "spark") > 60
    assert "enforced" not in text([line])[0]


def test_wide_characters_keep_the_width():
    rows = chart(steady(300), 60, 12, (0, 450), unit="W", limit=350, limit_text="功率上限", curve=own_curve)
    assert {width_of(row) for row in rows} == {60}
    assert any("功率上限" in line for line in text(rows))


def test_nothing_read_is_said_and_not_drawn():
    lines = text(chart([None] * 30, 60, 9, DOMAIN, curve=own_curve))
    assert any("no values in this time" in line for line in lines)
    assert "no values" not in "".join(text(chart(steady(0), 60, 9, DOMAIN, curve=own_curve)))


def test_a_scale_without_extent_draws_nothing():
    assert set("".join(text(chart(steady(5), 40, 8, (0, 0))))) == {" "}


def test_the_band_shows_the_worst_and_keeps_gaps():
    causes = [Cause.POWER, Cause.HEAT, None, None, Cause.IDLE, Cause.IDLE]
    assert text([reasons_band(causes, 3)]) == ["h i"]
    assert text([reasons_band(causes, 12)]) == ["pphh    iiii"]
    row = reasons_band(causes, 19, left=7)
    assert text([row]) == ["  WHY  pphh    iiii"]
    assert ("hh", "warn") in row


@given(st.lists(st.none() | st.sampled_from(list(Cause)), max_size=50), st.integers(0, 80), st.integers(0, 9))
def test_any_band_is_exactly_its_width(causes, width, left):
    row = reasons_band(causes, width, min(left, width), ascii=True)
    assert width_of(row) == width
    assert text([row])[0].isascii()


def test_every_letter_of_the_band_is_explained():
    for cause in Cause:
        if cause is not Cause.NONE:
            assert f"{cause.value} {cause.name.lower()}" in legend()


def test_without_plotext_the_chart_is_there_all_the_same():
    """As on a machine without a wheel: the import fails, in a process of its own."""
    code = (
        "import sys\nsys.modules['plotext'] = None\n"
        "from gputui.ui.draw import chart as c\n"
        "assert c.best() is c.own_curve\n"
        "rows = c.chart([(5.0, 5.0, 5.0)] * 40, 60, 9, (0.0, 10.0), span_s=60)\n"
        "print(sum(len(part) for row in rows for part, role in row if role == 'spark' and part.strip()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 30


def test_plotext_is_imported_by_the_first_chart_and_not_before():
    code = (
        "import sys\nfrom gputui.ui.draw import chart as c\nbefore = 'plotext' in sys.modules\n"
        "c.chart([(5.0, 5.0, 5.0)] * 40, 60, 9, (0.0, 10.0))\nprint(before, 'plotext' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
