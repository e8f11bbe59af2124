"""What a new data directory holds is on disk before it is named, and the names before it is used.

SQLite sees to the bytes of its own file when it closes it; here stand the calls that are ours.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from engine.store.backup import back_up
from engine.store.database import prepare
from engine.store.directory import hold


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that bring files and names to disk, in their order; each is still made."""
    made: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        made.append(f"fsync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name}")
        fsync(descriptor)

    def note_replace(source: Any, target: Any) -> None:
        made.append(f"{Path(source).name} becomes {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    return made


async def begin(directory: Path) -> None:
    data = await hold(
        directory, timeout_seconds=0, on_locked=lambda: None, sole_tenant="default", key_file=None
    )
    data.release()


async def test_key_and_database_are_written_then_named_and_the_names_last(
    calls: list[str], tmp_path: Path
) -> None:
    directory = tmp_path / "data"
    await begin(directory)
    assert calls == [
        "fsync master.new",
        "master.new becomes master.key",
        "offbeat.db.new becomes offbeat.db",
        "fsync data",
    ]


async def test_a_directory_that_is_there_is_not_written_anew(
    calls: list[str], tmp_path: Path
) -> None:
    await begin(tmp_path / "data")
    calls.clear()
    await begin(tmp_path / "data")
    assert calls == []


def test_a_backup_is_on_disk_before_it_is_named_and_its_name_afterwards(
    calls: list[str], tmp_path: Path
) -> None:
    database, place = tmp_path / "offbeat.db", tmp_path / "backups" / "copy.db"
    place.parent.mkdir()
    prepare(database)
    calls.clear()
    back_up(database, place, overwrite=False)
    copied, named, synced = calls
    assert copied.startswith("fsync .copy.db.")
    assert named == f"{copied.removeprefix('fsync ')} becomes copy.db"
    assert synced == "fsync backups"
