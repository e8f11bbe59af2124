"""Deliveries beside bare HTTP loops: how many, how late, all at once and at a steady pace.

The engine and the loops run by turns in one process, on one event loop, against one receiver with
one body. The engine's runs are planned beforehand; from their due instant on it claims, journals,
signs, sends, judges and journals again, and has finished when the last outcome is on disk. When a
request arrived says the receiver, and not the engine.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.engines import document, engine_here, read_in_parts, until
from benchmarks.findings import Finding, percentile, spread
from benchmarks.receiver import Receiver, start_receiver
from benchmarks.reference import BODY, default_loop, paced_loop, tuned_loop
from engine.app import Engine

RUNS = 20_000
FLOWS = 100
"""Each with the default parallelism of 20, as a herd of many customers has."""

ROUNDS = 5
PERIOD_SECONDS = 20
"""From herd to herd: between a herd and the planning of the next, both loops have their turn."""

SETTLE_SECONDS = 3
"""After a herd the journal copies its log back; the loops are not to pay for that."""

HERD_SECONDS_MAX = 60

IN_FLIGHT = 64
"""Requests of a loop at once. It is at its fastest here; with 256 it takes half as long again."""

SHARE_OF_TUNED_MIN = 0.70
TUNED_OVER_DEFAULT_MIN = 1.15
P99_OVER_TUNED_MAX = 1.4
FIRST_MS_MAX = 50

PACED_PER_SECOND = 1_000
PACED_SECONDS = 10
LATENESS_MS_MAX = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class _Herd:
    """One herd. `arrivals`: seconds after the due instant, in order."""

    seconds: float
    arrivals: list[float]


async def herd(directory: Path) -> AsyncIterator[Finding]:
    """20,000 runs due at one instant, and the same number of bare requests."""
    herds, tuned, default = [], [], []
    with receiving() as receiver:
        async with engine_here(directory) as engine:
            trigger = {"every": PERIOD_SECONDS, "jitter_seconds": 0}
            await _put(engine, receiver, RUNS, trigger)
            for _ in range(ROUNDS):
                herds.append(await _herd(engine, receiver))
                await asyncio.sleep(SETTLE_SECONDS)
                tuned.append(await tuned_loop(receiver.url, RUNS, IN_FLIGHT))
                default.append(await default_loop(receiver.url, RUNS, IN_FLIGHT))
    for finding in _judge(herds, tuned, default):
        yield finding


def _judge(herds: list[_Herd], tuned: list[float], default: list[float]) -> Iterator[Finding]:
    share = [bare / herd.seconds for bare, herd in zip(tuned, herds, strict=True)]
    speedup = [slow / fast for slow, fast in zip(default, tuned, strict=True)]
    p99 = [percentile(herd.arrivals, 99) for herd in herds]
    late = [ours / bare for ours, bare in zip(p99, tuned, strict=True)]
    first = [herd.arrivals[0] * 1_000 for herd in herds]
    early = sum(arrival < 0 for herd in herds for arrival in herd.arrivals)
    dropped = RUNS * len(herds) - sum(len(herd.arrivals) for herd in herds)
    yield Finding(
        what="delivery, share of the tuned loop",
        measured=f"{spread(share)}; {RUNS / median(h.seconds for h in herds):,.0f}/s",
        reference=f"tuned loop: {RUNS / median(tuned):,.0f}/s",
        target=f">= {SHARE_OF_TUNED_MIN:.2f}",
        holds=median(share) >= SHARE_OF_TUNED_MIN,
    )
    yield Finding(
        what="  tuned loop over session.post",
        measured=spread(speedup),
        reference=f"session.post and read: {RUNS / median(default):,.0f}/s",
        target=f">= {TUNED_OVER_DEFAULT_MIN:.2f}",
        holds=median(speedup) >= TUNED_OVER_DEFAULT_MIN,
    )
    yield Finding(
        what=f"herd of {RUNS:,}: p99 over the tuned loop",
        measured=f"{spread(late)}; p99 {median(p99):.2f} s",
        reference=f"tuned loop for as many: {median(tuned):.2f} s",
        target=f"<= {P99_OVER_TUNED_MAX:.1f}",
        holds=median(late) <= P99_OVER_TUNED_MAX,
    )
    yield Finding(
        what="  the first of them",
        measured=spread(first, " ms", 0),
        target=f"<= {FIRST_MS_MAX} ms",
        holds=median(first) <= FIRST_MS_MAX,
    )
    yield Finding(
        what="  early, dropped",
        measured=f"{early}, {dropped} of {RUNS * len(herds):,}",
        target="0, 0",
        holds=early == dropped == 0,
    )


async def _herd(engine: Engine, receiver: Receiver) -> _Herd:
    """Wait for the next herd, and then until all of it is on disk."""
    await until(lambda: len(engine.waiting) == RUNS, seconds=HERD_SECONDS_MAX)
    due = _next_period()
    delivered = engine.figures.runs["succeeded"]
    receiver.arrivals()
    await until(
        lambda: engine.figures.runs["succeeded"] == delivered + RUNS, seconds=HERD_SECONDS_MAX
    )
    took = time.time() - due
    return _Herd(seconds=took, arrivals=[instant - due for instant, _ in receiver.arrivals()])


async def paced(directory: Path) -> AsyncIterator[Finding]:
    """A herd that jitter has smeared to 1,000 a second: how late each request arrives."""
    count = PACED_PER_SECOND * PACED_SECONDS
    with receiving() as receiver:
        async with engine_here(directory) as engine:
            trigger = {"every": PERIOD_SECONDS, "jitter_seconds": PACED_SECONDS}
            await _put(engine, receiver, count, trigger)
            await asyncio.sleep(_next_period() + PACED_SECONDS + 2 - time.time())
            arrivals = receiver.arrivals()
        start = min(fire_after for _, fire_after in arrivals)
        waits = [fire_after - start for _, fire_after in arrivals]
        bare = await paced_loop(receiver.url, waits, IN_FLIGHT)
    late = [(instant - fire_after) * 1_000 for instant, fire_after in arrivals]
    assert len(late) == count, "each has arrived"
    assert min(late) >= 0, "and none was early"
    p99 = percentile(late, 99)
    yield Finding(
        what=f"{PACED_PER_SECOND:,}/s, lateness p99",
        measured=f"{p99:.0f} ms (p50 {percentile(late, 50):.0f}, max {max(late):.0f})",
        reference=f"a timer for each, to its post: {percentile(bare, 99) * 1_000:.0f} ms",
        target=f"<= {LATENESS_MS_MAX} ms",
        holds=p99 <= LATENESS_MS_MAX,
    )


async def _put(engine: Engine, receiver: Receiver, count: int, trigger: dict[str, int]) -> None:
    documents = (
        document(f"bench-{n}", receiver.url, BODY, flow_key=f"customer-{n % FLOWS}", **trigger)
        for n in range(count)
    )
    for drafts in read_in_parts(documents):
        await engine.schedules.put_many(drafts)


def _next_period() -> int:
    """The next instant of the period, in seconds since the epoch."""
    return (int(time.time()) // PERIOD_SECONDS + 1) * PERIOD_SECONDS


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver, stopped at the end."""
    receiver = start_receiver()
    try:
        yield receiver
    finally:
        receiver.stop()
