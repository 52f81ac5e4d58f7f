"""Which reference card is this? PCI device id first, exact name second, shape third; never by substring.

("B300" is inside "GB300", "RTX 4000" inside "RTX 4000 Ada", "A100" inside "A1000".)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gputui.reference import store
from gputui.reference.card import CardSpec
from gputui.reference.expected import memory_verdict

NVIDIA = 0x10DE
_MIG_SUFFIX = re.compile(r" MIG \d.*$")
"""nvmlDeviceGetName of a MIG device is its card's name, then "MIG 1g.10gb" and the like."""


@dataclass(frozen=True)
class Shape:
    """What a card is made of, as read from it. None is not read.

    memory_mib in MiB (nvmlMemory_t.total); compute_capability such as "8.9".
    """

    sm_count: int | None = None
    memory_mib: float | None = None
    compute_capability: str | None = None


@dataclass(frozen=True)
class Conflict:
    """Two ways of telling which card this is that do not agree.

    kind: "name"          the PCI id belongs to `by_pci`, the name to `by_name`: different listed models.
          "pci-unlisted"  the name is listed, the PCI id is not: a board we do not know, often a laptop part. Those
                          may carry the desktop card's name ("NVIDIA GeForce RTX 2080" on 1e90 in the table of
                          NVIDIA/open-gpu-kernel-modules). No accusation by itself.
          "shape"         found by name only, and SM count or compute capability are not those of `by_name`.
    """

    kind: str
    by_pci: tuple[CardSpec, ...] = ()
    by_name: tuple[CardSpec, ...] = ()


@dataclass(frozen=True)
class Match:
    """The card, how it was found, and what speaks against it.

    spec:        the one reference card, or None: not listed, or several candidates left.
    by:          "pci", "name" or "shape": what the candidates were found by; None when nothing was found.
    candidates:  every card it may be, the one in `spec` included.
    pci_listed, name_listed: whether we know that id, that name; None when it was not read.
    """

    spec: CardSpec | None
    by: str | None
    candidates: tuple[CardSpec, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    pci_listed: bool | None = None
    name_listed: bool | None = None

    @property
    def certain(self) -> bool:
        """Found by PCI id, one card left, and no name we have never heard of. Only then may more than a warning rest
        on the reference. (The driver names boards we do not list on ids we do: "RTX 2000E Ada Generation" on 28b0.)
        """
        return self.by == "pci" and self.spec is not None and self.name_listed is not False

    def conflict(self, kind: str) -> Conflict | None:
        """The conflict of this kind, or None."""
        return next((conflict for conflict in self.conflicts if conflict.kind == kind), None)


def device_id(pci_device_id: int | None) -> int | None:
    """The 16-bit device id from NVML's device << 16 | vendor (0x233010DE), vendor << 16 | device, or the bare id.

    None for an absent value, all ones, and another maker's vendor id.
    """
    if pci_device_id is None or not 0 <= pci_device_id < 0xFFFFFFFF:
        return None
    high, low = pci_device_id >> 16, pci_device_id & 0xFFFF
    if high == 0:
        return None if low in (0, 0xFFFF) else low
    if low == NVIDIA:
        return high
    return low if high == NVIDIA else None


def find(
    pci_device_id: int | None = None,
    pci_subsystem: int | None = None,
    name: str | None = None,
    shape: Shape | None = None,
) -> Match:
    """The reference card with these marks. Any of them may be None (not read).

    pci_device_id: as `device_id` takes it. pci_subsystem: nvmlPciInfo_t.pciSubSystemId. Where the PCI id and the name
    are both listed and disagree, the match is by PCI id and a "name" conflict says so.
    """
    device = device_id(pci_device_id)
    by_pci = store.with_pci(device) if device is not None else ()
    by_name = store.with_name(_MIG_SUFFIX.sub("", name.strip())) if name and name.strip() else ()
    pci_listed = None if device is None else bool(by_pci)
    name_listed = bool(by_name) if name and name.strip() else None
    shape = shape or Shape()
    if by_pci:
        both = tuple(card for card in by_pci if card in by_name)
        conflicts = (Conflict("name", by_pci, by_name),) if by_name and not both else ()
        left = _narrow(both or by_pci, pci_subsystem, shape)
        return Match(_only(left), "pci", left, conflicts, pci_listed, name_listed)
    if by_name:
        return _by_name(by_name, device, shape)
    left = _by_shape(shape)
    # A card that states a name or an id we do not list is not one of ours, whatever its shape: laptop parts share it.
    spec = None if device is not None or name else _only(left)
    return Match(spec, "shape" if left else None, left, (), pci_listed, name_listed)


def _by_name(by_name: tuple[CardSpec, ...], device: int | None, shape: Shape) -> Match:
    pci_listed = None if device is None else False
    conflicts = [] if device is None else [Conflict("pci-unlisted", by_name=by_name)]
    fitting = tuple(card for card in by_name if not _contradicts(card, shape))
    if not fitting:
        conflicts.append(Conflict("shape", by_name=by_name))
        return Match(None, "name", by_name, tuple(conflicts), pci_listed, True)
    left = _narrow(fitting, None, shape)
    return Match(_only(left), "name", left, tuple(conflicts), pci_listed, True)


def _only(cards: tuple[CardSpec, ...]) -> CardSpec | None:
    return cards[0] if len(cards) == 1 else None


def _contradicts(card: CardSpec, shape: Shape) -> bool:
    """Whether SM count or compute capability, both exact properties of a model, differ."""
    sms = card.sure("sms")
    if shape.sm_count is not None and sms is not None and shape.sm_count != sms:
        return True
    return shape.compute_capability is not None and shape.compute_capability != card.cc


def _narrow(cards: tuple[CardSpec, ...], pci_subsystem: int | None, shape: Shape) -> tuple[CardSpec, ...]:
    """The cards that fit best: by subsystem, then by memory, then by SM count; never fewer than one."""
    if len(cards) > 1 and pci_subsystem is not None:
        swapped = (pci_subsystem & 0xFFFF) << 16 | pci_subsystem >> 16
        cards = tuple(card for card in cards if {pci_subsystem, swapped} & set(card.pci_subsystems)) or cards
    if len(cards) > 1 and shape.memory_mib is not None:
        cards = _nearest_memory(cards, shape.memory_mib)
    if len(cards) > 1:
        cards = tuple(card for card in cards if not _contradicts(card, shape)) or cards
    return cards


def _nearest_memory(cards: tuple[CardSpec, ...], memory_mib: float) -> tuple[CardSpec, ...]:
    """Cards with exactly this total; else those it is expected of; else those where it is another known total."""

    def exact(card: CardSpec) -> bool:
        return memory_mib in (card.mem_mib, *card.mem_mib_alt, *card.mem_mib_mod)

    def verdict(*wanted: str) -> Iterable[CardSpec]:
        return (card for card in cards if memory_verdict(card, memory_mib) in wanted)

    for tier in ((card for card in cards if exact(card)), verdict("expected"), verdict("alternative", "modified")):
        found = tuple(tier)
        if found:
            return found
    return cards


def _by_shape(shape: Shape) -> tuple[CardSpec, ...]:
    """Cards with exactly this SM count and a memory total that fits; nothing unless both were read."""
    if shape.sm_count is None or shape.memory_mib is None:
        return ()
    return tuple(
        card
        for card in store.cards()
        if card.sms == shape.sm_count
        and not _contradicts(card, shape)
        and memory_verdict(card, shape.memory_mib) in ("expected", "alternative")
    )
