"""The pure half of drawing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gputui.driver.scripted import names
from gputui.model.reasons import Cause
from gputui.ui.draw.bars import HeaderFacts, header_row
from gputui.ui.draw.card import COMPACT_ROWS, FULL_ROWS, Picture, card_rows
from gputui.ui.draw.rows import first_difference_from_right, fit, plain, right, split, width_of
from gputui.ui.draw.spark import spark, strip
from gputui.ui.draw.table import heading_row, table_row
from tests.ui.stage import Stage


def test_a_sparkline_has_a_fixed_domain_and_keeps_gaps():
    assert spark([0, 50, 100], 100) == "▁▅█"
    assert spark([299, 300, 299], 700) == "▄▄▄"
    assert spark([None, 0, None], 100) == " ▁ "
    assert spark([500], 100) == "█"
    assert spark([-5], 100) == "▁"
    assert spark([1, 2], 0) == "  "
    assert spark([], 10) == ""


def test_the_header_says_how_old_figures_are_when_they_are_old():
    one = Stage("rtx4090", 30)
    fresh = one.fleet.frame(one.clock.mono(), one.clock.wall())
    late = one.fleet.frame(one.clock.mono() + 8, one.clock.wall() + 8)
    facts = HeaderFacts(one.clock.wall())
    assert "old" not in "".join(text for text, _ in header_row(fresh, (), facts, 100))
    assert "data 8 s old" in "".join(text for text, _ in header_row(late, (), facts, 100))


def test_the_why_strip_is_one_letter_a_cell():
    assert strip([None, Cause.NONE, Cause.IDLE, Cause.POWER, Cause.HEAT, Cause.BRAKE, Cause.LOCKED]) == " ·iphbl"


@given(st.text(max_size=40), st.integers(0, 60))
def test_fitting_gives_exactly_the_width(text, width):
    printable = "".join(character for character in text if character.isprintable())
    assert cell_len(fit(printable, width)) == width
    assert cell_len(right(printable, width)) == width


@given(st.text(max_size=60))
def test_plain_text_is_ascii_and_no_longer(text):
    assert plain(text).isascii()
    assert len(plain(text)) <= len(text)


ROWS = st.lists(st.tuples(st.text("ab─", max_size=6), st.sampled_from(["value", "label"])), max_size=5).map(tuple)


@given(ROWS, ROWS)
def test_what_is_not_drawn_again_has_not_changed(old, new):
    end = first_difference_from_right(old, new)
    old_cells = [(character, role) for text, role in old for character in text]
    new_cells = [(character, role) for text, role in new for character in text]
    assert old_cells[end:] == new_cells[end:]
    if old_cells == new_cells:
        assert end == 0 or old != new


@pytest.mark.parametrize(
    "host", [name for name, _ in names() if name not in ("slow-start", "hung", "no-driver", "mismatch")]
)
def test_every_host_fits_every_width(host):
    one = Stage(host, 40)
    frame = one.fleet.frame(one.clock.mono(), one.clock.wall())
    for card in frame.cards[:8]:
        history = one.fleet.history(card.uuid)
        for width in (36, 40, 58, 60, 79, 80, 116, 120, 200):
            for rows in (FULL_ROWS, COMPACT_ROWS):
                drawn = card_rows(Picture(card, history, frame, (), True, width, rows))
                assert len(drawn) == rows
                assert {width_of(row) for row in drawn} == {width}, (host, width)
            assert width_of(table_row(card, history, frame, (), False, width)) == width
            assert width_of(heading_row(width)) == width


@pytest.mark.parametrize("at", range(13))
def test_a_row_in_two_pieces_has_the_same_cells(at):
    row = (("abc", "a"), ("显卡", "b"), ("d", "c"), ("eé", "d"))
    left, rest = split(row, at)
    assert width_of(left) == min(at, width_of(row))
    assert width_of(left) + width_of(rest) == width_of(row)
    whole = "".join(text for text, _role in (*left, *rest))
    assert whole.replace(" ", "") in ("abc显卡deé", "abc卡deé", "abc显deé")
