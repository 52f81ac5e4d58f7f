"""One module a family. `load` imports them all, which registers their rules."""

from __future__ import annotations

from importlib import import_module

FAMILIES = (
    "identity",
    "power",
    "throttle",
    "link",
    "memory",
    "presence",
    "sharing",
    "settings",
    "telemetry",
    "probe",
    "job",
    "host",
)


def load() -> None:
    """Register every rule; a second call does nothing."""
    for family in FAMILIES:
        import_module(f"gputui.findings.rules.{family}")
