"""How it looks and how often it reads; and keeping that for the next time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gputui.text import _
from gputui.ui import theme
from gputui.ui.parts.base import Part

INTERVALS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)

Keep = Callable[[Mapping[str, Any]], str]
"""Writes changed settings and gives back where. Raises OSError with one sentence."""


class Keeping(Part):
    """Preferences that keys change. They are written only when a person asks for it."""

    keep: Keep | None
    kept: dict[str, Any]

    def preferences(self) -> dict[str, Any]:
        """What keys can change, by the names of the settings."""
        return {
            "interval": self.source.fleet.interval_s,
            "theme": self.palette_name,
            "view": self.view,
            "sort": self.choice.by,
            "sort_falling": self.choice.falling,
            "filter": self.choice.filter.typed,
            "span": self.charts.span_s or 24 * 3600.0,
        }

    def action_keep(self) -> None:
        """Write what has changed."""
        if self.keep is None:
            return
        now = self.preferences()
        changes = {name: value for name, value in now.items() if value != self.kept[name]}
        if not changes:
            self.say(_("nothing has changed that could be kept"))
            return
        try:
            where = self.keep(changes)
        except (OSError, ValueError) as error:
            self.say(str(error))
            return
        self.kept = now
        self.say(_("{names} kept in {file}").format(names=", ".join(changes), file=where))

    def _pace(self, step: int) -> None:
        now = self.source.fleet.interval_s
        at = min(range(len(INTERVALS)), key=lambda n: abs(INTERVALS[n] - now))
        self.source.set_interval(INTERVALS[min(len(INTERVALS) - 1, max(0, at + step))])
        self.say(_("a sample every {s:g} s").format(s=self.source.fleet.interval_s))

    def action_faster(self) -> None:
        self._pace(-1)

    def action_slower(self) -> None:
        self._pace(1)

    def action_theme(self) -> None:
        names = theme.NAMES
        self.palette_name = names[(names.index(self.palette_name) + 1) % len(names)]
        self.role_styles = theme.styles(self.palette_name)
        self.theme = theme.textual_name(self.palette_name)
        self.say(_("theme {name}").format(name=self.palette_name))
