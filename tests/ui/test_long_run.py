"""20,000 samples with the screen drawn on: memory stays where it was."""

from __future__ import annotations

import gc

import psutil

from tests.ui.stage import Stage, drawn

TICKS, DRAWN_EVERY = 20_000, 20
GROWTH_MIB = 3.0
"""A day of history of one card is 2 MiB and fills up over a day; the rest is the allocator's."""


async def test_memory_is_flat_over_twenty_thousand_ticks():
    one = Stage("rtx4090", 10)
    async with one.app.run_test(size=(120, 40)) as pilot:
        await drawn(one, pilot)

        async def run(ticks: int) -> float:
            for at in range(0, ticks, DRAWN_EVERY):
                one.run(DRAWN_EVERY)
                one.app.refresh_now()
                if at % (50 * DRAWN_EVERY) == 0:
                    await pilot.pause()
            gc.collect()
            return psutil.Process().memory_info().rss / 2**20

        half = await run(TICKS // 2)
        whole = await run(TICKS // 2)
        assert whole - half < GROWTH_MIB
        assert one.has("MHz")
        assert not one.app.draw_errors
