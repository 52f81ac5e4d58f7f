"""What is decided from the environment alone."""

from __future__ import annotations

import io
import sys

import pytest

from gputui.ui import terminal
from gputui.ui.terminal import crash


def plan(**environ):
    return terminal.plan({"TERM": "xterm-256color", **environ}, True)


@pytest.mark.parametrize(
    ("environ", "ascii_only"),
    [
        ({}, False),
        ({"LANG": ""}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "POSIX"}, True),
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "en_US.utf8"}, False),
        ({"LANG": "de_DE"}, False),
        ({"LANG": "de_DE.ISO-8859-15@euro"}, True),
        ({"LANG": "de_DE@euro"}, False),
        ({"LANG": "zh_CN.GB18030"}, True),
        ({"LANG": "C", "LC_CTYPE": "en_US.UTF-8"}, False),
        ({"LANG": "en_US.UTF-8", "LC_CTYPE": "C"}, True),
        ({"LC_ALL": "en_US.UTF-8", "LC_CTYPE": "C", "LANG": "C"}, False),
        ({"LC_ALL": "", "LANG": "en_US.UTF-8"}, False),
        ({"TERM": "linux"}, True),
    ],
    ids=str,
)
def test_ascii_only_where_the_locale_says_so(environ, ascii_only):
    assert plan(**environ).ascii is ascii_only


def test_ascii_on_request():
    assert terminal.plan({"TERM": "xterm-256color", "LANG": "C.UTF-8"}, True, ascii_asked=True).ascii


@pytest.mark.parametrize(
    ("environ", "colors"),
    [
        ({"TERM": "xterm"}, "standard"),
        ({"TERM": "screen"}, "standard"),
        ({"TERM": "linux"}, "standard"),
        ({"TERM": "vt100"}, "standard"),
        ({"TERM": ""}, "standard"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "256"),
        ({"TERM": "screen-256color"}, "256"),
        ({"TERM": "xterm-kitty"}, "256"),
        ({"TERM": "xterm-direct"}, "256"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, None),
        ({"NO_COLOR": ""}, "256"),
    ],
    ids=str,
)
def test_colors(environ, colors):
    found = plan(**environ)
    assert found.color_system == colors
    assert terminal.theme_for(found, None) == ("dark" if colors == "256" else "ansi")
    assert terminal.theme_for(found, "light") == "light"


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"])
def test_over_ssh_the_mouse_is_off_unless_asked_for(name):
    assert plan().mouse
    found = plan(**{name: "10.0.0.1 2 10.0.0.2 22"})
    assert found.ssh
    assert not found.mouse
    assert terminal.plan({"TERM": "xterm", name: "x"}, True, mouse_asked=True).mouse


@pytest.mark.parametrize(("term", "tty"), [("dumb", True), ("xterm-256color", False)])
def test_where_no_screen_can_be_drawn(term, tty):
    found = terminal.plan({"TERM": term}, tty)
    assert not found.usable
    assert found.why


@pytest.fixture
def drawn(monkeypatch):
    """Standard error as textual writes to it, in an encoding that has no sparklines."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1", write_through=True)
    monkeypatch.setattr(sys, "__stderr__", stream)
    return raw, stream


def test_what_textual_reads_when_it_is_imported(drawn):
    environ: dict[str, str] = {}
    terminal.prepare_environment(plan(SSH_TTY="/dev/pts/1"), environ)
    assert environ["TEXTUAL_ANIMATIONS"] == "none"
    assert environ["TEXTUAL_COLOR_SYSTEM"] == "256"
    assert environ["TEXTUAL_FPS"] == "15"
    chosen = {"TEXTUAL_FPS": "5"}
    terminal.prepare_environment(plan(), chosen)
    assert chosen["TEXTUAL_FPS"] == "5"


def test_the_encoding_becomes_utf_8(drawn):
    raw, stream = drawn
    terminal.prepare_environment(plan(), {})
    stream.write("▁█")
    assert raw.getvalue().decode() == "▁█"


def test_in_ascii_everything_keeps_its_cells(drawn):
    raw, stream = drawn
    terminal.prepare_environment(plan(LANG="C"), {})
    stream.write("╭─│█▅ 显卡 é🔎 e\u0301 ok")
    assert raw.getvalue().decode("ascii") == "+-|#  ???? ??? e ok"


def test_the_state_folder_follows_xdg():
    assert str(crash.state_folder({"XDG_STATE_HOME": "/x"})) == "/x/gputui"
    assert crash.state_folder({"XDG_STATE_HOME": "relative"}) == crash.state_folder({})
