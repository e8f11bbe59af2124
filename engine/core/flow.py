"""A flow: what is limited, fair and broken together (SPEC §1, §8).

By default a flow is a tenant's runs to one host and port. It has a parallelism and, if set, a rate;
429 and 503 halve the rate at which it is served, and successes restore it step by step
(`throttle`). What is halved is what the flow did, as TCP halves what is in flight and not its
window (RFC 5681 §3.1): half of a rate that nobody used asks nobody to slow down.

A 429 speaks for the whole receiver. A 503 may speak for one of its replicas: one among many
successes is that run's bad luck, and to halve for each of them would starve a flow whose receiver
refuses an eighth at any pace. So they count when at least every other attempt ends with one, which
is the share from which on Google's clients hold back (adaptive throttling with K = 2, "Site
Reliability Engineering", chapter 21).
"""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from urllib.parse import urlsplit

from engine.core.breaker import NEVER_MS, Breaker, Door
from engine.core.bucket import TokenBucket
from engine.core.inproc import is_inproc
from engine.core.model import Outcome
from engine.core.spells import Spells
from engine.core.throttle import Throttle
from engine.core.throughput import Throughput

PARALLELISM = 20
"""Attempts of one flow under way at once, by default: at 20 ms a request they carry 1,000 a
second."""

UNAVAILABLE_SHARE = 2
"""Answers 503 ask for less when every second start of the last one to two seconds, or more, ended
with one. At every fourth, a receiver that refuses an eighth at random was halved by chance again
and again."""

FASTEST_REQUEST_MS = 20
"""A throttled rate above what the parallelism carries at this pace holds nothing back, and ends."""

_SECOND_MS = 1_000

_ORIGIN = re.compile(r"[^:]+://[^/?#]*")

ORIGINS_SHARED_MAX = 4_096
"""Origins whose keys are kept: a batch of schedules has many targets and few hosts."""


def default_key(url: str) -> str:
    """The flow of a target that names none: its host and port, or its handler.

    `url`: absolute, as it is sent.
    """
    if is_inproc(url):
        return url
    origin = _ORIGIN.match(url)
    assert origin is not None, "a target's URL has been read"
    return _key(origin[0])


@lru_cache(maxsize=ORIGINS_SHARED_MAX)
def _key(origin: str) -> str:
    parts = urlsplit(origin)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = (parts.hostname or "").removesuffix(".")
    if ":" in host:
        host = f"[{IPv6Address(host)}]"  # One spelling of the many.
    return f"{host}:{port}"


class Flow:
    """One flow's limits and what it has under way. Instants on the monotonic clock, in ms."""

    __slots__ = (
        "_blocked",
        "_bucket",
        "_refusals",
        "_starts",
        "_throttle",
        "_throughput",
        "at_limit",
        "breaker",
        "flow_id",
        "inflight",
        "key",
        "parallelism",
        "paused",
        "rate",
        "shut",
        "tenant",
    )

    def __init__(
        self,
        flow_id: int,
        tenant: str,
        *,
        key: str = "",
        parallelism: int = PARALLELISM,
        rate: int | None = None,
        paused: bool = False,
    ) -> None:
        """`key`: for people; `rate`: attempt starts a second, None for no limit of its own."""
        self.flow_id = flow_id
        self.tenant = tenant
        self.key = key
        self.parallelism = parallelism
        self.rate = rate
        self.paused = paused
        self.inflight = 0
        self.breaker = Breaker()
        self.at_limit = Spells()
        self.shut = Spells()
        self._blocked: Spells | None = None
        self._throttle: Throttle | None = None
        self._bucket: TokenBucket | None = None
        self._starts = _LastSeconds()
        self._refusals = _LastSeconds()  # Answers 503.
        self._throughput = Throughput()

    @property
    def effective_rate(self) -> int | None:
        """The rate in force: the limit, or less while the receiver asks for it."""
        if self._throttle is None:
            return self.rate
        return self._throttle.rate if self.rate is None else min(self._throttle.rate, self.rate)

    @property
    def sustained(self) -> int | None:
        """Successes a second that its receiver last sustained; None: it was never put to it."""
        return self._throughput.sustained

    def blocked_until_ms(self, now_ms: int) -> int:
        """When the next run may start: `now_ms` when at once, `NEVER_MS` when an event decides."""
        if self.paused:
            return NEVER_MS
        if self.inflight >= self.parallelism:
            self._throughput.press()
            return NEVER_MS
        until_ms = max(now_ms, self.breaker.blocked_until_ms(now_ms))
        bucket = self._current_bucket(now_ms)
        if bucket is not None:
            until_ms = max(until_ms, now_ms + bucket.wait_ms(now_ms, 1))
        return until_ms

    def block(self, now_ms: int) -> None:
        """Its runs wait for it from now on: `shut` by a pause or the breaker, else `at_limit`."""
        is_shut = self.paused or self.breaker.blocked_until_ms(now_ms) > now_ms
        spells = self.shut if is_shut else self.at_limit
        if spells is not self._blocked:
            self.unblock(now_ms)
            spells.begin(now_ms)
            self._blocked = spells

    def unblock(self, now_ms: int) -> None:
        """Its runs may have their turn again, or had it."""
        if self._blocked is not None:
            self._blocked.end(now_ms)
            self._blocked = None

    def start(self, run: object, now_ms: int) -> None:
        """A run of the flow starts."""
        if self._blocked is not None:
            self.unblock(now_ms)
        self.inflight += 1
        bucket = self._current_bucket(now_ms)
        if bucket is not None:
            bucket.reserve(now_ms, 1)
        self._starts.count(now_ms)
        self.breaker.start(run, now_ms)

    @property
    def is_plain(self) -> bool:
        """It remembers nothing of its receiver: what it is can be made again from its row."""
        closed = self.breaker.door == Door.CLOSED and not self.breaker.failures
        return closed and self._throttle is None and self.sustained is None

    def withdraw(self, run: object) -> bool:
        """A run that was to start will not, and costs no token; the breaker has not closed.

        Runs are claimed one take after the other, so no token was granted since, but for a run that
        expires after its claim: the flow may then be a token ahead of its rate.
        """
        self.inflight -= 1
        if self._bucket is not None:
            self._bucket.give_back()
        self.breaker.withdraw(run)
        return False

    def end(self, run: object, outcome: Outcome, now_ms: int) -> bool:
        """An attempt of the flow has ended; whether its breaker closed with it."""
        self.inflight -= 1
        assert self.inflight >= 0, "more ends than starts"
        self._adapt(outcome, now_ms)
        if outcome.name == "success":
            self._throughput.succeed(now_ms)
        else:
            self._throughput.fail()
        closed = self.breaker.end(run, outcome, now_ms)
        if closed:
            # The 503s of an outage asked for nothing: what waited comes back spread (SPEC §8).
            self._throttle = None
        return closed

    def _adapt(self, outcome: Outcome, now_ms: int) -> None:
        if outcome.status in (429, 503):
            # A probe is one run in many seconds: its answer says nothing of the rate.
            if not self._asks(outcome, now_ms) or self.breaker.door != Door.CLOSED:
                return
            if self._throttle is None:
                self._throttle = Throttle(self._done(), now_ms)
            else:
                self._throttle.refuse(self._done(), now_ms)
        elif outcome.name == "success" and self._throttle is not None:
            self._throttle.succeed(now_ms)
            if self._throttle.rate >= self._ceiling():
                self._throttle = None

    def _asks(self, outcome: Outcome, now_ms: int) -> bool:
        """Whether a 429 or 503 asks for less."""
        if outcome.status == 429:
            return True
        self._refusals.count(now_ms)
        return sum(self._refusals.counts) * UNAVAILABLE_SHARE >= sum(self._starts.counts)

    def _done(self) -> int:
        """Starts in the busier of the last two seconds with any: the last one has just begun."""
        done = max(self._starts.counts)
        rate = self.effective_rate
        return done if rate is None else min(rate, done)

    def _ceiling(self) -> int:
        """The rate from which on a throttle holds nothing back."""
        if self.rate is not None:
            return self.rate
        return self.parallelism * _SECOND_MS // FASTEST_REQUEST_MS

    def _current_bucket(self, now_ms: int) -> TokenBucket | None:
        rate = self.effective_rate
        if rate is None:
            self._bucket = None
        elif self._bucket is None or self._bucket.rate != rate:
            self._bucket = TokenBucket(rate, max(1, rate // 10), now_ms)
        return self._bucket


class _LastSeconds:
    """How often something was the case in the last second with any, and in the one before it."""

    __slots__ = ("_before", "_now", "_second")

    def __init__(self) -> None:
        self._second = self._now = self._before = 0

    @property
    def counts(self) -> tuple[int, int]:
        return self._now, self._before

    def count(self, now_ms: int) -> None:
        second = now_ms // _SECOND_MS
        if second == self._second:
            self._now += 1
            return
        self._before = self._now if second == self._second + 1 else 0
        self._second, self._now = second, 1
