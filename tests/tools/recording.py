"""Draw screenshots/tour.svg, a short recording that a browser plays: `python tests/tools/recording.py [FILE]`.

Each picture of the tour is a group of one SVG; a style sheet shows them one after the other. No script, no network.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.tools.screenshots import drawn_alone

HOST, WATCHED_S, SIZE = "oversold-4090", 40, (100, 30)
TOUR: tuple[tuple[str, int, float], ...] = (
    ("", 0, 1.5),
    *(("", 10, 0.7),) * 6,
    ("", 5, 2.5),
    ("f", 1, 4.0),
    ("escape", 1, 1.0),
    ("enter", 1, 3.0),
    ("2", 5, 2.0),
    ("escape", 1, 0.8),
    ("p", 2, 3.0),
    ("escape", 1, 0.8),
    ("v", 2, 2.5),
    ("question_mark", 1, 2.5),
)
"""(key pressed, seconds of the simulated host after it, seconds the picture stays)."""


async def pictures() -> list[tuple[str, float]]:
    """The tour as SVG documents with how long each stays."""
    from tests.ui.stage import drawn, stage

    out = []
    async with stage(HOST, WATCHED_S, SIZE) as (one, pilot):
        for key, seconds, stays in TOUR:
            if key:
                await pilot.press(key)
            for _second in range(seconds):
                one.run(1)
                await drawn(one, pilot)
            await drawn(one, pilot)
            out.append((drawn_alone(one.app), stays))
    return out


def joined(shown: list[tuple[str, float]]) -> str:
    """One document of all. Raises ValueError when they are not of one size."""
    total = sum(stays for _svg, stays in shown)
    heads = {re.match(r"<svg[^>]*>", svg).group(0) for svg, _stays in shown}  # type: ignore[union-attr]
    if len(heads) != 1:
        raise ValueError("the pictures have different sizes")
    style, body, at = [], [], 0.0
    for number, (svg, stays) in enumerate(shown):
        own = _prefixed(svg, f"p{number}")
        body.append(f'<g class="shot s{number}">{own}</g>')
        first, last = 100 * at / total, 100 * (at + stays) / total
        style.append(
            f"@keyframes k{number} {{ 0% {{opacity:0}} {first:.3f}% {{opacity:1}} {last:.3f}% {{opacity:0}} }}\n"
            f".s{number} {{ animation: k{number} {total:g}s infinite step-end; }}"
        )
        at += stays
    rules = "\n".join(style)
    return f"{heads.pop()}\n<style>.shot {{ opacity: 0; }}\n{rules}\n</style>\n" + "\n".join(body) + "\n</svg>\n"


def _prefixed(svg: str, prefix: str) -> str:
    """The inside of a picture, its names made its own."""
    inner = svg[svg.index(">") + 1 : svg.rindex("</svg>")]
    unique = re.search(r"terminal-(\d+)-", inner)
    return inner.replace(f"terminal-{unique.group(1)}-", f"{prefix}-") if unique else inner


def main() -> None:
    name = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "screenshots" / "tour.svg"
    name.write_text(joined(asyncio.run(pictures())), encoding="utf-8")
    print(name.name, name.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
