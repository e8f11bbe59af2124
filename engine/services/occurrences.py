"""The occurrences of a schedule, past and future, computed from its row alone (SPEC §9)."""

import asyncio
from dataclasses import dataclass

from engine.core.identity import idempotency_key
from engine.core.model import Schedule
from engine.core.owed import computable

COMPUTED_AT_ONCE = 50
"""Between two looks at the loop: a cron takes up to 20 us for each."""

REACH_MS = 41 * 366 * 86_400_000
"""As far as a timetable searches (SPEC §3)."""

_END_OF_TIME_MS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed:
    """An occurrence with what follows from it; `key`: every attempt of its run has it.

    `owed`: it is later than where the schedule's present rules begin. What earlier ones owed is in
    the journal.
    """

    scheduled_for_ms: int
    fire_after_ms: int
    key: str
    owed: bool


async def compute(
    schedule: Schedule, from_ms: int, to_ms: int | None, limit: int
) -> list[Computed]:
    """The first `limit` with `from_ms <= scheduled_for < to_ms`; None: as far as can be seen."""
    definition = schedule.definition
    return [
        Computed(
            scheduled_for_ms=ms,
            fire_after_ms=ms + definition.offset_ms,
            key=idempotency_key(definition.schedule_id, ms),
            owed=ms > schedule.owed_after_ms,
        )
        for ms in await _instants(schedule, from_ms, to_ms, limit)
    ]


async def _instants(schedule: Schedule, from_ms: int, to_ms: int | None, limit: int) -> list[int]:
    rules = computable(schedule)
    after_ms, until_ms = rules.clip(from_ms - 1, _END_OF_TIME_MS if to_ms is None else to_ms - 1)
    if until_ms == _END_OF_TIME_MS:
        until_ms = after_ms + REACH_MS
    found: list[int] = []
    while len(found) < limit:
        some = rules.between(after_ms, until_ms, min(COMPUTED_AT_ONCE, limit - len(found)))
        if not some:
            break
        found += some
        after_ms = some[-1]
        await asyncio.sleep(0)
    return found
