"""Filter and sort order at the keys."""

from __future__ import annotations

from gputui.model.reading import number
from gputui.ui.choice import Choice
from gputui.ui.filter import ORDERS
from tests.ui.stage import Stage, drawn, stage

HOT = ("slash", *"temp", "greater_than_sign", *"60")


async def test_a_filter_works_while_it_is_typed_and_enter_keeps_it():
    async with stage("big-64", 60, keys=HOT) as (one, pilot):
        hot = [card for card in one.app.shown.cards if (number(card.get("temperature.gpu")) or 0) > 60]
        assert 0 < len(hot) < 64
        assert list(one.app.choice.cards) == hot
        assert one.has(f"{len(hot)} of 64 shown")
        await pilot.press("enter")
        await drawn(one, pilot)
        assert not one.app.screen.asking
        assert one.has(f"{len(hot)} of 64 shown")
        await pilot.press("escape")
        await drawn(one, pilot)
        assert len(one.app.choice.cards) == 64
        assert not one.has("of 64 shown")


async def test_a_filter_that_cannot_be_understood_is_explained_in_place_and_shows_what_it_showed():
    async with stage("h100x8", 30, keys=("slash", *"tmep", "greater_than_sign", "8")) as (one, pilot):
        assert one.has("Did you mean temp?")
        assert len(one.app.choice.cards) == 8
        await pilot.press("enter")
        await drawn(one, pilot)
        assert one.app.screen.asking
        await pilot.press("escape")
        await drawn(one, pilot)
        assert not one.app.screen.asking


async def test_keys_are_letters_while_a_filter_is_typed():
    async with stage("h100x8", 30, keys=("slash", *"qvt")) as (one, pilot):
        assert one.app.return_value is None
        assert one.app.screen.query_one("#filter").value == "qvt"
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert one.app.return_value == 0


async def test_no_match_is_said_and_the_way_back_too():
    async with stage("h100x8", 30, keys=("slash", *"temp", "greater_than_sign", *"200", "enter")) as (one, pilot):
        assert one.has("No card matches temp>200")
        assert one.app.selected is None
        for key in ("j", "enter", "pagedown", "end"):
            await pilot.press(key)
        await pilot.press("escape")
        await drawn(one, pilot)
        assert one.app.selected == one.app.shown.cards[0].uuid


async def test_the_sort_keys_go_through_the_orders_and_back():
    async with stage("big-64", 30) as (one, pilot):
        assert one.app.choice.by == "index"
        seen = []
        for _ in ORDERS:
            await pilot.press("greater_than_sign")
            await drawn(one, pilot)
            seen.append(one.app.choice.by)
        assert sorted(seen) == sorted(ORDERS)
        await pilot.press("less_than_sign")
        assert one.app.choice.by == list(ORDERS)[-1]


async def test_sorted_by_temperature_the_hottest_is_on_top_and_r_turns_it():
    async with stage("big-64", 60) as (one, pilot):
        while one.app.choice.by != "temp":
            await pilot.press("greater_than_sign")
        await drawn(one, pilot)
        assert one.has("by temperature")
        heat = [number(card.get("temperature.gpu")) for card in one.app.choice.cards]
        assert heat == sorted(heat, reverse=True)
        assert len(set(heat)) > 1
        selected = one.app.selected
        await pilot.press("r")
        await drawn(one, pilot)
        assert [number(card.get("temperature.gpu")) for card in one.app.choice.cards] == sorted(heat)
        assert one.app.selected == selected


def test_rows_keep_their_places_for_some_seconds_and_figures_are_new():
    one = Stage("big-64", 30)
    choice = Choice(by="power")
    choice.look(one.fleet.frame(one.clock.mono(), one.clock.wall()), ())
    before = [card.uuid for card in choice.cards]
    one.run(3)
    choice.look(one.fleet.frame(one.clock.mono(), one.clock.wall()), ())
    assert [card.uuid for card in choice.cards] == before
    now = one.fleet.frame(one.clock.mono(), one.clock.wall())
    assert {card.uuid: card.samples for card in choice.cards} == {card.uuid: card.samples for card in now.cards}
    choice.look(one.fleet.frame(one.clock.mono() + 5, one.clock.wall()), ())
    power = [number(card.get("power.draw")) for card in choice.cards]
    assert power == sorted(power, reverse=True)
