"""The dense arithmetic peak of a card, listed or not.

TFLOPS = SMs x rate x clock in MHz / 1e6        rate: dense operations per SM and clock, multiply and add are two
"""

from __future__ import annotations

from dataclasses import dataclass

from gputui.reference import store
from gputui.reference.card import GEMM, CardSpec
from gputui.reference.lookup import Shape


@dataclass(frozen=True)
class Peak:
    """A dense peak.

    value_tflops: TFLOPS (TOPS for int8), or None when the rate class is ambiguous: then `candidates` holds one value
                  for each class it may be, as (rate class, TFLOPS).
    computed:     no listed card stands behind it: SM count and compute capability only. Never grade against it.
    basis:        "stored"; "scaled" (stored peak x clock / its clock); "formula" (SMs x rate x clock).
    clock_mhz:    the clock it holds at, MHz. None when the reference does not say.
    formula:      how it came about, for people, in English.
    uncertain:    the reference is not sure of it.
    """

    precision: str
    value_tflops: float | None
    computed: bool
    basis: str
    clock_mhz: float | None
    formula: str
    uncertain: bool = False
    candidates: tuple[tuple[str, float], ...] = ()


def peak(of: CardSpec | Shape, precision: str, clock_mhz: float | None = None) -> Peak | None:
    """The peak of a card at a clock (MHz); without a clock, at the one its published peak is quoted at.

    Give the mean SM clock of a run to get the ceiling of that run. For a Shape the clock is needed. None when the card
    has no such unit, or too little is known: never zero. KeyError for a precision not in GEMM.
    """
    if precision not in GEMM:
        raise KeyError(f"no such precision: {precision!r}")
    if clock_mhz is not None and clock_mhz <= 0:
        return None
    if isinstance(of, Shape):
        return _of_shape(of, precision, clock_mhz)
    return _of_card(of, precision, clock_mhz)


def _tflops(sms: int, rate: float, clock_mhz: float) -> float:
    return sms * rate * clock_mhz / 1e6


def _of_card(spec: CardSpec, precision: str, clock_mhz: float | None) -> Peak | None:
    stored = spec.peaks.get(precision)
    if stored is None:
        return None
    at_mhz, unsure = spec.peak_clock_mhz(precision), spec.nominal_is_uncertain(precision)
    if clock_mhz is None or clock_mhz == at_mhz:
        how = "computed by formula, not published" if precision in spec.derived else "published"
        return Peak(precision, stored, False, "stored", at_mhz, how, unsure)
    rate, sms = store.rates()[spec.rate_class].get(precision), spec.sure("sms")
    # H20, RTX 5090 D and other cut parts do not follow SMs x rate: only the published figure may be scaled.
    if precision not in spec.formula_exempt and rate is not None and sms is not None:
        how = f"{sms} SMs x {rate} x {clock_mhz:g} MHz"
        return Peak(precision, _tflops(sms, rate, clock_mhz), False, "formula", clock_mhz, how, unsure)
    if at_mhz is None:
        return None
    how = f"{stored:g} x {clock_mhz:g} / {at_mhz:g} MHz"
    return Peak(precision, stored * clock_mhz / at_mhz, False, "scaled", clock_mhz, how, unsure)


def _of_shape(shape: Shape, precision: str, clock_mhz: float | None) -> Peak | None:
    if shape.sm_count is None or shape.sm_count <= 0 or shape.compute_capability is None or clock_mhz is None:
        return None
    classes = {key: row for key, row in store.rates().items() if row["cc"] == shape.compute_capability}
    having = {key: row[precision] for key, row in classes.items() if precision in row}
    if not having:
        return None
    values = tuple((key, _tflops(shape.sm_count, rate, clock_mhz)) for key, rate in having.items())
    # A class without the unit is a candidate too: then the peak may not exist at all (GTX 16 beside RTX 20).
    agreed = len(having) == len(classes) and len(set(having.values())) == 1
    rate = next(iter(having.values()))
    how = f"{shape.sm_count} SMs x {rate if agreed else 'rate'} x {clock_mhz:g} MHz"
    if agreed:
        return Peak(precision, values[0][1], True, "formula", clock_mhz, how, uncertain=True)
    return Peak(precision, None, True, "formula", clock_mhz, how, uncertain=True, candidates=values)


def bandwidth_gbs(max_mem_mhz: float | None, bus_bits: int | None) -> float | None:
    """GB/s (1e9) from NVML's maximum memory clock (MHz) and the bus width (bits): two transfers a clock.

    Holds for every memory type in the reference. None when either was not read.
    """
    if not max_mem_mhz or not bus_bits or max_mem_mhz < 0 or bus_bits < 0:
        return None
    return 2 * max_mem_mhz * bus_bits / 8 / 1000
