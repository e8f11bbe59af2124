"""One client's events: what waits for it, bounded, and gathered so that much goes out in one write.

A client that does not read is let go: the alternative, to wait for it, would make it the pace of
everybody.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from engine.core.model import State
from engine.services.monitor import HerdSecond
from engine.services.run_events import RunEvent

QUEUE_EVENTS_MAX = 1_024
"""Events that wait for one stream: a whole ring told again, and ten seconds of what follows."""

GATHER_SECONDS = 0.1
"""Between an event and its stream's next write, so that many go out in one."""


class Begun(NamedTuple):
    """The stream goes on from here."""

    id: str


class Reset(NamedTuple):
    """What was told after the client's last event is forgotten; the stream goes on from here."""

    id: str


class Dropped(NamedTuple):
    """How many run events of the last second were not told, by state."""

    by_state: Mapping[State, int]


StreamEvent = RunEvent | HerdSecond | Begun | Reset | Dropped


class Stream:
    """One client's events, in order. `herd`: whether it hears the herd's figures."""

    def __init__(self, *, tenant: str, herd: bool) -> None:
        self.tenant = tenant
        self.herd = herd
        self.ended: str | None = None
        self.on_end: Callable[[], None] = lambda: None
        self._queue: deque[StreamEvent] = deque()
        self._wake = asyncio.Event()
        self._waking: asyncio.TimerHandle | None = None

    def offer(self, event: StreamEvent) -> bool:
        """Take an event in; whether there was room for it."""
        if len(self._queue) >= QUEUE_EVENTS_MAX:
            return False
        self._queue.append(event)
        if self._waking is None:
            loop = asyncio.get_running_loop()
            self._waking = loop.call_later(GATHER_SECONDS, self._wake.set)
        return True

    async def next(self, seconds: float) -> list[StreamEvent] | None:
        """What came since the last call; empty when nothing does in time, None at the end."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return []
        if self.ended is not None:
            return None
        self._wake.clear()
        self._waking = None
        events = list(self._queue)
        self._queue.clear()
        return events

    def end(self, why: str) -> None:
        """No more events: `next` gives None from now on."""
        if self.ended is None:
            self.ended = why
            if self._waking is not None:
                self._waking.cancel()
            self._wake.set()
            self.on_end()
