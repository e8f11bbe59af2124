"""Who is served next: classes, then tenants, then flows, each in turn (SPEC §8).

*Classes.* Fresh runs go first, but retries get a fifth of what is served while they wait, and
catch-up and backfill a fifth of the rest.

*Tenants, flows.* Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995). Every run costs one
token, so the deficit is never carried over and the discipline is a plain rotation, with its
properties: a tenant with one run waits for one run of each other tenant, however many they have.
Within a tenant, priority goes first; within a priority its flows take turns; within a flow the
earliest due is next.

*Blocked flows* (at their parallelism, out of tokens, paused, behind a breaker) leave the
rotation and cost nothing until the event or the instant that unblocks them.

*A tenant's own rate.* A tenant that has one, and has used it up, leaves the rotation of every class
until its bucket has a token. Those without pay for a look at an empty table.

*The noisy tenant.* Slots are a resource too, and slow receivers hold them. While others wait, a
tenant may hold an equal share of the slots and no more. Where tenants are strangers that is too
late for whoever comes when one tenant's hanging receivers have them all: it would wait for their
timeouts. There a tenant may hold at most `FREE_TIMES` the slots that are left free (dynamic
thresholds, as in `turns`): one alone comes to seven eighths, the next to as much of the rest.
"""

import heapq
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

from engine.core.breaker import NEVER_MS
from engine.core.bucket import TokenBucket
from engine.core.flow import Flow
from engine.core.model import Outcome

Item = TypeVar("Item", bound=Hashable)

GUARANTEE = 5
"""One in so many is for the next class, while it waits (SPEC §8)."""

FREE_TIMES = 7
"""Slots that a tenant may hold for each free one: of 1,024, one alone leaves 128 to newcomers."""

PRIORITIES = 4
"""0 (first) to 3 (SPEC §4)."""


class Class(IntEnum):
    """What kind of run waits, in the order of service."""

    FRESH = 0
    RETRY = 1
    CATCH_UP = 2


_GUARANTEED = (Class.RETRY, Class.CATCH_UP)
_FROM = {turn: (turn, *(other for other in Class if other != turn)) for turn in Class}
"""The order of service from the class whose turn it is."""


@dataclass(slots=True, eq=False)
class _Line(Generic[Item]):
    """The runs of one flow in one class and priority: (due, arrival, item), earliest due first."""

    flow: Flow
    rank: Class
    priority: int
    runs: list[tuple[int, int, Item]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Tenant(Generic[Item]):
    """A tenant's lines in one class; `turns` holds, by priority, those that may be served."""

    lines: dict[tuple[int, int], _Line[Item]] = field(default_factory=dict)
    turns: tuple[deque[_Line[Item]], ...] = field(
        default_factory=lambda: tuple(deque() for _ in range(PRIORITIES))
    )
    in_rotation: bool = False


class FairQueue(Generic[Item]):
    """Due runs of all tenants: `push` them, `take` those that start, `end` those that are over."""

    def __init__(self, *, slots: int, strangers: bool = False) -> None:
        """`slots`: how many runs may be under way in all; `strangers`: tenants may be hostile."""
        self.slots = slots
        self._strangers = strangers
        self._under_way = 0
        self._tenants: tuple[dict[str, _Tenant[Item]], ...] = tuple({} for _ in Class)
        self._rotation: tuple[deque[str], ...] = tuple(deque() for _ in Class)
        self._waiting = [0] * len(Class)
        self._of_flow: dict[int, int] = {}
        self._inflight: dict[str, int] = {}
        self._parked: dict[int, list[_Line[Item]]] = {}
        self._alarms: list[tuple[int, int]] = []
        self._rates: dict[str, TokenBucket] = {}
        self._dry: dict[str, int] = {}  # Tenants without a token, and until when.
        self._owed = [0] * len(Class)
        self._arrivals = 0

    def __len__(self) -> int:
        return sum(self._waiting)

    def runnable(self, now_ms: int) -> bool:
        """Whether any tenant has its turn; False: everything that waits is blocked."""
        self._wake(now_ms)
        return any(self._rotation)

    def oldest_due_ms(self) -> int | None:
        """When the first of the waiting runs became due."""
        lines = (
            line
            for tenants in self._tenants
            for tenant in tenants.values()
            for line in tenant.lines.values()
        )
        return min((line.runs[0][0] for line in lines if line.runs), default=None)

    @property
    def blocked(self) -> int:
        """Waiting runs whose flow or tenant was found blocked; a walk over such flows."""
        parked = sum(len(line.runs) for lines in self._parked.values() for line in lines)
        return parked + sum(map(self._dry_runs, self._dry))

    def waiting_of(self, flow_id: int) -> int:
        """How many runs of a flow wait here."""
        return self._of_flow.get(flow_id, 0)

    def push(self, item: Item, due_ms: int, flow: Flow, *, rank: Class, priority: int) -> None:
        """A run has become due."""
        tenant = self._tenants[rank].get(flow.tenant)
        if tenant is None:
            tenant = self._tenants[rank][flow.tenant] = _Tenant()
        line = tenant.lines.get((flow.flow_id, priority))
        if line is None:
            line = tenant.lines[flow.flow_id, priority] = _Line(flow, rank, priority)
            if flow.flow_id in self._parked:
                self._parked[flow.flow_id].append(line)
            else:
                self._give_turn(line)
        self._arrivals += 1
        heapq.heappush(line.runs, (due_ms, self._arrivals, item))
        self._waiting[rank] += 1
        self._of_flow[flow.flow_id] = self.waiting_of(flow.flow_id) + 1

    def take(self, now_ms: int, count: int) -> list[tuple[Item, Flow]]:
        """Start up to `count` runs, the fair choice each, and count them as under way.

        `now_ms` is on the monotonic clock, as everything about flows.
        """
        self._wake(now_ms)
        taken: list[tuple[Item, Flow]] = []
        while len(taken) < count:
            found = self._next(now_ms)
            if found is None:
                break
            taken.append(found)
        return taken

    def end(self, item: Item, flow: Flow, outcome: Outcome | None, now_ms: int) -> bool:
        """A run is over (`outcome` None: it never started); whether the flow's breaker closed."""
        self._under_way -= 1
        self._inflight[flow.tenant] -= 1
        if not self._inflight[flow.tenant]:
            del self._inflight[flow.tenant]
        closed = self._undo(item, flow) if outcome is None else flow.end(item, outcome, now_ms)
        self._free(flow.flow_id, now_ms)
        return closed

    def limit(self, tenant: str, rate: int | None, now_ms: int) -> None:
        """Give a tenant a rate of its own, in runs a second, or none."""
        if rate is None:
            self._rates.pop(tenant, None)
        elif tenant not in self._rates or self._rates[tenant].rate != rate:
            self._rates[tenant] = TokenBucket(rate, max(1, rate // 10), now_ms)
        self._end_drought(tenant)

    def unblock(self, flow_id: int) -> None:
        """Something about a flow has changed: let it take its turn and see."""
        for line in self._parked.pop(flow_id, ()):
            self._give_turn(line)

    def clear(self, flow_id: int, forget: Callable[[Item], None]) -> None:
        """Take a flow's waiting runs out, telling `forget` of each."""
        for tenants in self._tenants:
            for tenant in tenants.values():
                for key in [key for key in tenant.lines if key[0] == flow_id]:
                    line = tenant.lines.pop(key)
                    for _, _, item in line.runs:
                        forget(item)
                    self._waiting[line.rank] -= len(line.runs)
                    line.runs.clear()
        self._of_flow.pop(flow_id, None)
        self._parked.pop(flow_id, None)

    def next_alarm_ms(self) -> int | None:
        """When the first blocked flow or tenant may go on by itself."""
        alarms = [self._alarms[0][0]] if self._alarms else []
        return min((*alarms, *self._dry.values()), default=None)

    def _next(self, now_ms: int) -> tuple[Item, Flow] | None:
        """One run, from the class whose turn it is, else from the first that has any."""
        for rank in _FROM[self._class_in_turn()]:
            found = self._serve(rank, now_ms) if self._rotation[rank] else None
            if found is not None:
                self._account(rank)
                return found
        return None

    def _class_in_turn(self) -> Class:
        for rank in _GUARANTEED:
            if self._owed[rank] >= GUARANTEE - 1 and self._rotation[rank]:
                return rank
        return Class.FRESH

    def _account(self, served: Class) -> None:
        """A class that was served is owed nothing; one that waits is owed one more.

        Catch-up is owed a share of what retries' guarantee leaves, so theirs does not count.
        """
        guaranteed = served == Class.RETRY and self._owed[Class.RETRY] >= GUARANTEE - 1
        for rank in _GUARANTEED:
            if served == rank or not self._rotation[rank]:
                self._owed[rank] = 0
            elif not (rank == Class.CATCH_UP and guaranteed):
                self._owed[rank] += 1

    def _serve(self, rank: Class, now_ms: int) -> tuple[Item, Flow] | None:
        rotation = self._rotation[rank]
        for _ in range(len(rotation)):
            name = rotation.popleft()
            tenant = self._tenants[rank][name]
            if self._rates and self._is_dry(name, now_ms):
                tenant.in_rotation = False
                continue
            if self._holds_its_share(name, others=len(rotation)):
                rotation.append(name)
                continue
            found = self._serve_tenant(tenant, now_ms)
            if any(tenant.turns):
                rotation.append(name)
            else:
                tenant.in_rotation = False
                if not tenant.lines:
                    del self._tenants[rank][name]
            if found is not None:
                if name in self._rates:
                    self._rates[name].reserve(now_ms, 1)
                self._under_way += 1
                self._inflight[name] = self._inflight.get(name, 0) + 1
                self._waiting[rank] -= 1
                return found
        return None

    def _holds_its_share(self, name: str, *, others: int) -> bool:
        held = self._inflight.get(name, 0)
        if others > 0 and held >= -(-self.slots // (others + 1)):
            return True
        return self._strangers and held >= FREE_TIMES * (self.slots - self._under_way)

    def _is_dry(self, name: str, now_ms: int) -> bool:
        bucket = self._rates.get(name)
        wait_ms = bucket.wait_ms(now_ms, 1) if bucket else 0
        if wait_ms:
            self._dry[name] = now_ms + wait_ms
        return wait_ms > 0

    def _undo(self, item: Item, flow: Flow) -> bool:
        if flow.tenant in self._rates:
            self._rates[flow.tenant].give_back()
            self._end_drought(flow.tenant)
        return flow.withdraw(item)

    def _end_drought(self, name: str) -> None:
        self._dry.pop(name, None)
        for tenants, rotation in zip(self._tenants, self._rotation, strict=True):
            tenant = tenants.get(name)
            if tenant and not tenant.in_rotation and any(tenant.turns):
                tenant.in_rotation = True
                rotation.append(name)

    def _dry_runs(self, name: str) -> int:
        """Waiting runs of a tenant, those of blocked flows aside."""
        found = [tenants[name] for tenants in self._tenants if name in tenants]
        lines = [line for tenant in found for line in tenant.lines.values()]
        return sum(len(line.runs) for line in lines if line.flow.flow_id not in self._parked)

    def _serve_tenant(self, tenant: _Tenant[Item], now_ms: int) -> tuple[Item, Flow] | None:
        for turns in tenant.turns:
            while turns:
                line = turns.popleft()
                if not line.runs:
                    continue  # Cleared while it waited for its turn.
                until_ms = line.flow.blocked_until_ms(now_ms)
                if until_ms > now_ms:
                    line.flow.block(now_ms)
                    self._park(line, until_ms)
                    continue
                _, _, item = heapq.heappop(line.runs)
                if line.runs:
                    turns.append(line)
                else:
                    del tenant.lines[line.flow.flow_id, line.priority]
                self._leave(line.flow.flow_id)
                line.flow.start(item, now_ms)
                return item, line.flow
        return None

    def _leave(self, flow_id: int) -> None:
        self._of_flow[flow_id] -= 1
        if not self._of_flow[flow_id]:
            del self._of_flow[flow_id]

    def _give_turn(self, line: _Line[Item]) -> None:
        tenant = self._tenants[line.rank][line.flow.tenant]
        tenant.turns[line.priority].append(line)
        if not tenant.in_rotation:
            tenant.in_rotation = True
            self._rotation[line.rank].append(line.flow.tenant)

    def _park(self, line: _Line[Item], until_ms: int) -> None:
        flow_id = line.flow.flow_id
        if flow_id not in self._parked:
            self._parked[flow_id] = []
            if until_ms < NEVER_MS:
                heapq.heappush(self._alarms, (until_ms, flow_id))
        self._parked[flow_id].append(line)

    def _wake(self, now_ms: int) -> None:
        while self._alarms and self._alarms[0][0] <= now_ms:
            self._free(heapq.heappop(self._alarms)[1], now_ms)
        if self._dry:
            for name in [name for name, until_ms in self._dry.items() if until_ms <= now_ms]:
                self._end_drought(name)

    def _free(self, flow_id: int, now_ms: int) -> None:
        """As `unblock`, at an instant that is known."""
        for line in self._parked.get(flow_id, ()):
            line.flow.unblock(now_ms)
        self.unblock(flow_id)
