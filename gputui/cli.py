"""The command line: parses, and hands over to one module a command, imported only when it runs."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from gputui import __version__
from gputui.text import _, choose

OK, FAIL, USAGE, CANNOT_JUDGE = 0, 1, 2, 3
"""Exit codes of status, check and inspect (design section 2)."""

_COMMANDS = ("status", "inspect", "explain", "doctor")


class UsageError(Exception):
    """What a person typed cannot be done; the text is one sentence for them."""


def seconds(text: str) -> float:
    """A time such as 90, 90s, 15m or 24h in seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|)", text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(_("{text!r} is not a time; write 90, 90s, 15m or 24h").format(text=text))
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def interval(text: str) -> float:
    """A sampling interval: 0.25 to 60 s."""
    value = seconds(text)
    if not 0.25 <= value <= 60:
        raise argparse.ArgumentTypeError(_("the interval goes from 0.25 to 60 seconds, not {text}").format(text=text))
    return value


class _Parser(argparse.ArgumentParser):
    """argparse whose error is one sentence and a hint, exit 2."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(USAGE, f"gputui: {message}. {_('See')} `{self.prog} --help`.\n")


def _live_options(parser: argparse.ArgumentParser, top: bool = False) -> None:
    """Options of everything that reads a driver.

    Below the top nothing has a default, so that `gputui --demo X status` works.
    """
    parser.add_argument(
        "--demo",
        nargs="?",
        const="rtx4090",
        default=None if top else argparse.SUPPRESS,
        metavar="NAME",
        help=_("a simulated host instead of the driver; `--demo list` names them"),
    )
    parser.add_argument(
        "--interval",
        type=interval,
        default=None if top else argparse.SUPPRESS,
        metavar="S",
        help=_("seconds between samples, 0.25 to 60 (1)"),
    )
    _expect_option(parser, top)


def _expect_option(parser: argparse.ArgumentParser, top: bool = False) -> None:
    parser.add_argument(
        "--expect",
        choices=("whole", "slice", "any"),
        default=None if top else argparse.SUPPRESS,
        help=_("what was rented: whole card or slice (any)"),
    )


def _screen_options(top: argparse.ArgumentParser) -> None:
    """Options of the dashboard. None means not given: then environment and settings file count."""
    top.add_argument("--ascii", action="store_true", default=None, help=_("plain ASCII characters only"))
    top.add_argument("--mouse", action=argparse.BooleanOptionalAction, default=None, help=_("mouse (off over SSH)"))
    top.add_argument(
        "--theme", choices=("dark", "light", "high-contrast", "ansi"), help=_("dark, light, high-contrast or ansi")
    )
    top.add_argument("--view", choices=("cards", "table"), help=_("cards or table (what fits)"))
    top.add_argument(
        "--sort", type=_setting("sort"), metavar="ORDER", help=_("order of the cards: index, temp, power, util, …")
    )
    top.add_argument(
        "--filter", type=_setting("filter"), metavar="COND", help=_("show only cards such as 'temp>80' or 'state!=ok'")
    )
    top.add_argument(
        "--bucket", type=_setting("bucket"), metavar="S", help=_("seconds a cell of a sparkline stands for (5)")
    )
    top.add_argument(
        "--alert",
        action="append",
        type=_setting("alerts.thresholds"),
        metavar="COND",
        help=_("tell when this holds, such as 'temp>85 for 10s'; may be given several times"),
    )
    top.add_argument(
        "--on-finding",
        type=_setting("alerts.on_finding"),
        metavar="CMD",
        help=_("start this command when a finding begins, with the finding as JSON on its standard input"),
    )
    top.add_argument(
        "--readonly", action="store_true", default=None, help=_("leave out every action that changes something")
    )


def _setting(name: str) -> Callable[[str], str]:
    """A check of a typed value by the rules of the setting; the text itself is the value."""

    def take(typed: str) -> str:
        from gputui.settings.schema import BY_NAME, checked

        try:
            checked(BY_NAME[name], typed)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error
        return typed

    return take


def _verdict_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_("one JSON document instead of text"))
    parser.add_argument("-o", "--output", metavar="FILE", help=_("write to FILE instead of the terminal"))
    parser.add_argument("--strict", action="store_true", help=_("a warning counts as a failure in the exit code"))


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = _Parser(
        prog="gputui",
        description=_("See whether the NVIDIA card you rent is the card you pay for."),
        epilog=_("Exit codes of status and inspect: 0 pass or warning, 1 fail, 2 wrong usage, 3 cannot judge."),
    )
    top.add_argument("--version", action="version", version=f"gputui {__version__}")
    top.add_argument("--lang", metavar="LANG", help=_("language of the texts, such as zh_CN (from the locale)"))
    _live_options(top, top=True)
    _screen_options(top)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    status = commands.add_parser("status", help=_("one frame as text, one line a card, or as JSON"))
    _live_options(status)
    _verdict_options(status)
    status.add_argument(
        "--for", dest="watch_s", type=seconds, default=0.0, metavar="5s", help=_("watch for this long first")
    )
    status.add_argument(
        "--wait", type=seconds, default=30.0, metavar="30s", help=_("give the driver this long to answer")
    )

    inspect = commands.add_parser("inspect", help=_("the same from saved nvidia-smi output"))
    inspect.add_argument("files", nargs="+", metavar="FILE", help=_("-q -x XML, -q text or --query-gpu CSV"))
    _verdict_options(inspect)
    _expect_option(inspect)

    explain = commands.add_parser("explain", help=_("what a finding means, or what a card should be"))
    explain.add_argument("finding", nargs="?", metavar="FINDING", help=_("id of a finding; without it, a list of all"))
    explain.add_argument("--card", metavar="NAME", help=_("reference data of a card, such as 4090 or 'h100 sxm'"))

    doctor = commands.add_parser("doctor", help=_("what this machine and terminal let us read and show"))
    _live_options(doctor)
    doctor.add_argument("--json", action="store_true", help=_("as JSON"))
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    choose(_language(arguments))
    options = parser().parse_args(arguments)
    if options.demo in (*_COMMANDS, "dashboard"):
        print(f"gputui: {_('write the command first:')} `gputui {options.demo} --demo`", file=sys.stderr)
        return USAGE
    if options.demo == "list":
        return _list_demos()
    name = options.command if options.command in _COMMANDS else "dashboard"
    if name != "dashboard":
        options.interval, options.expect = options.interval or 1.0, options.expect or "any"
    try:
        module = import_module(f"gputui.commands.{name}")
        return int(module.run(options))
    except UsageError as error:
        print(f"gputui: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing is left to say, and Python must not say it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _language(arguments: Sequence[str]) -> str | None:
    """The value of --lang, wanted before argparse because its own texts are translated too."""
    for at, argument in enumerate(arguments):
        if argument == "--lang" and at + 1 < len(arguments):
            return arguments[at + 1]
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
    return None


def _list_demos() -> int:
    scripted = import_module("gputui.driver.scripted")
    names = scripted.names()
    width = max(len(name) for name, _about in names)
    for name, about in names:
        print(f"{name:<{width}}  {about}")
    return OK
