"""A forecast: what the clock will ask for, what the bucket will give, and whether that will do.

The service level is SPEC §8's: of the runs due in a minute, 99 % begin within 2 s, or within 15 s
where the minute is the :00 herd's. A minute is the herd's when at least half of its runs are
scheduled for the first minute of an hour, or when it begins with the backlog that such a minute
has left.

Two different things make a herd late, and only one of them can be cured by jitter. *Alignment*: the
runs would fit if they were spread; more jitter helps. *Volume*: they would not fit however they
were spread, up to the 900 s that jitter may be; only a higher rate helps. For N runs due over J
seconds at a rate of R a second the delays are known without a simulation. A run at the fraction x
of the herd is due at x*J and leaves at x*N/R, so

    p99 delay = 0.99 * max(0, N / R - J),   and   p99 <= 15 s  iff  N <= R * (J + 15.15).

The tests hold the simulation against these.

Runs that will expire before their turn (`expiry`) are planned and not served: curves, delays and
verdict are those of the others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.core.bucket_simulation import Bucket, Delays
from engine.core.expiry import Cohort, without_expired
from engine.core.flow_limits import SCALE, FlowLimit, FlowPassage
from engine.core.limited_passage import LimitedPassage
from engine.core.population import Outlook
from engine.core.recurrence import sustained

DELAY_LIMIT_MS = 2_000
"""SPEC §8: p99 of first attempt - fire_after, normally,"""

HERD_DELAY_LIMIT_MS = 15_000
"""and for herds at :00."""

EVEN = 1.1
"""Times the backlog that an even herd leaves behind: what comes faster at first has more."""

MINUTE_SECONDS = 60
SPAN_SECONDS_MAX = 86_400
"""What a forecast spans: a day at one second a step can be computed within two seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """The runs due in one minute of the span, and how late they begin."""

    start_s: int
    runs: int
    delays: Delays
    limit_ms: int

    @property
    def met(self) -> bool:
        return self.delays.p99_ms <= self.limit_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Crush:
    """The stretch of seconds, without a pause, in which runs wait around the worst minute.

    `runs` fall due over `due_seconds`: what the closed forms call N and J. They wait for the
    engine's bucket, or for the limit of their flow; `millirate` leave in a thousand seconds.

    `even`: they come evenly enough for the closed forms. `sustained`: the runs a second that recur
    around its largest herd (`recurrence`); 0 behind the limit of a flow.
    """

    start_s: int
    seconds: int
    runs: int
    due_seconds: int
    millirate: int
    limit: FlowLimit | None
    even: bool
    sustained: float

    @property
    def recurs(self) -> bool:
        """Whether more come again and again than may leave: jitter only moves them on."""
        return SCALE * self.sustained > self.millirate


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the limit of a flow holds back in the span: planned runs, the most that wait at once,
    and the longest wait; 0 for a paused flow, whose runs wait until somebody resumes it."""

    limit: FlowLimit
    planned: int
    waiting: int
    longest_wait_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Curves by second from `start_s` on, the minutes that have runs, and the flows that are held
    back by a limit of their own; `unlimited` more have one that can bind and was left out.

    `expiring`: planned runs that end without an attempt, at least; no minute counts them.
    `under_way`: by second, all runs of the herds before `start_s` of which some are to come.
    """

    start_s: int
    demand: list[int]
    planned: list[int]
    served: list[int]
    backlog: list[int]
    minutes: tuple[Minute, ...]
    crush: Crush | None
    held: tuple[Held, ...]
    unlimited: int
    bucket: Bucket
    expiring: int = 0
    under_way: Mapping[int, int] = field(default_factory=dict)

    @property
    def longest_wait_s(self) -> int:
        """No run waits longer, but those of paused flows."""
        engine = -(-max(self.backlog) // self.bucket.rate)
        return max(engine, *(-(-held.longest_wait_ms // 1_000) for held in self.held), 0)

    @property
    def met(self) -> bool:
        return all(minute.met for minute in self.minutes)

    @property
    def missed(self) -> int:
        """Minutes in which the objective is missed."""
        return sum(not minute.met for minute in self.minutes)

    @property
    def worst(self) -> Minute | None:
        """The minute that is worst for its limit."""
        return max(self.minutes, key=_badness, default=None)


def p99_ms(runs: int, rate: int, jitter_seconds: int) -> int:
    """The p99 delay of a herd alone, in closed form."""
    return max(0, 990 * runs // rate - 990 * jitter_seconds)


def runs_max(rate: int, jitter_seconds: int, limit_ms: int = HERD_DELAY_LIMIT_MS) -> int:
    """The largest herd that keeps its objective, in closed form."""
    return rate * jitter_seconds + rate * limit_ms // 990


def jitter_min(runs: int, rate: int, limit_ms: int = HERD_DELAY_LIMIT_MS) -> int:
    """The least jitter with which a herd keeps its objective, in closed form; over 900: none."""
    excess_runs = runs - rate * limit_ms // 990
    return max(0, -(-excess_runs // rate))


def rate_min(runs: int, jitter_seconds: int, limit_ms: int = HERD_DELAY_LIMIT_MS) -> int:
    """The least rate at which a herd keeps its objective, in closed form."""
    return max(1, -(-990 * runs // (990 * jitter_seconds + limit_ms)))


def foresee(
    outlook: Outlook,
    bucket: Bucket,
    *,
    from_s: int,
    limits: Sequence[FlowLimit] = (),
    unlimited: int = 0,
    cohorts: Collection[Cohort] = (),
) -> Forecast:
    """Simulate the curves from their start; the forecast of what is due from `from_s` on.

    `cohorts`: who may expire.
    """
    asked = outlook
    if cohorts:
        outlook = without_expired(outlook, bucket, limits, cohorts)
    passage = LimitedPassage(outlook, bucket, limits)
    windows = [w for w in _windows(outlook, passage) if w.start_s + MINUTE_SECONDS > from_s]
    minutes = tuple(_judge(window, outlook, passage) for window in windows if window.runs)
    skipped = from_s - outlook.start_s
    worst = max((m for m in minutes if not m.met), key=_badness, default=None)
    return Forecast(
        start_s=from_s,
        demand=outlook.demand[skipped:],
        planned=asked.planned[skipped:],
        served=passage.engine.served[skipped:],
        backlog=passage.backlog[skipped:],
        minutes=minutes,
        crush=_crush(outlook, passage, worst) if worst else None,
        held=tuple(_held(flow, skipped) for flow in passage.flows if any(flow.waiting[skipped:])),
        unlimited=unlimited,
        bucket=bucket,
        expiring=sum(asked.planned[skipped:]) - sum(outlook.planned[skipped:]),
    )


def excess(outlook: Outlook, bucket: Bucket, *, from_s: int, enough: int | None = None) -> int:
    """How far the objective is missed from `from_s` on: run-milliseconds beyond it, 0 if it is met.

    The limits of flows have let `outlook` through: see `limited_passage.release`. Looks at the
    worst minutes first and stops when it has found `enough`.
    """
    passage = LimitedPassage(outlook, bucket)
    # Nobody waits longer than to the end of the second in which they fall due, and then for what is
    # served before them, which is no more than what waits at that end or at a later one.
    if 1_000 * max(passage.engine.backlog) <= bucket.rate * (DELAY_LIMIT_MS - 1_000):
        return 0
    windows = [
        window
        for window in _windows(outlook, passage)
        if 1_000 * window.peak > bucket.rate * (window.limit_ms - 1_000)
        and window.runs
        and window.start_s + MINUTE_SECONDS > from_s
        and 1_000 * _longest_queue(window, outlook, passage) > bucket.rate * window.limit_ms
    ]
    found = 0
    for window in sorted(windows, key=lambda window: -window.peak):
        minute = _judge(window, outlook, passage)
        found += minute.runs * max(0, minute.delays.p99_ms - minute.limit_ms)
        if enough is not None and found >= enough:
            break
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """A minute before it is judged: its runs, its limit, and the largest backlog in it."""

    start_s: int
    runs: int
    limit_ms: int
    peak: int


def _windows(outlook: Outlook, passage: LimitedPassage) -> Iterator[_Window]:
    start_s, planned, backlog = outlook.start_s, outlook.planned, passage.engine.backlog
    herds, left = False, 0
    for minute_s in range(
        start_s - start_s % MINUTE_SECONDS, start_s + len(planned), MINUTE_SECONDS
    ):
        first, last = max(0, minute_s - start_s), minute_s + MINUTE_SECONDS - start_s
        runs = sum(planned[first:last])
        herds = (herds and left > 0) or (runs > 0 and 2 * sum(outlook.herd[first:last]) >= runs)
        waiting = backlog[first:last]
        left = waiting[-1]
        yield _Window(
            start_s=minute_s,
            runs=runs,
            limit_ms=HERD_DELAY_LIMIT_MS if herds else DELAY_LIMIT_MS,
            peak=max(waiting),
        )


def _longest_queue(window: _Window, outlook: Outlook, passage: LimitedPassage) -> int:
    """The most that wait at any instant of a minute. Inside a second both curves are straight, but
    for the runs that come when it begins: so that is at its end, or when those have come."""
    first = max(0, window.start_s - outlook.start_s)
    last = min(window.start_s + MINUTE_SECONDS - outlook.start_s, len(outlook.sharp))
    engine = passage.engine
    left = engine.backlog[first - 1] if first else engine.bucket.backlog
    earlier = [left, *engine.backlog[first : last - 1]]
    sharp = outlook.sharp[first:last]
    return max(window.peak, *(left + came for left, came in zip(earlier, sharp, strict=True)))


def _judge(window: _Window, outlook: Outlook, passage: LimitedPassage) -> Minute:
    first = window.start_s - outlook.start_s
    return Minute(
        start_s=window.start_s,
        runs=window.runs,
        delays=passage.delays(first, first + MINUTE_SECONDS),
        limit_ms=window.limit_ms,
    )


def _held(flow: FlowPassage, skipped: int) -> Held:
    return Held(
        limit=flow.limit,
        planned=sum(flow.planned[skipped:]),
        waiting=-(-max(flow.waiting[skipped:]) // SCALE),
        longest_wait_ms=flow.longest_wait_ms,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """What a crush waits in: the runs that come to it and those in it, by second, and its rate."""

    arrivals: Sequence[int]
    backlog: Sequence[int]
    millirate: int
    limit: FlowLimit | None


def _crush(outlook: Outlook, passage: LimitedPassage, worst: Minute) -> Crush:
    """From the last second before the worst minute's end with nothing waiting, to the next one."""
    queue = _cause(passage, worst, first := worst.start_s - outlook.start_s)
    planned, backlog = queue.arrivals, queue.backlog
    last = min(len(backlog), first + MINUTE_SECONDS) - 1
    middle = max(range(max(0, first), last + 1), key=backlog.__getitem__)
    start = middle
    while start > 0 and backlog[start - 1]:
        start -= 1
    end = middle
    while end + 1 < len(backlog) and backlog[end]:
        end += 1
    due = [second for second in range(start, end + 1) if planned[second]]
    runs, due_seconds = sum(planned[start : end + 1]), _densest(planned, due)
    waiting = max(backlog[start : end + 1]) * (1 if queue.limit else SCALE)
    largest = max(range(start, end + 1), key=outlook.demand.__getitem__)
    return Crush(
        start_s=outlook.start_s + start,
        seconds=end + 1 - start,
        runs=runs,
        due_seconds=due_seconds,
        millirate=queue.millirate,
        limit=queue.limit,
        even=waiting <= EVEN * (SCALE * runs - queue.millirate * due_seconds),
        sustained=0.0 if queue.limit else sustained(outlook.demand, largest),
    )


def _cause(passage: LimitedPassage, worst: Minute, first: int) -> _Queue:
    """The engine's bucket, if that alone would miss the minute's objective, else the flow that
    holds most runs back in it."""
    engine, last = passage.engine, first + MINUTE_SECONDS
    if engine.delays(first, last).p99_ms > worst.limit_ms:
        millirate = SCALE * engine.bucket.rate
        return _Queue(
            arrivals=engine.arrivals, backlog=engine.backlog, millirate=millirate, limit=None
        )
    going = [flow for flow in passage.flows if flow.limit.millirate]
    flow = max(going, key=lambda flow: max(flow.waiting[max(0, first) : last]))
    return _Queue(
        arrivals=flow.planned,
        backlog=flow.waiting,
        millirate=flow.limit.millirate,
        limit=flow.limit,
    )


def _densest(planned: Sequence[int], due: Sequence[int]) -> int:
    """Over how many seconds 99 % of what is due in a crush comes."""
    total = sum(planned[second] for second in due)
    seen = 0
    for count, second in enumerate(due, 1):
        seen += planned[second]
        if 100 * seen >= 99 * total:
            return due[count - 1] - due[0] + 1
    return len(due)


def _badness(minute: Minute) -> tuple[float, int]:
    return minute.delays.p99_ms / minute.limit_ms, minute.delays.p99_ms
