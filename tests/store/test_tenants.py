"""What the journal tells a tenant of another's runs and answers: that they are not there.

The API asks some of these questions only about what it has found before, so no request of a
stranger's shows that each keeps its tenant by itself.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.errors import Counted, NotFound
from engine.core.once import Once, Record, Reply
from engine.store import RunFilter
from engine.store.answers import SqliteAnswers, keep
from engine.store.database import prepare
from engine.store.history import end_of, get_run, get_target, list_runs
from engine.store.turns import Turns
from engine.store.writer import Reader

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
            " target_id, flow_id, attempt, ended_at) VALUES (1000, 7, 1000, 'failed', 'schedule',"
            " 1, 1, 0, 1000);"
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


async def test_an_answer_is_kept_for_the_tenant_that_asked(
    db: sqlite3.Connection, tmp_path: Path
) -> None:
    asked = Once(tenant="acme", key="a-1", fingerprint=bytes(32))
    keep(db, Record(once=asked, now_ms=1, answer=lambda _: Reply(status=201, document={})), None)
    reader = Reader(tmp_path / "offbeat.db")
    await reader.open()
    answers = SqliteAnswers(Turns(reader))
    found = await answers.find(asked, 0)
    strangers = await answers.find(Once(tenant="globex", key="a-1", fingerprint=bytes(32)), 0)
    await reader.close()
    assert found is not None
    assert strangers is None
