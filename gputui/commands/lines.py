"""The text form of a frame: one line a card that fits a chat message, then what is wrong."""

from __future__ import annotations

from datetime import datetime

from gputui.findings.evidence import Judgement
from gputui.model.card import Card, Frame, State
from gputui.model.finding import Finding, Severity, Verdict
from gputui.model.reading import Absent, Reading, Why, number, text
from gputui.problems import say
from gputui.text import _, ngettext


def frame_lines(frame: Frame, judgement: Judgement, verdict: Verdict) -> list[str]:
    """Everything `status` prints, a line each."""
    out = [_headline(frame)]
    if frame.problem is not None:
        said = say(frame.problem)
        return [*out, said.sentence, said.action]
    width = max((len(card.name) for card in frame.cards), default=0)
    out += [card_line(card, width) for card in frame.cards]
    out += [_finding_line(finding) for finding in judgement.findings]
    waiting = sorted({item.id for item in judgement.not_judged})
    if waiting:
        out.append(_("not judged: {ids}").format(ids=", ".join(waiting)))
    out.append(_("verdict: {verdict}").format(verdict=_verdict_word(verdict)))
    return out


def _headline(frame: Frame) -> str:
    parts = ["gputui"]
    if frame.simulated:
        parts.append(_("SIMULATED {name}").format(name=frame.scenario or "").strip())
    if frame.cards:
        parts.append(ngettext("{n} card", "{n} cards", len(frame.cards)).format(n=len(frame.cards)))
    version = text(frame.driver.version) if frame.driver else None
    if version:
        parts.append(_("driver {version}").format(version=version))
    parts.append(datetime.fromtimestamp(frame.time).astimezone().isoformat(sep=" ", timespec="seconds"))
    return " | ".join(parts)


def card_line(card: Card, name_width: int = 0) -> str:
    """One card on one line."""
    lead = f"{card.index} {card.name:<{name_width}}"
    if card.state is not State.OK and card.samples == 0:
        return f"{lead}  {_state_words(card)}"
    cells = [
        _cell(card, "clocks.current.sm", "MHz", 4),
        f"{text(card.get('pstate')) or '-':>3}",
        _power(card),
        _cell(card, "temperature.gpu", "C", 3),
        _cell(card, "utilization.gpu", "%", 3),
        _memory(card),
        reason_words(card),
    ]
    line = f"{lead}  " + "  ".join(cells)
    if card.state is not State.OK:
        line += f"  [{_state_words(card)}]"
    return line.rstrip()


def _cell(card: Card, name: str, unit: str, width: int) -> str:
    value = number(card.get(name))
    return f"{'-' if value is None else f'{value:.0f}':>{width}} {unit}"


def _power(card: Card) -> str:
    draw, limit = number(card.get("power.draw")), number(card.get("enforced.power.limit"))
    return f"{'-' if draw is None else f'{draw:.0f}':>4}/{'-' if limit is None else f'{limit:.0f}'} W"


def _memory(card: Card) -> str:
    used, total = card.get("memory.used"), number(card.get("memory.total"))
    if isinstance(used, Absent) and used.why is Why.UNIFIED_MEMORY:
        return _("unified memory")
    number_used = number(used)
    left = "-" if number_used is None else f"{number_used / 1024:.1f}"
    return f"{left:>5}/{'-' if total is None else f'{total / 1024:.1f}'} GiB"


def reason_words(card: Card) -> str:
    """The active clocks event reasons in nvidia-smi's words; "no reason" when the driver says there is none."""
    reasons: Reading = card.reasons
    if isinstance(reasons, Absent):
        return f"reasons {reasons.why.value}"
    assert isinstance(reasons, tuple)
    return "+".join(reasons) if reasons else _("no limit active")


def _state_words(card: Card) -> str:
    words = {
        State.LOST: _("LOST"),
        State.ERROR: _("ERROR"),
        State.NEEDS_RESET: _("NEEDS RESET"),
        State.MISSING: _("MISSING"),
        State.NOT_ANSWERING: _("NOT ANSWERING"),
        State.ASLEEP: _("asleep"),
        State.OK: "ok",
    }[card.state]
    code = "" if card.state_code is None else f" (NVML {card.state_code})"
    since = card.missing_since or card.state_since
    if since is None or card.state is State.OK:
        return words + code
    return words + code + " " + _("since {time}").format(time=datetime.fromtimestamp(since).strftime("%H:%M:%S"))


def _finding_line(finding: Finding) -> str:
    where = "" if finding.gpu is None else f" {finding.gpu}"
    mark = {
        Severity.FAIL: _("FAIL"),
        Severity.WARN: _("WARN"),
        Severity.INFO: _("info"),
        Severity.UNKNOWN: _("unknown"),
    }
    return f"{mark[finding.severity]}{where} {finding.id}: {finding.summary}"


def _verdict_word(verdict: Verdict) -> str:
    return {
        Verdict.PASS: _("pass"),
        Verdict.WARN: _("warn"),
        Verdict.FAIL: _("fail"),
        Verdict.CANNOT_JUDGE: _("cannot judge"),
    }[verdict]
