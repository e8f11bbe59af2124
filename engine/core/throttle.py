"""How a receiver that asks for less, by 429 or 503, is served until it takes everything again.

Additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the increase and decrease
algorithms for congestion avoidance", 1989), as TCP has made of it (RFC 5681). A refusal halves what
was done; after a second without one the rate grows by a tenth a second, so a receiver that takes a
steady R is asked for between R / 2 and a little over R and refuses once in some eight seconds. When
halving follows on halving with no raise between them, the receiver was gone and not merely too
slow. The *threshold* then stays where the first halving put it (§4.3 there), and up to it the rate
doubles each second (slow start): half of what was once too much is reached within seconds even from
the lowest rate, and what lies above is felt for.

Answers to one burst are one message, so nothing halves twice in a second. But a raise does not keep
a refusal from being heard, and there is none in a second with one: else successes outvote refusals
as long as they are more.
"""

RATE_MIN = 1
"""A flow that was throttled is still asked once a second whether it has recovered."""

HALVE_EVERY_MS = 1_000
"""At most one halving in this time: answers to one burst are one message, not many."""

RAISE_EVERY_MS = 1_000
"""So long without a refusal or a raise, and a success raises the rate."""


class Throttle:
    """A throttled flow's rate, in starts a second. Instants on the monotonic clock, in ms."""

    __slots__ = ("_halved_ms", "_quiet_ms", "_raised", "_threshold", "rate")

    def __init__(self, done: int, now_ms: int) -> None:
        """Refused at so many starts a second."""
        self.rate = self._threshold = max(RATE_MIN, done // 2)
        self._halved_ms = self._quiet_ms = now_ms
        self._raised = False

    def refuse(self, done: int, now_ms: int) -> None:
        """Refused again, at so many starts a second."""
        self._quiet_ms = now_ms
        if now_ms - self._halved_ms < HALVE_EVERY_MS:
            return
        self.rate = max(RATE_MIN, done // 2)
        if self._raised:
            self._threshold = self.rate
        self._halved_ms = now_ms
        self._raised = False

    def succeed(self, now_ms: int) -> None:
        """A run was served."""
        if now_ms - self._quiet_ms < RAISE_EVERY_MS:
            return
        if self.rate < self._threshold:
            self.rate = min(2 * self.rate, self._threshold)
        else:
            self.rate += max(1, self.rate // 10)
        self._quiet_ms = now_ms
        self._raised = True
