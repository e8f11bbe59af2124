"""The dispatcher: claims what may be sent now, sends it, and journals how that ended.

One loop claims. It claims only what it sends next: a token is there, a slot is free, at most
`CLAIM_RUNS_MAX` in a commit, so that a crash costs few attempts and a commit little time. Tokens
are charged when attempts start, not when they are claimed: the bucket then bounds the starts over
every window, however long a commit takes.

A delivery is a task. Its deadline is kept by one sweep over all of them, since a timer for each
would cost more than the bookkeeping of the request. How it ended is for the recorder to journal.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from engine.clock import Clock
from engine.core.bucket import TokenBucket
from engine.core.errors import Unavailable
from engine.core.identity import Signer, idempotency_key
from engine.core.model import Outcome, State, Unserved
from engine.services.delivery import Delivery, judge, request_of
from engine.services.figures import Figures
from engine.services.recorder import RETRY_SECONDS, Recorder
from engine.services.transport import Transport
from engine.services.waiting import Waiting
from engine.services.waits import Taking, Waits
from engine.store import Claim, Claimed, Ended, HeldRun, Journal

CLAIM_RUNS_MAX = 256
"""Runs in one claim: 3 ms of the disk's time, and the attempts that a crash repeats."""

STARTS_AT_ONCE = 16
"""Deliveries started in one turn of the loop: a millisecond of it. The next claim is put to disk
meanwhile; started all at once, 256 would keep it waiting, and everybody else."""

OUTCOMES_MAX = 1_024
"""Outcomes not yet on disk; beyond it nothing is claimed, so a slow disk slows the sending."""

SWEEP_SECONDS = 0.05
"""The grain of deadlines: an attempt with a timeout of 2 s ends within 2.1 s."""

IDLE_SECONDS = 0.25
"""The longest sleep of the claiming loop; whatever wakes it comes sooner."""

log = structlog.get_logger("offbeat.dispatcher")


class Gate(Protocol):
    """Whether claims may go on."""

    def is_current(self, now_ms: int) -> bool: ...


class Dispatcher:
    """Claims, sends and records. `wake()` it when something is due."""

    def __init__(
        self,
        clock: Clock,
        journal: Journal,
        waiting: Waiting,
        transport: Transport,
        *,
        gate: Gate,
        bucket: TokenBucket,
        signer: Callable[[str], Signer],
        figures: Figures,
    ) -> None:
        """`signer`: the signer of a tenant; it is asked for each attempt and should be kept."""
        self._clock = clock
        self._journal = journal
        self._waiting = waiting
        self._gate = gate
        self._transport = transport
        self._bucket = bucket
        self._signer = signer
        self._figures = figures
        self._claimed: deque[tuple[Claim, HeldRun, Taking]] = deque()
        self._late: list[tuple[Claim, HeldRun]] = []  # Past their deadline before they could start.
        self._deliveries: set[Delivery] = set()
        self._recorder = Recorder(clock, journal, waiting, figures)
        self._recorder.on_recorded = self._recorded
        self._waits = Waits(clock.now_ms())
        self._wake = asyncio.Event()
        self._stopping = False
        self.on_room: Callable[[], None] = lambda: None
        self.on_recovery: Callable[[int], None] = lambda _: None
        self.on_start: Callable[[Claim, int], None] = lambda _claim, _at_ms: None
        self.on_unserved: Callable[[Unserved, int], None] = lambda _reason, _at_ms: None
        # Once a batch, when it is on disk.
        self.on_claimed: Callable[[Claimed, int], None] = lambda _claimed, _at_ms: None
        self.on_recorded: Callable[[Sequence[Ended]], None] = lambda _: None
        self.on_expired: Callable[[Sequence[Claim], int], None] = lambda _claims, _at_ms: None

    @property
    def inflight(self) -> int:
        """Attempts under way, those that are about to start included."""
        return len(self._claimed) + len(self._late) + len(self._deliveries)

    @property
    def limit(self) -> int:
        """Attempts that may be under way; the scaler sets it."""
        return self._waiting.slots

    @limit.setter
    def limit(self, limit: int) -> None:
        if limit > self.limit:
            self.wake()
        self._waiting.slots = limit

    @property
    def lacks_slots(self) -> bool:
        """Whether a due run has its token, so that all it can lack is a slot."""
        now_ms = self._clock.monotonic_ms()
        return self.tokens > len(self._claimed) and self._waiting.runnable(now_ms)

    @property
    def tokens(self) -> int:
        """Whole tokens in the bucket."""
        return self._bucket.peek(self._clock.monotonic_ms())

    def wake(self) -> None:
        """Something is due, or may be claimed again."""
        self._wake.set()

    async def run(self) -> None:
        """Claim, sweep and record until `stop()`, then until everything is recorded.

        However it ends, no delivery goes on without it.
        """
        async with asyncio.TaskGroup() as group:
            recording = group.create_task(self._recorder.run())
            sweeping = group.create_task(self._sweep())
            try:
                await self._claim_until_stopped()
                await self._expire_late()
                while self.inflight or self._recorder:
                    self._wake.clear()
                    await self._wake.wait()
                    await self._expire_late()
            finally:
                self.abandon()
                recording.cancel()
                sweeping.cancel()

    def stop(self) -> None:
        """Claim nothing more; `run` returns when what is under way has ended."""
        self._stopping = True
        self._wake.set()

    def abandon(self) -> None:
        """Break off what is under way; the next life finds it attempting and makes it again."""
        self._claimed.clear()
        self._late.clear()
        for delivery in self._deliveries:
            if delivery.task:
                delivery.task.cancel()

    async def run_once(self) -> int:
        """Claim once; how many runs were taken from the queue."""
        await self._expire_late()
        taken_ms, monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        runs = self._take(monotonic_ms)
        if early := [run for run in runs if run.due_ms > taken_ms]:
            # The calendar was set back since they became due.
            self._waiting.wait_again(early, monotonic_ms)
            runs = [run for run in runs if run.due_ms <= taken_ms]
        if not runs:
            return len(early)
        try:
            claimed = await self._journal.claim(runs, taken_ms)
        except Unavailable:
            self._waiting.put_back(runs, self._clock.monotonic_ms())
            await asyncio.sleep(RETRY_SECONDS)
            return 0
        commit_ms = self._clock.monotonic_ms() - monotonic_ms
        taking = Taking(at_ms=taken_ms, monotonic_ms=monotonic_ms, commit_ms=commit_ms)
        by_key = {(run.scheduled_for_ms, run.schedule_row): run for run in runs}
        if not self._claimed:  # Else the starting goes on by itself.
            asyncio.get_running_loop().call_soon(self._start_some)
        for claim in claimed.claims:
            run = by_key.pop((claim.scheduled_for_ms, claim.schedule_row))
            self._claimed.append((claim, run, taking))
        for run in by_key.values():
            self._waiting.withdraw(run, self._clock.monotonic_ms())
        for finished in claimed.ended:
            self._figures.end(finished.state, finished.reason)
            if not finished.attempts:
                self.on_unserved(finished.reason, taken_ms)
        self.on_claimed(claimed, taken_ms)
        self._waiting.bring_forward(claimed.due, self._clock.now_ms())
        self.on_room()
        return len(runs)

    async def _claim_until_stopped(self) -> None:
        while not self._stopping:
            if await self.run_once():
                continue
            self._wake.clear()
            try:
                async with asyncio.timeout(self._rest_seconds()):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _expire_late(self) -> None:
        """Take back claims whose deadline went by while their commit waited for the disk."""
        while self._late:
            late = self._late[:]
            try:
                due = await self._journal.expire([c for c, _ in late], self._clock.now_ms())
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            del self._late[: len(late)]
            now_ms = self._clock.now_ms()
            for claim, run in late:
                self._waiting.withdraw(run, self._clock.monotonic_ms())
                self._figures.end(State.FAILED, "expired")
                if claim.attempt == 1:
                    self.on_unserved("expired", now_ms)
            self.on_expired([claim for claim, _ in late], now_ms)
            self._waiting.bring_forward(due, self._clock.now_ms())

    def _take(self, now_ms: int) -> list[HeldRun]:
        """The runs to claim now; and note whether others lack nothing but a token."""
        wanted = self._wanted(now_ms)
        tokens = self.tokens - len(self._claimed) if wanted else 0
        count = max(0, min(wanted, tokens))
        runs = self._waiting.take(now_ms, count) if count else []
        is_dry = tokens < wanted and len(runs) == count and self._waiting.runnable(now_ms)
        self._count_token_waits(runs, self._waits.see(now_ms, is_dry=is_dry))
        return runs

    def _wanted(self, now_ms: int) -> int:
        """How many runs would be claimed if there were tokens enough."""
        if not self._waiting.runnable(now_ms):
            return 0
        if not self._gate.is_current(self._clock.now_ms()):
            return 0
        if len(self._recorder) >= OUTCOMES_MAX:
            return 0
        slots = max(0, self.limit - self.inflight)
        return min(self._waiting.ready, slots, CLAIM_RUNS_MAX)

    def _count_token_waits(self, runs: list[HeldRun], dry_ms: int) -> None:
        """`dry_ms`: for how long nothing but tokens was missing."""
        waits = self._figures.token_wait_seconds
        if not dry_ms:
            waits.add(0.0, len(runs))
            return
        now_ms = self._clock.now_ms()
        for run in runs:
            waits.add(max(0, min(dry_ms, now_ms - run.due_ms)) / 1_000)

    def _rest_seconds(self) -> float:
        """How long nothing can be claimed: until the next token, if tokens are what is missing."""
        now_ms = self._clock.monotonic_ms()
        waits_ms = [int(IDLE_SECONDS * 1_000)]
        alarm_ms = self._waiting.next_alarm_ms()
        if alarm_ms is not None:
            waits_ms.append(max(1, alarm_ms - now_ms))
        if self._waiting.runnable(now_ms) and self.inflight < self.limit:
            waits_ms.append(self._bucket.wait_ms(now_ms, 1) or waits_ms[0])
        return min(waits_ms) / 1_000

    def _start_some(self) -> None:
        """Start some of what is claimed; what is left follows after a turn of the loop."""
        count = min(len(self._claimed), STARTS_AT_ONCE)
        # One instant for the charge and for what the journal calls the start: a process that is
        # put aside between the two would seem to start more than the bucket granted.
        loop, now_ms = asyncio.get_running_loop(), self._clock.now_ms()
        self._bucket.reserve(self._clock.monotonic_ms(), count)
        for _ in range(count):
            claim, run, taking = self._claimed.popleft()
            if claim.expires_at_ms is not None and now_ms >= claim.expires_at_ms:
                self._late.append((claim, run))
            else:
                self._start(claim, run, taking, now_ms, loop.time())
        if self._claimed:
            loop.call_soon(self._start_some)
        else:
            self._wake.set()

    def _start(self, claim: Claim, run: HeldRun, taking: Taking, now_ms: int, now_s: float) -> None:
        self.on_start(claim, now_ms)
        if claim.attempt == 1:
            self._figures.first_attempt(
                claim.trigger,
                scheduled_for_ms=claim.scheduled_for_ms,
                fire_after_ms=claim.fire_after_ms,
                started_at_ms=now_ms,
            )
        flow = self._waiting.flow(run.flow_id)
        delivery = Delivery(
            claim,
            run,
            key=idempotency_key(claim.schedule_id, claim.scheduled_for_ms),
            wait=self._waits.of(run, flow, taking, now_ms),
            is_probe=flow.breaker.is_probe(run),
            started_at_ms=now_ms,
            started_s=now_s,
            deadline_ms=self._clock.monotonic_ms() + claim.target.timeout_seconds * 1_000,
        )
        self._deliveries.add(delivery)
        delivery.task = asyncio.get_running_loop().create_task(self._deliver(delivery))

    async def _deliver(self, delivery: Delivery) -> None:
        claim = delivery.claim
        try:
            delivery.request = request_of(delivery, self._signer(claim.tenant))
            outcome = await self._transport.send(delivery.request)
        except asyncio.CancelledError:
            if not delivery.expired:
                self._deliveries.discard(delivery)
                self._wake.set()
                raise
            outcome = Outcome(
                name="timeout", error=f"no answer within {claim.target.timeout_seconds} s"
            )
        except Exception:
            # A bug of ours in one delivery: it must not leave the run attempting for ever.
            log.exception("delivery_failed", schedule=claim.schedule_id)
            outcome = Outcome(name="protocol_error", error="internal error; see the engine's log")
        self._deliveries.discard(delivery)
        if self._waiting.end(delivery.run, outcome, self._clock.monotonic_ms()):
            self.on_recovery(delivery.run.flow_id)
        self._recorder.add(judge(delivery, outcome, self._clock.now_ms()))
        self._wake.set()

    def _recorded(self, batch: Sequence[Ended]) -> None:
        self.on_recorded(batch)
        self.on_room()
        self._wake.set()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now_ms = self._clock.monotonic_ms()
            for delivery in self._deliveries:
                if delivery.deadline_ms <= now_ms and delivery.task and not delivery.expired:
                    delivery.expired = True
                    delivery.task.cancel()
