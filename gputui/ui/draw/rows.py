"""Rows: what a panel shows, as text and roles. Widths are terminal cells, so a Chinese character counts two."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

Part = tuple[str, str]
"""A run of text and the role it is drawn in."""
Row = tuple[Part, ...]
"""One line of a panel."""

_ASCII = str.maketrans(
    {
        "─": "-", "│": "|", "·": "|", "°": "", "×": "x", "–": "-", "−": "-", "…": "~", "▶": ">", "÷": "/", "’": "'",
        "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "+", "▇": "*", "█": "#",
    }
)  # fmt: skip


def plain(text: str) -> str:
    """The text in ASCII only; a letter that has no counterpart becomes a question mark."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def width_of(row: Row) -> int:
    """Cells a row takes."""
    return sum(cell_len(text) for text, _role in row)


def fit(text: str, width: int) -> str:
    """Exactly `width` cells: padded with spaces, or cut with an ellipsis."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"


def right(text: str, width: int) -> str:
    """Exactly `width` cells, the text at the right end."""
    missing = width - cell_len(text)
    return " " * missing + text if missing >= 0 else fit(text, width)


def joined(row: Row) -> Row:
    """Neighbouring parts of one role as one part: each part costs the terminal an escape sequence."""
    out: list[Part] = []
    for text, role in row:
        if not text:
            continue
        if out and out[-1][1] == role:
            out[-1] = (out[-1][0] + text, role)
        else:
            out.append((text, role))
    return tuple(out)


def first_difference_from_right(old: Row, new: Row) -> int:
    """How many cells from the left must be drawn again to turn `old` into `new`; 0 when they are the same.

    The terminal layer always writes a changed row from the left edge of its widget (textual issue #5625), so only the
    part at the right that stayed the same can be left out.
    """
    if old == new:
        return 0
    before, after = _cells(old), _cells(new)
    end = max(len(before), len(after))
    if len(before) != len(after):
        return end
    while end > 0 and before[end - 1] == after[end - 1]:
        end -= 1
    return end


def _cells(row: Row) -> list[tuple[str, str]]:
    """A row as one entry a cell; the second cell of a wide character is empty text."""
    out: list[tuple[str, str]] = []
    for text, role in row:
        for character in text:
            out.append((character, role))
            out.extend([("", role)] * (cell_len(character) - 1))
    return out
