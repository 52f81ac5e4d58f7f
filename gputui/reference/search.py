"""Finding a card by what a person types: "4090", "h100 sxm", a name, an id, a PCI id.

Forgiving on purpose, and therefore never used to identify a card that is really there: that is `lookup.find`.
"""

from __future__ import annotations

import re

from gputui.reference import store
from gputui.reference.card import CardSpec

_PCI = re.compile(r"(?:10de:)?([0-9a-f]{4})$|0x([0-9a-f]{4})(?:10de)?$")


def search(text: str) -> list[CardSpec]:
    """Cards that fit the text, best first; empty when none does. Case, spaces and hyphens do not matter.

    An exact id, name or alias gives only the card that carries it. Several cards share a name ("NVIDIA H100" is three
    of them): written with "NVIDIA" it means those, without it is looked for like any other word.
    """
    wanted = text.strip().lower()
    if not _words(wanted):
        return []
    exact = [card for card in store.cards() if _squeeze(wanted) in _exact_keys(card)]
    if len(exact) == 1 or (exact and wanted.startswith("nvidia")):
        return exact
    ranked = [(rank, place, card) for place, card in enumerate(store.cards()) if (rank := _rank(card, wanted))]
    if ranked:
        return [card for _, _, card in sorted(ranked, key=lambda row: row[:2])]
    pci = _PCI.match(wanted)
    return list(store.with_pci(int(pci.group(1) or pci.group(2), 16))) if pci else []


def _squeeze(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower()).removeprefix("nvidia")


def _exact_keys(card: CardSpec) -> set[str]:
    return {_squeeze(key) for key in (card.id, card.nvml_name, *card.aliases)}


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _rank(card: CardSpec, wanted: str) -> tuple[int, int] | None:
    """(words matched only by their beginning, words of the id not asked for), or None when a word is missing."""
    own = [_words(key) for key in (card.id, card.nvml_name, *card.aliases)]
    known = {word for words in own for word in words} | {*_words(card.form), card.chip.lower(), card.arch.lower()}
    for words in own:  # "3060ti", "rtx4090", "4090d"
        known.update(
            "".join(words[start:end]) for start in range(len(words)) for end in range(start + 2, len(words) + 1)
        )
    asked, loose = _words(wanted), 0
    for word in asked:
        if word in known:
            continue
        if not any(_begins(word, other) for other in known):
            return None
        loose += 1
    return loose, sum(1 for word in own[0] if word not in "".join(asked))


def _begins(word: str, whole: str) -> bool:
    """Whether `whole` starts with `word` and does not merely go on with more digits: "a100" is no way to "a1000"."""
    return whole.startswith(word) and not (word[-1].isdigit() and whole[len(word) : len(word) + 1].isdigit())
