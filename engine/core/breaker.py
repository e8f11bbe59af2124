"""The circuit breaker of a flow: stop knocking at a door that does not open (SPEC §8).

Three states. *Closed*: runs go through; ten failures in a row, with no success between them, open
it. *Open*: nothing goes through until the backoff has passed. *Probing*: one run goes through; if
it succeeds the breaker closes, if it fails the breaker is open again for twice as long. Neither the
closed door nor the probe uses up a run's attempts: they say something of the receiver, not of the
run.

Prior art: Nygard, "Release It!" (2007), chapter 5. There is no clock and no timer here: who asks
says what time it is.
"""

from enum import StrEnum

from engine.core.model import Outcome

FAILURES_MAX = 10
"""Failures in a row that open a flow's breaker: one alone is an accident."""

BACKOFF_MS_MIN = 5_000
"""A breaker's first wait: a restart of a receiver takes about so long."""

BACKOFF_MS_MAX = 60_000
"""A breaker's longest wait: a receiver that is back is found within a minute."""

NEVER_MS = 2**62
"""Later than any instant: only an event can end the wait."""


class Door(StrEnum):
    """What the breaker lets through."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


class Breaker:
    """One flow's breaker. Instants in milliseconds of one monotonic clock."""

    __slots__ = ("_backoff_ms", "_opens_at_ms", "_probe", "door", "failures", "opened")

    def __init__(self) -> None:
        self.failures = 0
        self._backoff_ms = 0
        self._opens_at_ms = 0
        self._probe: object = None
        self.door = Door.CLOSED
        self.opened = 0
        """How often it has opened; the epoch with which waiting runs are spread again."""

    def blocked_until_ms(self, now_ms: int) -> int:
        """When the next run may go through; `now_ms` or earlier: at once."""
        match self.door:
            case Door.CLOSED:
                return now_ms
            case Door.OPEN:
                return self._opens_at_ms
            case Door.PROBING:
                return NEVER_MS

    def start(self, run: object, now_ms: int) -> None:
        """A run goes through; behind an open door it is the probe."""
        if self.door == Door.OPEN:
            assert now_ms >= self._opens_at_ms, "a run went through an open breaker"
            self.door = Door.PROBING
            self._probe = run

    def is_probe(self, run: object) -> bool:
        """Whether a run under way is the one that finds out."""
        return self.door == Door.PROBING and run == self._probe

    def withdraw(self, run: object) -> None:
        """A run that was to go through did not: if it was the probe, the next one is."""
        if self.is_probe(run):
            self.door = Door.OPEN

    def end(self, run: object, outcome: Outcome, now_ms: int) -> bool:
        """A run's attempt has ended; whether the breaker closed with it.

        An attempt that began before the breaker opened and fails says nothing new; one that
        succeeds closes it.
        """
        if counts_as_failure(outcome):
            self._fail(run, now_ms)
            return False
        closed = self.door != Door.CLOSED
        self.door = Door.CLOSED
        self.failures = 0
        self._backoff_ms = 0
        return closed

    def _fail(self, run: object, now_ms: int) -> None:
        self.failures += 1
        if self.is_probe(run) or (self.door == Door.CLOSED and self.failures >= FAILURES_MAX):
            if self.door == Door.CLOSED:
                self.opened += 1
            self._backoff_ms = min(BACKOFF_MS_MAX, max(BACKOFF_MS_MIN, 2 * self._backoff_ms))
            self._opens_at_ms = now_ms + self._backoff_ms
            self.door = Door.OPEN


def counts_as_failure(outcome: Outcome) -> bool:
    """A connection fault, a timeout or a 5xx: the receiver's state, not the request's."""
    if outcome.name == "http_error":
        return outcome.status is not None and outcome.status >= 500
    return outcome.name not in ("success", "blocked", "crash")
