"""How many attempts may be under way at once: more only where more helps (SPEC §8).

By Little's law an engine keeps (rate × time in a slot) attempts under way. A slot is taken from the
claim to the answer, so where receivers answer at once most of that time is the journal's, and
`LIMIT_MIN` slots serve as fast as this machine can: further ones would wait for each other and make
the event loop late for everybody. Receivers that take a second need as many slots as come in a
second, and these cost little while they wait. So the limit begins at its least and

* *grows* by half while runs wait for nothing but a slot, slots come free slowly, and the loop has
  time;
* *shrinks* by a quarter when the loop is late, and when it has not been used for a minute.

Multiplicative both ways: a herd of slow receivers has its slots within seconds, whatever the
ceiling. Bands between "has time" and "is late", "full" and "spare" keep the limit from swinging;
under a constant load it settles.

Prior art: additive increase, multiplicative decrease (Chiu and Jain, 1989) shares a bottleneck
among senders that cannot see each other; here one sender sees its own. TCP Vegas and Netflix's
concurrency-limits infer from a growing latency that a queue forms. The latency here is the
receivers' and says little of us; what fills up on this side is the loop, whose lag can be read.
"""

from dataclasses import dataclass

LIMIT_MIN = 512
"""Two claims (`dispatcher.CLAIM_RUNS_MAX`): while the runs of one are on the wire, the other is put
to disk. With one, a herd of 20,000 to a fast receiver took a tenth longer and more."""

SLOW_SECONDS = 0.25
"""In a slot. With answers at once it is 40 ms, for two commits, and on a busy machine 100."""

LAG_MS_HIGH = 30
"""Mean lag of a loop that is late: as with 256 answers that come in together, time and again."""

LAG_MS_LOW = 15
"""Half of it, and a loop has time to spare; a neighbour on the machine costs some milliseconds."""

FULL = 0.9
"""Of the limit: so many under way, and slots are what binds. Some are always between two runs."""

SPARE = 0.6
"""Of the limit: what is not used beyond it can go. One step down, the same use is below `FULL`."""

SPARE_SECONDS = 60
"""Longer than a herd's lulls, shorter than the quiet from one :00 to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What was seen since the last look, `seconds` ago.

    `waits`: a run is due now and lacks nothing but a slot. `under_way`: attempts now. `ended`:
    attempts that ended meanwhile. `lag_ms`: by how much the loop woke up late, on average.
    """

    seconds: float
    waits: bool
    under_way: int
    ended: int
    lag_ms: float


class Scaling:
    """The limit, between `LIMIT_MIN` and a ceiling that may be less; `see` load after load."""

    __slots__ = ("_ceiling", "_spare_seconds", "_was_full", "limit")

    def __init__(self, ceiling: int) -> None:
        self._ceiling = ceiling
        self._spare_seconds = 0.0
        self._was_full = False
        self.limit = min(LIMIT_MIN, ceiling)

    def see(self, load: Load) -> int:
        """The limit after this load."""
        is_full = load.waits and load.under_way >= FULL * self.limit
        is_spare = load.under_way < SPARE * self.limit
        self._spare_seconds = self._spare_seconds + load.seconds if is_spare else 0.0
        if load.lag_ms >= LAG_MS_HIGH or self._spare_seconds >= SPARE_SECONDS:
            self._set(self.limit * 3 // 4)
        elif is_full and self._was_full and load.lag_ms <= LAG_MS_LOW and _is_slow(load):
            self._set(self.limit * 3 // 2)
        self._was_full = is_full
        return self.limit

    def _set(self, limit: int) -> None:
        self.limit = min(max(limit, LIMIT_MIN), self._ceiling)


def _is_slow(load: Load) -> bool:
    """By Little's law; when nothing ended, nobody answers and others may."""
    return load.under_way * load.seconds >= SLOW_SECONDS * load.ended
