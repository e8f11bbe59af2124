"""The pulse: how late the event loop wakes up, which is how late everything else is."""

import asyncio
from collections.abc import Callable

from engine.clock import Clock
from engine.services.figures import Figures

BEAT_MS = 100
"""Ten looks a second: enough to see a stall of a request's length, too few to be one."""


class Pulse:
    """Measures the loop's lag, for the metrics and for `on_beat`."""

    def __init__(self, clock: Clock, figures: Figures) -> None:
        self._clock = clock
        self._figures = figures
        self.on_beat: Callable[[int], None] = lambda _late_ms: None
        """Called at each beat with how late it is; a loop that is on time makes ten a second."""

    async def run(self) -> None:
        while True:
            began_ms = self._clock.monotonic_ms()
            await asyncio.sleep(BEAT_MS / 1_000)
            late_ms = max(0, self._clock.monotonic_ms() - began_ms - BEAT_MS)
            self._figures.loop_lag_seconds.add(late_ms / 1_000)
            self.on_beat(late_ms)
