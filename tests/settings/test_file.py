"""Writing settings: what a person wrote stays, whole or not at all, for their eyes only."""

from __future__ import annotations

import os
import stat
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gputui.alerts.quiet import QuietHours
from gputui.alerts.threshold import Threshold
from gputui.settings.file import SettingsError, read, save, template, toml
from gputui.settings.load import Place, load
from gputui.settings.schema import SETTINGS, Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MINE = """# my file
interval = 2.0   # two is enough

theme = "light"
[alerts]   # who wakes me
thresholds = [
    "temp>85 for 10s",  # hot
    "util<5",
]
# bell = false, one day

[mine]
note = '''
[alerts]
bell = 3
'''
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new folder" / "config.toml"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def loaded(path):
    return load(environment={}, path=path)


def test_the_documented_file_changes_nothing(path):
    write(path, template())
    found = loaded(path)
    assert found.settings == Settings()
    assert (found.errors, found.warnings) == ((), ())
    assert {origin.place for origin in found.origins.values()} == {Place.DEFAULT}


def test_the_documented_file_explains_every_setting_and_its_examples_hold(path):
    text = template()
    for setting in SETTINGS:
        assert f"# {setting.key} = " in text
        assert setting.about().split()[0] in text
    awake = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and " = " in line and not line.endswith(".") else line
        for line in text.splitlines()
    )
    found = loaded(write(path, awake))
    assert (found.errors, found.warnings) == ((), ())
    assert found.settings.keys == {"findings": ("f",)}
    assert len([name for name, origin in found.origins.items() if origin.place is Place.FILE]) == len(SETTINGS) + 1


def test_the_first_change_makes_the_documented_file(path):
    save(path, {"interval": 2.0, "alerts.bell": False, "keys.detail": ("enter", "d"), "keys.quit": "Q"})
    found = loaded(path)
    assert found.settings.interval == 2.0
    assert found.settings.alerts_bell is False
    assert found.settings.keys == {"detail": ("enter", "d"), "quit": ("Q",)}
    assert (found.errors, found.warnings) == ((), ())
    assert "# Seconds between two samples." in path.read_text()
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["config.toml"]


def test_every_other_line_stays_as_it_was(path):
    write(path, MINE)
    save(path, {"interval": 5, "alerts.bell": False})
    before, after = MINE.splitlines(), path.read_text().splitlines()
    assert [line for line in after if line not in before] == ["interval = 5", "bell = false"]
    assert [line for line in before if line not in after] == ["interval = 2.0   # two is enough"]
    data = read(path).data
    assert data["alerts"] == {"thresholds": ["temp>85 for 10s", "util<5"], "bell": False}
    assert data["mine"]["note"] == "[alerts]\nbell = 3\n"


def test_a_value_over_several_lines_is_replaced_whole(path):
    write(path, MINE)
    save(path, {"alerts.thresholds": (Threshold.of("power>95%"),)})
    text = path.read_text()
    assert read(path).data["alerts"] == {"thresholds": ["power>95%"]}
    assert "# hot" not in text
    assert "# bell = false, one day" in text
    assert "# two is enough" in text


def test_back_to_the_default_takes_the_line_away(path):
    write(path, MINE)
    save(path, {"interval": None, "alerts.thresholds": None, "view": None})
    assert loaded(path).settings == Settings(theme="light")
    assert "# my file" in path.read_text()


def test_a_table_left_empty_is_found_again_beside_a_text_that_looks_like_it(path):
    write(path, MINE)
    save(path, {"alerts.thresholds": None})
    save(path, {"alerts.thresholds": ["temp>90"]})
    assert read(path).data["alerts"] == {"thresholds": ["temp>90"]}
    assert read(path).data["mine"] == {"note": "[alerts]\nbell = 3\n"}


def test_there_and_back_leaves_the_file_as_it_was(path):
    write(path, template())
    for name, value in (("interval", 3.0), ("alerts.quiet_hours", QuietHours.of("22:00-07:00")), ("keys.quit", "Q")):
        save(path, {name: value})
        assert path.read_text() != template()
        save(path, {name: None})
        assert path.read_text() == template()


def test_auto_can_be_said(path):
    write(path, 'theme = "light"\nmouse = true\n')
    save(path, {"theme": "auto", "mouse": "auto"})
    found = loaded(path)
    assert (found.settings.theme, found.settings.mouse) == (None, None)
    assert found.origins["theme"].place is Place.FILE


@pytest.mark.parametrize(
    "text",
    [
        'alerts = {bell = true, quiet_hours = "1:00-2:00"}\ninterval = 3\n',
        'alerts.bell = true\nalerts.quiet_hours = "1:00-2:00"\ninterval = 3\n',
        "alerts = 5\ninterval = 3\n",
    ],
)
def test_a_file_no_line_of_which_can_be_changed_is_written_anew_and_kept(path, text):
    write(path, text)
    save(path, {"alerts.bell": False})
    found = loaded(path)
    assert found.settings.alerts_bell is False
    assert found.settings.interval == 3
    assert found.errors == ()
    assert (found.settings.alerts_quiet_hours is not None) == ("quiet" in text)
    old = path.with_name("config.toml.old")
    if old.exists():
        assert old.read_text() == text
        assert mode(old) == 0o600
    else:
        assert len(set(text.splitlines()) - set(path.read_text().splitlines())) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"interval": 0}, "0.25 to 60"),
        ({"nothing": 1}, "not a setting"),
        ({"alerts.thresholds": ["temp>"]}, "missing"),
        ({"view": "table", "keys.quit": ""}, "keys.quit"),
    ],
)
def test_a_wrong_change_writes_nothing(path, changes, says):
    write(path, MINE)
    with pytest.raises(ValueError, match=says):
        save(path, changes)
    assert path.read_text() == MINE


def test_a_broken_file_is_not_overwritten(path):
    write(path, "interval = \n")
    with pytest.raises(SettingsError, match="not valid TOML"):
        save(path, {"interval": 3})
    assert path.read_text() == "interval = \n"


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be written"):
        save(tmp_path / "file" / "config.toml", {"interval": 3})


def test_a_link_stays_a_link(tmp_path, path):
    real = write(tmp_path / "dotfiles" / "config.toml", MINE)
    path.parent.mkdir()
    path.symlink_to(real)
    save(path, {"interval": 4})
    assert path.is_symlink()
    assert "interval = 4" in real.read_text()


def test_a_file_others_could_read_is_closed(path):
    write(path, MINE).chmod(0o644)
    save(path, {"interval": 4})
    assert mode(path) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(path, monkeypatch):
    write(path, MINE)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left"):
        save(path, {"interval": 4})
    assert path.read_text() == MINE
    assert [entry.name for entry in path.parent.iterdir()] == ["config.toml"]


def test_lines_that_end_as_windows_ends_them_stay_so(path):
    path.parent.mkdir()
    path.write_bytes(b'# a\r\ninterval = 2\r\nview = "table"\r\n')
    save(path, {"interval": 3})
    assert path.read_bytes().startswith(b"# a\r\ninterval = 3")
    assert loaded(path).settings.view == "table"


@given(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])) | st.lists(st.text(st.characters(exclude_categories=["Cs"])))
)  # fmt: skip
def test_any_value_comes_back_from_toml(value):
    back = tomllib.loads(f"x = {toml(value)}")["x"]
    assert back == value
    assert type(back) is type(value)


changes = st.fixed_dictionaries(
    {},
    optional={
        "interval": st.none() | st.floats(0.25, 60),
        "view": st.sampled_from([None, "auto", "cards", "table"]),
        "filter": st.sampled_from([None, "temp>80", 'name~"a b"', ""]),
        "alerts.bell": st.none() | st.booleans(),
        "alerts.thresholds": st.sampled_from([None, [], ["temp>85 for 10s"], ["util<5", 'name="x\' y" for 1m']]),
        "keys.quit": st.sampled_from([None, "Q", ["q", "Q"]]),
        "keys.detail": st.sampled_from([None, "d"]),
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([MINE, template(), "", "interval = 2", "[keys]", '[alerts]\nbell=true\n[keys]\nquit="x"\n']),
       st.lists(changes, min_size=1, max_size=3))  # fmt: skip
def test_any_changes_are_in_force_and_nothing_else_changes(tmp_path, text, several):
    path = write(tmp_path / "config.toml", text)
    path.with_name("config.toml.old").unlink(missing_ok=True)
    expected = {k: dict(v) if isinstance(v, dict) else v for k, v in tomllib.loads(text).items()}
    for one in several:
        save(path, one)
        for name, value in one.items():
            table, _, key = name.rpartition(".")
            place = expected.setdefault(table, {}) if table else expected
            place.pop(key, None)
            if value is not None:
                place[key] = value
    found = read(path).data
    assert {k: v for k, v in found.items() if v != {}} == {k: v for k, v in expected.items() if v != {}}
    assert not path.with_name("config.toml.old").exists()
