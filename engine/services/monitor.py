"""The monitor: watches the three curves, says what a herd was, and keeps one record of each.

The hooks `arrived` and `started` only count; everything else happens once a second or when
somebody asks. A *herd* is the runs of one second of `scheduled_for`. It is judged when the last of
them and the default jitter are over and the service level has passed; a row of record is written
for each full hour and for each instant whose verdict says more than that nothing happened. A shock
has no instant: it is recorded when it is first seen.

The curves live in memory and begin anew with each life, and when the calendar is set back.
"""

import asyncio
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from engine.clock import Clock
from engine.core.amplification import SLO_SECONDS, StageFigures, volume
from engine.core.curves import SPREAD_SECONDS, Curves, Figures
from engine.core.errors import Unavailable
from engine.core.forecast_audit import Digest, Happened
from engine.core.herd_record import HerdRecord
from engine.core.model import Unserved
from engine.core.verdict import Shut, Verdict, VerdictName, behind, judge, so_far
from engine.store import Arrival, HerdRecords

TICK_MS = 1_000
"""Between two samples: the grain of the curves."""

SHOCK_LOOK_TICKS = 10
"""Between two looks for shocks, each a few milliseconds of the loop; they last for minutes."""

HERDS_MAX = 4_096
"""Instants watched at once: one a second for the widest jitter, four times over."""

TIMETABLES_MAX = 1_000
"""Timetables counted by name for one herd; the rest is counted without."""

TIMETABLES_NAMED = 5
"""Named in an answer or a record: what stands out is among the first."""

UNWRITTEN_MAX = 100
"""Records kept while the journal cannot be written: more than a minute makes of them."""

OFFSET_BOUNDS_S = (0, 1, 5, 15, 30, 60, 120, 300, 600, 900)
"""Upper bounds, in seconds, of the histogram of offsets: the jitters that people choose."""

STAGES = ("demand", "planned", "served")
LAST_MINUTE_SECONDS = 60
_HOUR_MS = 3_600_000
_DAY_MS = 86_400_000
_SHOCKS = {VerdictName.RETRY_STORM, VerdictName.CATCH_UP, VerdictName.DOWNSTREAM}
_NOTHING = {VerdictName.QUIET, VerdictName.NORMAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is going on: a window, its figures, what they mean, and the timetables behind it."""

    at_ms: int
    figures: Figures
    verdict: Verdict
    volume: float
    timetables: tuple[tuple[int, int], ...] = ()


class HerdSecond(NamedTuple):
    """The node at an instant, and its three curves in the second before."""

    at_ms: int
    backlog: int
    tokens: int
    verdict: VerdictName
    demand: int
    planned: int
    served: int


@dataclass(slots=True, eq=False)
class _Herd:
    """The runs of one second of `scheduled_for`, as far as they are planned."""

    instant_ms: int
    last_ms: int
    runs: int = 0
    timetables: Counter[int] = field(default_factory=Counter)
    offsets: list[int] = field(default_factory=lambda: [0] * (len(OFFSET_BOUNDS_S) + 1))

    @property
    def over_ms(self) -> int:
        """When it can be judged."""
        return max(self.last_ms, self.instant_ms + SPREAD_SECONDS * 1_000) + SLO_SECONDS * 1_000

    def add(self, timetable: int, fire_after_ms: int, runs: int) -> None:
        self.runs += runs
        self.last_ms = max(self.last_ms, fire_after_ms)
        if timetable in self.timetables or len(self.timetables) < TIMETABLES_MAX:
            self.timetables[timetable] += runs
        offset_seconds = (fire_after_ms - self.instant_ms) / 1_000
        self.offsets[bisect_left(OFFSET_BOUNDS_S, offset_seconds)] += runs


class Started(Protocol):
    """Of a claim: what is counted when its attempt starts."""

    @property
    def trigger(self) -> str: ...

    @property
    def attempt(self) -> int: ...


class Backlog(Protocol):
    """The runs that wait in memory."""

    @property
    def ready(self) -> int:
        """How many are due."""
        ...

    @property
    def oldest_due_ms(self) -> int | None: ...

    @property
    def shut(self) -> Shut | None:
        """Those behind breakers."""
        ...


class Monitor:
    """Counts, watches, judges and records."""

    def __init__(
        self,
        clock: Clock,
        records: HerdRecords,
        *,
        rate: int,
        burst: int,
        days: int,
        waiting: Backlog,
        tokens: Callable[[], int],
    ) -> None:
        """`days`: how long records are kept; backlog and tokens are asked once a second."""
        self._clock = clock
        self._records = records
        self._rate = rate
        self._burst = burst
        self._days = days
        self._waiting = waiting
        self._tokens = tokens
        self._unwritten: deque[HerdRecord] = deque(maxlen=UNWRITTEN_MAX)
        self._ticks = 0
        self._shock: VerdictName | None = None
        self._seen: Sight | None = None
        self.forecast_of: Callable[[int], Digest | None] = lambda _: None
        self._curves = Curves(clock.now_ms())
        self._herds: dict[int, _Herd] = {}
        self._sampled_ms = clock.now_ms()
        self._hour_ms = _hour_of(self._sampled_ms)

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Runs were planned."""
        for timetable, scheduled_for_ms, fire_after_ms, runs in arrivals:
            self._curves.arrive(scheduled_for_ms, fire_after_ms, runs)
            self._herd(scheduled_for_ms).add(timetable, fire_after_ms, runs)

    def started(self, claim: Started, at_ms: int) -> None:
        """An attempt started."""
        self._curves.start(at_ms, trigger=claim.trigger, attempt=claim.attempt)

    def unserved(self, reason: Unserved, at_ms: int) -> None:
        """A run's turn came, and it ended without its first attempt."""
        self._curves.end_unserved(at_ms, reason)

    def current(self) -> Sight:
        """The largest herd under way, else the last minute; computed once a second at most."""
        now_ms = self._clock.now_ms()
        if self._seen is None or not 0 <= now_ms - self._seen.at_ms < TICK_MS:
            self._seen = self._look(now_ms)
        return self._seen

    def last_second(self) -> HerdSecond:
        """What changes from second to second."""
        now_ms = self._clock.now_ms()
        before_ms = now_ms // 1_000 * 1_000 - 1_000
        curves = [getattr(self._curves, stage).seconds.window(before_ms, 1)[0] for stage in STAGES]
        backlog, tokens = self._waiting.ready, self._tokens()
        verdict = self.current().verdict.name
        return HerdSecond(now_ms, backlog, tokens, verdict, *curves)

    def last_hour(self) -> Figures:
        """The figures of the last hour."""
        now_ms = self._clock.now_ms()
        seconds = _HOUR_MS // 1_000
        return self._curves.window(now_ms - _HOUR_MS, seconds=seconds, now_ms=now_ms)

    def happened(self, start_ms: int, seconds: int, *, late: bool) -> Happened:
        """What a forecast of a window is held against."""
        return self._curves.happened(start_ms, seconds, late=late)

    def by_second(self, figures: Figures) -> dict[str, list[int]]:
        """The curves of a window, runs a second."""
        stages = {stage: getattr(self._curves, stage) for stage in STAGES}
        return {
            stage: curve.seconds.window(figures.start_ms, figures.seconds)
            for stage, curve in stages.items()
        }

    def amplifications(self) -> dict[str, float]:
        """By stage: the busiest second of the current window over its mean."""
        return {stage: figures.amplification for stage, figures in self._stages()}

    def alignments(self) -> dict[str, float]:
        """By stage: how far runs keep to a period of a minute or less, 0 to 1."""
        return {stage: _minute_alignment(figures) for stage, figures in self._stages()}

    def verdicts(self) -> dict[str, float]:
        """1 for the verdict now, 0 for the others."""
        now = self.current().verdict.name
        return {str(verdict): float(verdict == now) for verdict in VerdictName}

    async def records(self, limit: int) -> list[HerdRecord]:
        """The newest records."""
        return await self._records.newest(limit)

    async def named(self, timetables: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
        """Timetables by name."""
        names = await self._records.names([timetable for timetable, _ in timetables])
        return [(names[timetable], runs) for timetable, runs in timetables if timetable in names]

    async def run(self) -> None:
        while True:
            await self.run_once()
            await asyncio.sleep((TICK_MS - self._clock.now_ms() % TICK_MS) / 1_000)

    async def run_once(self) -> None:
        """Sample, and record what is over."""
        now_ms = self._clock.now_ms()
        if now_ms < self._sampled_ms - TICK_MS:
            self._begin_anew(now_ms)
        self._sampled_ms = now_ms
        # Less than a burst may wait for reasons of its own: a flow that is paused, a closed door.
        oldest_ms = self._waiting.oldest_due_ms if self._waiting.ready > self._burst else None
        self._curves.sample(now_ms, oldest_due_ms=oldest_ms, rate=self._rate)
        if _hour_of(now_ms) > self._hour_ms:
            self._hour_ms = _hour_of(now_ms)
            self._herd(self._hour_ms)  # It is recorded even when nothing is planned for it.
        for herd in [herd for herd in self._herds.values() if herd.over_ms <= now_ms]:
            del self._herds[herd.instant_ms]
            await self._close(herd, now_ms)
        self._ticks += 1
        if self._ticks % SHOCK_LOOK_TICKS == 0:
            await self._look_for_shock()
        with suppress(Unavailable):  # The next second tries again.
            await self._write(now_ms)

    def _stages(self) -> list[tuple[str, StageFigures]]:
        figures = self.current().figures
        return [(stage, getattr(figures, stage)) for stage in STAGES]

    def _begin_anew(self, now_ms: int) -> None:
        self._curves = Curves(now_ms)
        self._herds.clear()
        self._hour_ms = _hour_of(now_ms)
        self._seen = None

    def _herd(self, scheduled_for_ms: int) -> _Herd:
        instant_ms = scheduled_for_ms - scheduled_for_ms % 1_000
        herd = self._herds.get(instant_ms)
        if herd is None:
            if len(self._herds) >= HERDS_MAX:
                del self._herds[next(iter(self._herds))]
            herd = self._herds[instant_ms] = _Herd(instant_ms, instant_ms)
        return herd

    def _look(self, now_ms: int) -> Sight:
        under_way = [herd for herd in self._herds.values() if herd.instant_ms < now_ms]
        largest = max(under_way, key=lambda herd: herd.runs, default=None)
        if largest is not None and largest.runs > self._burst:
            sight = self._sight(largest, now_ms)
            sight = replace(sight, verdict=so_far(sight.verdict))
        else:
            minute_ms = now_ms // 1_000 * 1_000 - LAST_MINUTE_SECONDS * 1_000
            figures = self._curves.window(minute_ms, seconds=LAST_MINUTE_SECONDS, now_ms=now_ms)
            sight = self._judged(figures, now_ms)
        # What a herd was does not depend on doors; what goes on now does.
        shut = self._waiting.shut
        return sight if shut is None else replace(sight, verdict=behind(shut, sight.verdict))

    def _sight(self, herd: _Herd, now_ms: int) -> Sight:
        figures = self._curves.herd(herd.instant_ms, last_ms=herd.last_ms, now_ms=now_ms)
        named = herd.timetables.most_common(TIMETABLES_NAMED)
        return self._judged(figures, now_ms, tuple(named))

    def _judged(
        self, figures: Figures, now_ms: int, timetables: tuple[tuple[int, int], ...] = ()
    ) -> Sight:
        return Sight(
            at_ms=now_ms,
            figures=figures,
            verdict=judge(figures, rate=self._rate, burst=self._burst),
            volume=volume(figures.runs, rate=self._rate, jitter_seconds=figures.jitter_seconds),
            timetables=timetables,
        )

    async def _close(self, herd: _Herd, now_ms: int) -> None:
        is_hour = herd.instant_ms == _hour_of(herd.instant_ms)
        if herd.runs <= self._burst and not is_hour:
            return
        sight = self._sight(herd, now_ms)
        if is_hour or sight.verdict.name not in _NOTHING:
            await self._keep(sight, herd)

    async def _look_for_shock(self) -> None:
        sight = self.current()
        shock = sight.verdict.name if sight.verdict.name in _SHOCKS else None
        if shock and shock != self._shock:
            start_ms = sight.figures.start_ms
            await self._keep(sight, self._herds.get(start_ms) or _Herd(start_ms, start_ms))
        if shock or sight.verdict.name in _NOTHING:
            self._shock = shock  # A herd that comes between does not end it.

    async def _keep(self, sight: Sight, herd: _Herd) -> None:
        figures, verdict = sight.figures, sight.verdict
        timetables: list[tuple[str, int]] = []
        with suppress(Unavailable):  # A record without names is better than none.
            timetables = await self.named(sight.timetables)
        self._unwritten.append(
            HerdRecord(
                instant_ms=figures.start_ms,
                seconds=figures.seconds,
                runs=figures.planned.runs,
                offsets=tuple(zip((*OFFSET_BOUNDS_S, None), herd.offsets, strict=True)),
                timetables=tuple(timetables),
                busiest_demand=figures.demand.busiest,
                busiest_planned=figures.planned.busiest,
                busiest_served=figures.served.busiest,
                amplification=figures.planned.amplification,
                noise_floor=figures.planned.noise_floor,
                volume=sight.volume,
                verdict=verdict.name,
                period_seconds=verdict.period_seconds,
                sentence=verdict.sentence,
                advice=verdict.advice,
                forecast=self.forecast_of(figures.start_ms),
            )
        )

    async def _write(self, now_ms: int) -> None:
        while self._unwritten:
            forget_before_ms = now_ms - self._days * _DAY_MS
            await self._records.add(self._unwritten[0], forget_before_ms=forget_before_ms)
            self._unwritten.popleft()


def _hour_of(ms: int) -> int:
    return ms - ms % _HOUR_MS


def _minute_alignment(figures: StageFigures) -> float:
    """The largest strength at a period within a minute; above, every calendar aligns."""
    return max(s for period, s in figures.alignment.items() if period <= SPREAD_SECONDS)
