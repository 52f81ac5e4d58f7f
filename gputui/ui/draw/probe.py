"""A probe as text: the sheet before it starts, and each run while it goes on and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gputui.model.card import Card
from gputui.model.reading import number
from gputui.probes.run import Run
from gputui.probes.shares import Shares
from gputui.probes.table import Probe
from gputui.text import _
from gputui.ui.draw.rows import Row, fit
from gputui.ui.draw.spark import spark

BAR = "█"


@dataclass(frozen=True)
class Sheet:
    """What would be started: the probe, on which cards; refused: a sentence for each card it may not run on."""

    probe: Probe
    cards: tuple[Card, ...]
    refused: Mapping[str, str]
    engine: str
    no_engine: str = ""
    simulated: bool = False

    @property
    def seconds(self) -> float:
        """For all cards, one after another."""
        return self.probe.total_s * sum(card.uuid not in self.refused for card in self.cards)


def sheet_rows(sheet: Sheet, width: int) -> list[Row]:
    """The sheet: what will happen, before it does."""
    out: list[Row] = [
        ((f" {sheet.probe.title()}", "title"),),
        ((fit(f" {sheet.probe.measures()}", width), "tail"),),
        (),
    ]
    for card in sheet.cards:
        why = sheet.refused.get(card.uuid)
        limit = number(card.get("enforced.power.limit"))
        watts = "" if limit is None else _("up to {w:.0f} W").format(w=limit)
        said = _("not started: {why}").format(why=why) if why else watts
        out.append(((fit(f" {card.index:>3} {card.name}", min(40, width)), "value"), (said, "warn" if why else "tail")))
    out.append(())
    if not sheet.simulated:
        out.append(((fit(_(" This version's probes have not run on a real card yet."), width), "warn"),))
    if sheet.no_engine:
        out.append(((fit(f" {sheet.no_engine}", width), "warn"),))
    else:
        out.append(((fit(_(" with {engine}").format(engine=sheet.engine), width), "label"),))
        if sheet.seconds:
            words = _(" about {s:.0f} s; enter starts, esc leaves").format(s=sheet.seconds)
            out.append(((fit(words, width), "key"),))
    return out


def run_rows(run: Run, card: Card | None, shares: Shares, width: int) -> list[Row]:
    """One card's run: where it is, its figures, its result."""
    name = "?" if card is None else f"{card.index:>3} {card.name}"
    mark = _("SIMULATED") if run.simulated else ""
    out: list[Row] = [((fit(f" {name}", width - len(mark) - 1), "title"), (mark, "warn"))]
    out.append(_state(run, width))
    room = max(8, width - 16)
    if run.series:
        top = max(run.series)
        last = run.series[-room:]
        out.append(((f" {run.series[-1]:7.4g} {fit(run.unit, 6)} ", "value"), (spark(last, top), "spark")))
    if run.state == "done":
        out += _result(run, shares, width)
    return [*out, ()]


def _state(run: Run, width: int) -> Row:
    if run.state == "done":
        return ((_(" done"), "ok"), (_(" with {e} {v}").format(e=run.engine, v=run.engine_version), "label"))
    if run.over:
        detail = f" ({run.detail})" if run.detail else ""
        return ((fit(f" {ended_words(run)}{detail}", width), "warn"),)
    words = {
        "waiting": _("waiting for its turn"),
        "starting": _("starting"),
        "stopping": _("stopping"),
    }.get(run.state) or {"warm-up": _("warming up"), "measure": _("measuring")}.get(run.phase, run.phase)
    left = "" if run.left_s is None else _(" · {s:.0f} s left").format(s=run.left_s)
    cells = max(4, min(30, width - 40))
    full = int(run.share * cells)
    return ((f" {BAR * full}{'·' * (cells - full)} ", "spark"), (words + left, "tail"))


def ended_words(run: Run) -> str:
    """Why a run has no result: a state of the run, never a fault of the card."""
    return {
        "stopped": _("stopped"),
        "wrong-card": _("CUDA gave another card than the chosen one; nothing was loaded"),
        "no-engine": _("torch does not start"),
        "out-of-memory": _("not enough free memory"),
        "not-supported": _("this card cannot be measured so"),
        "cuda-error": _("CUDA answers with an error"),
        "too-hot": _("stopped: it got too hot"),
        "slowed-by-hardware": _("stopped: the hardware slowed itself down"),
        "temperature-unreadable": _("stopped: its temperature could not be read any more"),
        "contended": _("stopped: somebody else's job began"),
        "deadline": _("it did not end in time and was ended"),
        "parent-gone": _("stopped"),
    }.get(run.reason, _("the probe failed"))


def _result(run: Run, shares: Shares, width: int) -> Sequence[Row]:
    result = run.result
    detail = result.get("detail", {})
    parts = [f" {result['value']:.4g} {result['unit']}" + (f" {result['dtype']}" if result.get("dtype") else "")]
    if shares.of_healthy is not None:
        parts.append(_("{p:.0f} % of healthy cards").format(p=100 * shares.of_healthy))
    if shares.of_nominal is not None:
        parts.append(_("{p:.0f} % of nominal").format(p=100 * shares.of_nominal))
    out: list[Row] = [((fit(" · ".join(parts), width), "value"),)]
    stood = []
    if (clock := detail.get("mean_sm_mhz")) is not None:
        stood.append(_("at {mhz:.0f} MHz").format(mhz=clock))
    if (watts := detail.get("mean_power_w")) is not None:
        stood.append(_("{w:.0f} W").format(w=watts))
    for name, words in (
        ("share_power", _("power-limited {p:.0f} % of the time")),
        ("share_heat", _("slowed by heat {p:.0f} % of the time")),
        ("share_brake", _("power brake {p:.0f} % of the time")),
    ):
        if detail.get(name):
            stood.append(words.format(p=100 * detail[name]))
    if (swing := detail.get("cv_percent")) is not None and run.probe == "stress":
        stood.append(_("swing ±{p:.1f} %").format(p=swing))
    if detail.get("errors"):
        stood.append(_("{n} wrong values").format(n=detail["errors"]))
    if run.probe == "pcie" and detail.get("generation") and detail.get("lanes"):
        stood.append(_("link {g}×{n} under load").format(g=detail["generation"], n=detail["lanes"]))
    if detail.get("from_card") is not None:
        stood.append(_("back {v:.1f} GB/s").format(v=detail["from_card"]))
    if stood:
        out.append(((fit(" " + " · ".join(stood), width), "tail"),))
    return out
