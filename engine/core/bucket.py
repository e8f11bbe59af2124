"""The token bucket that everything which leaves must pass (SPEC §8).

One token is one attempt's start. Tokens come in at `rate` a second and are kept up to `burst`, so
that over any window of T seconds at most `burst + rate * T` are granted. The bucket starts empty:
a restart gives no burst away, and the bound holds across it.

Integers only. A token is 1,000 milli-tokens, and a rate of n tokens a second is n milli-tokens a
millisecond: nothing is rounded, nothing is lost between two calls.

Time is what the caller says. When it goes back, the bucket goes on from there and mints nothing
for the way, so a clock set back by an hour neither fills the bucket nor starves it for an hour. A
clock set forward cannot be told from time passing; callers give the monotonic clock.

Tokens granted and not used are gone. Taking them back later would break the bound: the same
allowance would count in two windows. Only while no other has been granted since is a token that
will not be used as good as never granted, and may be given back.

With a burst of one there is no room to be late: the bound itself keeps two starts 1 / rate apart,
so what passes between a token's coming and the start, a timer's grain and a claim's commit, is lost
each time. Two tokens and more make up for it.

Prior art: the leaky bucket as a meter of ITU-T I.371, the single rate of RFC 2697.
"""


class TokenBucket:
    """Grants whole tokens, `burst` at once at most. Instants in milliseconds, of one clock."""

    __slots__ = ("_at_ms", "_capacity", "_level", "rate")

    def __init__(self, rate_per_second: int, burst: int, now_ms: int) -> None:
        assert rate_per_second >= 1, "a bucket without a rate never opens"
        assert burst >= 1, "a bucket that holds no token never opens"
        self.rate = rate_per_second
        self._capacity = burst * 1000
        self._level = 0
        self._at_ms = now_ms

    def peek(self, now_ms: int) -> int:
        """Whole tokens there are now."""
        self._refill(now_ms)
        return self._level // 1000

    def reserve(self, now_ms: int, n: int) -> int:
        """Take `n` tokens, or what there is; how many were granted."""
        granted = min(n, self.peek(now_ms))
        self._level -= granted * 1000
        return granted

    def give_back(self) -> None:
        """One token of those granted last will not be used, now or ever."""
        self._level = min(self._capacity, self._level + 1000)

    def wait_ms(self, now_ms: int, n: int) -> int:
        """Milliseconds until there are `n` tokens (at most the burst), if nobody takes any."""
        assert n * 1000 <= self._capacity, "more than the burst is never there at once"
        self._refill(now_ms)
        missing = n * 1000 - self._level
        return max(0, -(-missing // self.rate))

    def _refill(self, now_ms: int) -> None:
        elapsed_ms = max(0, now_ms - self._at_ms)
        self._level = min(self._capacity, self._level + elapsed_ms * self.rate)
        self._at_ms = now_ms
