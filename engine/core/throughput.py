"""What a receiver sustains, measured from its successes.

A second in which a flow had nothing more to send says how much was asked, not how much could be
had. So a second counts when the flow was *pressed* in it (more waited than its parallelism let
through) or when it went better than all that is known; one with a failure in it never counts. The
best of the last few is the answer, since a second that began or ended idle is cut short; of one
alone nothing is known, as it may be the one in which a burst began.

Prior art: BBR's maximum filter over delivery rates, and its rule for application-limited samples
(Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016).
"""

from collections import deque

SECOND_MS = 1_000

SECONDS_KEPT = 10
"""As many as BBR keeps round trips: a receiver that has become slower is believed after them."""


class Throughput:
    """One flow's successes a second. Instants in milliseconds of one monotonic clock."""

    __slots__ = ("_best", "_count", "_failed", "_pressed", "_second")

    def __init__(self) -> None:
        self._best: deque[int] | None = None  # Most flows are never pressed.
        self._second = -1
        self._count = 0
        self._pressed = False
        self._failed = False

    @property
    def sustained(self) -> int | None:
        """Successes a second, at least 1; None: it was not asked for more than it took for long."""
        return max(self._best) if self._best and len(self._best) > 1 else None

    def press(self) -> None:
        """A run had to wait for another of its flow to end."""
        self._pressed = True

    def succeed(self, now_ms: int) -> None:
        """An attempt has succeeded."""
        second = now_ms // SECOND_MS
        if second != self._second:
            self._close()
            self._second = second
        self._count += 1

    def fail(self) -> None:
        """An attempt has not: what this second could have been worth is unknown."""
        self._failed = True

    def _close(self) -> None:
        if self._pressed or (self._best and self._count > max(self._best)):
            if self._best is None:
                self._best = deque(maxlen=SECONDS_KEPT)
            if self._count and not self._failed:
                self._best.append(self._count)
        self._count = 0
        self._pressed = self._failed = False
