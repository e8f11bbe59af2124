"""Forecast, what-if and advice for the engine as it stands: what is read, what is computed where.

The journal is read on a thread of its own, the arithmetic of `core.forecast` runs on another, and
the event loop waits for both. One question is answered at a time: two would take the interpreter
from each other and from the deliveries.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

from engine.clock import Clock
from engine.core.bucket_simulation import Bucket
from engine.core.errors import Unavailable
from engine.core.expiry import Cohort
from engine.core.flow_limits import FlowLimit
from engine.core.forecast import SPAN_SECONDS_MAX, Forecast, foresee
from engine.core.herd_advice import Advice, advise
from engine.core.herd_document import Change, Span
from engine.core.herd_top import Top, top
from engine.core.limited_passage import release
from engine.core.population import OFFSET_SECONDS_MAX, Crowd, Sampled, Standing, draw
from engine.core.spreading import Deadlines, least_rate
from engine.core.what_if import EXACT_SCHEDULES_MAX, Question, WhatIf, answer, select

HOUR_SECONDS = 3_600

TURN_SECONDS = 30.0
"""How long a question waits for the one before it; a day of a million schedules takes two."""


class HerdStore(Protocol):
    """What the journal tells. Seconds since the epoch; a span is start <= second < end."""

    def of(self, tenant: str) -> "HerdStore":
        """The same of one tenant's schedules alone."""
        ...

    async def standing(self, *, now_ms: int, start_s: int, end_s: int, rate: int) -> Standing:
        """Everything that will fire from `start_s` on, what is due already, and the limits of flows
        that can bind beside the engine's own `rate`."""
        ...

    async def deadlines(
        self, limits: Sequence[FlowLimit], *, start_s: int, end_s: int
    ) -> Deadlines:
        """Those of the crowds of a standing with these limits."""
        ...

    async def impatient(
        self, limits: Sequence[FlowLimit], *, wait_s: int, start_s: int, end_s: int
    ) -> list[Cohort]:
        """Schedules that owe all of a span and whose runs may expire when they wait so long."""
        ...

    async def rejitter(
        self,
        crowd: Crowd,
        jitter_seconds: int,
        limits: Sequence[FlowLimit],
        *,
        start_s: int,
        end_s: int,
    ) -> Mapping[int, int]:
        """A crowd's schedules by offset, had they this jitter (or their deadline's, if less)."""
        ...

    async def sample(self, *, start_s: int, end_s: int) -> list[Sampled]:
        """Some schedules, by what they owe of a span and where they send."""
        ...


class Forecasts:
    """One engine's. Errors are those of `core.errors`."""

    def __init__(
        self,
        clock: Clock,
        store: HerdStore,
        *,
        rate: int,
        burst: int,
        tokens: Callable[[], int],
        turn: asyncio.Lock | None = None,
    ) -> None:
        """`tokens`: how many there are in the engine's bucket now; `turn`: shared with others."""
        self._clock = clock
        self._store = store
        self._rate = rate
        self._burst = burst
        self._tokens = tokens
        self._turn = turn or asyncio.Lock()
        self._line = asyncio.Lock()

    def of(self, tenant: str) -> "Forecasts":
        """Those of one tenant's runs alone, as if the node and a full bucket were all for them.

        What others add is not in them, since it would tell of the others.
        """
        return Forecasts(
            self._clock,
            self._store.of(tenant),
            rate=self._rate,
            burst=self._burst,
            tokens=lambda: self._burst,
            turn=self._turn,
        )

    async def forecast(self, span: Span) -> tuple[Forecast, Top]:
        """The forecast of a span as things are."""
        async with self._my_turn():
            span, start_s, standing, bucket = await self._read(span)
            sample = await self._store.sample(start_s=start_s, end_s=span.to_s)
            found = await self._foresee(standing, bucket, start_s, span)
            found = replace(found, under_way=standing.under_way)
            return found, await asyncio.to_thread(top, standing.crowds, sample, span)

    async def foresee(self, span: Span) -> Forecast:
        """The same without the names."""
        async with self._my_turn():
            span, start_s, standing, bucket = await self._read(span)
            return await self._foresee(standing, bucket, start_s, span)

    async def what_if(self, change: Change, span: Span) -> WhatIf:
        """The forecast of a span with a change. Raises Invalid when it selects nothing."""
        async with self._my_turn():
            rate = max(self._rate, change.rate or 0)
            span, start_s, standing, bucket = await self._read(span, rate)
            deadlines = await self._store.deadlines(
                standing.limits, start_s=start_s, end_s=span.to_s
            )
            selected = await asyncio.to_thread(select, standing.crowds, change, start_s, span)
            changed = await self._rejitter(selected, standing.limits, change, start_s, span)
            question = Question(
                change=change,
                span=span,
                start_s=start_s,
                standing=standing,
                deadlines=deadlines,
                selected=selected,
                changed=changed,
                bucket=bucket,
            )
            return await asyncio.to_thread(answer, question)

    async def advice(self) -> Advice:
        """The changes of jitter that buy the most over the next day."""
        from_s = self._clock.now_ms() // 1000 + 1
        span = Span(from_s=from_s, to_s=from_s + SPAN_SECONDS_MAX)
        async with self._my_turn():
            span, start_s, standing, bucket = await self._read(span)
            deadlines = await self._store.deadlines(
                standing.limits, start_s=start_s, end_s=span.to_s
            )
            return await asyncio.to_thread(_advise, standing, deadlines, bucket, start_s, span)

    async def rate_needed(self) -> int:
        """The least rate that keeps the service level over the coming hour; 0 for no runs.

        What waits already is not counted: it is there to be seen.
        """
        from_s = self._clock.now_ms() // 1000 + 1
        async with self._my_turn():
            span, start_s, standing, bucket = await self._read(
                Span(from_s=from_s, to_s=from_s + HOUR_SECONDS)
            )
            return await asyncio.to_thread(_rate_needed, standing, bucket, start_s, span)

    @asynccontextmanager
    async def _my_turn(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    # One question of each tenant stands in the common line, however many it has.
                    await held.enter_async_context(self._line)
                    await held.enter_async_context(self._turn)
            except TimeoutError:
                raise Unavailable("other forecasts are being computed; try again later") from None
            yield

    async def _read(
        self, span: Span, rate: int | None = None
    ) -> tuple[Span, int, Standing, Bucket]:
        """What is left of the span after waiting for a turn; where the simulation starts, what will
        fire, and the bucket as it is found there. `rate`: the highest that is asked about.

        Far from now it starts before the span, so that what jitter carries into it is there.
        """
        now_ms = self._clock.now_ms()
        next_s = now_ms // 1000 + 1
        from_s = max(next_s, span.from_s)
        span = Span(from_s=from_s, to_s=max(from_s + 1, span.to_s))
        start_s = max(next_s, span.from_s - OFFSET_SECONDS_MAX)
        standing = await self._store.standing(
            now_ms=now_ms, start_s=start_s, end_s=span.to_s, rate=rate or self._rate
        )
        tokens = self._tokens() if start_s == next_s else self._burst
        bucket = Bucket(rate=self._rate, burst=self._burst, tokens=tokens, backlog=standing.backlog)
        return span, start_s, standing, bucket

    async def _foresee(
        self, standing: Standing, bucket: Bucket, start_s: int, span: Span
    ) -> Forecast:
        """With those who expire, once it is known how long anybody waits: most days nobody does."""
        outlook = await asyncio.to_thread(
            draw, standing.crowds, standing.singles, start_s, span.to_s
        )
        foreseen = partial(
            foresee,
            outlook,
            bucket,
            from_s=span.from_s,
            limits=standing.limits,
            unlimited=standing.unlimited,
        )
        patient = await asyncio.to_thread(foreseen)
        wait_s = patient.longest_wait_s
        if not wait_s:
            return patient
        cohorts = await self._store.impatient(
            standing.limits, wait_s=wait_s, start_s=start_s, end_s=span.to_s
        )
        return await asyncio.to_thread(foreseen, cohorts=cohorts) if cohorts else patient

    async def _rejitter(
        self,
        selected: Sequence[Crowd],
        limits: Sequence[FlowLimit],
        change: Change,
        start_s: int,
        span: Span,
    ) -> tuple[Crowd, ...] | None:
        """The selected crowds with their new offsets; None when they are too many to compute."""
        seconds = change.jitter_seconds
        if seconds is None:
            return tuple(selected)
        if sum(crowd.schedules for crowd in selected) > EXACT_SCHEDULES_MAX:
            return None
        return tuple(
            [
                replace(crowd, counts=counts)
                for crowd in selected
                if (
                    counts := await self._store.rejitter(
                        crowd, seconds, limits, start_s=start_s, end_s=span.to_s
                    )
                )
            ]
        )


def _rate_needed(standing: Standing, bucket: Bucket, start_s: int, span: Span) -> int:
    outlook = release(draw(standing.crowds, standing.singles, start_s, span.to_s), standing.limits)
    if not any(outlook.planned):
        return 0

    def bucket_at(rate: int) -> Bucket:
        return Bucket(rate=rate, burst=max(1, rate * bucket.burst // bucket.rate))

    return least_rate(outlook, bucket_at, from_s=span.from_s)


def _advise(
    standing: Standing, deadlines: Deadlines, bucket: Bucket, start_s: int, span: Span
) -> Advice:
    outlook = release(draw(standing.crowds, standing.singles, start_s, span.to_s), standing.limits)
    return advise(outlook, standing.crowds, deadlines, bucket, from_s=span.from_s)
