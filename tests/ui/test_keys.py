"""Every key in the help does what it says."""

from __future__ import annotations

import pytest

from gputui.ui import actions, theme
from gputui.ui.screens.dashboard import DashboardScreen
from gputui.ui.screens.detail import DetailScreen
from gputui.ui.screens.pages import EventsScreen, FindingsScreen, HelpScreen
from tests.ui.stage import drawn, stage


def test_the_registry_is_sound():
    ids = [action.id for action in actions.ACTIONS]
    assert len(ids) == len(set(ids))
    for place in actions.EVERYWHERE:
        keys = [key for action in actions.ACTIONS if place in action.places for key in action.keys]
        assert len(keys) == len(set(keys)), place
    for action in actions.ACTIONS:
        assert action.help()
        assert action.title()


async def test_every_action_has_a_method_and_a_line_in_the_help():
    async with stage(keys=("question_mark",), size=(120, 70), export=print, keep=str) as (one, _pilot):
        for action in actions.ACTIONS:
            assert callable(getattr(one.app, f"action_{action.id}"))
            if "dashboard" in action.places and one.app.allowed(action):
                assert one.has(action.shown), action.id


@pytest.mark.parametrize(
    ("key", "screen"),
    [("question_mark", HelpScreen), ("enter", DetailScreen), ("f", FindingsScreen), ("l", EventsScreen)],
)
async def test_screens_open_and_escape_returns(key, screen):
    async with stage(keys=(key,)) as (one, pilot):
        assert isinstance(one.app.screen, screen)
        await pilot.press("escape")
        assert isinstance(one.app.screen, DashboardScreen)
        await pilot.press("escape")
        assert isinstance(one.app.screen, DashboardScreen)


async def test_v_changes_between_cards_and_table():
    async with stage("h100x8") as (one, pilot):
        assert not one.app.screen.as_table
        await pilot.press("v")
        await drawn(one, pilot)
        assert one.app.screen.as_table
        assert one.has("MHz")
        await pilot.press("v")
        assert not one.app.screen.as_table


@pytest.mark.parametrize(("down", "up"), [("j", "k"), ("down", "up")])
async def test_selection_moves_and_stops_at_the_ends(down, up):
    async with stage("h100x8") as (one, pilot):
        first, second = (card.uuid for card in one.app.shown.cards[:2])
        assert one.app.selected == first
        await pilot.press(down)
        assert one.app.selected == second
        await pilot.press(up)
        await pilot.press(up)
        assert one.app.selected == first
        await pilot.press("end")
        assert one.app.selected == one.app.shown.cards[-1].uuid
        await pilot.press("home")
        assert one.app.selected == first


async def test_paging_through_many_cards_shows_the_selected_one():
    async with stage("big-64", 30, (80, 24)) as (one, pilot):
        await pilot.press("pagedown")
        await drawn(one, pilot)
        at = next(n for n, card in enumerate(one.app.shown.cards) if card.uuid == one.app.selected)
        assert at > 10
        assert any(line.startswith("▶") for line in one.text())
        await pilot.press("end")
        await drawn(one, pilot)
        assert one.has(" 63 ") or one.has("▶63")
        await pilot.press("pageup")
        await drawn(one, pilot)
        assert any("▶" in line for line in one.text())


async def test_space_holds_the_picture_and_reading_goes_on():
    async with stage(keys=("space",)) as (one, pilot):
        before = one.text()
        assert one.has("PAUSED")
        samples = one.fleet.frame(0, 0).cards[0].samples
        one.run(20)
        await drawn(one, pilot)
        assert [line for line in one.text() if "MHz" in line] == [line for line in before if "MHz" in line]
        assert one.has("PAUSED 2")
        assert one.fleet.frame(0, 0).cards[0].samples == samples + 20
        await pilot.press("space")
        await drawn(one, pilot)
        assert not one.has("PAUSED")


async def test_plus_and_minus_change_the_interval_within_its_bounds():
    async with stage() as (one, pilot):
        await pilot.press("plus")
        assert one.fleet.interval_s == 0.5
        for _ in range(5):
            await pilot.press("plus")
        assert one.fleet.interval_s == 0.25
        for _ in range(12):
            await pilot.press("minus")
        assert one.fleet.interval_s == 60.0


async def test_t_goes_through_all_themes():
    async with stage() as (one, pilot):
        seen = []
        for _ in theme.NAMES:
            seen.append(one.app.palette_name)
            await pilot.press("t")
            await drawn(one, pilot)
            assert one.has("MHz")
        assert sorted(seen) == sorted(theme.NAMES)


async def test_e_writes_a_snapshot_and_says_where(tmp_path):
    target = tmp_path / "snapshot.json"

    def export(source, probes):
        target.write_text("{}")
        return target

    async with stage(export=export, keys=("e",), size=(200, 30)) as (one, _pilot):
        assert target.exists()
        assert one.has("snapshot.json")


async def test_a_snapshot_that_cannot_be_written_is_said():
    def export(source, probes):
        raise OSError("disk full")

    async with stage(export=export, keys=("e",)) as (one, _pilot):
        assert one.has("disk full")


async def test_i_shows_what_we_cost():
    async with stage() as (one, pilot):
        assert not one.has("of a core")
        await pilot.press("i")
        await drawn(one, pilot)
        assert one.has("of a core")
        await pilot.press("i")
        await drawn(one, pilot)
        assert not one.has("of a core")


async def test_q_ends_with_0_and_c_too():
    async with stage() as (one, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert one.app.return_value == 0


async def test_d_opens_the_simulated_host_when_there_is_no_driver():
    from tests.ui.stage import Stage

    other = Stage("rtx4090", 30)
    async with stage("no-driver", 2, switch_to_demo=lambda: other.source) as (one, pilot):
        assert one.has("libnvidia-ml.so.1")
        await pilot.press("d")
        await drawn(one, pilot)
        assert one.app.source is other.source
        assert one.has("RTX 4090")


async def test_the_palette_names_every_action_that_works_here():
    async with stage() as (one, _pilot):
        titles = {command.title for command in one.app.get_system_commands(one.app.screen)}
    allowed = {a.title() for a in actions.ACTIONS if "dashboard" in a.places and a.id != "command_palette"}
    assert titles == {
        title for title in allowed if title not in {"snapshot", "demo", "all cards", "keep settings", "stop the probe"}
    }


async def test_a_mistake_in_drawing_costs_one_panel(monkeypatch):
    from gputui.ui.widgets import cards

    original = cards.card_rows

    def broken(picture):
        if picture.card.index == 2:
            raise ValueError("a mistake")
        return original(picture)

    monkeypatch.setattr(cards, "card_rows", broken)
    async with stage("h100x8") as (one, _pilot):
        assert one.has("draw error")
        assert sum("MHz" in line for line in one.text()) >= 3


async def test_a_picture_that_is_due_when_the_app_has_ended_is_not_drawn():
    async with stage() as (one, pilot):
        await pilot.press("q")
    one.app.refresh_now()
    assert not one.app.screen_stack


async def test_what_was_left_out_for_a_slow_terminal_is_drawn_when_it_has_caught_up(monkeypatch):
    from gputui.ui import app as app_module

    behind = True
    monkeypatch.setattr(app_module, "writer_behind", lambda _app: behind)
    monkeypatch.setattr(app_module, "CATCH_UP_S", 0.001)
    async with stage("lost-a100", 10) as (one, pilot):
        before = one.app._drawn_at
        one.run(2)
        one.app.draw_soon()
        await pilot.pause(0.1)
        assert one.app._drawn_at == before
        behind = False
        for _ in range(100):
            if one.app._drawn_at > before:
                break
            await pilot.pause(0.01)
        assert one.app._drawn_at > before
