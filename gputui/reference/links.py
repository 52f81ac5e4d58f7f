"""PCIe and NVLink rates, GB/s = 1e9 bytes a second. A slow link speaks about host or slot, not about the card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gputui.reference import store
from gputui.reference.card import CardSpec

FULL_WIDTH = 16


@dataclass(frozen=True)
class PcieRate:
    """One PCIe link, one direction.

    line_gbs:    GB/s after line encoding, before packet headers.
    healthy_gbs: (low, high) GB/s that pinned copies of 256 MB or more reach on a healthy link; None where no reports
                 were found (gen 1, 2, 6). Measured on x16; narrower links scaled.
    """

    generation: int
    lanes: int
    line_gbs: float
    healthy_gbs: tuple[float, float] | None
    confidence: str


def pcie_rate(generation: int | None, lanes: int | None) -> PcieRate | None:
    """The rates of a PCIe link as it runs under load, or None when generation or width was not read or is unknown."""
    row: dict[str, Any] | None = store.data()["links"]["pcie"].get(str(generation))
    if row is None or not lanes or not 0 < lanes <= FULL_WIDTH:
        return None
    assert generation is not None
    healthy = row.get("healthy_pinned_x16")
    part = lanes / FULL_WIDTH
    return PcieRate(
        generation,
        lanes,
        row["gbs_lane"] * lanes,
        (healthy[0] * part, healthy[1] * part) if healthy else None,
        row["confidence"] if lanes == FULL_WIDTH else "medium",
    )


@dataclass(frozen=True)
class NvlinkRate:
    """NVLink of one card.

    total_gbs, link_gbs: GB/s, both directions together; one direction is half.
    """

    generation: int
    links: int
    total_gbs: float
    link_gbs: float


def nvlink_rate(spec: CardSpec) -> NvlinkRate | None:
    """The card's NVLink; None where it has none, where the reference does not know, or is not sure."""
    generation, links, total = spec.sure("nvlink_gen"), spec.sure("nvlink_links"), spec.sure("nvlink_gbs")
    if generation is None or not links or not total:
        return None
    return NvlinkRate(int(generation), int(links), float(total), float(total) / int(links))
