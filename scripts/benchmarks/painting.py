"""The dashboard in a browser, with a million schedules stored: its weight, and when it is there.

A profile of its own for each look, so that nothing comes out of a cache. First paint is what the
browser itself notes (Paint Timing); the herd is there when its forecast has been drawn.
"""

import asyncio
import shutil
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright

from benchmarks.engines import NOWHERE, document, engine_process, open_store
from benchmarks.findings import Finding
from benchmarks.reference import BODY

SCHEDULES = 1_000_000
LOOKS = 5
PAINT_SECONDS_MAX = 0.5
WEIGHT_KIB_MAX = 200

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAINT = "performance.getEntriesByName('first-paint')[0].startTime / 1000"
WEIGHT = """performance.getEntries().filter((entry) => "encodedBodySize" in entry)
  .filter((entry) => !/\\/v1\\//.test(entry.name))
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0) / 1024"""
SHOWN_MS_MAX = 60_000


async def dashboard(directory: Path) -> AsyncIterator[Finding]:
    """First paint of the herd, of a million schedules that all fall on the next :00."""
    with engine_process(directory):
        pass  # A store is filled that an engine has begun.
    async with open_store(directory) as store:
        await store.fill(_hourly(), time.time_ns() // 1_000_000)
    with engine_process(directory) as process:
        looks = [look async for look in _looks(f"http://{process.listen}/")]
    paints, shown, weights = zip(*looks, strict=True)
    yield Finding(
        what=f"first paint, {SCHEDULES:,} schedules",
        measured=f"{statistics.median(paints):.2f} s, at most {max(paints):.2f} s",
        reference=f"the herd is drawn after {statistics.median(shown):.1f} s",
        target=f"<= {PAINT_SECONDS_MAX} s",
        holds=max(paints) <= PAINT_SECONDS_MAX,
    )
    yield Finding(
        what="weight of the page",
        measured=f"{max(weights):.0f} KiB, uncompressed",
        target=f"<= {WEIGHT_KIB_MAX} KiB",
        holds=max(weights) <= WEIGHT_KIB_MAX,
    )


async def _looks(url: str) -> AsyncIterator[tuple[float, float, float]]:
    """First paint and the whole herd in seconds, the page's weight in KiB; of each look."""
    async with async_playwright() as driver:
        path = shutil.which("chromium")
        browser = await driver.chromium.launch(executable_path=path, args=FLAGS)
        for _ in range(LOOKS):
            yield await _look(browser, url)
        await browser.close()


async def _look(browser: Browser, url: str) -> tuple[float, float, float]:
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    began = time.perf_counter()
    await page.goto(url)
    await page.locator("main[data-shown]").wait_for(timeout=SHOWN_MS_MAX)
    shown = time.perf_counter() - began
    await asyncio.sleep(1)  # Its last files have come, and the next look finds the engine at rest.
    found = await page.evaluate(f"[{PAINT}, {WEIGHT}]")
    await context.close()
    return found[0], shown, found[1]


def _hourly() -> Iterator[dict[str, Any]]:
    for number in range(SCHEDULES):
        yield document(f"hourly-{number}", NOWHERE, BODY, cron="0 * * * *")
