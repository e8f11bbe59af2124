"""What is frozen when, and what becomes of a freeze that fails or comes too late."""

import asyncio
from dataclasses import dataclass, field

from engine.core.bucket_simulation import Bucket
from engine.core.errors import Unavailable
from engine.core.forecast import Forecast, foresee
from engine.core.forecast_audit import Changed, Happened
from engine.core.herd_document import Span
from engine.core.population import Outlook
from engine.services.forecast_audit import MINUTES_KEPT, ForecastAudit
from engine.testing import VirtualClock, run_virtual

NOON_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
MINUTE_MS = 60_000


@dataclass
class Steady:
    """A run a second, foretold and counted."""

    clock: VirtualClock
    asked: list[tuple[int, int]] = field(default_factory=list)
    takes_ms: int = 0
    broken: bool = False

    async def foresee(self, span: Span) -> Forecast:
        if self.broken:
            raise Unavailable("another forecast")
        seconds = span.to_s - span.from_s
        self.asked.append((span.from_s - NOON_MS // 1_000, seconds))
        await self.clock.run_for(self.takes_ms)
        once = [1] * seconds
        outlook = Outlook(
            start_s=span.from_s, demand=once, planned=once, herd=[0] * seconds, sharp=[0] * seconds
        )
        return foresee(outlook, Bucket(rate=10, burst=1), from_s=span.from_s)

    def happened(self, start_ms: int, seconds: int, *, late: bool) -> Happened:
        return Happened(planned=seconds, served=seconds, late=late)

    async def changed_since(self, ms: int) -> Changed:
        raise AssertionError("nothing differs, nothing is asked")


async def watch(clock: VirtualClock, world: Steady, ms: int) -> ForecastAudit:
    """An audit that has run for so long."""
    audit = ForecastAudit(clock, world, world, world)
    running = asyncio.ensure_future(audit.run())
    await clock.run_for(ms)
    running.cancel()
    return audit


def test_five_minutes_are_frozen_ten_seconds_before_the_first_and_a_full_hour_to_jitters_reach():
    async def main(clock: VirtualClock) -> None:
        world = Steady(clock)
        await watch(clock, world, 13 * MINUTE_MS)
        # At 11:57:30 the rest until 12:00, then twice five minutes; 12:00 with 900 s of jitter.
        assert world.asked == [(-120, 120), (0, 960), (300, 300), (600, 300)]

    run_virtual(main, NOON_MS - 150_000)


def test_the_minutes_of_an_hour_are_kept():
    async def main(clock: VirtualClock) -> None:
        audit = await watch(clock, Steady(clock), 90 * MINUTE_MS)
        assert len(audit.minutes) == MINUTES_KEPT
        assert audit.minutes[0].frozen.start_ms == NOON_MS + 85 * MINUTE_MS
        assert {minute.planned_difference for minute in audit.minutes} == {0}

    run_virtual(main, NOON_MS - 150_000)


def test_a_forecast_that_is_not_ready_when_its_minute_begins_is_none():
    async def main(clock: VirtualClock) -> None:
        audit = await watch(clock, Steady(clock, takes_ms=20_000), 10 * MINUTE_MS)
        assert audit.minutes == []
        assert audit.digest_of(NOON_MS) is None

    run_virtual(main, NOON_MS - 11_000)


def test_a_forecast_that_cannot_be_made_is_tried_again_for_the_next_minute():
    async def main(clock: VirtualClock) -> None:
        world = Steady(clock, broken=True)
        audit = ForecastAudit(clock, world, world, world)
        await audit.run_once()
        world.broken = False
        await clock.run_for(MINUTE_MS)
        await audit.run_once()
        assert world.asked == [(60, 240)]

    run_virtual(main, NOON_MS - 11_000)


def test_a_calendar_set_back_lets_go_of_minutes_that_come_once_more():
    async def main(clock: VirtualClock) -> None:
        world = Steady(clock)
        audit = ForecastAudit(clock, world, world, world)
        await audit.run_once()
        clock.step(-30 * MINUTE_MS)
        await audit.run_once()
        assert world.asked == [(0, 960), (-1_800, 300)]

    run_virtual(main, NOON_MS - 11_000)
