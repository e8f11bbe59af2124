"""What is asked of the journal for which span, and that questions take turns."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.core.expiry import Cohort
from engine.core.flow_limits import FlowLimit
from engine.core.herd_document import Change, Span
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Sampled, Standing
from engine.core.spreading import Deadlines
from engine.services.forecast import Forecasts
from engine.testing import VirtualClock, run_virtual

NOON_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
NOON = NOON_MS // 1000
HERD = Crowd(
    timetable_id=1,
    trigger=IntervalTrigger(every_seconds=3600, phase_seconds=0),
    counts={0: 300_000},
)


@dataclass
class MemoryHerd:
    """A journal of one timetable, that notes what it is asked and how many ask at once."""

    clock: VirtualClock
    crowd: Crowd = HERD
    asked: list[Any] = field(default_factory=list)
    asking: int = 0
    asking_most: int = 0

    async def standing(self, *, now_ms: int, start_s: int, end_s: int, rate: int) -> Standing:
        self.asked.append((now_ms, start_s, end_s))
        self.asking += 1
        self.asking_most = max(self.asking, self.asking_most)
        await self.clock.run_for(1_000)
        self.asking -= 1
        return Standing(crowds=(self.crowd,), backlog=7 if start_s == now_ms // 1000 + 1 else 0)

    async def deadlines(
        self, limits: Sequence[FlowLimit], *, start_s: int, end_s: int
    ) -> Deadlines:
        return {}

    async def impatient(
        self, limits: Sequence[FlowLimit], *, wait_s: int, start_s: int, end_s: int
    ) -> list[Cohort]:
        self.asked.append(wait_s)
        return [Cohort(crowd=self.crowd, deadline_seconds=100)]

    async def rejitter(
        self,
        crowd: Crowd,
        jitter_seconds: int,
        limits: Sequence[FlowLimit],
        *,
        start_s: int,
        end_s: int,
    ) -> Mapping[int, int]:
        self.asked.append((crowd.timetable_id, jitter_seconds))
        return {jitter_seconds - 1: 100}

    async def sample(self, *, start_s: int, end_s: int) -> list[Sampled]:
        url = "http://u:p@h:1/x"
        return [Sampled(dues=self.crowd.dues, tenant="t", url=url, schedules=3)]


def forecasts(clock: VirtualClock, store: MemoryHerd) -> Forecasts:
    return Forecasts(clock, store, rate=100, burst=10, tokens=lambda: 4)


def test_a_span_that_begins_now_is_simulated_from_what_there_is():
    async def main(clock: VirtualClock) -> None:
        store = MemoryHerd(clock)
        span = Span(from_s=NOON + 900, to_s=NOON + 1000)
        forecast, _ = await forecasts(clock, store).forecast(span)
        assert store.asked == [(NOON_MS, NOON + 1, NOON + 1000)]
        assert (forecast.bucket.tokens, forecast.bucket.backlog) == (4, 7)
        assert len(forecast.planned) == 100

    run_virtual(main, NOON_MS)


def test_a_later_span_is_simulated_from_the_reach_of_jitter_before_it():
    async def main(clock: VirtualClock) -> None:
        store = MemoryHerd(clock)
        span = Span(from_s=NOON + 902, to_s=NOON + 1000)
        forecast, _ = await forecasts(clock, store).forecast(span)
        assert store.asked == [(NOON_MS, NOON + 2, NOON + 1000)]
        assert (forecast.bucket.tokens, forecast.bucket.backlog) == (10, 0)

    run_virtual(main, NOON_MS)


def test_who_may_expire_is_asked_once_it_is_known_how_long_anybody_waits():
    async def main(clock: VirtualClock) -> None:
        store = MemoryHerd(clock)
        span = Span(from_s=NOON + 3_500, to_s=NOON + 3_800)
        forecast, _ = await forecasts(clock, store).forecast(span)
        # Of 300,000 at once 110 leave in the first second, and then a hundred a second.
        assert store.asked[1:] == [2_999]
        assert forecast.expiring == 300_000 - 100 * 100 - 10

    run_virtual(main, NOON_MS)


def test_names_are_scaled_up_from_the_sample_and_hosts_lose_their_credentials():
    async def main(clock: VirtualClock) -> None:
        _, top = await forecasts(clock, MemoryHerd(clock)).forecast(
            Span(from_s=NOON + 1, to_s=NOON + 7201)
        )
        assert top.tenants == [("t", 600_000)]
        assert top.hosts == [("h:1", 600_000)]

    run_virtual(main, NOON_MS)


def test_offsets_of_too_many_schedules_are_not_computed():
    async def main(clock: VirtualClock) -> None:
        span = Span(from_s=NOON + 1, to_s=NOON + 7201)
        many, few = (
            MemoryHerd(clock),
            MemoryHerd(clock, Crowd(timetable_id=1, trigger=HERD.trigger, counts={0: 100})),
        )
        expected = await forecasts(clock, many).what_if(Change(jitter_seconds=60), span)
        exact = await forecasts(clock, few).what_if(Change(jitter_seconds=60), span)
        assert (expected.exactness, exact.exactness) == ("expected", "exact")
        assert (1, 60) not in many.asked
        assert exact.then.planned[3600 + 59 - 2] == 100

    run_virtual(main, NOON_MS)


def test_what_passes_of_a_span_while_a_question_waits_is_left_out():
    async def main(clock: VirtualClock) -> None:
        asked = forecasts(clock, MemoryHerd(clock))
        span = Span(from_s=NOON + 1, to_s=NOON + 2)
        answers = await asyncio.gather(*(asked.forecast(span) for _ in range(4)))
        assert [(f.start_s - NOON, len(f.planned)) for f, _ in answers] == [
            (1, 1),
            (2, 1),
            (3, 1),
            (4, 1),
        ]

    run_virtual(main, NOON_MS)


def test_questions_take_turns():
    async def main(clock: VirtualClock) -> None:
        store = MemoryHerd(clock)
        asked = forecasts(clock, store)
        span = Span(from_s=NOON + 1, to_s=NOON + 60)
        await asyncio.gather(*(asked.forecast(span) for _ in range(3)), asked.advice())
        assert (len(store.asked), store.asking_most) == (4, 1)

    run_virtual(main, NOON_MS)
