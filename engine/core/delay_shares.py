"""Who ate the objective: the delays of many runs, by component (SPEC §9).

A tally counts milliseconds to ten significant bits: exact below a second, to a fifth of a percent
above. It so has a few thousand counters at most, however many runs there are and however late.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from engine.core.attribution import OBJECTIVE, Attribution
from engine.core.forecast import HERD_DELAY_LIMIT_MS

LATENESS = "lateness"
"""Beside the components: the sum of those that the objective is about."""

_SIGNIFICANT_BITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Of one component: the sum over all runs, and what half and 99 % of them do not exceed."""

    sum_ms: int
    p50_ms: int
    p99_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Delays by component, in the order of the way; `lateness`, of the first attempts.

    `complete`: whether these are all runs of the span; else they are the first of them.
    """

    runs: int
    complete: bool
    components: Mapping[str, Delays]
    lateness: Delays

    @property
    def total_ms(self) -> int:
        """The whole delay of all runs."""
        return sum(delays.sum_ms for delays in self.components.values())

    @property
    def eater(self) -> str | None:
        """The component with the largest part in the lateness; None when there is none."""
        largest = max(OBJECTIVE, key=lambda name: self.components[name].sum_ms)
        return largest if self.components[largest].sum_ms else None

    @property
    def sentence(self) -> str:
        """What became of the objective, and the component that has taken most of it."""
        if not self.runs:
            return (
                "No scheduled run of this span has had an attempt that ended: there is nothing to"
                " attribute."
            )
        late = (
            f"99 % of {self.runs:,} scheduled runs started within "
            f"{_seconds(self.lateness.p99_ms)} of their fire_after; the "
            f"objective for herds is {_seconds(HERD_DELAY_LIMIT_MS)}."
        )
        if self.eater is None:
            return f"{late} Nothing ate any of it."
        eaten = self.components[self.eater]
        share = 100 * eaten.sum_ms / self.lateness.sum_ms
        return (
            f"{late} The largest eater is {self.eater}: {share:.0f} % of all lateness, "
            f"p99 {_seconds(eaten.p99_ms)}."
        )


class Tally:
    """Counts attributions; `runs` of them so far."""

    def __init__(self) -> None:
        self.runs = 0
        self._sums: Counter[str] = Counter()
        self._counts: dict[str, Counter[int]] = {
            name: Counter() for name in (*Attribution._fields, LATENESS)
        }

    def add(self, attribution: Attribution) -> None:
        """Count one run."""
        self.runs += 1
        for name, ms in zip(Attribution._fields, attribution, strict=True):
            if ms:  # Most components of most runs are 0.
                self._count(name, ms)
        lateness_ms = sum(attribution[_FIRST : _LAST + 1])
        if lateness_ms:
            self._count(LATENESS, lateness_ms)

    def shares(self, *, complete: bool) -> Shares:
        """The sums and quantiles of what was counted."""
        return Shares(
            runs=self.runs,
            complete=complete,
            components={name: self._delays(name) for name in Attribution._fields},
            lateness=self._delays(LATENESS),
        )

    def _count(self, name: str, ms: int) -> None:
        self._sums[name] += ms
        beyond = max(0, ms.bit_length() - _SIGNIFICANT_BITS)
        self._counts[name][ms >> beyond << beyond] += 1

    def _delays(self, name: str) -> Delays:
        return Delays(
            sum_ms=self._sums[name],
            p50_ms=self._quantile(name, 50),
            p99_ms=self._quantile(name, 99),
        )

    def _quantile(self, name: str, percent: int) -> int:
        counts = self._counts[name]
        rank = -(-self.runs * percent // 100) - (self.runs - counts.total())
        for ms in sorted(counts) if rank > 0 else ():
            rank -= counts[ms]
            if rank <= 0:
                return ms
        return 0


_FIRST, _LAST = (Attribution._fields.index(name) for name in (OBJECTIVE[0], OBJECTIVE[-1]))


def _seconds(ms: int) -> str:
    return f"{ms / 1_000:,.3g} s"
