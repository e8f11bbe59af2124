"""The loader: pages from the journal, until everything in sight is held."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine.core.model import Outcome
from engine.services.flows import Flows
from engine.services.loader import PAGE_RUNS_MAX, Loader
from engine.services.waiting import FLOWS_KEPT_MAX, Waiting
from engine.store import DuePage, DueRun, FlowLimits, HeldRun
from engine.testing import VirtualClock, run_virtual

NOW_MS = 1_796_040_000_000
FLOW = FlowLimits(
    flow_id=1, tenant="default", key="example.org:443", rate=None, parallelism=20, paused=False
)


class Pages:
    """A journal with these waiting runs, in order."""

    def __init__(self, runs: list[HeldRun]) -> None:
        self._runs = runs

    async def due(
        self,
        after: DueRun,
        until_ms: int,
        limit: int,
        *,
        flow_id: int | None,
        known: Callable[[int], bool],
    ) -> DuePage:
        found = [run for run in self._runs if run.key > after and run.due_ms <= until_ms]
        return DuePage(runs=found[:limit], flows=[] if known(1) else [FLOW])


class Planned:
    """A planner that has come so far."""

    watermark_ms = NOW_MS + 5_000

    def __init__(self, *, has_looked: bool = True) -> None:
        self._has_looked = has_looked

    def is_current(self, now_ms: int) -> bool:
        return self._has_looked


def due_at(due_ms: int, schedule_row: int) -> HeldRun:
    return HeldRun(
        due_ms=due_ms,
        scheduled_for_ms=due_ms,
        schedule_row=schedule_row,
        flow_id=1,
        rank=0,
        priority=1,
    )


def test_a_herd_at_the_end_of_sight_is_held_though_it_takes_several_pages() -> None:
    herd = [due_at(Planned.watermark_ms, row) for row in range(PAGE_RUNS_MAX * 2 + 1)]

    async def main(clock: VirtualClock) -> int:
        waiting = Waiting(NOW_MS, slots=1)
        loader = Loader(clock, Pages(herd), waiting, Planned())
        while await loader.run_once():
            pass
        return len(waiting)

    assert run_virtual(main, NOW_MS) == len(herd)


def test_nothing_is_held_before_the_planner_has_looked_at_the_calendar() -> None:
    async def main(clock: VirtualClock) -> int:
        waiting = Waiting(NOW_MS, slots=1)
        loader = Loader(clock, Pages([due_at(NOW_MS, 1)]), waiting, Planned(has_looked=False))
        await loader.run_once()
        return len(waiting)

    assert run_virtual(main, NOW_MS) == 0


def test_after_a_return_what_is_due_in_its_own_time_is_held_and_the_backlog_is_not() -> None:
    overdue, fresh = [due_at(NOW_MS - 60_000, row) for row in range(9)], due_at(NOW_MS + 1, 9)

    async def main(clock: VirtualClock) -> list[HeldRun]:
        waiting = Waiting(NOW_MS, slots=1)
        loader = Loader(clock, Pages([*overdue, fresh]), waiting, Planned())
        await loader.run_once()
        waiting.advance(NOW_MS)
        waiting.begin_after(NOW_MS - 15_000, NOW_MS, yield_before_ms=0)
        await loader.run_once()
        waiting.advance(NOW_MS + 1)
        return waiting.take(0, 10)

    assert run_virtual(main, NOW_MS) == [fresh]


def test_flows_that_are_read_back_one_after_the_other_do_not_outgrow_the_room() -> None:
    """Alone, a flow's share is nearly all of it; the next one's is half, and so on."""
    waiting = Waiting(NOW_MS, slots=1, capacity=1_000)
    waiting.learn(flows(1, 5))
    for flow_id in range(1, 6):
        waiting.read_again(flow_id, NOW_MS)
        for drained, _, limit in waiting.drained():
            page = [due_at(NOW_MS + 1, 1_000 * drained + row) for row in range(limit)]
            waiting.read_back(drained, [run._replace(flow_id=drained) for run in page], limit)
    assert len(waiting) == 1_000


def test_a_retry_turned_away_while_its_flow_is_read_is_read_the_next_time() -> None:
    """The read began before the retry was on disk, and ends after the retry came to memory."""
    waiting = Waiting(NOW_MS, slots=1)
    waiting.learn([FLOW])
    waiting.extend(NOW_MS + 5_000)
    waiting.read_again(1, NOW_MS)
    ((flow_id, after, limit),) = waiting.drained()
    waiting.retry([due_at(NOW_MS + 9, 1)])
    waiting.read_back(flow_id, [], limit)
    assert waiting.drained() == [(flow_id, after, limit)]
    waiting.read_back(flow_id, [due_at(NOW_MS + 9, 1)], limit)
    assert waiting.drained() == []
    assert len(waiting) == 1


def test_a_run_that_is_read_again_while_its_claim_fails_is_held_once() -> None:
    run, waiting = due_at(NOW_MS, 1), Waiting(NOW_MS, slots=1)
    room = waiting.room
    waiting.learn([FLOW])
    waiting.hold([run])
    waiting.advance(NOW_MS)
    taken = waiting.take(0, 1)
    waiting.hold([due_at(NOW_MS, 1)])
    waiting.put_back(taken, 0)
    waiting.advance(NOW_MS)
    assert (waiting.take(0, 2), waiting.room) == ([run], room)


def test_a_run_that_changes_flows_and_not_its_time_leaves_nothing_in_a_queue() -> None:
    """A paused flow's queue is not looked at: what an edit a second leaves there would pile up."""
    waiting = Waiting(NOW_MS, slots=1)
    waiting.learn([replace(FLOW, paused=True), replace(FLOW, flow_id=2)])
    for flow_id in (1, 2, 1, 2):
        waiting.hold([due_at(NOW_MS, 1)._replace(flow_id=flow_id)])
        waiting.advance(NOW_MS)
    assert (waiting.ready, waiting.waiting_of(1), waiting.waiting_of(2)) == (1, 1, 0)


def flows(first: int, last: int) -> list[FlowLimits]:
    return [replace(FLOW, flow_id=n, key=f"{n}.example:443") for n in range(first, last + 1)]


def known(waiting: Waiting) -> set[int]:
    return {flow_id for flow_id in range(4 * FLOWS_KEPT_MAX) if waiting.knows(flow_id)}


def a_minute_of_the_loader(waiting: Waiting) -> None:
    async def main(clock: VirtualClock) -> None:
        loading = asyncio.create_task(Loader(clock, Pages([]), waiting, Planned()).run())
        await clock.run_for(60_000)
        loading.cancel()

    run_virtual(main, NOW_MS)


def test_flows_beyond_those_kept_leave_memory_when_they_have_nothing_to_do() -> None:
    waiting = Waiting(NOW_MS, slots=9)
    waiting.learn(flows(1, FLOWS_KEPT_MAX + 3_000))
    under_way, failed, moved, due, to_come = (
        due_at(NOW_MS + (n == 5), n)._replace(flow_id=n) for n in range(1, 6)
    )
    # Its first place stays in the queue, behind the second one.
    waiting.hold([moved._replace(due_ms=NOW_MS - 1, priority=2)])
    waiting.advance(NOW_MS)
    waiting.hold([under_way, failed, moved])
    waiting.advance(NOW_MS)
    assert waiting.take(0, 3) == [under_way, failed, moved]
    waiting.end(failed, Outcome(name="connect_error"), 0)
    waiting.end(moved, Outcome(name="success", status=200), 0)
    waiting.hold([due, to_come])
    waiting.advance(NOW_MS)

    a_minute_of_the_loader(waiting)

    assert known(waiting) == {*range(1, 6), *range(3_006, FLOWS_KEPT_MAX + 3_001)}


def test_flows_that_only_remember_leave_at_twice_as_many() -> None:
    waiting = Waiting(NOW_MS, slots=1)
    for limits in flows(1, 2 * FLOWS_KEPT_MAX + 1_000):
        waiting.learn([limits])
        run = due_at(NOW_MS, limits.flow_id)._replace(flow_id=limits.flow_id)
        waiting.hold([run])
        waiting.advance(NOW_MS)
        waiting.take(0, 1)
        waiting.end(run, Outcome(name="connect_error"), 0)

    a_minute_of_the_loader(waiting)

    assert known(waiting) == set(range(1_001, 2 * FLOWS_KEPT_MAX + 1_001))


def test_a_retry_of_a_flow_that_has_left_memory_is_read_from_the_journal() -> None:
    waiting = Waiting(NOW_MS, slots=1)
    waiting.extend(NOW_MS + 5_000)
    waiting.retry([due_at(NOW_MS + 9, 1)])
    assert (len(waiting), waiting.reaches(NOW_MS + 9)) == (0, False)


def test_limits_that_are_set_while_an_old_row_is_read_hold() -> None:
    class Stored:
        async def put(self, *_: object, now_ms: int, if_match: None, **limits: Any) -> FlowLimits:
            return replace(FLOW, **limits)

    class Overtaken(Pages):
        async def due(self, *after: Any, **which: Any) -> DuePage:
            page = await super().due(*after, **which)
            await Flows(VirtualClock(NOW_MS), Stored(), waiting, tenant="default").put(
                FLOW.key, rate=7, parallelism=3, paused=False
            )
            return page

    waiting = Waiting(NOW_MS, slots=1)

    async def main(clock: VirtualClock) -> None:
        await Loader(clock, Overtaken([due_at(NOW_MS, 1)]), waiting, Planned()).run_once()

    run_virtual(main, NOW_MS)
    assert (waiting.flow(1).rate, waiting.flow(1).parallelism) == (7, 3)
