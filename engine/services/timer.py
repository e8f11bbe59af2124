"""The timer: turns the wheel as the calendar goes on, and says when something is due.

The event loop's timers have a grain of a millisecond and may wake early, and the calendar may be
set at any time. So the timer never trusts its own sleep: it reads the clock, moves what is due by
it, and sleeps again, never for long.
"""

import asyncio
from collections.abc import Callable

from engine.clock import Clock
from engine.services.waiting import Waiting

SLEEP_MS_MAX = 500
"""The calendar is read again at least this often: a clock set forward is noticed within it."""


class Timer:
    """Moves runs from the wheel to the queue when their time has come."""

    def __init__(self, clock: Clock, waiting: Waiting, on_due: Callable[[], None]) -> None:
        self._clock = clock
        self._waiting = waiting
        self._on_due = on_due
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Something may be due sooner than was known."""
        self._wake.set()

    async def run(self) -> None:
        while True:
            if self.run_once():
                await asyncio.sleep(0)
                continue
            self._wake.clear()
            try:
                async with asyncio.timeout(self._sleep_seconds()):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def run_once(self) -> bool:
        """Move some of what is due by now; whether there is more."""
        more = self._waiting.advance(self._clock.now_ms())
        if self._waiting.ready:
            self._on_due()
        return more

    def _sleep_seconds(self) -> float:
        due_ms = self._waiting.next_due()
        if due_ms is None:
            return SLEEP_MS_MAX / 1_000
        return max(1, min(due_ms - self._clock.now_ms(), SLEEP_MS_MAX)) / 1_000
