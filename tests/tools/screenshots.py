"""Draw the pictures in screenshots/ from the simulated hosts: `python tests/tools/screenshots.py [FOLDER]`.

Time is simulated: each host runs for some minutes on a clock of ours before its picture is taken, so the same version
always draws the same pictures.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ.update(TEXTUAL_ANIMATIONS="none", TZ="UTC", LANGUAGE="en", LC_ALL="C.UTF-8")
os.environ.pop("NO_COLOR", None)
os.environ["TEXTUAL_COLOR_SYSTEM"] = "256"

SIZES = {"120x40": (120, 40), "80x24": (80, 24), "40x12": (40, 12)}


@dataclass(frozen=True)
class Picture:
    """One picture: the host, how long it has run, the keys pressed before it is taken."""

    name: str
    host: str
    seconds: int
    keys: tuple[str, ...] = ()
    sizes: tuple[str, ...] = tuple(SIZES)
    ascii: bool = False


PICTURES = (
    Picture("rtx4090", "rtx4090", 400),
    Picture("rtx4090-ascii", "rtx4090", 400, ascii=True),
    Picture("h100x8", "h100x8", 400),
    Picture("h100x8-ascii", "h100x8", 400, ascii=True),
    Picture("capped-4090", "capped-4090", 300, sizes=("120x40",)),
    Picture("hot-3090", "hot-3090", 600, sizes=("120x40",)),
    Picture("oversold-4090", "oversold-4090", 300, sizes=("120x40",)),
    Picture("lost-a100", "lost-a100", 120, sizes=("120x40", "80x24")),
    Picture("mig-a100", "mig-a100", 120, sizes=("120x40",)),
    Picture("gb10", "gb10", 120, sizes=("80x24",)),
    Picture("table-64", "big-64", 120, sizes=("120x40", "80x24")),
    Picture("table-64-ascii", "big-64", 120, sizes=("80x24",), ascii=True),
    Picture("detail", "rtx4090", 400, keys=("enter",), sizes=("120x40",)),
    Picture("findings", "capped-4090", 300, keys=("f",), sizes=("120x40",)),
    Picture("processes", "h100x8", 120, keys=("p",), sizes=("120x40",)),
    Picture("events", "lost-a100", 120, keys=("l",), sizes=("80x24",)),
    Picture("help", "rtx4090", 60, keys=("question_mark",), sizes=("80x24",)),
    Picture("no-driver", "no-driver", 5, sizes=("80x24",)),
)


async def draw(picture: Picture, size: tuple[int, int]) -> str:
    """The picture as SVG."""
    from tests.ui.stage import stage

    async with stage(picture.host, picture.seconds, size, picture.keys, ascii_only=picture.ascii) as (one, _pilot):
        return drawn_alone(one.app)


def drawn_alone(app: Any) -> str:
    """The screen as SVG that loads nothing: rich's names a font on a server."""
    svg = app.export_screenshot(title="gputui", simplify=True)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        for name in picture.sizes:
            path = folder / f"{picture.name}-{name}.svg"
            path.write_text(asyncio.run(draw(picture, SIZES[name])), encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    main()
