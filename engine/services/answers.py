"""Answers that are kept for requests with an idempotency key (`core.once`).

Which requests are under way is known here, in memory: one engine holds the journal, and when it
dies they are under way no more. The same request, sent again meanwhile, waits a moment for the
first answer and is then told to come back.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from engine.clock import Clock
from engine.core.errors import InProgress, KeyTaken
from engine.core.once import KEPT_MS, Once, Record, Reply

T = TypeVar("T")

PATIENCE_SECONDS = 1.0
"""How long a request waits for the same one: most take milliseconds, and a connection is held."""


class AnswerStore(Protocol):
    """Answers on disk; they are written by whoever stores the effect."""

    async def find(self, once: Once, after_ms: int) -> tuple[bytes, Reply] | None:
        """What was kept under the key later than that: its fingerprint, and the answer."""
        ...


class Answers:
    """The answers of all tenants: each `Once` says whose it is."""

    def __init__(self, clock: Clock, store: AnswerStore, *, master: bytes) -> None:
        """`master`: the node's key; without it no kept fingerprint tells what was asked."""
        self._clock = clock
        self._store = store
        self._master = master
        self._under_way: dict[tuple[str, str], asyncio.Future[None]] = {}

    async def once(
        self,
        once: Once,
        work: Callable[[Record[T]], Awaitable[object]],
        answer: Callable[[T], Reply],
    ) -> Reply | None:
        """The answer that was kept; None when there was none and `work` has been done.

        `work` keeps the record in the transaction of its effect. Raises `KeyTaken`, `InProgress`,
        and what `work` raises.
        """
        # A request may hold a credential that is short enough to be guessed from a plain hash.
        sealed = hmac.digest(self._master, b"answer|" + once.fingerprint, "sha256")
        once = replace(once, fingerprint=sealed)
        place = (once.tenant, once.key)
        await self._wait_for(place)
        done = self._under_way[place] = asyncio.get_running_loop().create_future()
        try:
            kept = await self._find(once)
            if kept is None:
                await work(Record(once=once, now_ms=self._clock.now_ms(), answer=answer))
            return kept
        finally:
            del self._under_way[place]
            done.set_result(None)

    async def _wait_for(self, place: tuple[str, str]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while place in self._under_way:
                    await asyncio.shield(self._under_way[place])
        except TimeoutError:
            raise InProgress("the same request is under way: ask again in a moment") from None

    async def _find(self, once: Once) -> Reply | None:
        kept = await self._store.find(once, self._clock.now_ms() - KEPT_MS)
        if kept is None:
            return None
        fingerprint, answer = kept
        if fingerprint != once.fingerprint:
            raise KeyTaken(
                "another request was made under this Idempotency-Key: take a new one, or send that "
                "request again, byte for byte"
            )
        return replace(answer, is_repeated=True)
