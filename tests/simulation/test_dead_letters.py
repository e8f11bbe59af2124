"""Failed runs by the filter: replayed together they are a herd, deleted they stay counted."""

import asyncio
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.app import Engine
from engine.core.document import read_schedule
from engine.core.errors import Conflict, Counted, Invalid, NotFound
from engine.core.identity import parse_instant, schedule_id
from engine.core.model import Outcome, Pause
from engine.core.replay import Selection
from engine.services import dead_letters
from engine.services.dead_letters import Settled
from engine.services.transport import HttpRequest
from engine.store import dead_letters as stored
from tests.simulation.world import HOUR_MS, MINUTE_MS, World, put, simulate

START = "2026-11-30T12:00:30Z"
SUCCESS = Outcome(name="success", status=200)
FINAL = Outcome(name="http_error", status=400)
ONCE = {"max_attempts": 1}
MINUTELY: dict[str, Any] = {"cron": "* * * * *", "jitter_seconds": 0, "retry": ONCE}


def clock(minute: int, second: int = 0) -> int:
    return parse_instant(f"2026-11-30T12:{minute:02d}:{second:02d}Z")


def first_fails(request: HttpRequest) -> Outcome:
    return SUCCESS if int(dict(request.headers)["X-Attempt"]) > 1 else FINAL


def meant(name: str | None = None, **filters: Any) -> Selection:
    identity = None if name is None else schedule_id("default", name)
    return Selection(tenant="default", schedule_id=identity, **filters)


async def replay(engine: Engine, which: Selection, *, dry_run: bool = False) -> Settled:
    return await engine.of("default").dead_letters.replay(which, dry_run=dry_run)


async def delete(engine: Engine, which: Selection, *, dry_run: bool = False) -> Settled:
    return await engine.of("default").dead_letters.delete(which, dry_run=dry_run)


async def unaccounted(engine: Engine) -> int:
    floor_ms = await engine.audit.history_floor_ms()
    tally = await engine.audit.run(floor_ms, engine.clock.now_ms() + HOUR_MS)
    assert tally.findings == ()
    return tally.unaccounted


def resent(world: World) -> list[tuple[str, str]]:
    return [(s.scheduled_for, s.at) for s in world.sent() if s.attempt == 2]


def test_what_failed_is_sent_again_in_its_order_spread_by_a_formula(directory: Path) -> None:
    async def main(world: World) -> list[tuple[str, str]]:
        async with world.engine(rate=2) as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:20:30Z")
            dry = await replay(engine, meant("x"), dry_run=True)
            assert dry == Settled(
                count=20,
                first_ms=clock(1),
                last_ms=clock(20),
                spread_until_ms=clock(20, 50),  # 20 runs at half of 2 a second.
            )
            assert await replay(engine, meant("x")) == dry
            assert await replay(engine, meant("x")) == Settled()
            await world.until("2026-11-30T12:21:30Z")
            assert await unaccounted(engine) == 0
        return resent(world)

    sent = simulate(main, directory, START, answer=first_fails)
    assert [instant[14:16] for instant, _ in sent] == [f"{minute:02d}" for minute in range(1, 21)]
    times = [parse_instant(at) for _, at in sent]
    assert clock(20, 30) <= times[0]
    assert times[-1] < clock(20, 50)
    assert {b - a for a, b in itertools.pairwise(times)} <= {999, 1_000, 1_001}


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, {"bills": 3, "mail": 3, "slow": 3}),
        ({"name": "mail"}, {"mail": 3}),
        ({"labels": {"team": "money"}}, {"bills": 3, "slow": 3}),
        ({"labels": {"team": "money", "size": "big"}}, {"slow": 3}),
        ({"labels": {"team": "nobody"}}, {}),
        ({"outcome": "timeout"}, {"slow": 3}),
        ({"host": "slow.example:80"}, {"slow": 3}),
        ({"host": "slow.example"}, {}),
        ({"status": 400}, {"bills": 3, "mail": 3}),
        ({"status": 400, "host": "slow.example:80"}, {}),
        ({"reason": "final"}, {"bills": 3, "mail": 3}),
        ({"reason": "attempts"}, {"slow": 3}),
        ({"name": "slow", "reason": "final"}, {}),
        ({"from_ms": clock(2), "to_ms": clock(3)}, {"bills": 1, "mail": 1, "slow": 1}),
        ({"name": "mail", "from_ms": clock(2), "to_ms": clock(3)}, {"mail": 1}),
    ],
)
def test_each_filter_means_what_it_says(
    directory: Path, filters: dict[str, Any], names: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "HISTORY_PAGE_RUNS", 2)
    slow = Outcome(name="timeout", error="no answer")

    def answer(request: HttpRequest) -> Outcome:
        if int(dict(request.headers)["X-Attempt"]) > 1:
            return SUCCESS
        return slow if dict(request.headers)["X-Schedule-Name"] == "slow" else FINAL

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "bills", labels={"team": "money"}, **MINUTELY)
            await put(engine, "mail", **MINUTELY)
            target = {"url": "http://slow.example/hook"}
            labels = {"team": "money", "size": "big"}
            await put(engine, "slow", labels=labels, target=target, **MINUTELY)
            await world.until("2026-11-30T12:03:30Z")
            assert (await delete(engine, meant(**filters), dry_run=True)).count == sum(
                names.values()
            )
            assert (await replay(engine, meant(**filters))).count == sum(names.values())
            await world.until("2026-11-30T12:03:45Z")
        assert Counter(s.name for s in world.sent() if s.attempt == 2) == names

    simulate(main, directory, START, answer=answer)


def test_what_cannot_be_sent_any_more_is_passed_over_and_counted(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", deadline_seconds=90, **MINUTELY)
            await put(engine, "gone", **MINUTELY)
            await world.until("2026-11-30T12:03:30Z")
            await engine.schedules.delete("gone")
            done = await replay(engine, meant())
            assert (done.count, done.passed_over) == (2, 4)
            assert (done.first_ms, done.last_ms) == (clock(2), clock(3))
            await world.until("2026-11-30T12:03:59Z")
        assert [instant[14:16] for instant, _ in resent(world)] == ["02", "03"]

    simulate(main, directory, START, answer=first_fails)


def test_a_deadline_is_met_however_wide_the_spread(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(rate=1) as engine:
            await put(engine, "x", deadline_seconds=3_600, **MINUTELY)
            await put(engine, "urgent", at="2026-11-30T12:30:10Z", retry=ONCE, deadline_seconds=30)
            await world.until("2026-11-30T12:30:20Z")
            assert (await replay(engine, meant())).count == 31
            await world.until("2026-11-30T12:32:30Z")
        (urgent,) = [s for s in world.sent("urgent") if s.attempt == 2]
        assert parse_instant(urgent.at) <= clock(30, 40)

    simulate(main, directory, START, answer=first_fails)


def test_a_replay_acknowledged_survives_the_engine(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:05:30Z")
            assert (await replay(engine, meant())).count == 5
        async with world.engine():
            await world.until("2026-11-30T12:05:59Z")
        assert [instant[14:16] for instant, _ in resent(world)] == ["01", "02", "03", "04", "05"]

    simulate(main, directory, START, answer=first_fails)


def test_one_call_at_a_time_and_each_of_bounded_size(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "RUNS_MAX", 3)

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:04:30Z")
            for action in (replay, delete):
                with pytest.raises(Invalid, match="/to: more than 3 failed runs are meant"):
                    await action(engine, meant())
            two = meant(to_ms=clock(3))
            first, second = await asyncio.gather(
                replay(engine, two), delete(engine, two), return_exceptions=True
            )
            assert isinstance(first, Settled)
            assert first.count == 2
            assert isinstance(second, Conflict)

    simulate(main, directory, START, answer=first_fails)


def test_deleted_runs_stay_counted_and_are_not_filled_again(directory: Path) -> None:
    def every_third_succeeds(request: HttpRequest) -> Outcome:
        minute = int(dict(request.headers)["X-Scheduled-For"][14:16])
        return SUCCESS if minute % 3 == 0 else FINAL

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:08:30Z")
            await engine.schedules.trigger("x")
            await world.until("2026-11-30T12:08:40Z")
            assert (await delete(engine, meant(), dry_run=True)).count == 7
            assert await delete(engine, meant("x", to_ms=clock(5))) == Settled(
                count=3, first_ms=clock(1), last_ms=clock(4)
            )
            assert (await delete(engine, meant())).count == 4  # 5, 7, 8 and the manual one.
            assert (await delete(engine, meant())) == Settled()
            assert await unaccounted(engine) == 0
            with pytest.raises(Counted, match="it failed, and was deleted"):
                await engine.runs.get(schedule_id("default", "x"), clock(5))
            with pytest.raises(NotFound, match=r"no such run \(yet\)"):
                await engine.runs.get(schedule_id("default", "x"), clock(8, 30) + 1)
            span = {"from_ms": clock(1), "to_ms": clock(9)}
            assert (await engine.backfills.run("x", **span, dry_run=True)).count == 0
        ranges = world.rows("SELECT after, until, count FROM counted_range ORDER BY after")
        assert ranges == [  # Deleted by two calls, 4 and 5 are neighbours all the same.
            (clock(1) - 1, clock(2), 2),
            (clock(4) - 1, clock(5), 2),
            (clock(7) - 1, clock(8), 2),
        ]
        assert world.rows("SELECT count(*) FROM attempt") == [(2,)]

    simulate(main, directory, START, answer=every_third_succeeds)


def test_a_run_deleted_inside_a_counted_pause_is_counted_with_it(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", deadline_seconds=20, flow_key="held", **MINUTELY)
            await engine.flows.put("held", rate=None, parallelism=20, paused=True)
            await world.until("2026-11-30T12:00:58Z")
            await engine.schedules.pause("x", Pause())  # The run of 12:01 is planned already.
            await world.until("2026-11-30T12:01:30Z")
            await engine.flows.put("held", rate=None, parallelism=20, paused=False)
            await world.until("2026-11-30T12:03:30Z")
            await engine.schedules.resume("x")
            assert world.rows("SELECT count FROM counted_range") == [(2,)]
            assert (await delete(engine, meant(reason="expired"))).count == 1
            assert world.rows("SELECT reason, count FROM counted_range ORDER BY reason") == [
                ("deleted", 1),
                ("paused", 3),
            ]
            assert await unaccounted(engine) == 0

    simulate(main, directory, START)


def test_a_deleted_run_is_not_lost_behind_a_lost_one(directory: Path) -> None:
    """A range never spans what it does not count: an occurrence that vanished between is found."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:03:30Z")
            await engine._writer.submit(
                lambda db: db.execute("DELETE FROM job_run WHERE scheduled_for = ?", (clock(2),))
            )
            await delete(engine, meant())
            floor_ms = await engine.audit.history_floor_ms()
            tally = await engine.audit.run(floor_ms, engine.clock.now_ms())
            assert tally.unaccounted == 1

    simulate(main, directory, START, answer=lambda _: FINAL)


def test_ranges_of_deleted_runs_are_pruned_with_their_history(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine(history_days=1) as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:03:30Z")
            assert (await delete(engine, meant())).count == 3
        world.clock.step(26 * HOUR_MS)
        async with world.engine(history_days=1) as engine:
            await world.clock.run_for(2 * MINUTE_MS)
            assert await unaccounted(engine) == 0
        ranges = world.rows("SELECT reason, count FROM counted_range WHERE until < ?", clock(10))
        assert ranges == [("pruned", 3)]

    simulate(main, directory, START, answer=lambda _: FINAL)


def test_nobody_reaches_anothers_dead_letters(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            await world.until("2026-11-30T12:02:30Z")
            theirs = engine.of("stranger").dead_letters
            for act in (theirs.replay, theirs.delete):
                assert await act(Selection(tenant="stranger"), dry_run=False) == Settled()
                mine = schedule_id("default", "x")
                with pytest.raises(NotFound):
                    await act(Selection(tenant="stranger", schedule_id=mine), dry_run=False)
            assert (await replay(engine, meant(), dry_run=True)).count == 2

    simulate(main, directory, START, answer=lambda _: FINAL)


def test_failed_runs_are_grouped_by_where_they_went_and_how_they_ended(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "FAILED_PAGE_RUNS", 4)
    slow = Outcome(name="timeout", error="no answer")

    def answer(request: HttpRequest) -> Outcome:
        return slow if dict(request.headers)["X-Schedule-Name"] == "slow" else FINAL

    async def main(world: World) -> None:
        async with world.engine() as engine:
            target = {"url": "http://slow.example/hook"}
            await put(engine, "slow", target=target, **MINUTELY)
            for name in ("bills", "mail"):
                await put(engine, name, **MINUTELY)
            await world.until("2026-11-30T12:03:30Z")
            # What a run sent is its own: a changed schedule moves nothing into another group.
            await put(engine, "mail", target=target, **MINUTELY)
            found = await engine.of("default").dead_letters.grouped()
            assert (found.runs, found.complete) == (9, True)
            groups = sorted(found.groups, key=lambda group: group.cause)
            assert [(*group.cause, group.runs, group.error) for group in groups] == [
                ("127.0.0.1:9", "final", "http_error", 400, 6, None),
                ("slow.example:80", "attempts", "timeout", None, 3, "no answer"),
            ]
            worst = groups[0].worst
            parts = [(part.schedule_name, part.runs, part.newest_ms) for part in worst]
            assert parts == [("bills", 3, clock(3)), ("mail", 3, clock(3))]
            for group in groups:
                dry = await replay(engine, meant(**group.cause._asdict()), dry_run=True)
                assert dry.count == group.runs
            assert (await engine.of("stranger").dead_letters.grouped()).runs == 0

    simulate(main, directory, START, answer=answer)


def test_a_run_that_was_never_attempted_is_in_a_group_too(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await engine.flows.put("127.0.0.1:9", rate=None, parallelism=1, paused=True)
            await put(engine, "x", deadline_seconds=5, **MINUTELY)
            await world.until("2026-11-30T12:02:30Z")
            await engine.flows.put("127.0.0.1:9", rate=None, parallelism=1, paused=False)
            await world.until("2026-11-30T12:02:40Z")
            (group,) = (await engine.of("default").dead_letters.grouped()).groups
            assert (group.cause.reason, group.cause.outcome) == ("expired", "none")
            which = meant(**group.cause._asdict())
            assert (await delete(engine, which, dry_run=True)).count == group.runs == 2

    simulate(main, directory, START, answer=lambda _: SUCCESS)


def test_only_the_newest_of_very_many_are_grouped(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "FAILED_PAGE_RUNS", 2)
    monkeypatch.setattr(dead_letters, "RUNS_GROUPED_MAX", 4)

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            # Those of others neither count nor hide any.
            target = {"url": "http://127.0.0.1:9/"}
            theirs = read_schedule({**MINUTELY, "target": target}, tenant="stranger", name="x")
            await engine.of("stranger").schedules.put(theirs)
            await world.until("2026-11-30T12:06:30Z")
            found = await engine.of("default").dead_letters.grouped()
            assert (found.runs, found.complete) == (4, False)
            (group,) = found.groups
            assert (group.newest_ms, group.worst[0].newest_ms) == (clock(6), clock(6))

    simulate(main, directory, START, answer=lambda _: FINAL)
