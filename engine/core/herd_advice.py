"""The few changes of jitter that buy the most (SPEC §9, `GET /v1/herd/advice`).

Greedy: in the worst crush take the timetable that brings the most runs and whose deadlines leave
room, give it the least jitter that buys nearly all that the largest would, and look again. Each
step is computed beside everything else that fires. Choosing the best few of thousands is
hard to do exactly, and the greedy choice is within 1 - 1/e of it where gains only diminish
(Nemhauser, Wolsey, Fisher, Mathematical Programming 14, 1978).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.core.bucket_simulation import Bucket
from engine.core.forecast import Crush, excess, foresee
from engine.core.population import OFFSET_SECONDS_MAX, Crowd, Outlook, Singles, draw, minus
from engine.core.spreading import JITTER_STEPS, Deadlines, demand_of, spread, together

CHANGES_MAX = 5
"""As many as a person would make in one sitting."""

CANDIDATES_MAX = 10
"""Timetables tried: some turn out to buy nothing, and each costs a tenth of a second or two."""

ENOUGH_PERCENT = 90
"""A smaller jitter is proposed when it buys this much of what the largest buys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Another jitter for the schedules of a timetable. `excess` is what is left after it."""

    crowd: Crowd
    jitter_seconds: int
    excess: int

    @property
    def now_seconds(self) -> int:
        """What their offsets reach today: the jitter they have, or nearly so."""
        widest = max(self.crowd.counts)
        return widest + 1 if widest else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Changes in order of what they buy; `excess` is run-milliseconds beyond the objective."""

    changes: tuple[Change, ...]
    excess: int

    @property
    def excess_left(self) -> int:
        return self.changes[-1].excess if self.changes else self.excess


def advise(
    outlook: Outlook,
    crowds: Sequence[Crowd],
    deadlines: Deadlines,
    bucket: Bucket,
    *,
    from_s: int,
) -> Advice:
    """Up to `CHANGES_MAX` changes; none when the objective is met, or jitter cannot help.

    The limits of flows have let `outlook` through; schedules of limited flows are not candidates.
    """
    start_s, end_s = outlook.start_s, outlook.start_s + len(outlook.planned)
    before = left = excess(outlook, bucket, from_s=from_s)
    changes: list[Change] = []
    candidates = [crowd for crowd in crowds if _has_room(crowd, deadlines)]
    for _ in range(CANDIDATES_MAX):
        if not left or len(changes) == CHANGES_MAX:
            break
        crush = foresee(outlook, bucket, from_s=from_s).crush
        crowd = _heaviest(candidates, crush) if crush and not crush.recurs else None
        if crowd is None:
            break
        candidates.remove(crowd)
        own = draw([crowd], Singles(), start_s, end_s)
        rest, demand = minus(outlook, own), demand_of([crowd], deadlines, own.demand, start_s)
        tries = (
            _Try(crowd, jitter, together(rest, spread(demand, jitter, start_s, end_s)))
            for jitter in (OFFSET_SECONDS_MAX, *_steps_above(crowd))
        )
        best = _least_that_buys(tries, left, lambda o: excess(o, bucket, from_s=from_s))
        if best is not None:
            change, outlook = best
            changes.append(change)
            left = change.excess
    return Advice(changes=tuple(changes), excess=before)


class _Try(NamedTuple):
    """The curves with another jitter for a crowd."""

    crowd: Crowd
    jitter_seconds: int
    outlook: Outlook


def _has_room(crowd: Crowd, deadlines: Deadlines) -> bool:
    """Whether the crowd can get another jitter, and some deadline leaves room for more."""
    if crowd.bounded or crowd.flow_id is not None:
        return False
    capped = deadlines.get(crowd.kind, {})
    free = crowd.schedules > sum(capped.values())
    return max(crowd.counts) + 1 < (OFFSET_SECONDS_MAX if free else max(capped))


def _heaviest(crowds: Iterable[Crowd], crush: Crush) -> Crowd | None:
    """The crowd with the most runs in the crush."""
    most, heaviest = 0, None
    for crowd in crowds:
        first_s = crush.start_s - max(crowd.counts)
        runs = crowd.schedules * len(crowd.occurrences(first_s, crush.start_s + crush.seconds))
        if runs > most:
            most, heaviest = runs, crowd
    return heaviest


def _steps_above(crowd: Crowd) -> list[int]:
    return [seconds for seconds in JITTER_STEPS if seconds > max(crowd.counts)]


def _least_that_buys(
    tries: Iterator[_Try], left: int, measure: Callable[[Outlook], int]
) -> tuple[Change, Outlook] | None:
    """The first that buys nearly as much as the largest jitter, which comes first; None: none."""
    least = measure(next(tries).outlook)
    if least >= left:
        return None
    for crowd, jitter_seconds, outlook in tries:
        remaining = measure(outlook)
        if 100 * (left - remaining) >= ENOUGH_PERCENT * (left - least):
            change = Change(crowd=crowd, jitter_seconds=jitter_seconds, excess=remaining)
            return change, outlook
    return None
