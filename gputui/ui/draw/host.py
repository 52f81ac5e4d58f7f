"""The machine in one line: what a card may be waiting for."""

from __future__ import annotations

from collections.abc import Mapping

from gputui.model.reading import Reading, get, number
from gputui.text import _
from gputui.ui.draw.rows import Row, fit, joined

PRESSED = 10.0
"""Percent of time in which tasks waited from which it is worth a look."""


def _bytes(value: float) -> str:
    """Bytes a second, short."""
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}/s"
        value /= 1000
    return f"{value:.1f} GB/s"


def _pair(host: Mapping[str, Reading], left: str, right: str) -> str | None:
    one, other = number(get(host, left)), number(get(host, right))
    if one is None or other is None:
        return None
    return f"{_bytes(one)} ↓ {_bytes(other)} ↑" if left.endswith("rx") else f"{_bytes(one)} r {_bytes(other)} w"


def host_row(host: Mapping[str, Reading], width: int) -> Row:
    """CPU of what this container may use, memory of its limit, disks, network, pressure; as many as fit."""
    parts: list[tuple[str, str]] = []
    share = number(get(host, "host.cpu.of_quota"))
    share = number(get(host, "host.cpu.percent")) if share is None else share
    cores = number(get(host, "host.cpu.quota")) or number(get(host, "host.cpu.count"))
    if share is not None:
        of = _(" of {n:g} cores").format(n=cores) if cores else ""
        parts.append((_("CPU {p:.0f} %").format(p=share) + of, "warn" if share >= 95 else "value"))
    throttled = number(get(host, "host.cpu.throttled"))
    if throttled:
        parts.append((_("held back {p:.0f} %").format(p=throttled), "warn" if throttled >= PRESSED else "value"))
    total = number(get(host, "host.memory.limit")) or number(get(host, "host.memory.total"))
    used, free = number(get(host, "host.memory.used")), number(get(host, "host.memory.available"))
    if used is None and total is not None and free is not None:
        used = total - free
    if used is not None and total:
        words = _("memory {used:.0f} of {total:.0f} GiB").format(used=used / 1024, total=total / 1024)
        parts.append((words, "warn" if used >= 0.95 * total else "value"))
    parts += _waiting(host)
    for title, names in (
        (_("disk"), ("host.disk.read", "host.disk.write")),
        (_("net"), ("host.network.rx", "host.network.tx")),
    ):
        pair = _pair(host, *names)
        if pair is not None:
            parts.append((f"{title} {pair}", "value"))
    if not parts:
        return ((fit(_(" The machine's figures cannot be read here."), width), "label"),)
    return _fitted(parts, width)


def _waiting(host: Mapping[str, Reading]) -> list[tuple[str, str]]:
    """What tasks waited for in the last ten seconds (PSI), or that nothing did; nothing where the kernel is silent."""
    parts: list[tuple[str, str]] = []
    known = False
    for title, name in (("CPU", "cpu"), (_("memory"), "memory"), (_("disk"), "io")):
        waited = number(get(host, f"host.pressure.{name}"))
        known = known or waited is not None
        if waited is not None and waited >= 1:
            words = _("waits for {what} {p:.0f} %").format(what=title, p=waited)
            parts.append((words, "warn" if waited >= PRESSED else "value"))
    return parts or ([(_("waits for nothing"), "value")] if known else [])


def _fitted(parts: list[tuple[str, str]], width: int) -> Row:
    row: list[tuple[str, str]] = []
    used = 0
    for text, role in parts:
        lead = " · " if row else " "
        if used + len(lead) + len(text) > width:
            continue
        row += [(lead, "label"), (text, role)]
        used += len(lead) + len(text)
    return joined((*row, (" " * (width - used), "label")))
