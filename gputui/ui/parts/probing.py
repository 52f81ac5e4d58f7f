"""Probes at a key: the sheet, the runs, and their results for the rules."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from gputui.findings.evidence import ProbeResult
from gputui.model.card import Card
from gputui.model.reading import text
from gputui.probes.admit import admit
from gputui.probes.run import Run
from gputui.probes.table import PROBES, Probe
from gputui.text import _
from gputui.ui.draw.probe import Sheet
from gputui.ui.parts.base import Part


class Follower(Protocol):
    """One run under way."""

    run: Run

    def follow(self) -> AsyncIterator[Run]:
        """Every state until it is over."""
        ...

    def stop(self) -> None:
        """Begin to end it."""
        ...


class Probing(Part):
    """Runs probes in workers of textual, one card after another."""

    sheet: Sheet | None = None
    runs: tuple[Run, ...] = ()
    _under_way: Follower | None = None
    _wants_stop = False
    _python: str | None = None
    _uses_all = False

    def action_matmul(self) -> None:
        """The sheet of the matmul probe."""
        self._open("matmul")

    def action_stress(self) -> None:
        """The sheet of the stress probe."""
        self._open("stress")

    def action_bandwidth(self) -> None:
        """The sheet of the memory probe."""
        self._open("bandwidth")

    def action_copies(self) -> None:
        """The sheet of the copy probe."""
        self._open("pcie")

    def action_probe_cards(self) -> None:
        """The selected card, or all."""
        if self.sheet is not None and not self.is_probing:
            self._uses_all = not self._uses_all
            self._open(self.sheet.probe.id)

    def action_probe_start(self) -> None:
        """Start what the sheet shows."""
        sheet = self.sheet
        if sheet is None or self.is_probing or sheet.no_engine:
            return
        sheet = self._sheet(sheet.probe)  # the card may have been taken meanwhile
        self.sheet = sheet
        cards = [card for card in sheet.cards if card.uuid not in sheet.refused]
        if not cards:
            self.draw_soon()
            return
        self.runs = tuple(Run(sheet.probe.id, card.uuid, unit=sheet.probe.unit) for card in cards)
        self._wants_stop = False
        self.run_worker(self._run_all(sheet.probe, cards), name="probe", exit_on_error=True)

    def action_probe_stop(self) -> None:
        """Stop the run under way and those that wait."""
        if self.is_probing:
            self._wants_stop = True
            if self._under_way is not None:
                self._under_way.stop()
            self.draw_soon()

    @property
    def is_probing(self) -> bool:
        """Whether a probe runs."""
        return any(not run.over for run in self.runs)

    def stop_probes(self) -> None:
        """At the end of the program; the guards of the process do the rest."""
        if self._under_way is not None and not self._under_way.run.over:
            self._under_way.stop()

    def _open(self, probe: str) -> None:
        from gputui.ui.screens.probe import ProbeScreen

        if not self.is_probing:
            self.runs = ()
            self.sheet = self._sheet(PROBES[probe])
        if not isinstance(self.screen, ProbeScreen):
            self.push_screen(ProbeScreen())
        self.draw_soon()

    def _sheet(self, probe: Probe) -> Sheet:
        cards = self.shown.cards
        if not self._uses_all:
            cards = tuple(card for card in cards if card.uuid == self.selected) or cards[:1]
        refused = {}
        for card in cards:
            admission = admit(card, self.histories.get(card.uuid), probe)
            if not admission.allowed and not self.shown.simulated:
                refused[card.uuid] = admission.why
        if self.shown.simulated:
            return Sheet(probe, cards, refused, _("a simulated engine: no card is loaded"), simulated=True)
        python, words = self._engine()
        self._python = python
        return Sheet(probe, cards, refused, words, no_engine="" if python else words)

    def _engine(self) -> tuple[str | None, str]:
        from gputui.probes.pythons import find

        found = find(os.environ)
        if found and found[0].torch:
            return found[0].path, _("torch {version} of {path}").format(version=found[0].torch, path=found[0].path)
        looked = ", ".join(python.path for python in found) or _("none")
        return None, _("No interpreter with torch was found (looked at {paths}); GPUTUI_PYTHON can name one.").format(
            paths=looked
        )

    def _follower(self, probe: Probe, card: Card) -> Follower:
        if self.shown.simulated:
            from gputui.probes.scripted import ScriptedProbe

            return ScriptedProbe(probe, card)
        from gputui.probes.runner import Order, ProbeProcess

        stop_c = admit(card, self.histories.get(card.uuid), probe).stop_c
        bus = text(card.get("pci.bus_id")) or ""
        return ProbeProcess(Order(probe, card.uuid, bus, self._python or "", stop_c))

    async def _run_all(self, probe: Probe, cards: Sequence[Card]) -> None:
        for at, card in enumerate(cards):
            if self._wants_stop:
                self._keep(at, self.runs[at].failed("stopped"))
                continue
            follower = self._under_way = self._follower(probe, card)
            try:
                async for run in follower.follow():
                    self._keep(at, run)
            except Exception as error:  # a mistake of ours costs this run, not the dashboard
                self.log.error(f"probe {probe.id}: {error!r}")
                self._keep(at, follower.run.failed("mistake", type(error).__name__))
                continue
            result = follower.run.as_result()
            if result is not None:
                self._remember(result)
        self._under_way = None
        self.draw_soon()

    def _keep(self, at: int, run: Run) -> None:
        self.runs = (*self.runs[:at], run, *self.runs[at + 1 :])
        self.draw_soon()

    def _remember(self, result: ProbeResult) -> None:
        """The newest result of each probe and card is what the rules look at."""
        others = [old for old in self.probe_results if (old.id, old.gpu_uuid) != (result.id, result.gpu_uuid)]
        self.probe_results = (*others, result)
        self.judge_soon()
