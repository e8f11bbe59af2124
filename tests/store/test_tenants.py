"""What the journal tells a tenant of another's runs, figures and answers: that they are not there.

The API asks some of these questions only about what it has found before, so no request of a
stranger's shows that each keeps its tenant by itself.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.clock import SystemClock
from engine.core.delay_shares import Tally
from engine.core.errors import Counted, NotFound
from engine.core.once import Once, Record, Reply
from engine.core.replay import Selection
from engine.store import RunFilter
from engine.store.answers import SqliteAnswers, keep
from engine.store.attribution import SqliteAttributions
from engine.store.database import prepare
from engine.store.dead_letters import SqliteDeadLetters
from engine.store.history import end_of, get_run, get_target, list_runs
from engine.store.turns import Turns
from engine.store.writer import Reader, Writer

RUN = ("sch_7", 1_000)
COUNTED = ("sch_7", 2_000)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A schedule of acme's with a run that failed and one that was deleted."""
    prepare(tmp_path / "offbeat.db")
    with closing(sqlite3.connect(tmp_path / "offbeat.db", isolation_level=None)) as db:
        db.executescript(
            "INSERT INTO target (id, digest, url, method, headers, body, body_kind,"
            " timeout_seconds) VALUES (1, x'00', 'http://acme.example/', 'POST', '[]', x'', 'none',"
            " 15);"
            "INSERT INTO schedule (id, public_id, tenant, name, timetable_id, counted_after,"
            " owed_after, jitter_seconds, jitter_source, offset_ms, overlap, catch_up, target_id,"
            " flow_id, priority, delete_after_completion, pause_after_failures, revision,"
            " created_at, updated_at) VALUES (7, 'sch_7', 'acme', 'report', 1, 0, 0, 0, 'explicit',"
            " 0, 'allow', 'latest', 1, 1, 1, 0, 0, 1, 0, 0);"
            "INSERT INTO job_run (scheduled_for, schedule_id, fire_after, state, trigger,"
            " target_id, flow_id, attempt, ended_at, failed_of) VALUES (1000, 7, 1000, 'failed',"
            " 'schedule', 1, 1, 1, 1500, 'acme');"
            "INSERT INTO attempt (scheduled_for, schedule_id, number, started_at, ended_at,"
            " outcome) VALUES (1000, 7, 1, 1000, 1500, 'timeout');"
            "INSERT INTO counted_range (schedule_id, after, until, reason, count, decided_at)"
            " VALUES (7, 1999, 2000, 'deleted', 1, 3000);"
        )
        yield db


def test_a_run_is_its_own_tenants(db: sqlite3.Connection) -> None:
    assert get_run(db, "acme", *RUN)[0].state == "failed"
    with pytest.raises(NotFound):
        get_run(db, "globex", *RUN)


def test_what_a_run_sends_is_its_own_tenants(db: sqlite3.Connection) -> None:
    assert get_target(db, "acme", *RUN).url == "http://acme.example/"
    with pytest.raises(NotFound):
        get_target(db, "globex", *RUN)


def test_what_became_of_a_run_that_is_gone_is_its_own_tenants(db: sqlite3.Connection) -> None:
    with pytest.raises(Counted):
        get_run(db, "acme", *COUNTED)
    with pytest.raises(NotFound) as found:
        get_run(db, "globex", *COUNTED)
    assert not isinstance(found.value, Counted)


@pytest.mark.parametrize("schedule_id", [None, "sch_7"])
def test_a_list_of_runs_is_one_tenants(db: sqlite3.Connection, schedule_id: str | None) -> None:
    def listed(tenant: str) -> int:
        which = RunFilter(tenant=tenant, schedule_id=schedule_id)
        return len(list_runs(db, which, 10, end_of(which))[0])

    assert (listed("acme"), listed("globex")) == (1, 0)


@asynccontextmanager
async def reading(path: Path) -> AsyncIterator[Reader]:
    reader = Reader(path / "offbeat.db")
    await reader.open()
    yield reader
    await reader.close()


async def test_failed_runs_and_their_causes_are_one_tenants(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    async with reading(tmp_path) as reader:
        letters = SqliteDeadLetters(Writer(SystemClock(), tmp_path / "offbeat.db"), reader)
        found = {}
        for tenant in ("acme", "globex"):
            listed, _ = await letters.find(Selection(tenant=tenant), (0, 0))
            counted, _ = await letters.count(tenant, (2**62, 0), {})
            found[tenant] = (len(listed), counted)
    assert found == {"acme": (1, 1), "globex": (0, 0)}


async def test_where_time_went_is_told_of_ones_own_runs(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    async with reading(tmp_path) as reader:
        tallies = {"acme": Tally(), "globex": Tally()}
        for tenant, tally in tallies.items():
            await SqliteAttributions(reader).tally(tenant, tally, (0, 0), 10_000)
    assert (tallies["acme"].runs, tallies["globex"].runs) == (1, 0)


async def test_an_answer_is_kept_for_the_tenant_that_asked(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    asked = Once(tenant="acme", key="a-1", fingerprint=bytes(32))
    keep(db, Record(once=asked, now_ms=1, answer=lambda _: Reply(status=201, document={})), None)
    async with reading(tmp_path) as reader:
        answers = SqliteAnswers(Turns(reader))
        found = await answers.find(asked, 0)
        strangers = await answers.find(replace(asked, tenant="globex"), 0)
    assert found is not None
    assert strangers is None
