"""Forecasts are frozen before their time comes, and held against what happened.

Every five minutes, ten seconds before the next ones begin, the forecast of those minutes is kept;
of a full hour also the digest of its herd, which goes into the herd's record. When a minute has
been over for a while it is compared with what the monitor counted, and the difference is kept for
an hour, with its reasons.

A freeze reads what a forecast reads, half a second of another thread for a million schedules;
freezing each minute by itself would name fewer changes and cost five times as much.
"""

import asyncio
from collections import deque
from typing import Protocol

import structlog

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.core.forecast import Forecast
from engine.core.forecast_audit import (
    AuditedMinute,
    Changed,
    Digest,
    FrozenMinute,
    Happened,
    compare,
    digest,
    freeze,
)
from engine.core.herd_document import Span
from engine.core.population import OFFSET_SECONDS_MAX

log = structlog.get_logger("offbeat.forecast_audit")

LEAD_MS = 10_000
"""A forecast is frozen so long before its first minute: twice the planner's lookahead."""

FREEZE_MS = 300_000
"""Minutes frozen at once."""

LATE_MS = 10_000
"""Woken so late the engine was suspended, or its clock was set: a miss by SPEC §6."""

MINUTES_KEPT = 60

MINUTE_MS = 60_000
_HOUR_MS = 3_600_000
_HERD_SECONDS = OFFSET_SECONDS_MAX + 60
"""The first minute of an hour, and as far as jitter carries its runs."""


class Foreseer(Protocol):
    """Makes forecasts."""

    async def foresee(self, span: Span) -> Forecast: ...


class Counted(Protocol):
    """The monitor's counts."""

    def happened(self, start_ms: int, seconds: int, *, late: bool) -> Happened: ...


class Changes(Protocol):
    """What the journal knows of schedules written lately."""

    async def changed_since(self, ms: int) -> Changed: ...


class ForecastAudit:
    """The minutes frozen and the minutes compared; of this life alone."""

    def __init__(
        self, clock: Clock, forecasts: Foreseer, counted: Counted, changes: Changes
    ) -> None:
        self._clock = clock
        self._forecasts = forecasts
        self._counted = counted
        self._changes = changes
        self._frozen: deque[FrozenMinute] = deque()
        self._closed: deque[AuditedMinute] = deque(maxlen=MINUTES_KEPT)
        self._digest: Digest | None = None
        self._due_ms = clock.now_ms()

    @property
    def minutes(self) -> list[AuditedMinute]:
        """Those of the last hour that are closed, newest first."""
        return list(reversed(self._closed))

    def digest_of(self, instant_ms: int) -> Digest | None:
        """What was foretold of the herd of a full hour; None when nothing was."""
        return self._digest if self._digest and self._digest.instant_ms == instant_ms else None

    async def run(self) -> None:
        while True:
            await self.run_once()
            self._due_ms = _next_look_ms(self._clock.now_ms())
            await asyncio.sleep((self._due_ms - self._clock.now_ms()) / 1_000)

    async def run_once(self) -> None:
        """Compare the minutes that are over, and freeze the next ones when none is left."""
        now_ms = self._clock.now_ms()
        if now_ms < self._due_ms - LATE_MS:  # The calendar was set back: they come once more.
            self._frozen.clear()
        late = now_ms - self._due_ms > LATE_MS
        while self._frozen and self._frozen[0].start_ms + MINUTE_MS <= now_ms:
            await self._close(self._frozen.popleft(), late=late)
        if not self._frozen or self._frozen[-1].start_ms + MINUTE_MS <= now_ms + LEAD_MS:
            await self._freeze(now_ms)

    async def _close(self, frozen: FrozenMinute, *, late: bool) -> None:
        happened = self._counted.happened(frozen.start_ms, MINUTE_MS // 1_000, late=late)
        changed = Changed()
        if happened.planned != frozen.planned or happened.served != frozen.served:
            changed = await self._changes.changed_since(frozen.frozen_at_ms)
        self._closed.append(compare(frozen, happened, changed))

    async def _freeze(self, now_ms: int) -> None:
        start_ms = -(-(now_ms + LEAD_MS) // MINUTE_MS) * MINUTE_MS
        end_ms = (start_ms // FREEZE_MS + 1) * FREEZE_MS
        is_hour = start_ms % _HOUR_MS == 0
        seconds = _HERD_SECONDS if is_hour else (end_ms - start_ms) // 1_000
        from_s = start_ms // 1_000
        try:
            forecast = await self._forecasts.foresee(Span(from_s=from_s, to_s=from_s + seconds))
        except Unavailable as error:  # The next minutes are tried again.
            log.info("forecast_not_frozen", reason=str(error))
            return
        if self._clock.now_ms() >= start_ms:
            return  # It took too long: the minute has begun, and it would be no forecast.
        minutes = (end_ms - start_ms) // MINUTE_MS
        self._frozen.extend(freeze(forecast, minutes=minutes, frozen_at_ms=now_ms))
        if is_hour:
            self._digest = digest(forecast, frozen_at_ms=now_ms)


def _next_look_ms(now_ms: int) -> int:
    """The next instant that is `LEAD_MS` before a minute."""
    return ((now_ms + LEAD_MS) // MINUTE_MS + 1) * MINUTE_MS - LEAD_MS
