"""What the forecast reads, from the real statements."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.core.document import read_schedule
from engine.core.identity import jitter_offset_ms, schedule_id
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd
from engine.store import flows, schedules
from engine.store.database import DATABASE_NAME, configure_reader, configure_writer, prepare
from engine.store.herd import IDENTITIES_PAGE, SqliteHerd, deadlines, impatient, sample, standing
from engine.store.statements import statements
from engine.store.writer import Reader

NOW_MS = 1_796_040_000_000  # 2026-11-30T12:00:00Z
START = NOW_MS // 1000 + 1
DAY = 86_400
RATE = 1_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    prepare(tmp_path / DATABASE_NAME)
    with closing(configure_writer(tmp_path / DATABASE_NAME)) as db:
        db.execute(statements()["begin_life"], {"now": NOW_MS - 3_600_000}).fetchone()
    return tmp_path / DATABASE_NAME


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(configure_writer(path)) as connection:
        yield connection


def put(
    db: sqlite3.Connection,
    name: str,
    *,
    tenant: str = "default",
    now_ms: int = NOW_MS - 10_000,
    **document: Any,
) -> None:
    document.setdefault("target", {"url": "http://a.example/x"})
    draft = read_schedule(document, tenant=tenant, name=name)
    schedules.put_draft(db, draft, now_ms)


def crowds(db: sqlite3.Connection) -> list[Crowd]:
    return list(standing(db, NOW_MS, START, START + DAY, RATE).crowds)


def offset_s(name: str, jitter: int) -> int:
    return jitter_offset_ms(schedule_id("default", name), jitter) // 1000


def test_schedules_of_a_timetable_are_one_crowd_counted_by_second_of_offset(db: sqlite3.Connection):
    for name in "abc":
        put(db, name, every=60, jitter_seconds=3)
    [crowd] = crowds(db)
    expected: dict[int, int] = {}
    for name in "abc":
        expected[offset_s(name, 3)] = expected.get(offset_s(name, 3), 0) + 1
    assert (crowd.counts, crowd.bounded) == (expected, False)


def test_deleted_and_paused_schedules_are_taken_out_and_an_ending_pause_is_a_bound(
    db: sqlite3.Connection,
):
    put(db, "stays", every=60)
    put(db, "gone", every=60)
    schedules.delete(db, schedule_id("default", "gone"), NOW_MS)
    put(db, "rests", every=60, paused=True)
    put(db, "returns", every=60, paused=True, paused_until="2026-11-30T13:00:00Z")
    found = {(crowd.after_s, crowd.until_s): crowd.schedules for crowd in crowds(db)}
    assert found == {(None, None): 1, (NOW_MS // 1000 + 3600, None): 1}


def test_schedules_that_begin_or_end_in_the_span_are_crowds_of_their_own(db: sqlite3.Connection):
    put(db, "ends", every=60, max_runs=3)
    put(db, "begins", every=60, start_at="2026-11-30T12:10:00Z")
    put(db, "over", every=60, end_at="2026-11-30T12:00:00Z")
    put(db, "ahead", every=60, now_ms=NOW_MS + 7_200_500)  # By a clock that was set back since.
    found = sorted((c.after_s or 0, c.until_s or 0, c.schedules) for c in crowds(db))
    noon = NOW_MS // 1000
    assert found == [
        (0, noon, 1),
        (0, noon + 120, 1),
        (noon + 599, 0, 1),
        (noon + 7_200, 0, 1),
    ]


def test_a_sample_has_the_bounds_of_the_crowds(db: sqlite3.Connection):
    put(db, "stays", every=60)
    put(db, "returns", every=60, paused=True, paused_until="2026-11-30T13:00:00Z")
    put(db, "rests", every=60, paused=True)
    put(db, "ends", every=60, max_runs=3)
    put(db, "begins", every=60, start_at="2026-11-30T12:10:00Z")
    put(db, "ahead", every=60, now_ms=NOW_MS + 7_200_500)
    for tenant in (None, "default"):
        sampled = sample(db, START, START + DAY, tenant=tenant)
        found = standing(db, NOW_MS, START, START + DAY, RATE, tenant=tenant).crowds
        assert len(sampled) == 5
        assert {each.dues for each in sampled} == {crowd.dues for crowd in found}


def test_who_owes_nothing_yet_is_no_part_of_what_another_jitter_or_a_wait_changes(
    db: sqlite3.Connection,
):
    put(db, "ahead", every=60, deadline_seconds=30, now_ms=NOW_MS + 60_000)
    assert deadlines(db, (), START, START + DAY) == {}
    assert impatient(db, (), 70, START, START + DAY) == []
    later = START + 60
    assert deadlines(db, (), later, later + DAY) == {(1, None): {30: 1}}
    assert len(impatient(db, (), 70, later, later + DAY)) == 1


def test_a_timetable_of_another_version_is_left_out(db: sqlite3.Connection):
    put(db, "a", every=60)
    db.execute("UPDATE timetable SET spec = '[\"moon\", 1]'")
    assert crowds(db) == []


def test_runs_under_way_are_those_not_due_yet_of_what_was_owed(db: sqlite3.Connection):
    names = [f"job-{number}" for number in range(30)]
    for name in names:
        put(db, name, every=3600, jitter_seconds=60)
    put(db, "later", every=3600, jitter_seconds=60, now_ms=NOW_MS + 1)
    now_ms = NOW_MS + 20_000
    found = standing(db, now_ms, now_ms // 1000 + 1, now_ms // 1000 + DAY, RATE)
    due_later = [
        name for name in names if jitter_offset_ms(schedule_id("default", name), 60) > 20_000
    ]
    assert sum(found.singles.herd.values()) == len(due_later)
    assert sum(found.singles.planned.values()) == 0


def test_one_shots_are_counted_by_both_of_their_seconds(db: sqlite3.Connection):
    put(db, "one", at="2026-11-30T12:30:00Z")
    put(db, "two", at="2026-11-30T12:30:00.250Z", jitter_seconds=60)
    put(db, "three", at="2026-11-30T13:00:30Z")
    singles = standing(db, NOW_MS, START, START + DAY, RATE).singles
    half, hour = NOW_MS // 1000 + 1800, NOW_MS // 1000 + 3630
    assert singles.demand == {half: 2, hour: 1}
    assert sum(singles.planned.values()) == 2
    assert singles.herd == {hour: 1}


def test_deadlines_shorter_than_the_largest_jitter_are_counted_by_timetable(db: sqlite3.Connection):
    put(db, "a", every=60, deadline_seconds=30)
    put(db, "b", every=60, deadline_seconds=900)
    put(db, "c", every=60)
    assert deadlines(db, (), START, START + DAY) == {(1, None): {30: 1}}


def test_the_deadlines_of_one_tenant_are_counted_alone(db: sqlite3.Connection):
    put(db, "a", every=60, deadline_seconds=30)
    put(db, "a", every=60, deadline_seconds=20, tenant="acme")
    assert deadlines(db, (), START, START + DAY, tenant="acme") == {(1, None): {20: 1}}


def test_who_may_expire_within_a_wait_is_told_by_timetable_deadline_and_offset(
    db: sqlite3.Connection,
):
    names = [f"job-{number}" for number in range(20)]
    for name in names:
        put(db, name, every=60, jitter_seconds=30, deadline_seconds=90)
    put(db, "exact", every=60, jitter_seconds=0, deadline_seconds=90)
    put(db, "sooner", every=60, jitter_seconds=0, deadline_seconds=20)
    put(db, "patient", every=60)
    put(db, "rests", every=60, jitter_seconds=0, deadline_seconds=20, paused=True)
    found = {
        cohort.deadline_seconds: cohort.crowd.counts
        for cohort in impatient(db, (), 70, START, START + DAY)
    }
    # Of those with 90 s the ones that become due 20 s and more after the instant.
    late = Counter(second for name in names if (second := offset_s(name, 30)) >= 20)
    assert found == {20: {0: 1}, 90: dict(late)}
    assert impatient(db, (), 20, START, START + DAY) == []
    limit(db, "a.example:80", paused=True)
    limits = standing(db, NOW_MS, START, START + DAY, RATE).limits
    [own, *_] = impatient(db, limits, 30, START, START + DAY)
    assert own.crowd.flow_id == limits[0].flow_id


def test_a_sample_of_few_schedules_is_all_of_them(db: sqlite3.Connection):
    for number in range(50):
        put(db, f"job-{number}", every=60, target={"url": f"http://{number % 2}.example/x"})
    assert sorted((each.url, each.schedules) for each in sample(db, START, START + DAY)) == [
        ("http://0.example/x", 25),
        ("http://1.example/x", 25),
    ]


async def test_other_offsets_are_computed_page_by_page_within_deadlines(path: Path):
    count = IDENTITIES_PAGE + 10
    with closing(configure_writer(path)) as db:
        db.execute("BEGIN")
        for number in range(count):
            put(db, f"job-{number}", every=60)
        put(db, "short", every=60, deadline_seconds=10)
        db.execute("COMMIT")
    reader = Reader(path)
    await reader.open()
    crowd = Crowd(timetable_id=1, trigger=IntervalTrigger(every_seconds=60), counts={0: count})
    counts = await SqliteHerd(reader).rejitter(crowd, 300, (), start_s=START, end_s=START + DAY)
    await reader.close()
    expected: dict[int, int] = {offset_s("short", 10): 1}
    for number in range(count):
        second = offset_s(f"job-{number}", 300)
        expected[second] = expected.get(second, 0) + 1
    assert counts == expected


def limit(db: sqlite3.Connection, key: str, **limits: Any) -> int:
    settings = {"rate": None, "parallelism": 20, "paused": False} | limits
    return flows.put(db, "default", key, settings, now_ms=NOW_MS, if_match=None).flow_id


def test_schedules_of_a_flow_whose_limit_can_bind_are_a_crowd_of_their_own(db: sqlite3.Connection):
    for number in range(5):
        put(db, f"slow-{number}", every=60, flow_key="slow", jitter_seconds=0)
        put(db, f"fast-{number}", every=60, flow_key="fast", jitter_seconds=0)
    slow = limit(db, "slow", rate=4)
    limit(db, "fast", rate=5)  # Five schedules fire five times a second at most.
    found = standing(db, NOW_MS, START, START + DAY, RATE)
    [crowd] = [crowd for crowd in found.crowds if crowd.flow_id is not None]
    assert (crowd.flow_id, crowd.schedules, crowd.bounded) == (slow, 5, False)
    assert sum(crowd.schedules for crowd in found.crowds) == 10
    assert [(each.key, each.millirate) for each in found.limits] == [("slow", 4_000)]


def test_a_limit_above_the_engines_own_rate_cannot_bind(db: sqlite3.Connection):
    for number in range(5):
        put(db, f"slow-{number}", every=60, flow_key="slow")
    limit(db, "slow", rate=4)
    assert standing(db, NOW_MS, START, START + DAY, 4).limits == ()
    assert len(standing(db, NOW_MS, START, START + DAY, 5).limits) == 1


def test_of_many_limits_the_hardest_pressed_are_kept_and_the_others_counted(db: sqlite3.Connection):
    for number in range(18):
        put(db, f"a-{number}", every=60, flow_key=f"flow-{number}")
        put(db, f"b-{number}", every=60, flow_key=f"flow-{number}")
        limit(db, f"flow-{number}", paused=number == 17, rate=1)
    put(db, "c-16", every=60, flow_key="flow-16")
    found = standing(db, NOW_MS, START, START + DAY, RATE)
    assert [each.key for each in found.limits[:2]] == ["flow-17", "flow-16"]
    assert (len(found.limits), found.unlimited) == (16, 2)
    assert sum(crowd.schedules for crowd in found.crowds if crowd.flow_id is None) == 4


def test_a_parallelism_is_a_limit_when_it_is_known_how_long_requests_take(db: sqlite3.Connection):
    put(db, "a", every=60, flow_key="slow")
    limit(db, "slow", parallelism=2)
    assert standing(db, NOW_MS, START, START + DAY, RATE).limits == ()
    for number, took_ms in enumerate((3_000, 5_000)):
        values = (NOW_MS - 60_000 * number, took_ms)
        db.execute(
            "INSERT INTO job_run (scheduled_for, schedule_id, fire_after, state, trigger,"
            " target_id, flow_id)"
            " SELECT ?1, id, ?1, 'succeeded', 'schedule', target_id, flow_id FROM schedule",
            values[:1],
        )
        db.execute(
            "INSERT INTO attempt (scheduled_for, schedule_id, number, started_at, ended_at,"
            " outcome) SELECT ?1, id, 1, ?1, ?1 + ?2, 'success' FROM schedule",
            values,
        )
    [found] = standing(db, NOW_MS, START, START + DAY, RATE).limits
    # Two at once, four seconds each: one in two seconds.
    assert (found.cause, found.millirate, found.burst) == ("parallelism", 500, 2)


def test_a_limited_flows_backlog_under_way_and_deadlines_are_its_own(db: sqlite3.Connection):
    names = [f"slow-{number}" for number in range(30)]
    for name in names:
        put(db, name, every=3600, jitter_seconds=60, deadline_seconds=120, flow_key="slow")
    put(db, "other", every=3600, jitter_seconds=0, deadline_seconds=60)
    flow_id = limit(db, "slow", paused=True)
    now_ms = NOW_MS + 20_000
    db.execute(
        "INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state,"
        " trigger, target_id, flow_id)"
        " SELECT ?1, id, ?1, ?1, 'planned', 'schedule', target_id, flow_id FROM schedule"
        " WHERE flow_id = ?2 LIMIT 7",
        (NOW_MS - 3_600_000, flow_id),
    )
    start_s = now_ms // 1000 + 1
    found = standing(db, now_ms, start_s, start_s + DAY, RATE)
    later = [n for n in names if jitter_offset_ms(schedule_id("default", n), 60) >= 21_000]
    soon = [n for n in names if 20_000 < jitter_offset_ms(schedule_id("default", n), 60) < 21_000]
    [own] = found.limits
    assert (own.millirate, own.backlog, found.backlog) == (0, 7 + len(soon), 0)
    assert sum(found.singles.flows[flow_id].values()) == len(later) + len(soon)
    assert deadlines(db, found.limits, START, START + DAY) == {
        (1, flow_id): {120: 30},
        (1, None): {60: 1},
    }


async def test_other_offsets_of_a_limited_flow_are_those_of_its_schedules(path: Path):
    with closing(configure_writer(path)) as db:
        put(db, "a", every=60, flow_key="slow")
        put(db, "b", every=60)
        limit(db, "slow", paused=True)
        found = standing(db, NOW_MS, START, START + DAY, RATE)
    reader = Reader(path)
    await reader.open()
    counts = {
        crowd.flow_id is None: await SqliteHerd(reader).rejitter(
            crowd, 300, found.limits, start_s=START, end_s=START + DAY
        )
        for crowd in found.crowds
    }
    await reader.close()
    assert counts == {False: {offset_s("a", 300): 1}, True: {offset_s("b", 300): 1}}


def test_a_connection_that_cannot_write_is_enough(path: Path):
    with closing(configure_reader(path)) as db:
        assert standing(db, NOW_MS, START, START + DAY, RATE).crowds == ()
        assert sample(db, START, START + DAY) == []
