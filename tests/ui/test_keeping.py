"""Settings at the screen: taken at the start, changed at keys, written only when asked for."""

from __future__ import annotations

from gputui.settings.load import load
from gputui.settings.schema import Settings
from tests.ui.stage import Stage, drawn, stage


async def test_settings_are_what_the_screen_starts_with():
    settings = Settings(view="table", sort="temp", sort_falling=False, filter="util>10", span=3600.0)
    async with stage("h100x8", 60, settings=settings) as (one, pilot):
        assert one.app.screen.as_table
        assert one.has("by temperature")
        assert one.has("8 of 8 shown")
        await pilot.press("enter")
        await drawn(one, pilot)
        assert one.has("60 min ago")


async def test_a_larger_bucket_makes_a_calmer_sparkline():
    async with stage("rtx4090", 300, settings=Settings(bucket=60)) as (one, _pilot):
        line = next(line for line in one.text() if " UTIL " in line)
        assert sum(character in "▁▂▃▄▅▆▇█" for character in line) <= 6


async def test_nothing_is_written_until_the_key(tmp_path):
    path, calls = tmp_path / "config.toml", []

    def keep(changes):
        from gputui.settings.file import save

        calls.append(dict(changes))
        save(path, changes)
        return "~/config.toml"

    async with stage("h100x8", 30, keep=keep) as (one, pilot):
        for key in ("t", "v", "greater_than_sign"):
            await pilot.press(key)
        assert not calls
        await pilot.press("S")
        await drawn(one, pilot)
        assert one.has("theme, view, sort kept in ~/config.toml")
        assert calls == [{"theme": "light", "view": "table", "sort": "name"}]
        await pilot.press("S")
        await drawn(one, pilot)
        assert one.has("nothing has changed")
    read = load({}, {}, path).settings
    assert (read.theme, read.view, read.sort) == ("light", "table", "name")


async def test_settings_that_cannot_be_written_are_said():
    def keep(changes):
        raise OSError("the file cannot be written")

    async with stage(keep=keep, keys=("t", "S")) as (one, _pilot):
        assert one.has("cannot be written")


async def test_what_was_left_out_is_said_on_the_first_screen():
    one = Stage("rtx4090", 30, notes=("theme cannot be pink", "another"))
    async with one.app.run_test(size=(120, 40)) as pilot:
        await drawn(one, pilot)
        assert one.has("theme cannot be pink (and 1 more: gputui doctor)")


def test_doctor_names_the_file_and_what_is_wrong_in_it(tmp_path, monkeypatch, capsys):
    from gputui.cli import main

    path = tmp_path / "config.toml"
    path.write_text('theme = "pink"\ninterval = 2\ncolour = 1\n')
    monkeypatch.setenv("GPUTUI_CONFIG", str(path))
    main(["doctor", "--demo"])
    out = capsys.readouterr().out
    assert str(path) in out
    assert "theme cannot be" in out
    assert "interval" in out
    assert "colour" in out


def test_a_wrong_flag_is_one_sentence(capsys):
    import pytest

    from gputui.cli import main

    for flags in (["--alert", "temp>"], ["--sort", "heat"], ["--bucket", "0"], ["--filter", "tmep>1"]):
        with pytest.raises(SystemExit) as ended:
            main(flags)
        assert ended.value.code == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
