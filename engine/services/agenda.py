"""The planner's agenda: a heap of timetables by next occurrence, and the occurrences under way.

Cron arithmetic is done once per timetable and occurrence, however many schedules share it. An
occurrence is *open* from the time the lookahead reaches it until the largest offset among its
schedules has passed; meanwhile each step plans the slice of offsets that has come into sight.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.timetable import Timetable, compile_trigger
from engine.store import KnownTimetable, Slice


@dataclass(slots=True, eq=False)
class _Entry:
    timetable_id: int
    timetable: Timetable
    reach_ms: int
    begun: int = 0
    """Counts the times that this entry was begun anew; older heap items are void."""
    learnt: int = 0
    """When it was last heard of, by the agenda's count of such messages."""


class Agenda:
    """Which slices become due as the horizon moves. All instants in calendar milliseconds."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._heap: list[tuple[int, int, int]] = []
        self._open: dict[tuple[int, int], None] = {}
        self._behind: dict[int, int] = {}
        self._offered: dict[int, int] = {}
        self.learnt = 0

    def __len__(self) -> int:
        return len(self._entries)

    def know(self, known: KnownTimetable, watermark_ms: int) -> None:
        """Take a timetable in, or learn that a schedule with a larger offset shares it.

        Its own planning begins at this watermark, even when a step that is under way without it
        moves the watermark on: what lies between would otherwise be nobody's.
        Raises `Invalid` for a trigger that this version cannot read.
        """
        self.learnt += 1
        entry = self._entries.get(known.timetable_id)
        if entry is None:
            entry = _Entry(known.timetable_id, compile_trigger(known.trigger), known.reach_ms)
            self._entries[known.timetable_id] = entry
        entry.learnt = self.learnt
        if entry.begun and known.reach_ms <= entry.reach_ms:
            return
        entry.reach_ms = max(entry.reach_ms, known.reach_ms)
        since_ms = self._behind.get(known.timetable_id, watermark_ms)
        self._offered.pop(known.timetable_id, None)  # A step under way does not reach so far.
        self._behind[known.timetable_id] = min(since_ms, watermark_ms)
        self._begin(entry, self._behind[known.timetable_id])

    @property
    def behind_ms(self) -> int | None:
        """The earliest watermark at which a timetable not yet planned was learnt."""
        return min(self._behind.values(), default=None)

    def begin(self, watermark_ms: int) -> None:
        """Begin every timetable anew, after the watermark was moved over a stretch of downtime."""
        self._heap.clear()
        self._open.clear()
        self._behind.clear()
        for entry in self._entries.values():
            self._begin(entry, watermark_ms)

    def keep(self, live: Iterable[int], learnt: int) -> None:
        """Forget the timetables that are not `live`, unless heard of after message `learnt`."""
        kept = set(live)
        for timetable_id, entry in list(self._entries.items()):
            if timetable_id not in kept and entry.learnt <= learnt:
                del self._entries[timetable_id]
                self._behind.pop(timetable_id, None)
        self._open = {key: None for key in self._open if key[1] in self._entries}
        self._heap = [item for item in self._heap if item[1] in self._entries]
        heapq.heapify(self._heap)

    def slices(self, watermark_ms: int, horizon_ms: int) -> list[Slice]:
        """What comes into sight between the two, by `fire_after`, in order of occurrence."""
        while self._heap and self._heap[0][0] <= horizon_ms:
            instant_ms, timetable_id, begun = heapq.heappop(self._heap)
            entry = self._entries[timetable_id]
            if begun == entry.begun:
                self._open[instant_ms, timetable_id] = None
                self._push(entry, instant_ms)
        self._offered = dict(self._behind)
        return [
            Slice(
                timetable_id=timetable_id,
                instant_ms=instant_ms,
                after_offset_ms=self._behind.get(timetable_id, watermark_ms) - instant_ms,
                until_offset_ms=min(horizon_ms - instant_ms, self._entries[timetable_id].reach_ms),
            )
            for instant_ms, timetable_id in sorted(self._open)
        ]

    def close(self, watermark_ms: int) -> None:
        """The slices are planned: forget occurrences whose last offset the watermark has passed."""
        for timetable_id, since_ms in self._offered.items():
            if self._behind.get(timetable_id) == since_ms:
                del self._behind[timetable_id]
        self._offered = {}
        over = [
            key for key in self._open if key[0] + self._entries[key[1]].reach_ms <= watermark_ms
        ]
        for key in over:
            del self._open[key]

    def _begin(self, entry: _Entry, watermark_ms: int) -> None:
        entry.begun += 1
        self._push(entry, watermark_ms - entry.reach_ms - 1)

    def _push(self, entry: _Entry, after_ms: int) -> None:
        instant_ms = entry.timetable.after(after_ms)
        if instant_ms is not None:
            heapq.heappush(self._heap, (instant_ms, entry.timetable_id, entry.begun))
