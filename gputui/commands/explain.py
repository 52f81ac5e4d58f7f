"""`gputui explain FINDING` and `gputui explain --card NAME`."""

from __future__ import annotations

import argparse
import textwrap
from itertools import groupby

from gputui.cli import OK, UsageError
from gputui.commands.output import deliver
from gputui.findings.explain import Explanation, all_ids, explain, near
from gputui.text import _

WIDTH = 100


def run(options: argparse.Namespace) -> int:
    """Print an explanation, a card, or the list of ids. Raises UsageError for a name nobody knows."""
    if options.card:
        deliver(_card(options.card), None)
    elif options.finding:
        deliver(_finding(options.finding), None)
    else:
        deliver(_list(), None)
    return OK


def _list() -> str:
    out = []
    explained = [explain(finding_id) for finding_id in all_ids()]
    for family, members in groupby(explained, key=lambda item: item.rule.family):
        out.append(family)
        out += [f"  {item.rule.id:<26} {_(item.rule.means)}" for item in members]
    return "\n".join(out) + "\n"


def _finding(finding_id: str) -> str:
    if finding_id not in all_ids():
        close = near(finding_id)
        hint = _("did you mean {ids}?").format(ids=", ".join(close)) if close else _("`gputui explain` lists all.")
        raise UsageError(_("there is no finding {id!r}; {hint}").format(id=finding_id, hint=hint))
    return "\n".join(_lines(explain(finding_id))) + "\n"


def _lines(item: Explanation) -> list[str]:
    rule = item.rule
    blocks = [
        (_("means"), _(rule.means)),
        (_("decided"), _(rule.decided)),
        (_("numbers"), ", ".join(f"{name} {value:g}" for name, value in item.numbers.items())),
        (_("from"), item.numbers_source),
        (_("could be"), "; ".join(_(text) for text in rule.could_be)),
        (_("do"), _(rule.action)),
        (_("who can"), _("you") if rule.who == "you" else _("the host")),
        (_("check"), rule.verify.format(gpu="UUID")),
        (_("source"), rule.source),
        (_("caused by"), ", ".join(rule.explained_by)),
    ]
    if not item.checked_on_hardware:
        blocks.append((_("note"), _("This rule and its numbers have not been confirmed on a real card yet.")))
    label = max(len(name) for name, _text in blocks)
    out = [f"{rule.id} ({rule.family})", ""]
    for name, text in blocks:
        if text:
            lead = f"{name:<{label}}  "
            out += textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead))
    return out


def _card(name: str) -> str:
    from gputui.reference.describe import describe, sources
    from gputui.reference.search import search

    found = search(name)
    if not found:
        raise UsageError(_("no card called {name!r} is in the reference; try a part of its name").format(name=name))
    if len(found) > 8:
        listed = ", ".join(spec.nvml_name for spec in found[:8])
        raise UsageError(
            _("{n} cards fit {name!r}: {listed} …; say more").format(n=len(found), name=name, listed=listed)
        )
    out = []
    for spec in found:
        rows = describe(spec)
        label, value = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
        out.append(spec.nvml_name)
        out += [f"  {row[0]:<{label}}  {row[1]:<{min(value, 34)}}  {row[2]}".rstrip() for row in rows]
        out += ["", *(f"  {source}: {meaning}" for source, meaning in sources(spec)), ""]
    return "\n".join(out)
