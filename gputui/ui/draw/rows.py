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
        "↓": "v", "↑": "^",
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


def split(row: Row, at: int) -> tuple[Row, Row]:
    """The row as its first `at` cells and the rest. A wide character on the seam becomes two spaces."""
    left: list[Part] = []
    rest: list[Part] = []
    room = at
    for text, role in row:
        width = cell_len(text)
        if room <= 0:
            rest.append((text, role))
        elif width <= room:
            left.append((text, role))
        else:
            head, tail = _cut(text, room)
            left.append((head, role))
            rest.append((tail, role))
        room -= width
    return tuple(left), tuple(rest)


def _cut(text: str, room: int) -> tuple[str, str]:
    used = 0
    for at, character in enumerate(text):
        width = cell_len(character)
        if used + width > room:
            on_the_seam = used < room
            return text[:at] + " " * (room - used), (" " + text[at + 1 :] if on_the_seam else text[at:])
        used += width
    return text, ""


def first_difference_from_right(old: Row, new: Row) -> int:
    """How many cells from the left must be drawn again to turn `old` into `new`; 0 when they are the same.

    The terminal layer always writes a changed row from the left edge of its widget (textual issue #5625), so only the
    part at the right that stayed the same can be left out.
    """
    if old == new:
        return 0
    left, right = len(old), len(new)
    same = 0
    while left and right and old[left - 1] == new[right - 1]:
        left, right = left - 1, right - 1
        same += cell_len(new[right][0])
    before, after = width_of(old[:left]), width_of(new[:right])
    if before != after:
        return max(before, after) + same
    if left and right and old[left - 1][1] == new[right - 1][1]:
        after -= cell_len(_common_end(old[left - 1][0], new[right - 1][0]))
    return after


def _common_end(first: str, second: str) -> str:
    """The longest text that both end with."""
    length = 0
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one != other:
            break
        length += 1
    return second[len(second) - length :]
