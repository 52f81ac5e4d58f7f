"""Where a setting comes from, and what a mistake in it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputui.settings.file import config_path
from gputui.settings.load import Origin, Place, load
from gputui.settings.schema import KEYS, SETTINGS, SORTS, THEMES, Settings, checked, raw
from gputui.ui.filter import ORDERS


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.toml"

    def write(text, mode=0o600):
        path.write_text(text)
        path.chmod(mode)
        return path

    return write


def loaded(path, flags=None, actions=(), **environment):
    return load(flags, environment, path, actions)


def test_without_anything_all_is_default_and_well(tmp_path):
    found = loaded(tmp_path / "none.toml")
    assert found.settings == Settings()
    assert (found.errors, found.warnings) == ((), ())
    assert {origin.place for origin in found.origins.values()} == {Place.DEFAULT}
    assert set(found.origins) == {setting.name for setting in SETTINGS}


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(config):
    path = config('interval = 3\ntheme = "light"\nsort = "temp"\n')
    found = loaded(path, {"interval": 0.5, "theme": None}, GPUTUI_INTERVAL="2", GPUTUI_THEME="ansi")
    assert (found.settings.interval, found.settings.theme, found.settings.sort) == (0.5, "ansi", "temp")
    assert found.settings.view is None
    assert found.origins["interval"] == Origin(Place.FLAG, "--interval")
    assert found.origins["theme"] == Origin(Place.ENVIRONMENT, "GPUTUI_THEME")
    assert found.origins["sort"] == Origin(Place.FILE, str(path))
    assert found.origins["view"] == Origin(Place.DEFAULT)
    assert found.errors == ()


def test_a_flag_that_says_no_is_given_and_one_that_is_none_is_not(config):
    path = config("mouse = true\nreadonly = true\n")
    found = loaded(path, {"mouse": False, "readonly": None})
    assert found.settings.mouse is False
    assert found.settings.readonly is True


def test_everything_a_file_can_say(config):
    path = config(
        'interval = "2s"\ntheme = "High-Contrast"\nview = "table"\nascii = true\nmouse = false\nbucket = 10\n'
        'span = "1h"\nsort = "temp"\nsort_falling = false\nfilter = "state!=ok"\nexpect = "whole"\nreadonly = true\n'
        '[alerts]\nthresholds = ["temp>85 for 10s", "util<5"]\nbell = false\nquiet_hours = "22:00-07:00"\n'
        'on_finding = "notify-send --icon \'a b\'"\n[keys]\ndetail = ["enter", "d"]\nquit = "Q"\n'
    )
    found = loaded(path)
    got = found.settings
    assert (found.errors, found.warnings) == ((), ())
    assert (got.interval, got.theme, got.view, got.ascii, got.mouse) == (2.0, "high-contrast", "table", True, False)
    assert (got.bucket, got.span, got.sort, got.sort_falling) == (10, 3600.0, "temp", False)
    assert (got.filter, got.expect, got.readonly) == ("state!=ok", "whole", True)
    assert [(one.text, one.for_s) for one in got.alerts_thresholds] == [("temp>85 for 10s", 10), ("util<5", 0)]
    assert got.alerts_bell is False
    assert (got.alerts_quiet_hours.start, got.alerts_quiet_hours.end) == (22 * 60, 7 * 60)
    assert got.keys == {"detail": ("enter", "d"), "quit": ("Q",)}
    assert found.origins["keys.quit"].place is Place.FILE


def test_the_environment_writes_lists_and_truths_as_text(tmp_path):
    found = loaded(
        tmp_path / "none",
        GPUTUI_ALERTS_THRESHOLDS="temp>85 for 10s; util<5 ;",
        GPUTUI_ALERTS_BELL="off",
        GPUTUI_ASCII="auto",
        GPUTUI_SPAN="1h",
        GPUTUI_VIEW="",
    )
    assert [one.text for one in found.settings.alerts_thresholds] == ["temp>85 for 10s", "util<5"]
    assert found.settings.alerts_bell is False
    assert found.settings.ascii is None
    assert found.settings.span == 3600
    assert found.origins["view"].place is Place.DEFAULT
    assert found.errors == ()


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("interval = 0.1", "interval", "0.25 to 60 seconds"),
        ("interval = true", "interval", "0.25 to 60"),
        ('interval = "soon"', "interval", "0.25 to 60"),
        ("interval = nan", "interval", "0.25 to 60"),
        ('theme = "solarized"', "theme", "auto, dark, light, high-contrast, ansi"),
        ("theme = 3", "theme", "auto, dark"),
        ('ascii = "maybe"', "ascii", "auto, true, false"),
        ("bucket = 2.5", "bucket", "1 to 60 whole seconds"),
        ("bucket = 61", "bucket", "1 to 60"),
        ('span = "2d"', "span", "1m to 24h"),
        ('sort = "price"', "sort", "index, name"),
        ('filter = "tmep>80"', "filter", "temp"),
        ('expect = "half"', "expect", "whole, slice, any"),
        ("readonly = 1", "readonly", "true, false"),
        ('[alerts]\nthresholds = ["temp>85 for ever"]', "alerts.thresholds", "ever is not a time"),
        ("[alerts]\nthresholds = [3]", "alerts.thresholds", "a list such as"),
        ("[alerts]\nthresholds = 3", "alerts.thresholds", "a list such as"),
        ('[alerts]\nquiet_hours = "night"', "alerts.quiet_hours", "22:00-07:00"),
        ('[alerts]\non_finding = "mail \'x"', "alerts.on_finding", "quotes closed"),
        ("alerts = 3", "alerts", "[alerts]"),
        ("keys = 3", "keys", "[keys]"),
        ("[keys]\ndetail = 3", "keys.detail", "a key such as"),
        ('[keys]\ndetail = ""', "keys.detail", "a key such as"),
        ('[keys]\ndetail = "x"\nhelp = "x"', "keys.help", "the key of detail already"),
    ],
)
def test_a_wrong_value_costs_itself_and_one_sentence(config, text, key, says):
    """The sentence names the file, the setting and what is allowed; all other settings are in force."""
    path = config('view = "table"\n' + text)
    found = loaded(path)
    (error,) = found.errors
    assert error.startswith(f"{path}: {key} ") or error.startswith(f"{path}: {key}:")
    assert says in error
    assert "\n" not in error
    assert found.settings.view == "table"
    if key in found.origins:
        assert found.origins[key].place is Place.DEFAULT


def test_a_wrong_value_lets_the_next_place_count(config):
    path = config("interval = 5\n")
    found = loaded(path, {"interval": 1000}, GPUTUI_INTERVAL="fast")
    assert found.settings.interval == 5
    assert [error.split(":")[0] for error in found.errors] == ["--interval", "GPUTUI_INTERVAL"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("intervall = 3", "intervall is not known and was left out; did you mean interval?"),
        ("bell = true", "did you mean alerts.bell?"),
        ("[alert]\nbell = true", "alert is not known and was left out; did you mean alerts?"),
        ("[alerts]\nbel = true", "alerts.bel is not known and was left out; did you mean alerts.bell?"),
        ("[alerts]\ninterval = 3", "alerts.interval is not known"),
        ("[keys]\ndetial = 'x'", "keys.detial is not known and was left out; did you mean detail?"),
        ("zzz = 1", "zzz is not known and was left out."),
    ],
)
def test_an_unknown_name_is_a_warning_with_what_was_meant(config, text, says):
    found = loaded(config(text), actions=("detail", "help"))
    assert found.errors == ()
    (warning,) = found.warnings
    assert says in warning
    assert found.settings == Settings()


def test_without_a_list_of_actions_any_id_may_have_a_key(config):
    found = loaded(config("[keys]\nanything = 'x'"))
    assert found.settings.keys == {"anything": ("x",)}
    assert found.warnings == ()


def test_a_variable_that_nearly_is_one_of_ours_is_a_warning(tmp_path):
    found = loaded(tmp_path / "none", GPUTUI_INTERVALL="3", GPUTUI_CONFIG="", GPUTUI_XYZZY_PLUGH="1", HOME="/")
    (warning,) = found.warnings
    assert "GPUTUI_INTERVALL" in warning
    assert "GPUTUI_INTERVAL?" in warning


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_text("interval = \n"), "is not valid TOML"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "is not UTF-8"),
        (lambda path: path.write_text("#" * 300_000), "larger than"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: os.mkfifo(path), "is not a file"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence_and_the_rest_works(tmp_path, make, says):
    path = tmp_path / "config.toml"
    make(path)
    found = loaded(path, GPUTUI_VIEW="table")
    (error,) = found.errors
    assert says in error
    assert str(path) in error
    assert found.settings.view == "table"


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_one_sentence(config):
    (error,) = loaded(config("interval = 3", mode=0)).errors
    assert "cannot be read" in error


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_command_from_a_file_that_others_can_write_is_left_out(config, mode):
    path = config('interval = 3\n[alerts]\non_finding = "touch x"\n', mode)
    found = loaded(path)
    assert found.settings.alerts_on_finding == ""
    assert found.settings.interval == 3
    assert "chmod 600" in found.errors[0]
    path.chmod(0o644)
    assert loaded(path).settings.alerts_on_finding == "touch x"


def test_where_the_file_is(tmp_path):
    assert config_path({"GPUTUI_CONFIG": str(tmp_path / "a.toml")}) == tmp_path / "a.toml"
    assert config_path({"GPUTUI_CONFIG": ""}) is None
    assert config_path({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "gputui/config.toml"
    code = "from gputui.settings.file import config_path; print(config_path())"
    for environment, expected in (
        ({"HOME": str(tmp_path)}, tmp_path / ".config/gputui/config.toml"),
        ({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "x")}, tmp_path / "x/gputui/config.toml"),
        ({"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative"}, None),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, cwd=Path.cwd()
        )
        if expected is not None:
            assert done.stdout.strip() == str(expected)
        else:
            assert done.stdout.strip() == "None" or Path(done.stdout.strip()).is_absolute()


def test_the_table_and_the_class_name_the_same_settings():
    assert {setting.field for setting in SETTINGS} | {KEYS} == {one.name for one in fields(Settings)}
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)
    for setting in SETTINGS:
        assert checked(setting, setting.default) == getattr(Settings(), setting.field), setting.name
        assert setting.about().endswith(".")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_value_written_out_is_the_same_value(setting):
    others = {
        "interval": 2.5, "theme": "light", "view": "table", "ascii": True, "mouse": False, "bucket": 7, "span": 120,
        "sort": "temp", "sort_falling": False, "filter": "temp>80", "expect": "slice", "readonly": True,
        "alerts.thresholds": ["temp>85 for 10s"], "alerts.bell": False, "alerts.quiet_hours": "22:00-07:30",
        "alerts.on_finding": "a 'b c'",
    }  # fmt: skip
    for value in (setting.default, others[setting.name]):
        taken = checked(setting, value)
        assert checked(setting, raw(setting, taken)) == taken


def test_the_names_of_the_screen_are_those_of_the_settings():
    from gputui.ui.theme import NAMES

    assert tuple(ORDERS) == SORTS
    assert set(NAMES) <= set(THEMES)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
)
def test_no_value_of_any_kind_breaks_a_setting(value):
    for setting in SETTINGS:
        try:
            taken = checked(setting, value)
        except ValueError as error:
            said = str(error)
        else:
            said = setting.name if checked(setting, raw(setting, taken)) == taken else ""
        assert setting.name in said


def test_settings_need_no_screen():
    code = (
        "import sys\nfrom gputui.settings.load import load\nload(environment={'GPUTUI_CONFIG': ''})\n"
        "print(sorted({'textual', 'rich', 'plotext', 'platformdirs', 'pynvml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
