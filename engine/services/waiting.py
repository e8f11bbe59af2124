"""The runs held in memory: a timing wheel for what is to come, a fair queue for what is due.

This is a cache of the journal's waiting rows in order of due time, up to a *reach*: every waiting
row with a key at or below it is held here, is being attempted, or belongs to a flow that has
*spilled*. A flow may hold its share of the room and no more (`core.room`); what lies beyond stays
in the journal, from the flow's spill on, and is read back as the flow drains. Everything here can
be thrown away and read again.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from operator import itemgetter

from engine.core.breaker import Door
from engine.core.fairness import Class, FairQueue
from engine.core.flow import Flow
from engine.core.model import Outcome
from engine.core.room import RUNS_HELD_MAX, Room
from engine.core.verdict import Shut
from engine.core.wheel import Wheel
from engine.store import DueRun, FlowLimits, HeldRun

FLOWS_KEPT_MAX = 20_000
"""Flows in memory, some 15 MB, before those with nothing to do and to remember leave it; at twice
as many, those leave that only remember: a breaker that is forgotten costs ten requests."""

FLOWS_SEEN_AT_ONCE = 1_000
"""Flows that are looked at in one turn of the loop, half a millisecond of it when all go."""

DUE_AT_ONCE = 200
"""Runs that enter the queue in one turn of the loop, half a millisecond of it: the first of a herd
are sent while the others still come in."""

NOTHING: DueRun = (-1, -1, -1)
_ROW_MAX = 2**62


class Waiting:
    """Waiting runs up to the reach; the loader fills it, the timer turns it."""

    def __init__(
        self, now_ms: int, *, slots: int, strangers: bool = False, capacity: int = RUNS_HELD_MAX
    ) -> None:
        """`slots`: how many runs may be under way; `strangers`: whether tenants may be hostile to
        each other; `capacity`: how many runs may be held."""
        self._room = Room(capacity, strangers=strangers)
        self._yield_before_ms = 0
        self._wheel: Wheel[HeldRun] = Wheel(now_ms)
        self._due: deque[HeldRun] = deque()
        # Where each run is, whatever it was: an edit may give it another due time and another flow,
        # and what is then met in the wheel or the queue and is not this very value has moved.
        self._held: dict[tuple[int, int], HeldRun] = {}
        self._queue: FairQueue[HeldRun] = FairQueue(slots=slots, strangers=strangers)
        self._strangers = strangers
        self._flows: dict[int, Flow] = {}
        self.spilled: dict[int, DueRun] = {}
        self._stale: set[int] = set()  # Spilled flows of which a read under way may miss a run.
        self.reach = NOTHING
        self.on_hold: Callable[[], None] = lambda: None
        self.on_shrink: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self._held)

    @property
    def room(self) -> int:
        """How many more runs may be held."""
        return self._room.free

    @property
    def ready(self) -> int:
        """How many runs are due, blocked ones included."""
        return len(self._queue)

    @property
    def startable(self) -> int:
        """How many runs are due and not known to be blocked; a walk over blocked flows."""
        return len(self._queue) - self._queue.blocked

    @property
    def slots(self) -> int:
        """How many runs may be under way; a tenant's share of them is equal while others wait."""
        return self._queue.slots

    @slots.setter
    def slots(self, slots: int) -> None:
        self._queue.slots = slots

    @property
    def oldest_due_ms(self) -> int | None:
        """Since when the first of the due runs is due; a walk over lines, for the metrics."""
        return self._queue.oldest_due_ms()

    @property
    def breakers_open(self) -> int:
        """Flows behind a door that is not closed; a walk over flows, for the metrics."""
        return sum(flow.breaker.door != Door.CLOSED for flow in self._flows.values())

    @property
    def shut(self) -> Shut | None:
        """The due runs behind breakers, if any; a walk over the flows that hold runs."""
        flows = (self._flows[flow_id] for flow_id in self._room.flows)
        behind = [flow for flow in flows if flow.breaker.door is not Door.CLOSED]
        held = [(self._queue.waiting_of(flow.flow_id), flow) for flow in behind]
        runs, flow = max(held, key=itemgetter(0), default=(0, None))
        if flow is None or not runs:
            return None
        return Shut(
            runs=sum(runs for runs, _ in held),
            flows=sum(runs > 0 for runs, _ in held),
            key=flow.key,
            tenant=flow.tenant if self._strangers else None,
        )

    def runnable(self, now_ms: int) -> bool:
        """Whether any due run may have its turn; `now_ms` is on the monotonic clock."""
        return self._queue.runnable(now_ms)

    def knows(self, flow_id: int) -> bool:
        """Whether a flow's limits are here."""
        return flow_id in self._flows

    def waiting_of(self, flow_id: int) -> int:
        """How many runs of a flow are held."""
        return self._room.held_by(flow_id)

    def flow(self, flow_id: int) -> Flow:
        """A flow that a held run or an attempt under way belongs to."""
        return self._flows[flow_id]

    def pace_of(self, flow_id: int, *rates: int | None) -> int:
        """The least of these rates, what a flow in memory is served at, and what it sustained."""
        if flow_id in self._flows:
            flow = self._flows[flow_id]
            rates += (flow.effective_rate, flow.sustained)
        return min(rate for rate in rates if rate is not None)

    def learn(self, flows: Iterable[FlowLimits]) -> None:
        """Take flows in, or the new limits of known ones."""
        for limits in flows:
            known = self._flows.get(limits.flow_id)
            if known is None:
                self._flows[limits.flow_id] = Flow(
                    limits.flow_id,
                    limits.tenant,
                    key=limits.key,
                    parallelism=limits.parallelism,
                    rate=limits.rate,
                    paused=limits.paused,
                )
            else:
                known.parallelism, known.rate = limits.parallelism, limits.rate
                known.paused = limits.paused
                self._queue.unblock(limits.flow_id)
                self.on_hold()

    def limit_tenant(self, tenant: str, rate: int | None, now_ms: int) -> None:
        """Give a tenant a rate of its own, or none; `now_ms` is on the monotonic clock."""
        self._queue.limit(tenant, rate, now_ms)
        self.on_hold()

    def forget_idle_flows(self) -> None:
        """Look at some flows, in turn, and drop surplus ones that have nothing to do.

        Their limits are in their rows. Not while a page is read: it holds runs of known flows.
        """
        for flow_id in list(islice(self._flows, FLOWS_SEEN_AT_ONCE)):
            if len(self._flows) <= FLOWS_KEPT_MAX:
                return
            flow = self._flows.pop(flow_id)
            is_remembered = not flow.is_plain and len(self._flows) < 2 * FLOWS_KEPT_MAX
            if is_remembered or self._is_used(flow):
                self._flows[flow_id] = flow  # Behind the others: they are looked at before it.

    def hold(self, runs: Iterable[HeldRun]) -> None:
        """Take runs in, in order of due time; what goes beyond its flow's share spills."""
        share = self._room.flow_share
        for run in runs:
            before = self._held.get((run.scheduled_for_ms, run.schedule_row))
            # At its old time it stays in its old flow, too: each change of flows would leave an
            # entry behind in a queue that may be shut for long.
            if (before is not None and before.due_ms == run.due_ms) or self._spills(run, share):
                continue
            if before is not None:
                self._drop(before)
            gives_way = run.due_ms < self._yield_before_ms and run.rank == Class.FRESH
            held = run._replace(rank=Class.RETRY) if gives_way else run
            self._enter(held)
            self._wheel.insert(held.due_ms, held)
        self.on_hold()

    def retry(self, runs: Iterable[HeldRun]) -> None:
        """Runs that are due again; those within the reach are held, if there is room.

        Of a flow that is not known here any more, the journal tells.
        """
        for run in sorted(runs):
            if run.key > self.reach:
                return
            if not self._room.free or not self.knows(run.flow_id):
                self.shrink(run.due_ms)
                return
            self.hold((run,))

    def bring_forward(self, runs: Iterable[HeldRun], now_ms: int) -> None:
        """Runs whose turn in their line it is now."""
        self.retry(run._replace(held_until_ms=now_ms) for run in runs)

    def offer(self, runs: Iterable[DueRun]) -> None:
        """Runs that an edit made due: the journal is read again from the earliest."""
        earliest = min(runs, default=None)
        if earliest is not None and earliest <= self.reach:
            self.shrink(earliest[0])

    def reaches(self, until_ms: int) -> bool:
        """Whether everything due by `until_ms` is within the reach: a herd is one instant."""
        return self.reach >= (until_ms, _ROW_MAX, _ROW_MAX)

    def extend(self, until_ms: int) -> DueRun:
        """Move the reach to `until_ms`, before the journal is read; gives the reach until now."""
        before, self.reach = self.reach, max(self.reach, (until_ms, _ROW_MAX, _ROW_MAX))
        return before

    def shrink(self, before_ms: int) -> None:
        """Read everything due from `before_ms` on again; what is held stays and is not doubled."""
        self.reach = min(self.reach, (before_ms - 1, _ROW_MAX, _ROW_MAX))
        self.on_shrink()

    def read_again(self, flow_id: int, from_ms: int) -> None:
        """A flow's runs have new due times, from then on: read it back as one that has spilled."""
        start = (from_ms, -1, -1)
        self.spilled[flow_id] = min(self.spilled.get(flow_id, start), start)
        self._stale.add(flow_id)
        self.on_shrink()

    def drained(self) -> list[tuple[int, DueRun, int]]:
        """Spilled flows that hold less than half of their share: (flow, after which, how many)."""
        share, free = self._room.flow_share, self._room.free
        found = []
        for flow_id, spill in self.spilled.items():
            held = self._room.held_by(flow_id)
            if held >= share // 2:
                continue
            count = min(share - held, free)
            if flow_id in self._flows:  # Else what is read of it brings it; `hold` judges then.
                count = min(count, self._room.free_for(self._flows[flow_id]))
            if count:
                free -= count
                found.append((flow_id, spill, count))
                self._stale.discard(flow_id)
        return found

    def read_back(self, flow_id: int, runs: list[HeldRun], limit: int) -> None:
        """Hold what was read of a spilled flow; with fewer than `limit` runs there is no more.

        Unless one was turned away meanwhile, which the read may have come too early for.
        """
        spill, is_stale = self.spilled.pop(flow_id, None), flow_id in self._stale
        self.hold(runs)
        if spill is not None and is_stale:
            self.spilled[flow_id] = min(self.spilled.get(flow_id, spill), spill)
        elif len(runs) == limit:
            self.spilled[flow_id] = min(self.spilled.get(flow_id, runs[-1].key), runs[-1].key)

    def advance(self, now_ms: int) -> bool:
        """Move `DUE_AT_ONCE` of what is due by `now_ms` into the queue; whether more is due."""
        self._due.extend(self._wheel.advance(now_ms))
        for _ in range(min(len(self._due), DUE_AT_ONCE)):
            run = self._due.popleft()
            if self._is_held(run):
                self._push(run)
        return bool(self._due)

    def next_due(self) -> int | None:
        """When to turn the wheel next; None while it is empty."""
        return self._wheel.next_due()

    def next_alarm_ms(self) -> int | None:
        """When a blocked flow may go on by itself, on the monotonic clock."""
        return self._queue.next_alarm_ms()

    def take(self, now_ms: int, count: int) -> list[HeldRun]:
        """Up to `count` due runs, fairly chosen, counted as under way and held here no longer."""
        taken: list[HeldRun] = []
        while len(taken) < count:
            found = self._queue.take(now_ms, count - len(taken))
            if not found:
                break
            for run, flow in found:
                if self._is_held(run):
                    self._drop(run)
                    taken.append(run)
                else:  # Moved meanwhile; its new place counts.
                    self._queue.end(run, flow, None, now_ms)
        return taken

    def put_back(self, runs: Iterable[HeldRun], now_ms: int) -> None:
        """Undo a `take` whose claim did not happen."""
        for run in runs:
            self.withdraw(run, now_ms)
            if (run.scheduled_for_ms, run.schedule_row) not in self._held:  # Else it was read anew.
                self._enter(run)
                self._push(run)

    def wait_again(self, runs: Iterable[HeldRun], now_ms: int) -> None:
        """Undo a `take` of runs that are not due any more."""
        for run in sorted(runs):
            self.withdraw(run, now_ms)
            self.hold((run,))

    def withdraw(self, run: HeldRun, now_ms: int) -> None:
        """A taken run gets no attempt: its flow's place is free again."""
        self._queue.end(run, self._flows[run.flow_id], None, now_ms)

    def end(self, run: HeldRun, outcome: Outcome, now_ms: int) -> bool:
        """A taken run's attempt has ended; whether its flow's breaker closed with it."""
        return self._queue.end(run, self._flows[run.flow_id], outcome, now_ms)

    def begin_after(self, due_ms: int, now_ms: int, *, yield_before_ms: int) -> None:
        """Forget all runs, and hold none again that was due by then and keeps its time.

        The flows stay, with what they have under way. It is `now_ms`; runs due before
        `yield_before_ms` are served as retries are, behind fresh ones.
        """
        self._yield_before_ms = yield_before_ms
        for flow_id in list(self._room.flows):
            self._queue.clear(flow_id, self._drop)
        self._wheel = Wheel(now_ms)
        self._due.clear()
        self._held.clear()
        self._room.clear()
        self.spilled.clear()
        self.reach = (due_ms, _ROW_MAX, _ROW_MAX)
        self.on_shrink()

    def drop_flow(self, flow_id: int) -> None:
        """Forget a flow's runs, for the journal to be read again: they have new due times."""
        self._queue.clear(flow_id, self._drop)
        self.spilled.pop(flow_id, None)

    def _is_used(self, flow: Flow) -> bool:
        # What waits in the queue may have moved, and is held no longer.
        return (
            flow.inflight > 0
            or self._room.held_by(flow.flow_id) > 0
            or self._queue.waiting_of(flow.flow_id) > 0
        )

    def _push(self, run: HeldRun) -> None:
        self._queue.push(
            run,
            run.due_ms,
            self._flows[run.flow_id],
            rank=Class(run.rank),
            priority=run.priority,
        )

    def _is_held(self, run: HeldRun) -> bool:
        return self._held.get((run.scheduled_for_ms, run.schedule_row)) is run

    def _enter(self, run: HeldRun) -> None:
        self._held[run.scheduled_for_ms, run.schedule_row] = run
        self._room.enter(self._flows[run.flow_id])

    def _drop(self, run: HeldRun) -> None:
        if self._is_held(run):
            del self._held[run.scheduled_for_ms, run.schedule_row]
            self._room.leave(self._flows[run.flow_id])

    def _spills(self, run: HeldRun, share: int) -> bool:
        spill = self.spilled.get(run.flow_id)
        if spill is not None and run.key > spill:
            self._stale.add(run.flow_id)
            return True
        if self._room.admits(self._flows[run.flow_id], share):
            return False
        before = (run.due_ms, run.scheduled_for_ms, run.schedule_row - 1)
        self.spilled[run.flow_id] = before if spill is None else min(spill, before)
        return True
