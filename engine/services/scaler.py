"""The scaler: shows the core what was going on, and sets the limit that it says (SPEC §8)."""

import asyncio
from typing import NamedTuple, Protocol

from engine.clock import Clock
from engine.core.scaling import Load, Scaling
from engine.services.figures import Figures

LOOK_SECONDS = 0.5
"""Five beats of the pulse, so one stall of the loop is not a trend."""


class Sender(Protocol):
    """Who has attempts under way. `limit` is set here and nowhere else."""

    limit: int

    @property
    def inflight(self) -> int: ...

    @property
    def lacks_slots(self) -> bool:
        """Whether a run is due that lacks nothing but a slot."""
        ...


class _Totals(NamedTuple):
    """Since the start: attempts that ended, beats of the pulse, and by how much it was late."""

    at_ms: int
    ended: int
    beats: int
    late_ms: float


class Scaler:
    """Sets the sender's limit, up to `ceiling`. Nothing is counted for it on the way of a run."""

    def __init__(self, clock: Clock, sender: Sender, figures: Figures, *, ceiling: int) -> None:
        self._clock = clock
        self._sender = sender
        self._figures = figures
        self._scaling = Scaling(ceiling)
        sender.limit = self._scaling.limit

    async def run(self) -> None:
        before = self._totals()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = self._totals()
            load = Load(
                seconds=(now.at_ms - before.at_ms) / 1_000,
                waits=self._sender.lacks_slots,
                under_way=self._sender.inflight,
                ended=now.ended - before.ended,
                lag_ms=(now.late_ms - before.late_ms) / max(1, now.beats - before.beats),
            )
            self._sender.limit = self._scaling.see(load)
            before = now

    def _totals(self) -> _Totals:
        lag = self._figures.loop_lag_seconds
        return _Totals(
            at_ms=self._clock.monotonic_ms(),
            ended=self._figures.attempts.total(),
            beats=sum(lag.counts),
            late_ms=1_000 * lag.total,
        )
