"""The three curves as they happen: demand, planned, served, and what else a verdict needs.

*Demand* counts runs at `scheduled_for`, *planned* at `fire_after`, *served* attempts at their
start. The first two are known when the planner has written the runs, so they lead by the
lookahead; served follows. Manual runs, edits within the lookahead and catch-up are planned
elsewhere and show in served alone.

Beside them, by second: attempts that are retries or catch-up, runs that ended without any, seconds
in which the first due run had waited for long, and those of them in which fewer attempts had
started meanwhile than the bucket allows. Tokens that happen to be there say little: a loop that
wakes late lets a few gather, and of a small bucket a single one is the half.
"""

from dataclasses import dataclass
from typing import get_args

from engine.core.amplification import (
    PERIODS_SECONDS,
    Bins,
    StageFigures,
    amplification,
    noise_floor,
    vector_strength,
)
from engine.core.forecast_audit import Happened
from engine.core.model import Unserved
from engine.core.population import OFFSET_SECONDS_MAX
from engine.core.recurrence import Period, period_of, sustained

SECONDS_KEPT = 4_600
"""An hour, and the 900 s by which jitter may follow its instant, and the lookahead."""

FINE_MS = 10
"""The grain at which herds within a second show."""

FINE_KEPT = 16_384
"""Fine bins: a minute, the time until its herd is judged, the lookahead; 64 KiB a curve."""

HOUR_SECONDS = 3_600
FINE_SECONDS_MAX = 60

HELD_AFTER_MS = 1_000
"""A due run that is not claimed within it waits for something: tokens, or a slot."""

BUSY = 0.8
"""Of the rate: a bucket that grants less while runs wait is not what they wait for. A loop that is
late loses a few percent of its tokens."""

BUSY_SECONDS_MAX = 10
"""Looked back on to see it, while the first due run waits: enough for a rate of 1 a second."""

UNSPREAD_SECONDS = 2
"""Runs of one instant within fewer bins were not spread, and are measured against"""

SPREAD_SECONDS = 60
"""what the default jitter would have made of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A window: `seconds` bins from `start_ms`, and what was served meanwhile and until it is read.

    `runs` were planned within `jitter_seconds`, which is how far the window's herd was spread, as
    seen. `sustained` are the runs a second that recur around it, and `period` is the one with which
    the busiest second of its demand does (`recurrence`). `attempts`,
    `retries` and `catch_ups` are starts; `held_seconds` those in which a due run had waited over a
    second, `idle_seconds` those of them in which the bucket could have granted more.
    """

    start_ms: int
    seconds: int
    runs: int
    jitter_seconds: int
    sustained: float
    period: Period | None
    demand: StageFigures
    planned: StageFigures
    served: StageFigures
    attempts: int
    retries: int
    catch_ups: int
    observed_seconds: int
    held_seconds: int
    idle_seconds: int


class Curve:
    """One stage: by second for an hour, by 10 ms for a minute."""

    __slots__ = ("fine", "seconds")

    def __init__(self) -> None:
        self.seconds = Bins(1_000, SECONDS_KEPT)
        self.fine = Bins(FINE_MS, FINE_KEPT)

    def add(self, at_ms: int, count: int = 1) -> None:
        self.seconds.add(at_ms, count)
        self.fine.add(at_ms, count)

    def figures(self, start_ms: int, seconds: int, since_ms: int) -> StageFigures:
        """Over a window; `since_ms`: when counting began, which bounds the periods seen whole."""
        counts = self.seconds.window(start_ms, seconds)
        fine_seconds = min(seconds, FINE_SECONDS_MAX)
        fine = self.fine.window(start_ms, fine_seconds * 1_000 // FINE_MS)
        end_ms = start_ms + seconds * 1_000
        hour = self.seconds.window(end_ms - HOUR_SECONDS * 1_000, HOUR_SECONDS)
        alignment = {
            period: vector_strength(hour, period)
            for period in PERIODS_SECONDS
            if 1 < period <= (end_ms - since_ms) / 1_000
        }
        return StageFigures(
            runs=sum(counts),
            busiest=max(counts),
            busiest_hundredth=max(fine),
            amplification=amplification(counts),
            noise_floor=noise_floor(seconds, sum(counts)),
            alignment={**alignment, 1: vector_strength(fine, 1_000 // FINE_MS)},
        )


class Curves:
    """What the hooks of planner and dispatcher count. Instants in calendar milliseconds."""

    __slots__ = (
        "_asked",
        "_catch_ups",
        "_held",
        "_idle",
        "_retries",
        "_since_ms",
        "_unserved",
        "demand",
        "planned",
        "served",
    )

    def __init__(self, since_ms: int) -> None:
        self._since_ms = since_ms
        self.demand, self.planned, self.served = Curve(), Curve(), Curve()
        self._retries, self._catch_ups, self._asked, self._held, self._idle = (
            Bins(1_000, SECONDS_KEPT) for _ in range(5)
        )
        self._unserved: dict[Unserved, Bins] = {
            reason: Bins(1_000, SECONDS_KEPT) for reason in get_args(Unserved)
        }

    def arrive(self, scheduled_for_ms: int, fire_after_ms: int, runs: int = 1) -> None:
        """Runs were planned."""
        self.demand.add(scheduled_for_ms, runs)
        self.planned.add(fire_after_ms, runs)

    def start(self, at_ms: int, *, trigger: str, attempt: int) -> None:
        """An attempt started."""
        self.served.add(at_ms)
        if attempt > 1:
            self._retries.add(at_ms)
        elif trigger != "schedule":
            (self._catch_ups if trigger == "catch_up" else self._asked).add(at_ms)

    def end_unserved(self, at_ms: int, reason: Unserved) -> None:
        """A run ended without an attempt."""
        self._unserved[reason].add(at_ms)

    def sample(self, now_ms: int, *, oldest_due_ms: int | None, rate: int) -> None:
        """Once a second: since when the first due run waits; `rate` is the bucket's."""
        if oldest_due_ms is not None and now_ms - oldest_due_ms >= HELD_AFTER_MS:
            self._held.add(now_ms)
            if self._is_idle(now_ms, (now_ms - oldest_due_ms) // 1_000, rate):
                self._idle.add(now_ms)

    def window(self, start_ms: int, *, seconds: int, now_ms: int) -> Figures:
        """Any window, as if its runs were one herd spread over it, that came alone."""
        return self._figures(start_ms, seconds, now_ms, spread_seconds=seconds, sustained=0.0)

    def herd(self, instant_ms: int, *, last_ms: int, now_ms: int) -> Figures:
        """The herd of an instant, whose last run was planned for `last_ms`, as far as it has come.

        The window ends with the last run; a herd that was not spread is given the room that the
        default jitter would have given it.
        """
        spread_ms = max(0, last_ms - instant_ms)
        bins = spread_ms // 1_000 + 1
        elapsed = max(1, (now_ms - instant_ms) // 1_000)
        seconds = min(bins if bins > UNSPREAD_SECONDS else SPREAD_SECONDS, elapsed)
        spread_seconds = -(-spread_ms // 1_000)
        recurring = self._sustained(instant_ms, is_whole=last_ms <= now_ms)
        return self._figures(instant_ms, seconds, now_ms, spread_seconds, sustained=recurring)

    def happened(self, start_ms: int, seconds: int, *, late: bool) -> Happened:
        """What a forecast of a window is held against."""
        return Happened(
            planned=sum(self.planned.seconds.window(start_ms, seconds)),
            served=sum(self.served.seconds.window(start_ms, seconds)),
            asked=sum(self._asked.window(start_ms, seconds)),
            catch_ups=sum(self._catch_ups.window(start_ms, seconds)),
            retries=sum(self._retries.window(start_ms, seconds)),
            late=late,
            unserved={
                reason: sum(bins.window(start_ms, seconds))
                for reason, bins in self._unserved.items()
            },
        )

    def _is_idle(self, now_ms: int, waited_seconds: int, rate: int) -> bool:
        """Whether fewer started than the bucket grants, by more than the one that is under way."""
        seconds = min(waited_seconds, BUSY_SECONDS_MAX)
        started = sum(self.served.fine.window(now_ms - seconds * 1_000, seconds * 1_000 // FINE_MS))
        return started + 1 < BUSY * rate * seconds

    def _sustained(self, instant_ms: int, *, is_whole: bool) -> float:
        known_ms = max(instant_ms - OFFSET_SECONDS_MAX * 1_000, self._since_ms)
        before = max(0, instant_ms // 1_000 - known_ms // 1_000)
        first_ms = instant_ms - before * 1_000
        demand = self.demand.seconds.window(first_ms, before + OFFSET_SECONDS_MAX + 1)
        return sustained(demand, before, is_whole=is_whole)

    def _period(self, start_ms: int, seconds: int) -> Period | None:
        demand = self.demand.seconds
        counts = demand.window(start_ms, seconds)
        runs = max(counts)
        second = start_ms // 1_000 + counts.index(runs)
        before = {
            period: demand.window(1_000 * (second - period), 1)[0]
            for period in PERIODS_SECONDS
            if period > 1 and 1_000 * (second - period) >= self._since_ms
        }
        return period_of(second, runs, before)

    def _figures(
        self, start_ms: int, seconds: int, now_ms: int, spread_seconds: int, *, sustained: float
    ) -> Figures:
        observed = max(seconds, (now_ms - start_ms) // 1_000)
        spread_bins = max(1, min(spread_seconds, seconds))
        return Figures(
            start_ms=start_ms,
            seconds=seconds,
            runs=sum(self.planned.seconds.window(start_ms, spread_bins)),
            jitter_seconds=spread_seconds,
            sustained=sustained,
            period=self._period(start_ms, seconds),
            demand=self.demand.figures(start_ms, seconds, self._since_ms),
            planned=self.planned.figures(start_ms, seconds, self._since_ms),
            served=self.served.figures(start_ms, seconds, self._since_ms),
            attempts=sum(self.served.seconds.window(start_ms, observed)),
            retries=sum(self._retries.window(start_ms, observed)),
            catch_ups=sum(self._catch_ups.window(start_ms, observed)),
            observed_seconds=observed,
            # A second that was sampled twice is one.
            held_seconds=sum(map(bool, self._held.window(start_ms, observed))),
            idle_seconds=sum(map(bool, self._idle.window(start_ms, observed))),
        )
