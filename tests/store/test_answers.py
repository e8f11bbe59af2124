"""Answers are kept once under a key, for a day."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.core.errors import InProgress
from engine.core.once import KEPT_MS, Once, Record, Reply
from engine.store.answers import keep
from engine.store.database import prepare


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    prepare(tmp_path / "offbeat.db")
    with closing(sqlite3.connect(tmp_path / "offbeat.db")) as db:
        yield db


def record(now_ms: int) -> Record[str]:
    once = Once(tenant="acme", key="a-1", fingerprint=bytes(32))
    return Record(
        once=once, now_ms=now_ms, answer=lambda made: Reply(status=201, document={"made": made})
    )


def kept(db: sqlite3.Connection) -> list[tuple[str]]:
    return db.execute("SELECT document FROM answer").fetchall()


def test_a_second_answer_under_a_key_is_refused_so_that_its_effect_is_undone(
    db: sqlite3.Connection,
) -> None:
    keep(db, record(0), "first")
    with pytest.raises(InProgress):
        keep(db, record(KEPT_MS - 1), "second")
    assert kept(db) == [('{"made":"first"}',)]


def test_after_a_day_the_key_is_free(db: sqlite3.Connection) -> None:
    keep(db, record(0), "first")
    keep(db, record(KEPT_MS), "second")
    assert kept(db) == [('{"made":"second"}',)]


def test_what_is_not_to_be_kept_is_not(db: sqlite3.Connection) -> None:
    keep(db, None, "anything")
    assert kept(db) == []
