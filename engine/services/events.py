"""Live events: what becomes of a tenant's runs, told to whoever listens (SPEC §10).

A *channel* has the events of one tenant, or of one of its schedules. A *stream* is one client that
listens to a channel, to the herd's figures of each second, or to both. Events are made from batches
that have reached the disk; while nobody listens there is no channel, and a batch costs one look at
an empty table.

Nobody reads 20,000 events a second. A channel tells `EVENTS_PER_SECOND` and counts the others by
state; once a second its streams are told how many those were, so the sums stay right. What was told
is kept in a ring, and a channel outlives its last stream by `LINGER_SECONDS`: a client that comes
back with the id of its last event hears the rest, or is told that it is forgotten and that the
lists have it. An id names the channel's life as well as a number, so that no other channel, and no
later life of the engine, takes it for its own.

The stream tells of attempts and of what ends when its turn comes. Runs that an edit cancels or the
catch-up policy skips are settled by thousands in one statement, and are in the lists alone.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from secrets import token_hex
from typing import Protocol, TypeVar

import structlog

from engine.clock import Clock
from engine.core.bucket import TokenBucket
from engine.core.errors import LimitReached
from engine.core.model import State
from engine.services.event_stream import (
    QUEUE_EVENTS_MAX,
    Begun,
    Dropped,
    Reset,
    Stream,
    StreamEvent,
)
from engine.services.figures import Figures
from engine.services.monitor import HerdSecond
from engine.services.run_events import RunEvent, attempting, ended, expired, finished
from engine.store import Claim, Claimed, Ended

EVENTS_PER_SECOND = 50
"""Run events that a channel tells, more than a person or a page can follow, and a burst of as many;
at some 10 us each."""

RING_EVENTS = 512
"""Kept for clients that come back: ten seconds at the full rate, some 200 KB a channel."""

EVENT_ID_LENGTH_MAX = 64
"""Longer than any id that was handed out."""

STREAMS_PER_TENANT_MAX = 32
"""Streams of one tenant: a quarter of all, so that one tenant does not take them from others."""

STREAMS_MAX = 128
"""Streams of the node, each written to ten times a second at most: 2 % of the loop at worst."""

CHANNELS_MAX = 128
"""Channels, those without a stream included: 26 MB of rings."""

LINGER_SECONDS = 60
"""How long a channel without streams goes on: browsers come back after seconds."""

log = structlog.get_logger("offbeat.events")


T = TypeVar("T")


class Owned(Protocol):
    """Whose run it is."""

    @property
    def tenant(self) -> str: ...

    @property
    def schedule_id(self) -> str: ...


class Channel:
    """The events of a tenant or of one schedule, and who hears them."""

    __slots__ = ("_bucket", "_life", "_number", "_ring", "dropped", "quiet_since_ms", "streams")

    def __init__(self, now_ms: int) -> None:
        """`now_ms`: on the monotonic clock, as everywhere here."""
        # Buckets begin empty; the first events are told at once.
        self._bucket = TokenBucket(EVENTS_PER_SECOND, EVENTS_PER_SECOND, now_ms - 1_000)
        self._life = token_hex(4)
        self._number = 0
        self._ring: deque[RunEvent] = deque(maxlen=RING_EVENTS)
        self.dropped: Counter[State] = Counter()
        self.quiet_since_ms = now_ms
        self.streams: dict[Stream, None] = {}

    @property
    def place(self) -> str:
        """The id of the newest event."""
        return f"{self._life}-{self._number}"

    def tell(
        self, runs: Sequence[tuple[State, T]], make: Callable[[str, T], RunEvent], now_ms: int
    ) -> list[RunEvent]:
        """The events of as many of these runs as may be told now; the others are counted."""
        count = self._bucket.reserve(now_ms, len(runs))
        told = []
        for _, run in runs[:count]:
            self._number += 1
            told.append(make(self.place, run))
        self._ring.extend(told)
        self.dropped.update(state for state, _ in runs[count:])
        return told

    def after(self, event_id: str) -> Sequence[StreamEvent] | None:
        """What was told after this event; None when that is not known any more."""
        life, _, number = event_id[:EVENT_ID_LENGTH_MAX].partition("-")
        if life != self._life or not (number.isascii() and number.isdigit()):
            return None
        missed = self._number - int(number)
        if not 0 <= missed <= len(self._ring):
            return None
        return list(self._ring)[len(self._ring) - missed :]


class Events:
    """All channels and streams of an engine."""

    def __init__(
        self, clock: Clock, figures: Figures, *, herd_second: Callable[[], HerdSecond]
    ) -> None:
        """`herd_second` is asked once a second while a stream hears the herd's figures."""
        self._clock = clock
        self._figures = figures
        self._herd_second = herd_second
        self._channels: dict[tuple[str, str | None], Channel] = {}
        self._streams: dict[Stream, None] = {}
        self._opened = asyncio.Event()

    @property
    def open_streams(self) -> int:
        """How many clients listen."""
        return len(self._streams)

    def of(self, tenant: str) -> "TenantEvents":
        """A tenant's own."""
        return TenantEvents(self, tenant)

    def claimed(self, claimed: Claimed, at_ms: int) -> None:
        """A claim is on disk: attempts start, and some runs ended without one."""
        if self._channels:
            starts = [(claim, State.ATTEMPTING, claim) for claim in claimed.claims]
            self._tell(starts, partial(attempting, at_ms))
            self._tell([(f, f.state, f) for f in claimed.ended], partial(finished, at_ms))

    def expired(self, claims: Sequence[Claim], at_ms: int) -> None:
        """Claims were taken back on disk: their deadlines had gone by."""
        if self._channels:
            self._tell([(claim, State.FAILED, claim) for claim in claims], partial(expired, at_ms))

    def recorded(self, batch: Sequence[Ended]) -> None:
        """Ends of attempts are on disk."""
        if self._channels:
            self._tell([(e.claim, e.state, e) for e in batch], ended)

    @contextmanager
    def open(
        self, tenant: str, schedule_id: str | None, *, runs: bool, herd: bool, after: str | None
    ) -> Iterator[Stream]:
        """A stream, closed with the context. Raises `LimitReached`."""
        self._check_room(tenant)
        stream = Stream(tenant=tenant, herd=herd)
        channel = self._channel((tenant, schedule_id)) if runs else None
        if channel is not None:
            channel.streams[stream] = None
            _catch_up(stream, channel, after)
        self._streams[stream] = None
        self._opened.set()
        try:
            yield stream
        finally:
            stream.end("left")
            del self._streams[stream]
            if channel is not None:
                del channel.streams[stream]
                channel.quiet_since_ms = self._clock.monotonic_ms()

    def end_streams(self) -> None:
        """End all streams at once: whoever stops does not wait for them."""
        for stream in list(self._streams):
            stream.end("stopping")

    async def run(self) -> None:
        while True:
            await self._opened.wait()
            await asyncio.sleep(1 - self._clock.now_ms() % 1_000 / 1_000)
            self.run_once()

    def run_once(self) -> None:
        """Tell what was left out and what the herd does, and forget channels that nobody hears."""
        for channel in self._channels.values():
            if channel.dropped:
                self._offer(channel.streams, Dropped(channel.dropped))
                channel.dropped = Counter()
        hearing = [stream for stream in self._streams if stream.herd]
        if hearing:
            self._offer(hearing, self._herd_second())
        quiet_ms = self._clock.monotonic_ms() - LINGER_SECONDS * 1_000
        for key in [key for key, c in self._quiet() if c.quiet_since_ms <= quiet_ms]:
            del self._channels[key]
        if not self._channels and not self._streams:
            self._opened.clear()

    def _tell(
        self, runs: Sequence[tuple[Owned, State, T]], make: Callable[[str, T], RunEvent]
    ) -> None:
        heard: dict[Channel, list[tuple[State, T]]] = {}
        find = self._channels.get
        for owned, state, run in runs:
            for key in ((owned.tenant, None), (owned.tenant, owned.schedule_id)):
                channel = find(key)
                if channel is not None:
                    heard.setdefault(channel, []).append((state, run))
        now_ms = self._clock.monotonic_ms()
        for channel, theirs in heard.items():
            for event in channel.tell(theirs, make, now_ms):
                self._offer(channel.streams, event)

    def _offer(self, streams: Iterable[Stream], event: StreamEvent) -> None:
        for stream in list(streams):
            if stream.ended is None and not stream.offer(event):
                self._figures.streams_dropped += 1
                log.info("event_stream_dropped", tenant=stream.tenant, waiting=QUEUE_EVENTS_MAX)
                stream.end("slow")

    def _check_room(self, tenant: str) -> None:
        own = sum(stream.tenant == tenant for stream in self._streams)
        if own >= STREAMS_PER_TENANT_MAX:
            raise LimitReached(
                "streams_per_tenant_max",
                STREAMS_PER_TENANT_MAX,
                f"a tenant may have {STREAMS_PER_TENANT_MAX} event streams open: close some",
            )
        if own >= STREAMS_MAX - len(self._streams):  # As many as are left (`core.turns`).
            raise LimitReached(
                "streams_max",
                STREAMS_MAX,
                f"of {STREAMS_MAX} event streams {len(self._streams)} are open here, and a tenant "
                "may have as many as are left: close some",
            )

    def _channel(self, key: tuple[str, str | None]) -> Channel:
        channel = self._channels.get(key)
        if channel is None:
            if len(self._channels) >= CHANNELS_MAX:
                del self._channels[self._most_dispensable()]
            channel = self._channels[key] = Channel(self._clock.monotonic_ms())
        return channel

    def _most_dispensable(self) -> tuple[str, str | None]:
        """Of the tenant with most channels, the one that is quiet for longest.

        There are not more streams, one of which is to come: some channel has none.
        """
        count = Counter(tenant for tenant, _ in self._channels)
        quiet = self._quiet()
        return min(quiet, key=lambda each: (-count[each[0][0]], each[1].quiet_since_ms))[0]

    def _quiet(self) -> list[tuple[tuple[str, str | None], Channel]]:
        return [(key, channel) for key, channel in self._channels.items() if not channel.streams]


class TenantEvents:
    """One tenant's events."""

    def __init__(self, events: Events, tenant: str) -> None:
        self._events = events
        self._tenant = tenant

    def open(
        self, *, schedule: str | None, runs: bool, herd: bool, after: str | None
    ) -> AbstractContextManager[Stream]:
        """A stream of a schedule's runs (by id) or all, of the herd's figures, or of both.

        `after`: the id of the last event that the client has. Raises `LimitReached`.
        """
        return self._events.open(self._tenant, schedule, runs=runs, herd=herd, after=after)


def _catch_up(stream: Stream, channel: Channel, after: str | None) -> None:
    """Say where the stream begins, or what it missed."""
    missed = None if after is None else channel.after(after)
    if missed is None:
        missed = [Begun(channel.place) if after is None else Reset(channel.place)]
    for event in missed:
        stream.offer(event)
