"""The monitor watches, judges once it is over, and keeps one record of each herd and shock."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from engine.core.errors import Unavailable
from engine.core.forecast_audit import Digest
from engine.core.herd_record import HerdRecord
from engine.core.verdict import Shut, VerdictName
from engine.services.monitor import HERDS_MAX, Monitor

TOP_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z


class Start(NamedTuple):
    """`monitor.Started`: what of a claim is counted."""

    trigger: str = "schedule"
    attempt: int = 1


@dataclass
class Records:
    """`store.HerdRecords` in memory."""

    kept: list[HerdRecord] = field(default_factory=list)
    forgotten_before_ms: int | None = None
    broken: bool = False

    async def add(self, record: HerdRecord, *, forget_before_ms: int) -> None:
        if self.broken:
            raise Unavailable("the disk is full")
        self.kept.append(record)
        self.forgotten_before_ms = forget_before_ms

    async def newest(self, limit: int) -> list[HerdRecord]:
        return self.kept[::-1][:limit]

    async def names(self, timetables: Sequence[int]) -> dict[int, str]:
        return {timetable: f"timetable {timetable}" for timetable in timetables if timetable}


class World:
    """A monitor with a clock that a test moves, a second at a time."""

    def __init__(self, start_ms: int = TOP_MS - 10_000) -> None:
        self.ms = start_ms
        self.records = Records()
        self.oldest_due_ms: int | None = None
        self.tokens = 100
        self.ready = 0
        self.shut: Shut | None = None
        self.monitor = Monitor(
            self,
            self.records,
            rate=1_000,
            burst=100,
            days=7,
            waiting=self,
            tokens=lambda: self.tokens,
        )

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms

    def until(self, ms: int) -> None:
        """A tick each second."""

        async def tick() -> None:
            while self.ms < ms:
                self.ms += 1_000
                await self.monitor.run_once()

        asyncio.run(tick())

    def verdicts(self) -> list[str]:
        return [record.verdict for record in self.records.kept]


@pytest.fixture
def world() -> World:
    return World()


def foretold(instant_ms: int) -> Digest:
    return Digest(
        instant_ms=instant_ms,
        frozen_at_ms=instant_ms - 10_000,
        runs=30_000,
        busiest_planned=500,
        busiest_served=500,
        p99_ms=0,
        verdict="met",
    )


def smear(world: World, instant_ms: int, runs_a_second: int, seconds: int) -> None:
    """A herd that jitter has spread, planned to the hundredth of a second."""
    for place in range(seconds * 100):
        fire_after_ms = instant_ms + place * 10
        world.monitor.arrived([(7, instant_ms, fire_after_ms, runs_a_second // 100)])


def test_a_herd_is_recorded_when_its_service_level_has_passed(world: World) -> None:
    smear(world, TOP_MS, 500, 60)
    world.monitor.forecast_of = foretold
    world.until(TOP_MS + 74_000)
    assert world.records.kept == []
    world.until(TOP_MS + 76_000)
    (record,) = world.records.kept
    assert (record.instant_ms, record.seconds, record.runs) == (TOP_MS, 60, 30_000)
    assert (record.busiest_demand, record.busiest_planned, record.busiest_served) == (
        30_000,
        500,
        0,
    )
    assert (record.verdict, record.amplification, record.volume) == ("flattened", 1, 0.4)
    assert record.timetables == (("timetable 7", 30_000),)
    assert dict(record.offsets) == {
        **{0: 5, 1: 500, 5: 2_000, 15: 5_000, 30: 7_500, 60: 14_995},
        **{120: 0, 300: 0, 600: 0, 900: 0, None: 0},
    }
    assert record.forecast == foretold(TOP_MS)
    assert world.records.forgotten_before_ms == TOP_MS + 75_000 - 7 * 86_400_000


def test_the_verdict_on_a_herd_under_way_says_that_it_is_on_what_came_so_far(
    world: World,
) -> None:
    smear(world, TOP_MS, 500, 60)
    world.until(TOP_MS + 20_000)
    said = world.monitor.current().verdict.sentence
    assert said.startswith("So far, 30,000 runs share one second and were planned at no more than")
    world.until(TOP_MS + 76_000)
    assert world.monitor.current().verdict.sentence.startswith("22,000 runs in 60 s, no herd")
    (record,) = world.records.kept
    assert record.sentence.startswith("30,000 runs share one second")


def test_each_full_hour_is_recorded_though_nothing_happened(world: World) -> None:
    world.until(TOP_MS + 3_600_000 + 80_000)
    assert [record.instant_ms for record in world.records.kept] == [TOP_MS, TOP_MS + 3_600_000]
    assert world.verdicts() == ["quiet", "quiet"]


def test_another_instant_is_recorded_when_it_was_a_herd(world: World) -> None:
    minute_ms = TOP_MS + 180_000
    world.monitor.arrived(
        [(1, minute_ms, minute_ms, 100), (1, TOP_MS + 60_000, TOP_MS + 60_000, 99)]
    )
    world.monitor.arrived([(2, minute_ms, minute_ms, 5_000)])
    world.until(TOP_MS + 300_000)
    assert world.verdicts() == ["quiet", "alignment"]
    assert world.records.kept[1].timetables == (("timetable 2", 5_000), ("timetable 1", 100))


def test_the_largest_herd_under_way_is_what_is_current(world: World) -> None:
    assert world.monitor.current().verdict.name == VerdictName.QUIET
    smear(world, TOP_MS, 500, 20)
    world.monitor.arrived([(1, TOP_MS + 5_000, TOP_MS + 5_000, 200)])
    world.until(TOP_MS + 10_000)
    sight = world.monitor.current()
    assert (sight.figures.start_ms, sight.figures.seconds) == (TOP_MS, 10)
    assert sight.verdict.name == VerdictName.FLATTENED
    assert sight.timetables == ((7, 10_000),)
    assert world.monitor.by_second(sight.figures)["planned"] == [500] * 5 + [700] + [500] * 4


def test_a_shock_is_recorded_once_when_it_is_first_seen() -> None:
    world = World(TOP_MS + 600_000)
    for _ in range(120):
        for _ in range(20):
            world.monitor.started(Start(), world.ms)
            world.monitor.started(Start(attempt=2), world.ms)
        world.until(world.ms + 1_000)
    assert world.verdicts().count("retry_storm") == 1
    world.until(world.ms + 120_000)  # It passes, and another begins.
    for _ in range(60):
        for _ in range(20):
            world.monitor.started(Start(trigger="catch_up"), world.ms)
        world.until(world.ms + 1_000)
    assert world.verdicts() == ["retry_storm", "catch_up"]


def test_runs_behind_a_breaker_are_no_quiet_night(world: World) -> None:
    world.until(TOP_MS)
    assert world.monitor.current().verdict.name == VerdictName.QUIET
    world.shut = Shut(runs=80, flows=1, key="h.example:443", tenant=None)
    world.until(TOP_MS + 1_000)
    verdict = world.monitor.current().verdict
    assert verdict.name == VerdictName.DOWNSTREAM
    assert verdict.sentence == "80 due runs wait behind the breaker of flow h.example:443."
    assert verdict.advice.startswith("Mend that receiver")
    world.shut = Shut(runs=81, flows=2, key="h.example:443", tenant="acme")
    world.until(TOP_MS + 2_000)
    assert world.monitor.current().verdict.sentence == (
        "81 due runs wait behind the breakers of 2 flows, most of them of h.example:443 of tenant"
        " acme."
    )


def test_a_herd_is_recorded_as_what_it_was_whatever_waits_behind_a_breaker(world: World) -> None:
    world.shut = Shut(runs=1, flows=1, key="h.example:443", tenant=None)
    world.until(TOP_MS + 90_000)  # Of a full hour there is a record, though nothing was planned.
    records = {record.instant_ms: record.verdict for record in world.records.kept}
    assert records[TOP_MS] == "quiet"


def test_a_breaker_is_recorded_once_though_herds_come_between(world: World) -> None:
    world.shut = Shut(runs=1, flows=1, key="h.example:443", tenant=None)
    verdicts = set()
    for minute in range(3):
        smear(world, TOP_MS + minute * 120_000, 200, 60)
        for second in range(12):
            world.until(TOP_MS + minute * 120_000 + second * 10_000)
            verdicts.add(world.monitor.current().verdict.name)
    assert {VerdictName.FLATTENED, VerdictName.DOWNSTREAM} <= verdicts
    assert world.verdicts().count("downstream") == 1


def test_a_backlog_that_is_downstream_names_the_flow_behind_a_breaker_first(world: World) -> None:
    world.ready, world.oldest_due_ms = 101, TOP_MS - 60_000
    world.shut = Shut(runs=101, flows=1, key="h.example:443", tenant=None)
    world.until(TOP_MS + 90_000)
    verdict = world.monitor.current().verdict
    assert verdict.name == VerdictName.DOWNSTREAM
    assert verdict.sentence.startswith(
        "101 due runs wait behind the breaker of flow h.example:443. Due runs waited in 60 of 60 s"
    )
    assert verdict.advice.startswith("Mend that receiver")
    assert "Look for slow receivers" in verdict.advice


def test_a_herd_that_waits_behind_a_breaker_names_its_flow_while_it_is_under_way(
    world: World,
) -> None:
    smear(world, TOP_MS, 200, 60)
    world.ready, world.oldest_due_ms = 6_000, TOP_MS
    world.shut = Shut(runs=6_000, flows=1, key="h.example:443", tenant=None)
    world.until(TOP_MS + 30_000)
    verdict = world.monitor.current().verdict
    assert verdict.name == VerdictName.DOWNSTREAM
    assert verdict.sentence.startswith("6,000 due runs wait behind the breaker of flow h.example")
    world.until(TOP_MS + 80_000)
    [record] = [record for record in world.records.kept if record.instant_ms == TOP_MS]
    assert record.sentence.startswith("Due runs waited")


@pytest.mark.parametrize(("ready", "verdict"), [(101, "downstream"), (100, "quiet")])
def test_more_than_a_burst_waiting_beside_free_tokens_is_seen(
    world: World, ready: int, verdict: str
) -> None:
    world.ready = ready
    for _ in range(30):
        world.oldest_due_ms = world.ms - 4_000
        world.until(world.ms + 1_000)
    assert world.monitor.current().verdict.name == verdict


def test_a_record_waits_for_the_disk(world: World) -> None:
    world.records.broken = True
    world.until(TOP_MS + 100_000)
    world.records.broken = False
    world.until(TOP_MS + 101_000)
    assert [record.instant_ms for record in world.records.kept] == [TOP_MS]


def test_a_calendar_set_back_begins_the_curves_anew(world: World) -> None:
    smear(world, TOP_MS, 500, 10)
    world.until(TOP_MS + 20_000)
    world.ms = TOP_MS - 86_400_000
    world.until(world.ms + 1_000)
    early_ms = world.ms
    world.monitor.arrived([(1, early_ms, early_ms, 5_000)])
    world.until(early_ms + 10_000)
    sight = world.monitor.current()
    assert (sight.figures.demand.busiest, sight.verdict.name) == (5_000, VerdictName.ALIGNMENT)


@pytest.mark.parametrize(
    ("others", "verdicts"),
    [(HERDS_MAX - 2, ["quiet", "alignment"]), (HERDS_MAX - 1, ["quiet"])],
)
def test_instants_beyond_the_bound_push_out_the_oldest(
    world: World, others: int, verdicts: list[str]
) -> None:
    minute_ms = TOP_MS + 60_000
    world.monitor.arrived([(1, minute_ms, minute_ms, 5_000)])
    later = [minute_ms + 120_000 + 1_000 * number for number in range(others)]
    world.monitor.arrived([(1, instant, instant, 1) for instant in later])
    world.until(TOP_MS + 150_000)  # The hour's own instant joined when it came.
    assert world.verdicts() == verdicts


def test_gauges_show_the_current_window_by_stage(world: World) -> None:
    smear(world, TOP_MS, 500, 60)
    world.until(TOP_MS + 70_000)
    assert world.monitor.amplifications() == {"demand": 60, "planned": 1, "served": 0}
    assert world.monitor.alignments()["demand"] == pytest.approx(1)
    verdicts = world.monitor.verdicts()
    assert [name for name, value in verdicts.items() if value] == ["flattened"]
    assert len(verdicts) == 8
