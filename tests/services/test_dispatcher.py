"""The dispatcher by itself: what only a claim that takes long on disk can show."""

import asyncio
from collections.abc import Sequence

from engine.core.bucket import TokenBucket
from engine.core.identity import Signer
from engine.core.model import RetryPolicy, Target
from engine.services.dispatcher import Dispatcher
from engine.services.figures import Figures
from engine.services.waiting import Waiting
from engine.store import Claim, Claimed, FlowLimits, HeldRun
from engine.testing import FakeTransport, VirtualClock, run_virtual

NOW_MS = 1_796_040_000_000
COMMIT_MS = 3_000
RUN = HeldRun(NOW_MS, NOW_MS, 1, 1, 0, 1)
CLAIM = Claim(
    scheduled_for_ms=NOW_MS,
    schedule_row=1,
    fire_after_ms=NOW_MS,
    trigger="schedule",
    attempt=1,
    granted_from=1,
    first_attempt_at_ms=None,
    schedule_id="sch_0",
    schedule_name="x",
    tenant="default",
    deadline_seconds=COMMIT_MS // 1_000 - 1,
    pause_after_failures=0,
    due_at_ms=NOW_MS,
    delete_after_completion=False,
    is_exclusive=False,
    retry=RetryPolicy(),
    target=Target(url="http://h.example/"),
)


class SlowDisk:
    """A journal whose commits take long, and the claims that it took back."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.expired: list[Claim] = []

    async def claim(self, runs: Sequence[HeldRun], now_ms: int) -> Claimed:
        await self._clock.run_for(COMMIT_MS)
        return Claimed(claims=(CLAIM,), ended=())

    async def expire(self, claims: Sequence[Claim], now_ms: int) -> list[HeldRun]:
        await self._clock.run_for(COMMIT_MS)
        self.expired += claims
        return []


class Open:
    """A gate that lets every claim through."""

    def is_current(self, now_ms: int) -> bool:
        return True


def test_a_drain_whose_last_run_expires_ends_with_it() -> None:
    async def main(clock: VirtualClock) -> tuple[int, list[Claim], int]:
        waiting, disk, transport = Waiting(NOW_MS, slots=1), SlowDisk(clock), FakeTransport(clock)
        waiting.learn(
            [
                FlowLimits(
                    flow_id=1, tenant="default", key="h", rate=None, parallelism=1, paused=False
                )
            ]
        )
        waiting.hold([RUN])
        waiting.advance(NOW_MS)
        dispatcher = Dispatcher(
            clock,
            disk,
            waiting,
            transport,
            gate=Open(),
            bucket=TokenBucket(1_000, 100, clock.monotonic_ms() - 1_000),
            signer=lambda _: Signer([]),
            figures=Figures(),
        )
        asyncio.get_running_loop().call_later(1, dispatcher.stop)
        async with asyncio.timeout(60):
            await dispatcher.run()
        return clock.now_ms() - NOW_MS, disk.expired, len(transport.ledger)

    assert run_virtual(main, NOW_MS) == (2 * COMMIT_MS, [CLAIM], 0)
