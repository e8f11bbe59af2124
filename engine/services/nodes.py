"""How many nodes the coming hour and the backlog ask for, kept ready for the metrics."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from engine.clock import Clock
from engine.core.errors import Unavailable
from engine.core.nodes import desired_nodes

LOOK_SECONDS = 900
"""Between two looks: a forecast of a million schedules costs a second, and nodes take minutes to
come. Each look covers an hour, so a herd is seen 45 minutes before it comes."""

LOOK_AT_MS = 30_000
"""Of a minute: far from the herds, which are at its beginning."""

_MINUTE_MS = 60_000


class Outlook(Protocol):
    """The forecast."""

    async def rate_needed(self) -> int:
        """The least rate that keeps the service level over the coming hour; 0 for no runs."""
        ...


class Nodes:
    """Looks at the forecast now and then. `desired` is 1 until the first look, after a minute."""

    def __init__(
        self, clock: Clock, outlook: Outlook, *, backlog: Callable[[], int], rate: int
    ) -> None:
        """`backlog`: runs that are due and not blocked, now; `rate`: this node's."""
        self._clock = clock
        self._outlook = outlook
        self._backlog = backlog
        self._rate = rate
        self._rate_needed = 0

    @property
    def desired(self) -> int:
        """Nodes like this one."""
        return desired_nodes(
            rate_needed=self._rate_needed, backlog=self._backlog(), rate=self._rate
        )

    async def run(self) -> None:
        while True:
            await asyncio.sleep((LOOK_AT_MS - self._clock.now_ms()) % _MINUTE_MS / 1_000)
            with suppress(Unavailable):  # The last look holds until the next.
                self._rate_needed = await self._outlook.rate_needed()
            await asyncio.sleep(LOOK_SECONDS - _MINUTE_MS / 2_000)
