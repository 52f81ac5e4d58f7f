"""Writes scripts for the stand-in driver; README.md has the lines."""

from __future__ import annotations

import re
from pathlib import Path

PROFILES = Path(__file__).with_name("profiles")
NAMES = tuple(sorted(path.stem for path in PROFILES.glob("*.txt") if path.stem != "host"))


class Script:
    """A host of cards. Later lines win over earlier ones and over the profile."""

    def __init__(self, *profiles: str, count: int = 1) -> None:
        """One card for each name, all of that `count` times: Script("h100", count=8)."""
        self.profiles = list(profiles) * count
        self._lines: list[str] = []

    def system(self, *lines: str) -> Script:
        """Lines for the host: versions, nvmlInit_v2, nvmlDeviceGetCount_v2."""
        return self._section("system", lines)

    def card(self, which: int | str, *lines: str) -> Script:
        """Lines for a card, several ("0-3", "*"), or a MIG device ("0/1")."""
        return self._section(str(which), lines)

    def _section(self, name: str, lines: tuple[str, ...]) -> Script:
        self._lines += [f"[{name}]", *lines]
        return self

    def text(self) -> str:
        """The file."""
        out = [f"cards {len(self.profiles)}", (PROFILES / "host.txt").read_text()]
        for name in dict.fromkeys(self.profiles):
            indices = [index for index, found in enumerate(self.profiles) if found == name]
            out.append(_for_cards((PROFILES / f"{name}.txt").read_text(), indices))
        return "\n".join([*out, *self._lines]) + "\n"

    def write(self, path: Path) -> Path:
        """The file, written."""
        path.write_text(self.text(), encoding="utf-8")
        return path

    def value(self, card: int, name: str) -> str:
        """What stands behind "=" for a card, by the last line that says so. Raises KeyError."""
        found: str | None = None
        wanted = True
        for line in self.text().splitlines():
            section = re.match(r"\[(.*)\]", line)
            if section:
                wanted = _holds(section.group(1), card)
            elif wanted and line.split("=")[0].strip() == name and "=" in line:
                found = line.split("=", 1)[1].strip()
        if found is None:
            raise KeyError(name)
        return found

    def numbers(self, card: int, name: str) -> list[int]:
        """The same as numbers; only for plain ones."""
        text = re.sub(r'"[^"]*"', "", self.value(card, name))
        return [card if word == "index" else int(word, 0) for word in text.split()]


def _for_cards(profile: str, indices: list[int]) -> str:
    """A profile whose sections "[profile]" and "[profile/1]" name these cards."""

    def section(found: re.Match[str]) -> str:
        return "[" + ",".join(f"{index}{found.group(1)}" for index in indices) + "]"

    return re.sub(r"\[profile([/\d]*)\]", section, profile)


def _holds(section: str, card: int) -> bool:
    for part in section.split(","):
        if part == "*":
            return True
        if part.isdigit() and int(part) == card:
            return True
        first, dash, last = part.partition("-")
        if dash and first.isdigit() and last.isdigit() and int(first) <= card <= int(last):
            return True
    return False
