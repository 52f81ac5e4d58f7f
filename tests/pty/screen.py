"""What a terminal would show: the few sequences textual writes, applied to a grid of cells."""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\x1b\[([0-9;?<>=]*)([ -/]*[@-~])|\x1b[@-_]|\x1b[()].|[\r\n\b\t\a]|[^\x1b\r\n\b\t\a]", re.DOTALL)


class Screen:
    """A grid of cells. Colours are not kept."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.clear()

    def clear(self) -> None:
        """Blank, cursor at the top left."""
        self._cells = [[" "] * self.columns for _ in range(self.rows)]
        self._x = self._y = 0

    def resize(self, columns: int, rows: int) -> None:
        """Another size: what a terminal keeps is its own affair, so nothing is kept and all must be drawn again."""
        self.columns, self.rows = columns, rows
        self.clear()

    def feed(self, data: bytes) -> Screen:
        """Apply what the program wrote."""
        for token in _TOKEN.finditer(data.decode("utf-8", "replace")):
            arguments, final = token[1], token[2]
            if final:
                self._control(arguments, final)
            elif token[0] == "\r":
                self._x = 0
            elif token[0] == "\n":
                self._y = min(self.rows - 1, self._y + 1)
            elif token[0] >= " " and not token[0].startswith("\x1b"):
                self._put(token[0])
        return self

    def _control(self, arguments: str, final: str) -> None:
        if final == "H":
            row, _semicolon, column = arguments.partition(";")
            self._y, self._x = int(row or 1) - 1, int(column or 1) - 1
        elif final in "Jh" and arguments in ("2", "?1049"):
            self.clear()
        elif final == "K" and arguments in ("", "0") and 0 <= self._y < self.rows:
            self._cells[self._y][self._x :] = [" "] * (self.columns - self._x)

    def _put(self, char: str) -> None:
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
        if width and 0 <= self._y < self.rows and 0 <= self._x <= self.columns - width:
            self._cells[self._y][self._x : self._x + width] = [char, ""][:width]
        self._x += width

    @property
    def lines(self) -> list[str]:
        """What is shown, one string a row."""
        return ["".join(row).rstrip() for row in self._cells]
