"""The screens of text: help, events, findings."""

from __future__ import annotations

import textwrap

from gputui.findings.words import evidence_words
from gputui.model.finding import Finding, Severity
from gputui.text import _
from gputui.ui import actions
from gputui.ui.draw.format import clock_time
from gputui.ui.draw.rows import Row, fit
from gputui.ui.screens.base import Page


def wrapped(text: str, width: int, role: str, lead: str = "") -> list[Row]:
    """A paragraph as rows; the following lines stand under the text, not under `lead`."""
    lines = textwrap.wrap(text, max(16, width - len(lead))) or [""]
    return [((lead if number == 0 else " " * len(lead), "label"), (line, role)) for number, line in enumerate(lines)]


class HelpScreen(Page):
    """The keys that work on the screen one came from."""

    place = "help"

    def __init__(self, origin: str) -> None:
        self._origin = origin
        super().__init__()

    def rows(self, width: int) -> list[Row]:
        """A line a key, by group."""
        out: list[Row] = [((_(" Keys on this screen"), "title"),)]
        group = ""
        for name, key, help_text in actions.help_lines(self._origin, self.dashboard.allowed):
            if name != group:
                group = name
                out += [(), ((f" {group}", "label"),)]
            out += [
                ((fit("  " + key, 12), "key"), (line, "value")) if number == 0 else ((" " * 12, "key"), (line, "value"))
                for number, line in enumerate(textwrap.wrap(help_text, max(16, width - 13)))
            ]
        out += [(), *wrapped(_("WHY: what held the clock in each piece of time."), width - 1, "label", " ")]
        for letter, words in (
            ("·", _("nothing")),
            ("i", _("idle")),
            ("p", _("power limit")),
            ("h", _("heat")),
            ("b", _("power brake, or a hardware slowdown of unknown kind")),
            ("l", _("clock locked by somebody")),
            ("?", _("another reason")),
        ):
            out.append(((f"  {letter}         ", "key"), (words, "value")))
        return out


class EventsScreen(Page):
    """What happened, the newest first."""

    place = "events"

    def rows(self, width: int) -> list[Row]:
        """A line an event."""
        app = self.dashboard
        numbers = {card.uuid: card.index for card in app.shown.cards}
        out: list[Row] = [((_(" Events of this run, the newest first"), "title"),), ()]
        for event in reversed(app.events):
            where = _("card {n}").format(n=numbers[event.gpu_uuid]) if event.gpu_uuid in numbers else ""
            out += wrapped(
                " ".join(part for part in (where, event.what, event.detail) if part),
                width - 1,
                "value",
                f" {clock_time(event.time)}  ",
            )
        if len(out) == 2:
            out.append(((_(" Nothing has happened."), "value"),))
        return out


_ROLE = {Severity.FAIL: "bad", Severity.WARN: "warn", Severity.UNKNOWN: "warn", Severity.INFO: "good"}


def severity_word(severity: Severity) -> str:
    """FAIL, warning, unclear or info."""
    return {
        Severity.FAIL: _("FAIL"),
        Severity.WARN: _("warning"),
        Severity.UNKNOWN: _("unclear"),
        Severity.INFO: _("info"),
    }[severity]


class FindingsScreen(Page):
    """What is wrong now, by card, with evidence and what to do."""

    place = "findings"

    def rows(self, width: int) -> list[Row]:
        """A block a finding."""
        app = self.dashboard
        out: list[Row] = [((_(" What was found"), "title"),)]
        groups = [(None, _("this machine")), *((card.uuid, f"{card.index} {card.name}") for card in app.shown.cards)]
        for uuid, title in groups:
            found = [finding for finding in app.findings if finding.gpu_uuid == uuid]
            if not found:
                continue
            out += [(), ((fit(f"── {title} ", width - 1).rstrip() + " ", "title"),)]
            for finding in found:
                out += [(), *finding_rows(finding, width)]
        if len(out) == 1:
            out += [(), ((_(" Nothing is wrong that can be seen without a load test."), "good"),)]
        return out


def finding_rows(finding: Finding, width: int) -> list[Row]:
    """One finding: the sentence, then why, what else, what to do, who, and how to see the same elsewhere."""
    out = wrapped(
        _(finding.text).format(**finding.values),
        width - 1,
        "value",
        f" {severity_word(finding.severity)} {finding.id}: ",
    )
    out[0] = ((out[0][0][0], _ROLE[finding.severity]), *out[0][1:])
    label = max(len(word) for word in (_("seen"), _("could be"), _("do"), _("who"), _("check")))

    def block(word: str, text: str) -> None:
        if text:
            out.extend(wrapped(text, width - 1, "tail", f"   {word:<{label}}  "))

    block(_("seen"), "; ".join(evidence_words(finding.evidence)))
    block(_("could be"), "; ".join(_(text) for text in finding.could_be))
    block(_("do"), _(finding.action))
    block(_("who"), _("you") if finding.who == "you" else _("the host"))
    block(_("check"), finding.verify)
    if finding.consequences:
        block(_("so also"), ", ".join(finding.consequences))
    return out
