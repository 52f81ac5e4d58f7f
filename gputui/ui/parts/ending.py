"""Ending a process, after asking twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gputui.host.ending import Candidate, Ender, candidate
from gputui.model.card import Card
from gputui.model.reading import number
from gputui.text import _
from gputui.ui.draw.processes import Entry
from gputui.ui.parts.base import Part
from gputui.ui.screens.processes import ProcessesScreen

ASKED_S = 10.0
"""How long the first press counts."""


def device_nodes(card: Card) -> list[Path]:
    """The device file of a card; none where the driver does not say its number."""
    minor = number(card.get("minor_number"))
    return [] if minor is None else [Path(f"/dev/nvidia{minor:.0f}")]


class Ending(Part):
    """The list of processes and the key that ends one."""

    ender: Ender | None = None
    nodes: Callable[[Card], list[Path]] = staticmethod(device_nodes)
    _asked: tuple[Candidate, float] | None = None

    def action_processes(self) -> None:
        """The processes of all cards."""
        self.push_screen(ProcessesScreen())

    def action_end_process(self) -> None:
        """The first press asks, the second sends."""
        if self.settings.readonly or not isinstance(self.screen, ProcessesScreen):
            return
        entry = self.screen.selected
        if entry is None:
            return
        asked, self._asked = self._asked, None
        who = self._candidate(entry)
        if who is None:
            return
        if self.ender is None:
            worker = getattr(self.source, "pid", None)
            self.ender = Ender(frozenset() if worker is None else frozenset({worker}))
        force = self.ender.was_asked(who)
        if asked is None or asked[0] != who or self.clock() - asked[1] > ASKED_S:
            self._asked = who, self.clock()
            words = (
                _("Press X again to kill PID {pid} ({name}) with SIGKILL.")
                if force
                else _("Press X again to ask PID {pid} ({name}) to end.")
            )
            self.say(words.format(pid=who.pid, name=entry.process.name))
            return
        self.say(self.ender.end(who, self.nodes(entry.card), force).sentence)

    def _candidate(self, entry: Entry) -> Candidate | None:
        """The process as it is now; None, with a sentence, for one that is not ours to end."""
        one = entry.process
        if self.shown.simulated:
            self.say(_("PID {pid} is simulated; there is nothing to end.").format(pid=one.pid))
            return None
        if one.here is None:
            self.say(_("PID {pid} cannot be looked into; nothing was sent.").format(pid=one.pid))
            return None
        if not one.here or one.started is None:
            self.say(_("PID {pid} is outside this container; nothing was sent.").format(pid=one.pid))
            return None
        who = candidate(one.pid, one.started)
        if who is None:
            self.say(_("PID {pid} has ended already.").format(pid=one.pid))
        return who
