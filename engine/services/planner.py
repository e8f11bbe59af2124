"""The planner: writes the runs whose `fire_after` comes within the lookahead, and no others.

It goes by the watermark, which moves in the transaction of the rows up to it, and never by "now":
what a crash or a slow disk left out is planned at the next step, and what was planned twice is one
row by its key. It never waits for delivery. When the calendar says that the engine was away for
longer than a miss takes, the stretch is set aside and judged beside the fresh runs.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

import structlog

from engine.clock import Clock
from engine.core.errors import OffbeatError, Unavailable
from engine.core.missed import MISSED_AFTER_MS
from engine.services.agenda import Agenda
from engine.services.calendar import BEHIND_MS_MAX, Calendar, Observation
from engine.services.figures import Figures
from engine.services.loader import LOOKAHEAD_MS
from engine.store import Arrival, AtSlice, DueRun, Journal, KnownTimetable, Progress, Slice

STEP_MS = 1_000
"""Between two steps: a slice is a second of the smeared rate, and a quiet engine stays quiet."""

TIMETABLES_LOADED_AT_ONCE = 200
"""Compiled before the loop gets a turn: some 10 ms."""

FORGET_EVERY_MS = 600_000
"""Timetables without schedules cost a statement for each occurrence, so they may stay a while."""

log = structlog.get_logger("offbeat.planner")


class Held(Protocol):
    """The runs in memory, as far as the planner is concerned."""

    def offer(self, runs: Iterable[DueRun]) -> None: ...

    def shrink(self, before_ms: int) -> None: ...


class Planner:
    """Owns the agenda and the watermark."""

    def __init__(
        self,
        clock: Clock,
        journal: Journal,
        held: Held,
        figures: Figures,
        *,
        rate: int,
        accept_clock: bool = False,
    ) -> None:
        self._clock = clock
        self._journal = journal
        self._held = held
        self._figures = figures
        self._rate = rate
        self._accept_clock = accept_clock
        self._agenda = Agenda()
        self._calendar: Calendar | None = None
        self._away: Observation | None = None  # A return whose downtime is not set aside yet.
        self._judging = True  # A stretch of an earlier life may wait.
        self._stepped_ms: int | None = None
        self._watermark_ms = 0
        self._forgot_ms = clock.monotonic_ms()
        self.trouble: str | None = None
        self.on_planned: Callable[[], None] = lambda: None
        self.on_return: Callable[[int, int, bool], None] = lambda _now, _watermark, _was_away: None
        self.on_arrivals: Callable[[Sequence[Arrival]], None] = lambda _: None

    @property
    def watermark_ms(self) -> int:
        """Every owed run with `fire_after` up to here is planned."""
        return self._watermark_ms

    @property
    def timetables(self) -> int:
        """How many timetables are on the agenda."""
        return len(self._agenda)

    def is_current(self, now_ms: int) -> bool:
        """Whether the last step is recent enough for claims to go on.

        After a suspension the wheel is full of runs that the policy may not want any more; until
        the planner has looked at the clock, nobody claims any.
        """
        recent = self._stepped_ms is not None and now_ms - self._stepped_ms <= MISSED_AFTER_MS
        return recent and self.trouble is None

    def stall(self, now_ms: int) -> str | None:
        """Why nothing is claimed, when the cause is a planning step that takes too long."""
        if self.trouble is not None or self._stepped_ms is None or self.is_current(now_ms):
            return None
        seconds = (now_ms - self._stepped_ms) // 1_000
        return f"nothing has been planned for {seconds} s: see to the load of the machine"

    async def start(self, progress: Progress) -> None:
        """Begin from what an earlier life reached."""
        self._calendar = Calendar(self._clock, alive_ms=progress.alive_ms)
        self._watermark_ms = progress.watermark_ms
        self._figures.cancel(progress.cancelled)
        if self._accept_clock and progress.alive_ms - self._clock.now_ms() >= BEHIND_MS_MAX:
            await self._journal.reset_progress(self._clock.now_ms())
            self._watermark_ms = self._clock.now_ms()
            self._calendar.accept()
        timetables = await self._journal.timetables()
        for index in range(0, len(timetables), TIMETABLES_LOADED_AT_ONCE):
            self.know(timetables[index : index + TIMETABLES_LOADED_AT_ONCE])
            await asyncio.sleep(0)

    def know(self, timetables: Iterable[KnownTimetable]) -> None:
        """Learn of timetables; one that cannot be read stops nobody else's."""
        for known in timetables:
            try:
                self._agenda.know(known, self._watermark_ms)
            except (OffbeatError, ValueError) as error:
                self._figures.rows_skipped += 1
                log.warning("timetable_skipped", timetable=known.timetable_id, error=str(error))

    async def forget_unused(self) -> None:
        """Forget the timetables whose last schedule was deleted, paused or given another."""
        learnt = self._agenda.learnt
        live = await self._journal.timetables()
        self._agenda.keep((known.timetable_id for known in live), learnt)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            while True:
                with suppress(Unavailable):  # The next step plans what this one could not.
                    while await self.run_once():
                        pass
                    await self._forget_now_and_then()
                await self._until_next_step()

    async def run_once(self) -> bool:
        """One step: look at the calendar, plan what has come into sight.

        Whether a timetable was learnt meanwhile: its first runs are owed another step at once.
        """
        seen = self._look()
        if self.trouble is not None:
            return False
        was_away = self._away is not None
        if self._away is not None:
            await self._set_downtime_aside(self._away)
        if was_away or self._stepped_ms is None:
            self.on_return(seen.now_ms, self._watermark_ms, was_away)
        await self._resume_pauses(seen.now_ms)
        horizon_ms = max(seen.now_ms + LOOKAHEAD_MS, self._watermark_ms)
        if horizon_ms > self._watermark_ms or self._agenda.behind_ms is not None:
            await self._plan(horizon_ms, seen.now_ms)
        self._stepped_ms = seen.now_ms
        self.on_planned()
        return self._agenda.behind_ms is not None

    async def _watch(self) -> None:
        """Look at the clocks whatever the steps do: one that waits for a slow disk was not away."""
        while True:
            self._look()
            await asyncio.sleep(STEP_MS / 1_000)

    def _look(self) -> Observation:
        assert self._calendar is not None, "start() comes first"
        seen = self._calendar.look()
        self._report(seen)
        if seen.gap_ms > MISSED_AFTER_MS:
            self._away = seen
        return seen

    async def _plan(self, horizon_ms: int, now_ms: int) -> None:
        behind_ms = self._agenda.behind_ms
        slices: Sequence[Slice | AtSlice] = [
            *self._agenda.slices(self._watermark_ms, horizon_ms),
            AtSlice(after_ms=self._watermark_ms, until_ms=horizon_ms),
        ]
        while slices:
            planned = await self._journal.plan(slices, horizon_ms=horizon_ms, now_ms=now_ms)
            self._figures.planned_rows += planned.rows
            self.on_arrivals(planned.arrivals)
            self._watermark_ms = planned.watermark_ms
            slices = planned.rest
        self._agenda.close(self._watermark_ms)
        if behind_ms is not None:
            self._held.shrink(behind_ms)  # The loader has passed there already.

    async def _set_downtime_aside(self, seen: Observation) -> None:
        self._watermark_ms = await self._journal.open_downtime(
            self._watermark_ms, resume_ms=seen.now_ms, rate=self._rate
        )
        log.info("downtime", seconds=seen.gap_ms // 1_000)
        if self._away is seen:  # Else it was away again meanwhile.
            self._away = None
        self._agenda.begin(self._watermark_ms)
        self._judging = True

    async def _resume_pauses(self, now_ms: int) -> None:
        timetables, due = await self._journal.resume_ended_pauses(now_ms)
        self.know(timetables)
        self._held.offer(due)

    async def _until_next_step(self) -> None:
        """Sleep until the next step is due, judging downtime meanwhile if there is any."""
        next_ms = self._clock.monotonic_ms() + STEP_MS
        while self._judging and self.trouble is None and self._clock.monotonic_ms() < next_ms:
            try:
                judged = await self._journal.judge_downtime(self._clock.now_ms())
            except Unavailable:
                break
            self._judging = judged.more
            if judged.skipped:
                self._figures.runs["skipped_catch_up"] += judged.skipped
            self._held.shrink(self._clock.now_ms() - MISSED_AFTER_MS)
            self.on_planned()
        await asyncio.sleep(max(0, next_ms - self._clock.monotonic_ms()) / 1_000)

    async def _forget_now_and_then(self) -> None:
        if self._clock.monotonic_ms() - self._forgot_ms >= FORGET_EVERY_MS:
            self._forgot_ms = self._clock.monotonic_ms()
            await self.forget_unused()

    def _report(self, seen: Observation) -> None:
        if seen.jump_ms:
            self._figures.clock_jumps += 1
            log.warning("clock_jump", milliseconds=seen.jump_ms)
        if seen.behind_ms >= BEHIND_MS_MAX:
            if self.trouble is None:
                log.error("clock_behind_journal", hours=seen.behind_ms // 3_600_000)
            self.trouble = (
                f"the clock is {seen.behind_ms // 3_600_000} h behind the journal's last instant; "
                "set it right, or start with --accept-clock"
            )
        else:
            self.trouble = None
