"""The recorder: journals how attempts ended, many at once, and then holds the retries.

What is on disk is counted and goes on; what could not be written is written again, and while much
of it waits the dispatcher claims nothing.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.core.fairness import Class
from engine.core.lifecycle import TERMINAL
from engine.services.figures import Figures
from engine.services.waiting import Waiting
from engine.store import Ended, HeldRun, Journal

RETRY_SECONDS = 0.5
"""Before the journal is asked again after it could not be written."""


class Recorder:
    """Takes ended attempts in, oldest first; its length is how many are not on disk yet."""

    def __init__(self, clock: Clock, journal: Journal, waiting: Waiting, figures: Figures) -> None:
        self._clock = clock
        self._journal = journal
        self._waiting = waiting
        self._figures = figures
        self._outcomes: deque[Ended] = deque()
        self._wake = asyncio.Event()
        self.on_recorded: Callable[[Sequence[Ended]], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._outcomes)

    def add(self, ended: Ended) -> None:
        """An attempt has ended."""
        self._outcomes.append(ended)
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch = list(self._outcomes)
            if not batch:
                continue
            try:
                recorded = await self._journal.end(batch)
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                self._wake.set()
                continue
            for _ in batch:
                self._outcomes.popleft()
            self._waiting.bring_forward(recorded.due, self._clock.now_ms())
            self._figures.cancel(recorded.cancelled)
            self._settle(batch)
            self.on_recorded(batch)

    def _settle(self, batch: list[Ended]) -> None:
        """Count what is on disk now, and hold the retries."""
        for ended in batch:
            self._figures.attempts[ended.outcome.name] += 1
            if ended.state in TERMINAL:
                self._figures.end(ended.state, ended.reason)
        self._waiting.retry(
            e.run._replace(due_ms=e.next_attempt_at_ms, rank=_retry_rank(e.run))
            for e in batch
            if e.next_attempt_at_ms is not None
        )


def _retry_rank(run: HeldRun) -> int:
    """A fresh run that is tried again is a retry; catch-up stays what it is."""
    return max(run.rank, Class.RETRY)
