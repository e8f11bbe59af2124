"""Whether a herd comes again before its like has left: the load that no jitter can move away.

Jitter moves runs by 900 s at most, and it moves the runs of the next herd as well. Of herds that
recur within that reach only the mean counts, taken over whole cycles: with more than the bucket's
rate the backlog grows from cycle to cycle, however each herd is spread. One herd's own size says
nothing about it (`amplification.volume`).

The like of a herd are the seconds with at least half of its runs. Of all but the last, which may
be coming still, the smallest stands for the one that closes the cycles, or an hourly herd amid
minutely ones would pass for a rule.
"""

from collections.abc import Sequence

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
