"""How much of a herd a second has to bear: bins, and the four figures taken from them (SPEC §9).

*Amplification* is the busiest bin over the mean one. A spread that could not be better still has
some: W bins that each expect m runs hold Poisson counts, and the largest of W normal values with
deviation sqrt(m) lies near m + sqrt(2 m ln W). `noise_floor` is that, over m. What is measured is
to be compared with it and never with 1.

*Alignment* says at which period runs gather: each run is a unit vector at its phase, and the
*vector strength* is the length of their mean. All at one phase give 1; N runs without a phase give
about 1/sqrt(N); a window that is filled evenly gives 0. It tells what amplification cannot: with
offsets of whole seconds every second bears the same and each is a small herd, strength 1 at 1 s.

*Volume* is the work over what the bucket can do with it in time. Above 1 no spread within the
jitter helps.

Bins are a ring that forgets what is older than its length. One addition is one integer increment,
since it happens for every run; everything else is computed when somebody asks.

Sources: Goldberg and Brown 1969 (vector strength); Mardia and Jupp, Directional Statistics, 2000,
section 6.3 (Rayleigh's test); Leadbetter, Lindgren and Rootzen 1983, section 1.5 (largest of W).
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, hypot, log, pi, sin, sqrt

SLO_SECONDS = 15
"""The service level of a herd at :00 (SPEC §8): its first attempts start within it."""

PERIODS_SECONDS = (3_600, 1_800, 900, 60, 30, 1)
"""Where calendars align runs: hours, their halves and quarters, minutes, halves, whole seconds."""

SIGNIFICANT = 10.0
"""Rayleigh's N r^2 beyond which a strength is no accident: chance reaches it 1 in 22,000 times."""


class Bins:
    """Counts by bin of `width_ms`, over the newest `size` bins; instants in milliseconds."""

    __slots__ = ("_counts", "_newest", "_size", "_width_ms")

    def __init__(self, width_ms: int, size: int) -> None:
        self._width_ms = width_ms
        self._size = size
        self._counts = array("I", bytes(size * array("I").itemsize))
        self._newest = -1

    def add(self, at_ms: int, count: int = 1) -> None:
        """Count at an instant; what is older than the ring is forgotten at once."""
        place = at_ms // self._width_ms
        if place > self._newest:
            self._advance(place)
        elif place <= self._newest - self._size:
            return
        self._counts[place % self._size] += count

    def window(self, start_ms: int, bins: int) -> list[int]:
        """The counts of `bins` bins from the one that holds `start_ms`; 0 outside the ring."""
        first = start_ms // self._width_ms
        low = max(first, self._newest - self._size + 1)
        high = min(first + bins, self._newest + 1)
        if low >= high:
            return [0] * bins
        place = low % self._size
        held = self._counts[place : place + high - low]
        held += self._counts[: high - low - len(held)]
        return [*[0] * (low - first), *held, *[0] * (first + bins - high)]

    def _advance(self, place: int) -> None:
        for entered in range(max(self._newest + 1, place - self._size + 1), place + 1):
            self._counts[entered % self._size] = 0
        self._newest = place


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFigures:
    """One stage over a window of seconds.

    `busiest` is per second, `busiest_hundredth` per 10 ms. `alignment` is the vector strength by
    period in seconds, for the periods that have been seen whole.
    """

    runs: int
    busiest: int
    busiest_hundredth: int
    amplification: float
    noise_floor: float
    alignment: Mapping[int, float]


def amplification(counts: Sequence[int]) -> float:
    """The busiest bin over the mean one; 0 when there is nothing."""
    runs = sum(counts)
    return max(counts) * len(counts) / runs if runs else 0.0


def noise_floor(bins: int, runs: int) -> float:
    """The amplification of a perfect spread of `runs` over `bins`; 0 when there is nothing."""
    return 1 + sqrt(2 * log(bins) * bins / runs) if runs else 0.0


def vector_strength(counts: Sequence[int], period: int) -> float:
    """How far the counted runs keep to one phase of `period` bins, 0 to 1; 0 for no runs."""
    folded = [sum(counts[phase::period]) for phase in range(min(period, len(counts)))]
    runs = sum(folded)
    if not runs:
        return 0.0
    turn = 2 * pi / period
    x = sum(count * cos(turn * phase) for phase, count in enumerate(folded) if count)
    y = sum(count * sin(turn * phase) for phase, count in enumerate(folded) if count)
    return hypot(x, y) / runs


def is_significant(strength: float, runs: int) -> bool:
    """Whether a strength is more than so few runs show by chance (Rayleigh's test)."""
    return runs * strength**2 >= SIGNIFICANT


def volume(runs: int, *, rate: int, jitter_seconds: float) -> float:
    """The runs over what `rate` a second can start within the jitter and the service level."""
    return runs / (rate * (jitter_seconds + SLO_SECONDS))


def jitter_needed_seconds(runs: int, *, rate: int) -> float:
    """The least jitter with which `runs` at one instant keep the service level (closed form)."""
    return max(0.0, runs / rate - SLO_SECONDS)
