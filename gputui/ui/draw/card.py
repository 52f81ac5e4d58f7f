"""One card as rows: a title with its badge, then clock, power, temperature, load and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from gputui.model.card import Card, Frame, State
from gputui.model.finding import Finding, Severity
from gputui.model.history import History
from gputui.model.reading import Absent, number, text
from gputui.model.reasons import Cause, cause
from gputui.text import _
from gputui.ui.draw.format import ago, clock_time, memory, short_name, whole
from gputui.ui.draw.rows import Row, fit, joined, right
from gputui.ui.draw.spark import BUCKET_S, Cells, bucket_s

LABEL, VALUE = 5, 9
FULL_ROWS, COMPACT_ROWS = 6, 3


@dataclass(frozen=True)
class Picture:
    """What a card panel is drawn from. rows: FULL_ROWS or COMPACT_ROWS. bucket: seconds of a cell.

    band: which row, from the top, of a sparkline of so many rows.
    """

    card: Card
    history: History | None
    frame: Frame
    findings: Sequence[Finding]
    selected: bool
    width: int
    rows: int = FULL_ROWS
    cells: Cells = field(default_factory=Cells)
    bucket: int = BUCKET_S
    band: tuple[int, int] = (0, 1)


def state_words(card: Card, now: float) -> str:
    """What is the matter with a card that does not answer normally, with the time."""
    code = "" if card.state_code is None else f" NVML {card.state_code}"
    if card.state is State.MISSING and card.missing_since is not None:
        return _("MISSING since {time}").format(time=clock_time(card.missing_since))
    if card.state is State.NOT_ANSWERING:
        since = card.state_since or now
        return _("NOT ANSWERING {age}").format(age=ago(max(0.0, card.age_s if card.age_s is not None else now - since)))
    if card.state is State.LOST and card.state_since is not None:
        return _("LOST since {time}").format(time=clock_time(card.state_since)) + code
    if card.state is State.ERROR:
        return _("ERROR") + code
    if card.state is State.NEEDS_RESET:
        return _("NEEDS RESET") + code
    if card.state is State.ASLEEP:
        return _("asleep")
    return ""


def badge(card: Card, findings: Sequence[Finding], now: float) -> tuple[str, str]:
    """The word on a card's title and its role: its state, else its worst finding, else what holds its clock."""
    if card.state is State.ASLEEP:
        return state_words(card, now), "dim"
    if card.state is not State.OK:
        return state_words(card, now), "bad"
    for severity, word, role in (
        (Severity.FAIL, _("FAIL"), "bad"),
        (Severity.WARN, _("warning:"), "warn"),
        (Severity.UNKNOWN, _("unclear:"), "warn"),
    ):
        for finding in findings:
            if finding.severity is severity:
                return f"{word} {finding.id}", role
    if any(finding.id == "power-limited" for finding in findings):
        return _("power-limited (normal)"), "good"
    return reason_word(card), "good"


def reason_word(card: Card) -> str:
    """What holds the clock where it is, in a word."""
    mask = number(card.get("clocks_event_reasons.mask"))
    if mask is None:
        return "" if card.samples == 0 else _("reason not readable")
    load = number(card.get("utilization.gpu"))
    # The idle bit was seen set under load (RTX 2080 SUPER, 591.86): load decides, not the bit alone.
    return {
        Cause.NONE: _("full speed") if load is None or load >= 50 else _("nothing limits it"),
        Cause.IDLE: _("idle"),
        Cause.LOCKED: _("clock locked"),
        Cause.OTHER: "+".join(card.reasons) if isinstance(card.reasons, tuple) else "",
        Cause.POWER: _("power-limited") if load is None or load >= 50 else _("idle"),
        Cause.HEAT: _("slowed by heat"),
        Cause.BRAKE: _("power brake"),
    }[cause(int(mask))]


def card_rows(picture: Picture) -> list[Row]:
    """The rows of a card, each exactly `width` cells."""
    if picture.rows > FULL_ROWS:
        from gputui.ui.draw.tall import tall_rows

        return tall_rows(picture)
    body = _full(picture) if picture.rows >= FULL_ROWS else _compact(picture)
    return [title_row(picture), *body]


def title_row(picture: Picture) -> Row:
    """Name and badge."""
    card, width = picture.card, picture.width
    word, role = badge(card, picture.findings, picture.frame.time)
    mark = "▶" if picture.selected else "─"
    name = card.name if width >= 56 else short_name(card.name)
    head = f"{mark} {card.index} {name} "
    tail = f" {word} ─" if word else "─"
    head = head if cell_len(head) + cell_len(tail) <= width else fit(head, max(0, width - cell_len(tail) - 1)) + " "
    rule = "─" * max(0, width - cell_len(head) - cell_len(tail))
    title_role = "selected" if picture.selected else "title"
    shown = fit(f" {word} ", width - cell_len(head) - len(rule) - 1) if word else ""
    return joined(((head, title_role), (rule, "rule"), (shown, role), ("─", "rule")))


@dataclass(frozen=True)
class _Layout:
    """Cells of a row: label, value, sparkline, tail."""

    spark: int
    tail: int


def layout(width: int) -> _Layout:
    """How many cells each part of a row has."""
    tail = 31 if width >= 90 else 25 if width >= 58 else 18 if width >= 50 else 13
    return _Layout(spark=max(6, width - 1 - LABEL - VALUE - 1 - 2 - tail), tail=tail)


def _line(
    picture: Picture, label: str, value: str, shape: str, tail: str, roles: tuple[str, str] = ("value", "tail")
) -> Row:
    cells = layout(picture.width)
    alive = picture.card.state in (State.OK, State.ASLEEP)
    value_role, tail_role = roles if alive else ("old", "old")
    return joined(
        (
            (" " + fit(label, LABEL), "label"),
            (right(value, VALUE), value_role),
            (" ", "spark"),
            (fit(shape, cells.spark), "spark"),
            ("  " + fit(tail, picture.width - 1 - LABEL - VALUE - 1 - cells.spark - 2), tail_role),
        )
    )


def _cells(picture: Picture, name: str, top: float | None) -> str:
    history = picture.history
    if history is None or not top:
        return ""
    size = bucket_s(picture.frame.interval_s, picture.bucket)
    return picture.cells.values(history, name, layout(picture.width).spark, size, picture.frame.mono, top, picture.band)


def _full(picture: Picture) -> list[Row]:
    return [clock_row(picture), power_row(picture), heat_row(picture), load_row(picture), why_row(picture)]


def clock_row(picture: Picture) -> Row:
    """SM clock."""
    card = picture.card
    top = number(card.get("clocks.max.sm"))
    state = text(card.get("pstate")) or ""
    tail = (_("of {top:.0f}").format(top=top) if top else "").ljust(9) + state
    value = whole(number(card.get("clocks.current.sm")), "MHz")
    if card.state not in (State.OK, State.ASLEEP) and card.age_s is not None:
        tail = _("{age} old").format(age=ago(card.age_s))
    return _line(picture, "SM", value, _cells(picture, "clocks.current.sm", top), tail)


def power_row(picture: Picture) -> Row:
    """Power and its limits."""
    card = picture.card
    enforced, default = number(card.get("enforced.power.limit")), number(card.get("power.default_limit"))
    requested = number(card.get("power.limit"))
    tail, role = _limits(enforced, requested, default, layout(picture.width).tail)
    shape = _cells(picture, "power.draw", enforced or default or number(card.get("power.max_limit")))
    return _line(picture, "PWR", whole(number(card.get("power.draw")), "W"), shape, tail, ("value", role))


def _limits(enforced: float | None, requested: float | None, default: float | None, room: int) -> tuple[str, str]:
    """The limits in words: as few as say everything, all when they differ."""
    if enforced is None:
        shown = _("no limit reported") if default is None else _("{default:.0f} default").format(default=default)
        return shown, "tail"
    lowered = default is not None and enforced < 0.95 * default
    role = "warn" if lowered else "tail"
    if requested is not None and round(requested) != round(enforced):
        parts = [_("{w:.0f} enforced").format(w=enforced), _("{w:.0f} asked").format(w=requested)]
    elif default is not None and round(default) == round(enforced):
        long = _("{w:.0f} enforced · {d:.0f} default").format(w=enforced, d=default)
        return (long if len(long) <= room else _("of {w:.0f} default").format(w=enforced)), role
    else:
        parts = [_("{w:.0f} enforced").format(w=enforced)]
    if default is not None:
        parts.append(_("{w:.0f} default").format(w=default))
    full = " · ".join(parts)
    if len(full) <= room:
        return full, role
    return f"{enforced:.0f}/{default:.0f}" if default is not None else parts[0], role


def heat_row(picture: Picture) -> Row:
    """Temperature."""
    card = picture.card
    now, slow = number(card.get("temperature.gpu")), number(card.get("temperature.threshold.slowdown"))
    margin, fan = number(card.get("temperature.gpu.tlimit")), number(card.get("fan.speed"))
    if slow is not None:
        tail = _("slows at {c:.0f}").format(c=slow)
    elif margin is not None:
        tail = _("{c:.0f} below its limit").format(c=margin) if layout(picture.width).tail > 18 else f"-{margin:.0f}"
    else:
        tail = ""
    if fan is not None and layout(picture.width).tail > 18:
        tail = " · ".join(part for part in (tail, _("fan {p:.0f} %").format(p=fan)) if part)
    hot = now is not None and slow is not None and slow - now < 5
    shape = _cells(picture, "temperature.gpu", slow or 100.0)
    return _line(picture, "TEMP", whole(now, "°C"), shape, tail, ("warn" if hot else "value", "tail"))


def load_row(picture: Picture) -> Row:
    """Utilization, memory, link."""
    card, wide = picture.card, layout(picture.width).tail
    reading = card.get("utilization.gpu")
    value = "MIG" if isinstance(reading, Absent) and reading.why.value == "mig" else whole(number(reading), "%")
    generation, lanes = number(card.get("pcie.link.gen.current")), number(card.get("pcie.link.width.current"))
    link = f"PCIe {generation:.0f}×{lanes:.0f}" if generation is not None and lanes is not None else ""
    used = memory(card, spaced=wide > 25)
    parts = (f"MEM {used}", link if wide > 25 else "") if wide > 18 else (used.replace(" GiB", "G"),)
    tail = "  ".join(part for part in parts if part)
    return _line(picture, "UTIL", value, _cells(picture, "utilization.gpu", 100.0), tail)


def why_row(picture: Picture) -> Row:
    """What held the clock."""
    history = picture.history
    size = bucket_s(picture.frame.interval_s, picture.bucket)
    cells = ""
    if history is not None:
        cells = picture.cells.causes(history, layout(picture.width).spark, size, picture.frame.mono)
    legend = _("i idle p power h heat b l") if layout(picture.width).tail >= 25 else ""
    if layout(picture.width).tail >= 31:
        legend = _("i idle p power h heat b brake")
    return _line(picture, "WHY", "", cells, legend, ("value", "label"))


def _compact(picture: Picture) -> list[Row]:
    """Two rows for small windows: the figures, and the clock's history with its reasons below the load."""
    card, width = picture.card, picture.width
    alive = card.state in (State.OK, State.ASLEEP)
    limit = number(card.get("enforced.power.limit"))
    watts = whole(number(card.get("power.draw"))) + (f"/{limit:.0f}W" if limit else "W")
    figures = "  ".join(
        (
            right(whole(number(card.get("clocks.current.sm")), "MHz"), 8),
            right(watts, 8),
            right(whole(number(card.get("temperature.gpu"))) + "°C", 5),
            right(whole(number(card.get("utilization.gpu"))) + "%", 4),
        )
    )
    cells = max(8, width - 7)
    history, size = picture.history, bucket_s(picture.frame.interval_s, picture.bucket)
    why = ""
    if history is not None:
        why = picture.cells.causes(history, cells, size, picture.frame.mono)
    return [
        joined(((fit(" " + figures, width), "value" if alive else "old"),)),
        joined(((" WHY  ", "label"), (fit(why, width - 6), "spark"))),
    ]
