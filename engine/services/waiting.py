"""The runs held in memory: a timing wheel for what is to come, a queue for what is due.

This is a cache of the journal's waiting rows in order of due time, up to a *reach*: every waiting
row with a key at or below it is held here (or is being attempted), and what lies beyond is in the
journal alone. Everything here can be thrown away and read again. A key is
(next_attempt_at, scheduled_for, schedule row), the order of the journal's claim index.
"""

from collections import deque
from collections.abc import Callable, Iterable

from engine.core.wheel import Wheel
from engine.store import DueRun

RUNS_HELD_MAX = 50_000
"""Runs in memory (SPEC §8, §12): some 15 MB, and seconds of work at any rate that one node has."""

NOTHING: DueRun = (-1, -1, -1)
_ROW_MAX = 2**62


class Waiting:
    """Waiting runs up to the reach: the loader fills it, the timer turns it."""

    def __init__(self, now_ms: int, capacity: int = RUNS_HELD_MAX) -> None:
        self._capacity = capacity
        self._wheel: Wheel[DueRun] = Wheel(now_ms)
        self._held: dict[tuple[int, int], int] = {}
        self._ready: deque[DueRun] = deque()
        self.reach = NOTHING
        self.on_hold: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self._held)

    @property
    def room(self) -> int:
        """How many more runs may be held."""
        return max(0, self._capacity - len(self._held))

    @property
    def ready(self) -> int:
        """How many runs are due."""
        return len(self._ready)

    @property
    def oldest_due_ms(self) -> int | None:
        """Since when the first in the queue is due."""
        return self._ready[0][0] if self._ready else None

    def hold(self, runs: Iterable[DueRun]) -> None:
        """Take runs in; one that is held already with the same due time is not held twice."""
        for run in runs:
            due_ms, scheduled_for_ms, schedule_row = run
            key = (scheduled_for_ms, schedule_row)
            if self._held.get(key) != due_ms:
                self._held[key] = due_ms
                self._wheel.insert(due_ms, run)
        self.on_hold()

    def offer(self, runs: Iterable[DueRun]) -> None:
        """Take runs due anew (a retry, an edit) within the reach; without room it shrinks."""
        for run in sorted(runs):
            if run > self.reach:
                return
            if not self.room:
                self.shrink(run[0])
                return
            self.hold((run,))

    def extend(self, until_ms: int) -> DueRun:
        """Move the reach to `until_ms`, before the journal is read; gives the reach until now."""
        before, self.reach = self.reach, max(self.reach, (until_ms, _ROW_MAX, _ROW_MAX))
        return before

    def shrink(self, before_ms: int) -> None:
        """Read everything due from `before_ms` on again; what is held stays and is not doubled."""
        self.reach = min(self.reach, (before_ms - 1, _ROW_MAX, _ROW_MAX))

    def advance(self, now_ms: int) -> int:
        """Move what is due by `now_ms` into the queue; how many are in it."""
        for run in self._wheel.advance(now_ms):
            due_ms, scheduled_for_ms, schedule_row = run
            if self._held.get((scheduled_for_ms, schedule_row)) == due_ms:
                self._ready.append(run)
        return len(self._ready)

    def next_due(self) -> int | None:
        """When to turn the wheel next; None while it is empty."""
        return self._wheel.next_due()

    def take(self, count: int) -> list[DueRun]:
        """The first `count` due runs, held here no longer."""
        taken: list[DueRun] = []
        while self._ready and len(taken) < count:
            run = self._ready.popleft()
            if self._held.get(run[1:]) == run[0]:
                del self._held[run[1:]]
                taken.append(run)
        return taken

    def put_back(self, runs: list[DueRun]) -> None:
        """Undo a `take` whose claim did not happen."""
        for run in reversed(runs):
            self._held[run[1:]] = run[0]
            self._ready.appendleft(run)
