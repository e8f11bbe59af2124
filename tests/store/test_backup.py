"""Copies of the database."""

import os
import resource
import stat
from pathlib import Path

import pytest

from engine.core.errors import Conflict, NotFound, StoreRefused
from engine.store.backup import back_up
from engine.store.database import check, configure_writer, prepare


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "offbeat.db"
    prepare(path)
    return path


def test_a_copy_is_whole_private_and_alone(database: Path, tmp_path: Path):
    place = tmp_path / "copy.db"
    size = back_up(database, place, overwrite=False)
    assert size == place.stat().st_size > 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert check(place) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data"]
    assert [path.name for path in database.parent.iterdir()] == ["offbeat.db"]


def test_what_is_only_in_the_log_is_in_the_copy(database: Path, tmp_path: Path):
    writer = configure_writer(database)
    before = database.read_bytes()
    writer.execute("INSERT INTO master_key (fingerprint) VALUES ('f')")
    assert database.read_bytes() == before
    back_up(database, tmp_path / "copy.db", overwrite=False)
    writer.close()
    copy = configure_writer(tmp_path / "copy.db")
    assert copy.execute("SELECT fingerprint FROM master_key").fetchall() == [("f",)]
    copy.close()


def test_what_is_there_is_replaced_only_when_asked_and_never_the_database(
    database: Path, tmp_path: Path
):
    place = tmp_path / "copy.db"
    place.write_text("precious")
    with pytest.raises(Conflict, match="is there already; write another name, or --force"):
        back_up(database, place, overwrite=False)
    assert place.read_text() == "precious"
    back_up(database, place, overwrite=True)
    assert check(place) == []
    for never in (database, tmp_path):
        with pytest.raises(Conflict):
            back_up(database, never, overwrite=True)


def test_no_copy_is_made_of_what_is_no_database_and_nothing_is_left(database: Path, tmp_path: Path):
    with pytest.raises(NotFound, match="name the engine's --data-dir"):
        back_up(tmp_path / "none.db", tmp_path / "copy.db", overwrite=False)
    os.truncate(database, 5_000)
    with pytest.raises(StoreRefused, match="is damaged"):
        back_up(database, tmp_path / "copy.db", overwrite=False)
    prepare(tmp_path / "good.db")
    with pytest.raises(StoreRefused, match="No such file or directory; no backup was made"):
        back_up(tmp_path / "good.db", tmp_path / "nowhere" / "copy.db", overwrite=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "good.db"]


def test_a_copy_that_finds_no_room_leaves_nothing(database: Path, tmp_path: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, hard))
    try:
        with pytest.raises(StoreRefused, match="no backup was made"):
            back_up(database, tmp_path / "copy.db", overwrite=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
