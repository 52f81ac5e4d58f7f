"""Every key of the help reaches its action, on every screen on which it works."""

from __future__ import annotations

import pytest

from gputui.ui import actions
from gputui.ui.app import DashboardApp
from tests.ui.stage import drawn, stage

WAY = {
    "dashboard": (),
    "detail": ("enter",),
    "findings": ("f",),
    "events": ("l",),
    "probe": ("m",),
    "help": ("question_mark",),
    "processes": ("p",),
}
"""The keys that open a screen."""


def test_every_screen_has_a_way():
    assert set(WAY) == set(actions.EVERYWHERE)


@pytest.mark.parametrize("place", WAY)
async def test_keys(place, monkeypatch):
    here = [action for action in actions.ACTIONS if place in action.places]
    reached: list[str] = []
    async with stage("h100x8", 5, keys=WAY[place], export=lambda source, probes: None, keep=str) as (one, pilot):
        assert one.app.screen.place == place
        for action in here:  # what each does is tested elsewhere; here nothing is done, so that the next can be tried
            monkeypatch.setattr(DashboardApp, f"action_{action.id}", lambda _app, id=action.id: reached.append(id))
        for action in here:
            for key in action.keys:
                reached.clear()
                await pilot.press(key)
                assert reached == [action.id] or (not reached and not one.app.allowed(action)), key
        await drawn(one, pilot)
        assert not one.app.draw_errors
