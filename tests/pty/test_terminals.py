"""Terminals of many kinds and sizes: figures on the screen, nothing outside ASCII where that was asked for."""

from __future__ import annotations

import itertools
import os
import random
import re
import subprocess
import sys

import pytest

from tests.pty.harness import ROOT, process_stat
from tests.pty.screen import Screen

pytestmark = pytest.mark.pty
TERMS = ("xterm", "xterm-256color", "screen", "tmux-256color", "linux", "vt100", "no-such-terminal")
LOCALES: tuple[dict[str, str], ...] = ({}, {"LC_ALL": "C"}, {"LANG": "de_DE.ISO-8859-1"}, {"LANG": "C.UTF-8"})
MATRIX = list(itertools.product(TERMS, (False, True), LOCALES))


def colours_used(output: bytes) -> set[str]:
    """Parameters of the colour sequences: 38 and 48 begin one of the 256, 30 to 47 and 90 to 107 are of the sixteen."""
    found: set[str] = set()
    for sequence in re.findall(rb"\x1b\[([0-9;]*)m", output):
        found |= {number for number in sequence.decode().split(";") if number.isdigit() and 30 <= int(number) <= 107}
    return found


@pytest.mark.parametrize(
    ("term", "no_color", "locale"), random.Random(7).sample(MATRIX, 14), ids=lambda value: str(value).replace("'", "")
)
def test_figures_in_every_terminal(terminal, term, no_color, locale):
    environment = {"TERM": term, **locale, **({"NO_COLOR": "1"} if no_color else {})}
    one = terminal("--demo", size=(80, 24), environment=environment)
    one.wait_for("MHz", 15)
    plain = locale.get("LC_ALL") == "C" or "8859" in locale.get("LANG", "") or term == "linux"
    if plain:
        assert one.output.isascii()
    else:
        assert not one.output.isascii()
    colours = colours_used(one.output)
    if no_color:
        assert colours <= {"39", "49"}, "only the terminal's own"
    elif "256color" not in term:
        assert "38" not in colours
        assert "48" not in colours
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


@pytest.mark.parametrize("size", [(40, 12), (10, 3), (300, 100), (0, 0), (20, 5)], ids=str)
def test_every_size_starts_and_quits(terminal, size):
    one = terminal("--demo", "h100x8", size=size)
    one.wait_for(lambda: b"\x1b[?1049h" in one.output, 15)
    one.pump(1.5)
    assert process_stat(one.pid) is not None
    one.press("q")
    assert one.wait_end(5) in (0, 3)
    one.assert_restored()


def test_many_resizes_end_in_the_right_picture(terminal):
    one = terminal("--demo", "h100x8")
    one.wait_for("MHz", 15)
    chance = random.Random(3)
    for _ in range(40):
        one.resize((chance.randrange(1, 200), chance.randrange(1, 60)))
        one.pump(0.02)
    seen = len(one.output)
    one.resize((120, 40))
    one.wait_for("NVIDIA H100", 8, since=seen)
    one.wait_for(lambda: " q quit" in one.screen().lines[-1], 5)
    lines = one.screen().lines
    assert lines[0].lstrip().startswith("gputui")
    assert sum("NVIDIA H100 80GB HBM3 ─" in line for line in lines) >= 4
    one.press("q")
    assert one.wait_end(5) == 0


def test_a_window_without_a_size_is_80_by_24(terminal):
    one = terminal("--demo", size=(0, 0))
    one.wait_for("MHz", 15)
    one.pump(0.5)
    screen = Screen(200, 60).feed(one.output)
    assert " enter detail" in screen.lines[23]
    assert max(map(len, screen.lines)) <= 80
    assert not any(screen.lines[24:])
    seen = len(one.output)
    one.resize((120, 40))
    one.wait_for(lambda: len(Screen(200, 60).feed(one.output[seen:]).lines[0]) > 100, 5)
    one.press("q")
    assert one.wait_end(5) == 0


def test_a_size_in_the_environment_does_not_hold_the_window(terminal):
    one = terminal("--demo", size=(70, 20), environment={"COLUMNS": "200", "LINES": "55"})
    one.wait_for("MHz", 15)
    one.pump(0.5)
    assert max(map(len, Screen(300, 60).feed(one.output).lines)) <= 70
    one.press("q")
    assert one.wait_end(5) == 0


def test_the_palette_in_ascii_is_ascii(terminal):
    one = terminal("--demo", environment={"LC_ALL": "C"})
    one.wait_for("MHz", 15)
    seen = len(one.output)
    one.press("\x10")
    one.wait_for("Search for commands", 5, since=seen)
    one.pump(0.5)
    assert one.output.isascii()
    one.press("\x1b")
    one.pump(0.3)
    one.press("q")
    assert one.wait_end(5) == 0
    one.assert_restored()


def test_mouse_bytes_of_an_old_terminal_do_no_harm(terminal):
    one = terminal("--demo")
    one.wait_for("MHz", 15)
    os.write(one.fd, b"\x1b[M \xc8\xd0\x1b[M\x80\xff\xfe")
    one.pump(0.5)
    seen = len(one.output)
    one.press("?")
    one.wait_for("Keys on this screen", 5, since=seen)
    one.press("\x1b")
    one.pump(0.5)
    one.press("q")
    assert one.wait_end(5) == 0


@pytest.mark.parametrize("ssh", [False, True], ids=["local", "ssh"])
def test_the_mouse_is_off_over_ssh(terminal, ssh):
    one = terminal("--demo", environment={"SSH_TTY": "/dev/pts/9"} if ssh else {})
    one.wait_for("MHz", 15)
    assert (b"\x1b[?1000h" in one.output) is not ssh
    one.press("q")
    assert one.wait_end(5) == 0


@pytest.mark.parametrize("term", ["dumb", "xterm"], ids=["TERM=dumb", "no terminal"])
def test_where_no_screen_can_be_drawn_it_prints_the_status(term):
    done = subprocess.run(
        [sys.executable, "-m", "gputui", "--demo"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TERM": term},
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0
    assert "NVIDIA GeForce RTX 4090" in done.stdout
    assert "verdict: pass" in done.stdout
    assert "\x1b" not in done.stdout
