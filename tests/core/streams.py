"""Synthetic streams for the monitor: who is due when, and a bucket and slots that serve them.

Each situation is a draw: sizes, rates and instants vary with the seed, ids and offsets are those
of `engine.core.identity`, retries those of `engine.core.retry`. It is policy on synthetic draws:
it says that the words fit what the draw was made to be, and nothing about speed or production.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from engine.core.curves import Curves, Figures
from engine.core.identity import idempotency_key, jitter_offset_ms, schedule_id
from engine.core.missed import due_ms, spread_ms
from engine.core.model import RetryPolicy
from engine.core.retry import backoff_ms
from engine.core.verdict import Verdict, judge

HOUR_MS = 3_600_000
TOP_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z

Answer = Callable[[int], tuple[int, bool]]
"""From an attempt's start to the milliseconds that it takes and whether it succeeds."""


@dataclass(kw_only=True)
class Stream:
    """Runs to come, and what serving them leaves in the curves."""

    rate: int
    seed: str
    slots: int = 256
    answer: Answer = lambda _: (20, True)
    begun_ms: int = TOP_MS - 2 * HOUR_MS
    due: list[tuple[int, int, int, str]] = field(default_factory=list)
    last_ms: int = TOP_MS

    def __post_init__(self) -> None:
        self.curves = Curves(self.begun_ms)
        self.burst = max(1, self.rate // 10)

    def add(self, scheduled_for_ms: int, fire_after_ms: int, *, due_ms: int | None = None) -> None:
        """A run of its schedule; with `due_ms` one that catches up, which no planner counts."""
        if due_ms is None:
            self.curves.arrive(scheduled_for_ms, fire_after_ms)
        trigger = "schedule" if due_ms is None else "catch_up"
        self.due.append((due_ms or fire_after_ms, len(self.due), 1, trigger))

    def herd(
        self, runs: int, jitter_seconds: int, *, at_ms: int = TOP_MS, subsecond: bool = True
    ) -> None:
        """Schedules that share an instant, with the offsets that their names give them."""
        for number in range(runs):
            name = schedule_id("default", f"{self.seed}-{number}")
            fire_after_ms = at_ms + jitter_offset_ms(name, jitter_seconds, subsecond=subsecond)
            self.add(at_ms, fire_after_ms)
            self.last_ms = max(self.last_ms, fire_after_ms)

    def steady(self, random: Random, per_second: float, start_ms: int, end_ms: int) -> None:
        """Runs that have nothing to do with each other: exponential gaps."""
        at = start_ms + random.expovariate(per_second) * 1_000
        while at < end_ms:
            self.add(int(at), int(at))
            at += random.expovariate(per_second) * 1_000

    def serve(self, until_ms: int) -> None:
        """First due, first served: one token and one slot an attempt; sampled once a second."""
        waiting, free = sorted(self.due), [0] * self.slots
        tokens, at_ms, sampled_ms = 0.0, float(waiting[0][0]), waiting[0][0] // 1_000 * 1_000
        while waiting and waiting[0][0] < until_ms:
            run_due_ms, number, attempt, trigger = heapq.heappop(waiting)
            ready_ms = max(run_due_ms, at_ms, free[0])
            missing = 1 - min(self.burst, tokens + (ready_ms - at_ms) * self.rate / 1_000)
            start_ms = ready_ms + max(0.0, missing) * 1_000 / self.rate
            while sampled_ms < min(start_ms, until_ms):
                oldest_ms = run_due_ms if run_due_ms <= sampled_ms else None
                self.curves.sample(sampled_ms, oldest_due_ms=oldest_ms, rate=self.rate)
                sampled_ms += 1_000
            tokens = min(self.burst, tokens + (start_ms - at_ms) * self.rate / 1_000) - 1
            at_ms = start_ms
            if start_ms >= until_ms:
                return
            self.curves.start(int(start_ms), trigger=trigger, attempt=attempt)
            took_ms, succeeded = self.answer(int(start_ms))
            heapq.heapreplace(free, start_ms + took_ms)
            if not succeeded:
                key = idempotency_key(schedule_id("default", str(number)), TOP_MS)
                retry_ms = int(start_ms) + took_ms + backoff_ms(RetryPolicy(), key, attempt)
                heapq.heappush(waiting, (retry_ms, number, attempt + 1, trigger))

    def of_herd(self) -> Figures:
        """The herd at :00, when it is judged."""
        now_ms = max(self.last_ms, TOP_MS + 60_000) + 15_000
        self.serve(now_ms)
        return self.curves.herd(TOP_MS, last_ms=self.last_ms, now_ms=now_ms)

    def of_minute(self, start_ms: int = TOP_MS) -> Figures:
        """Any minute, at its end."""
        self.serve(start_ms + 60_000)
        return self.curves.window(start_ms, seconds=60, now_ms=start_ms + 60_000)

    def judge(self, figures: Figures) -> Verdict:
        return judge(figures, rate=self.rate, burst=self.burst)


def aligned(random: Random, seed: str) -> Verdict:
    """A herd without jitter, within what the bucket can do in 15 s, over a calm fleet."""
    stream = Stream(rate=random.randrange(50, 400), seed=seed)
    for hours in (1, 2):
        stream.curves.arrive(TOP_MS - hours * HOUR_MS, TOP_MS - hours * HOUR_MS, stream.rate)
    stream.herd(int(stream.rate * random.uniform(0.6, 12)), 0)
    stream.steady(random, stream.rate * random.uniform(0.01, 0.1), TOP_MS, TOP_MS + 60_000)
    return stream.judge(stream.of_herd())


def flattened(random: Random, seed: str) -> Verdict:
    """The same with jitter."""
    stream = Stream(rate=random.randrange(50, 400), seed=seed)
    jitter = random.choice([30, 60, 120])
    stream.herd(int(stream.rate * min(12.0, jitter * 0.8) * random.uniform(0.5, 1)), jitter)
    stream.steady(random, stream.rate * random.uniform(0.01, 0.1), TOP_MS, TOP_MS + 60_000)
    return stream.judge(stream.of_herd())


def too_much(random: Random, seed: str) -> Verdict:
    """More than the bucket can start within the jitter and the service level."""
    stream = Stream(rate=random.randrange(20, 100), seed=seed)
    jitter = random.choice([60, 120])
    stream.herd(int(stream.rate * (jitter + 15) * random.uniform(1.1, 2.5)), jitter)
    return stream.judge(stream.of_herd())


def retry_storm(random: Random, seed: str) -> Verdict:
    """A receiver refused everything for some minutes; the minute in which it answers again."""
    recovery_ms = TOP_MS + random.randrange(60_000, 240_000)

    def refuse(start_ms: int) -> tuple[int, bool]:
        return (20, True) if start_ms >= recovery_ms else (2, False)

    stream = Stream(rate=random.randrange(50, 120), seed=seed, answer=refuse)
    per_second = stream.rate * random.uniform(0.2, 0.5)
    stream.steady(random, per_second, TOP_MS, recovery_ms + 60_000)
    return stream.judge(stream.of_minute(recovery_ms))


def catching_up(random: Random, seed: str) -> Verdict:
    """The engine was away; the minute after its return, fresh runs among what it missed."""
    stream = Stream(rate=random.randrange(50, 300), seed=seed)
    missed = int(stream.rate * random.uniform(15, 100))
    spread = spread_ms(missed, stream.rate)
    for number in range(missed):
        at_ms = TOP_MS - random.randrange(20, 3_600) * 1_000
        name = schedule_id("default", f"{seed}-{number}")
        due = due_ms(name, 0, 1, resume_ms=TOP_MS, spread_ms=spread, fire_after_ms=at_ms)
        stream.add(at_ms, at_ms, due_ms=due)
    stream.steady(random, stream.rate * random.uniform(0.1, 0.4), TOP_MS, TOP_MS + 60_000)
    return stream.judge(stream.of_minute())


def slow_receivers(random: Random, seed: str) -> Verdict:
    """Answers take so long that all slots are taken while tokens are left."""
    rate, slots = random.randrange(50, 300), random.choice([16, 32, 64])
    per_second = rate * random.uniform(0.3, 0.7)
    slowest_ms = int(slots / per_second * random.uniform(2.6, 8) * 1_000)
    stream = Stream(
        rate=rate,
        seed=seed,
        slots=slots,
        answer=lambda _: (random.randrange(slowest_ms // 2, slowest_ms), random.random() > 0.02),
    )
    stream.steady(random, per_second, TOP_MS - 60_000, TOP_MS + 60_000)
    return stream.judge(stream.of_minute())


def quiet_night(random: Random, seed: str) -> Verdict:
    """Hardly anything."""
    stream = Stream(rate=random.randrange(100, 1_000), seed=seed)
    stream.steady(random, stream.rate * random.uniform(0.001, 0.01), TOP_MS, TOP_MS + 60_000)
    stream.add(TOP_MS + 1_000, TOP_MS + 1_000)
    return stream.judge(stream.of_minute())


def mixed_fleet(random: Random, seed: str) -> Verdict:
    """Timetables of every period, at instants of their own, and a few failures.

    Each minute, five, fifteen: at a phase of their own; hourly and daily: some fall on this minute,
    at its first second, as crons do. A fleet of over some 50 schedules for each run a second would
    be called aligned, since those alone are more than half a second's work.
    """
    stream = Stream(
        rate=random.randrange(50, 300),
        seed=seed,
        answer=lambda _: (random.randrange(20, 300), random.random() > 0.03),
    )
    schedules = int(stream.rate * random.uniform(20, 45))
    for share, minutes in ((0.1, 1), (0.2, 5), (0.15, 15)):
        for _ in range(int(schedules * share / minutes)):
            at_ms = TOP_MS + random.randrange(60) * 1_000
            stream.add(at_ms, at_ms)
    for share, minutes in ((0.35, 60), (0.2, 1_440)):
        for _ in range(int(schedules * share / minutes * random.uniform(0.5, 1.5))):
            stream.add(TOP_MS, TOP_MS)
    return stream.judge(stream.of_minute())
