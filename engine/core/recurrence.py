"""Whether a herd comes again before its like has left: the load that no jitter can move away.

Jitter moves runs by 900 s at most, and it moves the runs of the next herd as well. Of herds that
recur within that reach only the mean counts, taken over whole cycles: with more than the bucket's
rate the backlog grows from cycle to cycle, however each herd is spread. One herd's own size says
nothing about it (`amplification.volume`).

The like of a herd are the seconds with at least half of its runs. Of all but the last, which may
be coming still, the smallest stands for the one that closes the cycles, or an hourly herd amid
minutely ones would pass for a rule.

A herd's period is read from its like, too: the calendar's shortest after which it came before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.core.amplification import PERIODS_SECONDS
from engine.core.population import OFFSET_SECONDS_MAX

SERIES_MIN = 3
"""Herds that make a series. Two do as long as nobody knows what was one cycle earlier."""


def sustained(demand: Sequence[int], at: int, *, is_whole: bool = True) -> float:
    """The runs a second that recur around the herd of the second `at`; 0: it came alone.

    `demand` is by second, from the first that is known; `is_whole`: all of that herd is in it.
    """
    first = max(0, at - OFFSET_SECONDS_MAX)
    near = demand[first : at + OFFSET_SECONDS_MAX + 1]
    return max(_of_series(near, at - first, is_whole), _before(near, at - first))


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """How often a herd gathers. `was_seen`: it came so before; else its instant suggests it."""

    seconds: int
    was_seen: bool


def period_of(second: int, runs: int, before: Mapping[int, int]) -> Period | None:
    """The period of a herd of so many runs at a second since the epoch; None: none shows.

    `before`: the runs one period earlier, for each period of the calendar over which that is known.
    Where none of them brought the herd's like, the longest of which the instant is a multiple is a
    guess, unless it is known to be wrong.
    """
    came = [seconds for seconds, earlier in before.items() if runs and 2 * earlier >= runs]
    if came:
        return Period(seconds=min(came), was_seen=True)
    whole = next(seconds for seconds in PERIODS_SECONDS if second % seconds == 0)
    if whole in before or whole == min(PERIODS_SECONDS):
        return None
    return Period(seconds=whole, was_seen=False)


def _of_series(near: Sequence[int], at: int, is_whole: bool) -> float:
    """The mean over the cycles from the first of the herd's like to the last."""
    alike = [second for second, runs in enumerate(near) if runs and 2 * runs >= near[at]]
    if len(alike) < 2:
        return 0.0
    first, last = alike[0], alike[-1]
    if len(alike) < SERIES_MIN and first >= last - first:
        return 0.0
    whole = alike if is_whole and len(alike) < SERIES_MIN else alike[:-1]
    return (sum(near[first + 1 : last]) + min(near[each] for each in whole)) / (last - first)


def _before(near: Sequence[int], at: int) -> float:
    """The mean over the whole reach of jitter before the herd, once that much is known."""
    return sum(near[:at]) / at if at == OFFSET_SECONDS_MAX else 0.0
