"""The jitter mistakes that other schedulers shipped, each as the scenario in which it shows."""

from pathlib import Path

import pytest

from engine.core.errors import Invalid
from engine.core.identity import jitter_offset_ms, parse_instant, schedule_id
from engine.services.transport import HttpRequest
from tests.simulation.world import MINUTE_MS, World, put, simulate


def test_the_seed_is_the_identity_so_schedules_alike_are_spread(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            for index in range(300):
                await put(engine, f"same-{index}", cron="0 * * * *", jitter_seconds=60)
            await world.until("2026-11-30T12:02:00Z")
        seconds = {s.at[:19] for s in world.sent()}
        assert len(world.sent()) == 300
        assert len(seconds) > 50
        # The same names on another tenant are other schedules at other times.
        assert jitter_offset_ms(schedule_id("default", "same-0"), 60) != jitter_offset_ms(
            schedule_id("acme", "same-0"), 60
        )

    simulate(main, directory, "2026-11-30T11:59:30Z")


@pytest.mark.parametrize("jitter_seconds", [30, 90, 900])
def test_the_next_occurrence_is_computed_from_the_nominal_time(
    directory: Path, jitter_seconds: int
) -> None:
    """From the jittered time it would fire twice (early jitter) or skip (late jitter); C37."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(
                engine, "minutely", cron="* * * * *", jitter_seconds=jitter_seconds
            )
            offset_ms = schedule.definition.offset_ms
            await world.clock.run_for(60 * MINUTE_MS + offset_ms + 1_000)
        instants = [s.scheduled_for for s in world.sent()]
        assert instants[:60] == [
            f"2026-11-30T{12 + m // 60}:{m % 60:02d}:00Z" for m in range(1, 61)
        ]
        assert len(set(instants)) == len(instants)
        delays = {at_ms - _scheduled_ms(request) for at_ms, request in world.ledger}
        assert delays == {offset_ms}
        assert 0 <= offset_ms < jitter_seconds * 1_000 + 1_000

    simulate(main, directory, "2026-11-30T12:00:30Z")


@pytest.mark.parametrize(
    "change",
    [
        {"cron": "30 * * * *", "jitter_seconds": 60},
        {"cron": "0 * * * *", "jitter_seconds": 0},
        {"cron": "0 * * * *", "jitter_seconds": 900},
        {"cron": "0 * * * *", "jitter_seconds": 60, "end_at": "2026-11-30T11:00:00Z"},
    ],
)
@pytest.mark.parametrize("when", ["2026-11-30T12:00:02Z", "2026-11-30T12:00:20Z"])
def test_an_edit_between_scheduled_for_and_fire_after_loses_nothing(
    directory: Path, change: dict[str, object], when: str
) -> None:
    """`half-past` has an offset of 24.9 s: planned at the second instant, not yet at the first."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            before = await put(engine, "half-past", cron="0 * * * *", jitter_seconds=60)
            assert 20_000 < before.definition.offset_ms < 60_000
            await world.until(when)
            await put(engine, "half-past", **change)
            await world.until("2026-11-30T12:29:00Z")
        assert [s.scheduled_for for s in world.sent()] == ["2026-11-30T12:00:00Z"]
        at_ms, request = world.ledger[0]
        assert at_ms - _scheduled_ms(request) == before.definition.offset_ms

    simulate(main, directory, "2026-11-30T11:59:30Z")


@pytest.mark.parametrize("bound", [{"end_at": "2026-11-30T12:03:00Z"}, {"max_runs": 3}])
def test_the_last_occurrence_has_the_same_offset_as_the_others(
    directory: Path, bound: dict[str, object]
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            schedule = await put(engine, "ends", cron="* * * * *", jitter_seconds=50, **bound)
            await world.until("2026-11-30T12:10:00Z")
        assert [s.scheduled_for for s in world.sent()] == [
            "2026-11-30T12:01:00Z",
            "2026-11-30T12:02:00Z",
            "2026-11-30T12:03:00Z",
        ]
        delays = {at_ms - _scheduled_ms(request) for at_ms, request in world.ledger}
        assert delays == {schedule.definition.offset_ms}

    simulate(main, directory, "2026-11-30T12:00:30Z")


def test_history_bounds_are_judged_on_the_nominal_time(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "late", cron="0 * * * *", jitter_seconds=900)
            await world.until("2026-11-30T12:30:00Z")
            runs, _ = await engine.runs.page(
                schedule=schedule_id("default", "late"),
                state=None,
                from_ms=parse_instant("2026-11-30T12:00:00Z"),
                to_ms=parse_instant("2026-11-30T12:00:01Z"),
                limit=10,
                after=None,
            )
        assert [run.scheduled_for_ms for run in runs] == [parse_instant("2026-11-30T12:00:00Z")]
        assert runs[0].fire_after_ms > parse_instant("2026-11-30T12:00:01Z")

    simulate(main, directory, "2026-11-30T11:59:30Z")


def test_jitter_wider_than_the_interval_keeps_the_order(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "often", every=10, jitter_seconds=900)
            await world.clock.run_for(40 * MINUTE_MS)
        instants = [s.scheduled_for for s in world.sent()]
        assert instants == sorted(set(instants))
        assert len(instants) > 100

    simulate(main, directory, "2026-11-30T12:00:00Z")


def test_jitter_must_fit_inside_the_deadline(directory: Path) -> None:
    """A jitter beyond it would make every run worthless before it starts."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            with pytest.raises(Invalid) as refused:
                await put(engine, "x", cron="0 * * * *", jitter_seconds=60, deadline_seconds=30)
            assert refused.value.faults[0].pointer == "/jitter_seconds"

    simulate(main, directory, "2026-11-30T12:00:00Z")


def _scheduled_ms(request: HttpRequest) -> int:
    return parse_instant(dict(request.headers)["X-Scheduled-For"])
