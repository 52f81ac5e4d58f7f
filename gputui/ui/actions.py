"""The one registry of what a person can do: bindings, footer, help and palette are all made from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.binding import Binding

from gputui.text import _

EVERYWHERE = ("dashboard", "detail", "findings", "events", "processes", "probe", "help")


@dataclass(frozen=True)
class Action:
    """One thing to do.

    id:     names the method `action_<id>` of the app or the screen. keys: textual key names, the first one shown.
    shown:  the key as people write it. places: screens on which it works. footer: rank there, None to leave it out.
    """

    id: str
    keys: tuple[str, ...]
    shown: str
    title: Callable[[], str]
    help: Callable[[], str]
    places: tuple[str, ...] = ("dashboard",)
    footer: int | None = None
    group: Callable[[], str] = lambda: _("Look")
    needs: str = ""


def _look() -> str:
    return _("Look")


def _move() -> str:
    return _("Move")


def _work() -> str:
    return _("Do")


def _probe() -> str:
    return _("Probe")


ACTIONS: tuple[Action, ...] = (
    Action(
        "help", ("question_mark",), "?", lambda: _("help"), lambda: _("the keys that work here"), EVERYWHERE, 9, _look
    ),
    Action(
        "view",
        ("v",),
        "v",
        lambda: _("view"),
        lambda: _("cards or table"),
        footer=2,
        group=_look,
        needs="cards",
    ),
    Action(
        "detail",
        ("enter",),
        "enter",
        lambda: _("detail"),
        lambda: _("everything about one card"),
        footer=1,
        group=_look,
        needs="cards",
    ),
    Action(
        "findings",
        ("f",),
        "f",
        lambda: _("findings"),
        lambda: _("what is wrong, with numbers and what to do"),
        ("dashboard", "detail"),
        3,
        _look,
        "judge",
    ),
    Action(
        "events", ("l",), "l", lambda: _("events"), lambda: _("what happened, with times"), ("dashboard",), 6, _look
    ),
    Action(
        "filter",
        ("slash",),
        "/",
        lambda: _("filter"),
        lambda: _("show only cards such as temp>80, state!=ok, reason=heat; esc shows all"),
        footer=7,
        group=_look,
        needs="cards",
    ),
    Action(
        "clear_filter",
        ("escape",),
        "esc",
        lambda: _("all cards"),
        lambda: _("take the filter away"),
        footer=0,
        group=_look,
        needs="filter",
    ),
    Action(
        "sort_previous",
        ("less_than_sign",),
        "<",
        lambda: _("sort before"),
        lambda: _("sort by what comes before: index, name, state, clock, power, …"),
        group=_look,
        needs="cards",
    ),
    Action(
        "sort_next",
        ("greater_than_sign",),
        ">",
        lambda: _("sort next"),
        lambda: _("sort by what comes next"),
        group=_look,
        needs="cards",
    ),
    Action(
        "sort_turn",
        ("r",),
        "r",
        lambda: _("reverse"),
        lambda: _("sort the other way round"),
        group=_look,
        needs="cards",
    ),
    Action(
        "chart_next",
        ("right_square_bracket", "tab"),
        "] tab",
        lambda: _("next chart"),
        lambda: _("the next reading in the chart"),
        ("detail",),
        1,
        _look,
    ),
    Action(
        "chart_previous",
        ("left_square_bracket", "shift+tab"),
        "[",
        lambda: _("chart before"),
        lambda: _("the reading before in the chart"),
        ("detail",),
        group=_look,
    ),
    Action(
        "span_minute", ("1",), "1", lambda: _("1 min"), lambda: _("the last minute in the chart"), ("detail",), 2, _look
    ),
    Action("span_ten", ("2",), "2", lambda: _("10 min"), lambda: _("ten minutes in the chart"), ("detail",), 2, _look),
    Action("span_hour", ("3",), "3", lambda: _("1 h"), lambda: _("an hour in the chart"), ("detail",), 2, _look),
    Action(
        "span_session",
        ("4",),
        "4",
        lambda: _("session"),
        lambda: _("the whole session in the chart, up to a day"),
        ("detail",),
        2,
        _look,
    ),
    Action(
        "processes",
        ("p",),
        "p",
        lambda: _("processes"),
        lambda: _("the processes of all cards"),
        ("dashboard", "detail"),
        5,
        _look,
        "cards",
    ),
    Action(
        "host",
        ("h",),
        "h",
        lambda: _("machine"),
        lambda: _("the machine in a line: CPU of its quota, memory, disks, network, what waits"),
        group=_look,
        needs="cards",
    ),
    Action("cost", ("i",), "i", lambda: _("own cost"), lambda: _("what this program itself costs"), group=_look),
    Action(
        "previous", ("up", "k"), "↑ k", lambda: _("up"), lambda: _("one card, or one line, up"), EVERYWHERE, group=_move
    ),
    Action(
        "next",
        ("down", "j"),
        "↓ j",
        lambda: _("down"),
        lambda: _("one card, or one line, down"),
        EVERYWHERE,
        group=_move,
    ),
    Action("page_up", ("pageup",), "PgUp", lambda: _("page up"), lambda: _("one page up"), EVERYWHERE, group=_move),
    Action(
        "page_down", ("pagedown",), "PgDn", lambda: _("page down"), lambda: _("one page down"), EVERYWHERE, group=_move
    ),
    Action("first", ("home",), "Home", lambda: _("top"), lambda: _("to the first"), EVERYWHERE, group=_move),
    Action("last", ("end",), "End", lambda: _("bottom"), lambda: _("to the last"), EVERYWHERE, group=_move),
    Action(
        "return",
        ("escape",),
        "esc",
        lambda: _("back"),
        lambda: _("back to the cards"),
        ("detail", "findings", "events", "processes", "probe", "help"),
        0,
        _move,
    ),
    Action(
        "pause",
        ("space",),
        "space",
        lambda: _("pause"),
        lambda: _("hold the picture still; reading goes on"),
        ("dashboard", "detail"),
        5,
        _work,
        "cards",
    ),
    Action(
        "quiet",
        ("z",),
        "z",
        lambda: _("quiet"),
        lambda: _("no bell and no notes of alerts, or again; they are kept as events"),
        ("dashboard", "detail"),
        group=_work,
    ),
    Action("faster", ("plus", "equals_sign"), "+", lambda: _("faster"), lambda: _("sample more often"), group=_work),
    Action("slower", ("minus",), "-", lambda: _("slower"), lambda: _("sample less often"), group=_work),
    Action(
        "export",
        ("e",),
        "e",
        lambda: _("snapshot"),
        lambda: _("write a snapshot file: this moment, ten minutes of history, events; nothing private"),
        ("dashboard", "detail", "findings", "events"),
        4,
        _work,
        "export",
    ),
    Action(
        "theme",
        ("t",),
        "t",
        lambda: _("theme"),
        lambda: _("dark, light, high contrast, terminal colours"),
        EVERYWHERE,
        group=_work,
    ),
    Action(
        "end_process",
        ("X",),
        "X",
        lambda: _("end process"),
        lambda: _("ask the selected process of yours to end; asks twice, and once more to kill it"),
        ("processes",),
        1,
        _work,
        "ending",
    ),
    Action(
        "keep",
        ("S",),
        "S",
        lambda: _("keep settings"),
        lambda: _("write theme, view, order, filter, interval and chart span to the settings file"),
        ("dashboard", "detail"),
        group=_work,
        needs="keep",
    ),
    Action(
        "matmul",
        ("m",),
        "m",
        lambda: _("matmul"),
        lambda: _("measure how fast the card multiplies, in about half a minute; asks first"),
        ("dashboard", "detail"),
        4,
        _probe,
        "cards",
    ),
    Action(
        "stress",
        ("s",),
        "s",
        lambda: _("stress"),
        lambda: _("load the card for a minute: is it steady, does it compute right; asks first"),
        ("dashboard", "detail"),
        group=_probe,
        needs="cards",
    ),
    Action(
        "bandwidth",
        ("b",),
        "b",
        lambda: _("memory bandwidth"),
        lambda: _("measure the card's own memory; asks first"),
        ("dashboard", "detail"),
        group=_probe,
        needs="cards",
    ),
    Action(
        "copies",
        ("B",),
        "B",
        lambda: _("copies to the card"),
        lambda: _("measure copies between host and card, and the link under load; asks first"),
        ("dashboard", "detail"),
        group=_probe,
        needs="cards",
    ),
    Action(
        "probe_start",
        ("enter",),
        "enter",
        lambda: _("start"),
        lambda: _("start the probe as the sheet says"),
        ("probe",),
        1,
        _probe,
        "probe",
    ),
    Action(
        "probe_cards",
        ("a",),
        "a",
        lambda: _("all cards"),
        lambda: _("the selected card only, or all cards one after another"),
        ("probe",),
        2,
        _probe,
        "probe",
    ),
    Action(
        "probe_stop",
        ("x",),
        "x",
        lambda: _("stop the probe"),
        lambda: _("stop the probe that runs and those that wait"),
        ("dashboard", "detail", "probe"),
        1,
        _probe,
        "probing",
    ),
    Action(
        "simulate",
        ("d",),
        "d",
        lambda: _("demo"),
        lambda: _("look around on a simulated host"),
        ("dashboard",),
        -1,
        _work,
        "demo",
    ),
    Action(
        "restart",
        ("R",),
        "R",
        lambda: _("restart reader"),
        lambda: _("start the process that reads the driver again"),
        group=_work,
    ),
    Action(
        "redraw",
        ("ctrl+l",),
        "ctrl+l",
        lambda: _("redraw"),
        lambda: _("draw the whole screen again"),
        EVERYWHERE,
        group=_work,
    ),
    Action(
        "suspend",
        ("ctrl+z",),
        "ctrl+z",
        lambda: _("suspend"),
        lambda: _("back to the shell; fg returns"),
        EVERYWHERE,
        group=_work,
    ),
    Action(
        "command_palette",
        ("ctrl+p",),
        "ctrl+p",
        lambda: _("all commands"),
        lambda: _("find an action by its name"),
        EVERYWHERE,
        group=_work,
    ),
    Action("leave", ("q", "ctrl+c"), "q", lambda: _("quit"), lambda: _("end the program"), EVERYWHERE, 10, _work),
)
BY_ID = {action.id: action for action in ACTIONS}


def bindings(place: str) -> list[Binding]:
    """Textual bindings of one screen, each with the action's id so that people can give it other keys."""
    return [
        Binding(",".join(action.keys), f"app.{action.id}", action.title(), id=f"gputui.{action.id}", priority=False)
        for action in ACTIONS
        if place in action.places
    ]


def footer_keys(place: str, allowed: Callable[[Action], bool]) -> list[tuple[str, str]]:
    """The keys for the bottom line: (key, title), the most useful first."""
    chosen = [a for a in ACTIONS if place in a.places and a.footer is not None and allowed(a)]
    return [(a.shown, a.title()) for a in sorted(chosen, key=lambda a: a.footer or 0)]


def help_lines(place: str, allowed: Callable[[Action], bool]) -> list[tuple[str, str, str]]:
    """Everything that works on a screen: (group, keys, what it does)."""
    return [(a.group(), a.shown, a.help()) for a in ACTIONS if place in a.places and allowed(a)]
