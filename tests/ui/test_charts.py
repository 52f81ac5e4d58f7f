"""The chart of the detail view: its keys, its redraws, its history."""

from __future__ import annotations

import pytest

from gputui.ui.charts import CHARTS, MINUTE, SESSION, TEN, Charts, Pane
from tests.ui.stage import Stage, drawn, stage


@pytest.mark.parametrize(("onward", "back"), [("tab", "shift+tab"), ("right_square_bracket", "left_square_bracket")])
async def test_keys_go_through_the_readings_and_back(onward, back):
    async with stage("rtx4090", 60, keys=("enter",)) as (one, pilot):
        for chart in (*CHARTS[1:], CHARTS[0]):
            await pilot.press(onward)
            await drawn(one, pilot)
            assert one.has(f"[{chart.title()}]")
        await pilot.press(back)
        await drawn(one, pilot)
        assert one.has(f"[{CHARTS[-1].title()}]")


@pytest.mark.parametrize(
    ("key", "words"), [("1", "60 s ago"), ("2", "10 min ago"), ("3", "60 min ago"), ("4", "whole session")]
)
async def test_keys_choose_the_span(key, words):
    async with stage("rtx4090", 60, keys=("enter", key)) as (one, _pilot):
        assert one.has(words)


def _pane(one: Stage, width: int = 100, mono: float | None = None) -> Pane:
    frame = one.fleet.frame(one.clock.mono(), one.clock.wall())
    card = frame.cards[0]
    now = frame.mono if mono is None else mono
    return Pane(card, one.fleet.history(card.uuid), one.fleet.tier(card.uuid), now, width, 12, False)


@pytest.mark.parametrize(("span", "least_s"), [(MINUTE, 2), (TEN, 6), (SESSION, 6)])
def test_the_chart_is_drawn_again_only_when_a_point_closes(span, least_s):
    one = Stage("rtx4090", 120)
    charts = Charts(span)
    changes, before = 0, None
    for _second in range(60):
        one.run(1)
        rows = charts.rows(_pane(one))
        changes += before is not None and rows != before
        before = rows
    assert 0 < changes <= 60 / least_s + 1


def test_a_session_longer_than_an_hour_comes_from_the_day():
    one = Stage("rtx4090", 4000)
    charts = Charts(SESSION)
    assert charts.span(one.fleet.tier(_pane(one).card.uuid)) == 7200
    text = ["".join(part for part, _role in row) for row in charts.rows(_pane(one))]
    assert any("2 h ago" in line or "120 min ago" in line for line in text)
    drawn_left = [line[12:50] for line in text[1:12]]
    assert any(line.strip(" │┤") for line in drawn_left)


def test_a_card_without_a_scale_says_so():
    one = Stage("gb10", 30)
    charts = Charts()
    charts.step(4)
    text = ["".join(part for part, _role in row) for row in charts.rows(_pane(one))]
    assert any("no scale" in line for line in text)


async def test_every_reading_and_span_fits_every_width():
    one = Stage("rtx4090", 60)
    from gputui.ui.draw.rows import width_of

    for width in (40, 58, 80, 120, 200):
        for span in (MINUTE, TEN, SESSION):
            charts = Charts(span)
            for _chart in CHARTS:
                charts.step(1)
                assert {width_of(row) for row in charts.rows(_pane(one, width))} == {width}
