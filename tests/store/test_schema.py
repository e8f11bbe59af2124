"""The schema repeats what the core says, and its statements use the indexes made for them."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.errors import StoreRefused
from engine.core.model import RunTrigger, State
from engine.store.database import inspect, prepare
from engine.store.statements import migrations, statements


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "offbeat.db"
    prepare(path)
    return path


def test_no_two_migrations_have_one_number() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_the_check_on_states_is_the_transition_tables(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db:
        schema = "\n".join(sql for _, sql in db.execute(statements()["list_schema"]))
    for column, values in (("state", State), ("trigger", RunTrigger)):
        check = re.search(rf"CHECK \(({column} = [^)]*)\)", schema)
        assert check
        assert set(re.findall(rf"{column} = '(\w+)'", check[1])) == set(values)


def test_every_statement_compiles_against_the_schema(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db:
        for name, sql in statements().items():
            names = set(re.findall(r":(\w+)", re.sub(r"--.*", "", sql)))
            values = dict.fromkeys(names, 0) if names else [0] * sql.count("?")
            try:
                db.execute(f"EXPLAIN {sql}", values)
            except sqlite3.Error as error:
                pytest.fail(f"{name}: {error}")


@pytest.mark.parametrize(
    "name",
    [
        "plan_slice",
        "slice_page_end",
        "plan_at",
        "at_page_end",
        "list_missed_at",
        "list_missed_of_timetable",
        "forget_timetables",
        "list_due",
        "list_claims",
        "claim_runs",
        "end_attempts",
        "list_schedules",
        "list_names",
        "list_names_at_rest",
        "list_names_by_label",
        "list_names_by_value",
        "forget_labels",
        "list_runs",
        "list_runs_of_schedule",
        "list_failed_runs",
        "list_failed",
        "count_failures",
        "list_finished",
        "list_audited",
        "list_planned_of_schedule",
        "list_prunable_by_age",
    ],
)
def test_hot_statements_read_no_table_from_end_to_end(database: Path, name: str) -> None:
    with closing(sqlite3.connect(database)) as db:
        sql = statements()[name]
        names = set(re.findall(r":(\w+)", re.sub(r"--.*", "", sql)))
        values = dict.fromkeys(names, 0) if names else [0] * sql.count("?")
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    scans = [step for step in plan if step.startswith("SCAN") and "json_each" not in step]
    scans = [s for s in scans if "VIRTUAL TABLE" not in s and "CONSTANT ROW" not in s]
    assert scans == [], plan


def test_runs_of_before_there_were_notices_are_kept_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "offbeat.db"
    run = (5, 7, 6, 9, "retry_wait", "requested", "backfill", 3, 4, 2, 1, 8, None, None, 1, 10)
    marks = ", ".join("?" * len(run))
    with closing(sqlite3.connect(path)) as db:
        for number, script in migrations():
            if number < 17:
                db.executescript(script)
        columns = [column[1] for column in db.execute("PRAGMA table_info(job_run)")]
        db.execute(f"INSERT INTO job_run VALUES ({marks})", run)
        db.execute("PRAGMA user_version = 16")
        db.commit()
    prepare(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute(f"SELECT {', '.join(columns)} FROM job_run").fetchall() == [run]


def test_a_schedule_of_notices_that_was_counted_counts_no_more(tmp_path: Path) -> None:
    path = tmp_path / "offbeat.db"
    with closing(sqlite3.connect(path)) as db:
        for number, script in migrations():
            if number < 22:
                db.executescript(script)
        db.execute("PRAGMA ignore_check_constraints = ON")
        for tenant, name, deleted_at in (
            *(("told", "a", None), ("told", "sch_notices", None)),
            *(("untold", "a", None), ("untold", "sch_notices", 9)),
        ):
            row = {"public_id": f"{tenant}/{name}", "tenant": tenant, "name": name}
            _insert(db, "schedule", {**row, "deleted_at": deleted_at})
        db.executemany(
            "INSERT INTO tenant (name, created_at, schedules) VALUES (?, 1, ?)",
            [("told", 2), ("untold", 1)],
        )
        db.execute("PRAGMA user_version = 21")
        db.commit()
    prepare(path)
    with closing(sqlite3.connect(path)) as db:
        counts = dict(db.execute("SELECT name, schedules FROM tenant"))
        fault = statements()["fault_tenants_with_another_number_of_schedules_than_is_said"]
        assert db.execute(fault).fetchall() == [(0,)]
    assert counts == {"told": 1, "untold": 1}


def test_a_database_of_the_same_version_with_another_schema_is_refused(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("ALTER TABLE target ADD COLUMN mood TEXT")
    with pytest.raises(StoreRefused, match="holds another"):
        inspect(database)


def test_tables_of_litestream_are_no_other_schema(database: Path) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
        db.execute("CREATE TABLE _litestream_lock (id INTEGER)")
    assert inspect(database)


def _insert(db: sqlite3.Connection, table: str, values: dict[str, object]) -> None:
    """A row with these values, and what its other columns demand."""
    for _, column, kind, notnull, default, _ in db.execute(f"PRAGMA table_info({table})"):
        if notnull and default is None and column not in values:
            values[column] = 1 if kind == "INTEGER" else "{}"
    marks = ", ".join(f":{column}" for column in values)
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", values)
