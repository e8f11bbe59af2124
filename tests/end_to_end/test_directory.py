"""The data directory: one engine at a time, private, and never begun anew in place of a fault.

Whatever is refused is refused with one line that says why, and not a byte of it is touched.
"""

import fcntl
import os
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from engine.store.database import APPLICATION_ID
from engine.store.statements import migrations
from tests.end_to_end.processes import Engine


def files_of(directory: Path) -> dict[str, tuple[bytes, int, int, int]]:
    """Bytes, mode, inode and time of change of every file.

    Not of the log's index (-shm): it holds nothing of its own, and whoever reads the log writes it.
    """
    return {
        path.name: (path.read_bytes(), stats.st_mode, stats.st_ino, stats.st_mtime_ns)
        for path in sorted(directory.iterdir())
        if not path.name.endswith("-shm") and (stats := path.stat())
    }


def refusal(engine: Engine, *flags: str) -> tuple[int, str]:
    """Exit code and what was said by an engine that must not start."""
    engine.spawn(*flags)
    return engine.exit_code(), engine.said()


@contextmanager
def held(data_dir: Path) -> Iterator[None]:
    """Hold the lock as a running engine does, without one that would write meanwhile."""
    with (data_dir / "lock").open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two data directories with a schedule in them: of an engine that was killed, and after it
    of one that stopped in order."""
    place = tmp_path_factory.mktemp("lives")
    engine = Engine(place / "data", place / "engine.log")
    try:
        engine.start()
        engine.put("daily", {"cron": "0 0 * * *", "target": {"url": "http://127.0.0.1:9/"}})
        engine.kill()
        shutil.copytree(engine.data_dir, place / "killed")
        engine.start()
        engine.stop()
        engine.data_dir.rename(place / "stopped")
    finally:
        engine.kill()
    return place


@pytest.fixture
def used(engine: Engine, lives: Path) -> Engine:
    """An engine that has run and stopped in order."""
    shutil.copytree(lives / "stopped", engine.data_dir)
    return engine


@pytest.fixture
def killed(engine: Engine, lives: Path) -> Engine:
    """An engine that was killed: its last commits are in the write-ahead log alone."""
    shutil.copytree(lives / "killed", engine.data_dir)
    assert engine.database.with_name("offbeat.db-wal").stat().st_size > 0
    return engine


def test_a_second_engine_exits_5_within_two_seconds_and_touches_nothing(used: Engine) -> None:
    with held(used.data_dir):
        before = files_of(used.data_dir)
        before_seconds = getrusage(RUSAGE_CHILDREN).ru_utime
        assert refusal(used)[0] == 5
        # Its own time, since the machine's is shared: it waits for nothing.
        assert getrusage(RUSAGE_CHILDREN).ru_utime - before_seconds < 2
        assert files_of(used.data_dir) == before
    assert one_line(used.said(), "another engine is running", "--lock-timeout")


def test_an_engine_that_runs_is_not_disturbed_by_a_second(
    used: Engine, make_engine: Callable[..., Engine]
) -> None:
    used.start()
    second = make_engine(log="second.log")
    assert refusal(second)[0] == 5
    assert used.is_ready()
    used.stop()


def test_lock_timeout_waits_for_the_other_engine_to_go(
    used: Engine, make_engine: Callable[..., Engine]
) -> None:
    used.start()
    second = make_engine(log="second.log")
    second.spawn("--lock-timeout", "600")
    assert second.outlives(2)
    assert second.said() == ""
    used.kill()
    second.wait_ready()
    second.stop()


def test_lock_timeout_ends(used: Engine) -> None:
    with held(used.data_dir):
        assert refusal(used, "--lock-timeout", "0.5")[0] == 5


def test_an_address_that_is_taken_is_refused_before_the_journal_is_opened(killed: Engine) -> None:
    before = files_of(killed.data_dir)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        code, said = refusal(killed, "--listen", address)
    assert code == 2
    assert one_line(said, f"cannot listen on {address}: Address already in use")
    assert files_of(killed.data_dir) == before


def test_a_lock_that_is_held_is_told_before_an_address_that_is_taken(used: Engine) -> None:
    with held(used.data_dir), socket.create_server(("127.0.0.1", 0)) as other:
        assert refusal(used, "--listen", f"127.0.0.1:{other.getsockname()[1]}")[0] == 5


def test_who_waits_for_the_directory_finds_the_address_free(
    used: Engine, make_engine: Callable[..., Engine]
) -> None:
    used.start()
    address = used.url.removeprefix("http://")
    second = make_engine(log="second.log")
    second.spawn("--lock-timeout", "600", "--listen", address)
    assert second.outlives(0.5)
    used.stop()
    second.wait_ready()
    second.stop()


def test_every_file_is_private_whatever_the_umask(engine: Engine) -> None:
    engine.start()
    engine.put("daily", {"cron": "0 0 * * *", "target": {"url": "http://127.0.0.1:9/"}})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in engine.data_dir.iterdir()}
    names = {"offbeat.db", "offbeat.db-wal", "offbeat.db-shm", "master.key", "lock"}
    assert modes == dict.fromkeys(names, 0o600)
    assert stat.S_IMODE(engine.data_dir.stat().st_mode) == 0o700
    engine.stop()


def execute(database: Path, script: str) -> None:
    with closing(sqlite3.connect(database)) as db:
        db.executescript(script)


def newer(database: Path) -> None:
    execute(database, "PRAGMA user_version = 99")


def foreign(database: Path) -> None:
    database.unlink()
    execute(database, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    database.chmod(0o640)


def foreign_and_busy(database: Path) -> None:
    """Another program's database whose last commits are in its write-ahead log."""
    database.unlink()
    with closing(sqlite3.connect(database)) as db:
        db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)")
        copies = [(path, path.read_bytes()) for path in database.parent.glob("offbeat.db*")]
    for path, content in copies:
        path.write_bytes(content)


def newer_and_killed(database: Path) -> None:
    """A newer program's, killed: the schema's number is in the write-ahead log alone."""
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA user_version = 99")
        copies = [(path, path.read_bytes()) for path in database.parent.glob("offbeat.db*")]
    for path, content in copies:
        path.write_bytes(content)


def cut(database: Path) -> None:
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size - 4_096)


def emptied(database: Path) -> None:
    database.write_bytes(b"")


def garbage_header(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(os.urandom(100))


def text(database: Path) -> None:
    database.write_text("not a database\n" * 1_000)


def rotten_page(database: Path) -> None:
    """Overwrite the third page: the table of schedules, or another that everything needs."""
    with database.open("r+b") as file:
        file.seek(2 * 4_096)
        file.write(b"\xff" * 4_096)


def gone_but_for_its_log(database: Path) -> None:
    database.rename(database.with_name("offbeat.db-wal"))


def keyless(database: Path) -> None:
    database.with_name("master.key").unlink()


def rekeyed(database: Path) -> None:
    database.with_name("master.key").write_text("ab" * 32)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (newer, ["schema 99", "newer offbeat"]),
        (newer_and_killed, ["schema 99", "newer offbeat"]),
        (foreign, ["another program"]),
        (foreign_and_busy, ["another program"]),
        (cut, ["damaged", "restore it from a backup"]),
        (emptied, ["empty", "restore it from a backup"]),
        (garbage_header, ["not an SQLite database"]),
        (text, ["not an SQLite database"]),
        (rotten_page, ["damaged", "restore it from a backup"]),
        (gone_but_for_its_log, ["missing", "offbeat.db-wal"]),
        (keyless, ["master.key is missing", "OFFBEAT_MASTER_KEY_FILE"]),
        (rekeyed, ["begun with another master key", "restore that key"]),
    ],
)
def test_what_is_damaged_or_not_ours_is_refused_and_left_as_it_is(
    damage: Callable[[Path], None], words: list[str], used: Engine
) -> None:
    damage(used.database)
    before = files_of(used.data_dir)
    code, said = refusal(used)
    assert code == 1
    assert one_line(said, str(used.data_dir), *words)
    assert files_of(used.data_dir) == before


@pytest.mark.parametrize(
    ("damage", "words"), [(keyless, "master.key is missing"), (rekeyed, "another master key")]
)
def test_a_key_that_is_not_there_after_a_kill_leaves_the_log_as_it_is(
    damage: Callable[[Path], None], words: str, killed: Engine
) -> None:
    damage(killed.database)
    before = files_of(killed.data_dir)
    code, said = refusal(killed)
    assert code == 1
    assert one_line(said, words)
    assert files_of(killed.data_dir) == before


def test_a_key_that_is_lost_for_good_can_be_replaced(used: Engine) -> None:
    """As docs/how-to-master-key.md says."""
    rekeyed(used.database)
    execute(used.database, "DELETE FROM master_key")
    used.start()
    used.stop()
    used.start()
    used.stop()


def test_a_journal_of_before_fingerprints_takes_the_key_that_is_there(used: Engine) -> None:
    used.database.unlink()
    scripts = ";".join(script for number, script in migrations() if number <= 5)
    marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 5"
    execute(used.database, f"PRAGMA journal_mode = WAL; {scripts}; {marks}")
    used.start()
    used.stop()
    rekeyed(used.database)
    assert refusal(used)[0] == 1


def test_a_checkpoint_that_was_cut_off_is_no_damage(killed: Engine) -> None:
    """The log is copied back page by page, the header first: it then names pages yet to come."""
    with closing(sqlite3.connect(killed.database)) as db:
        db.execute("CREATE TABLE filler AS SELECT zeroblob(1000000)")
        db.execute("DROP TABLE filler")
        db.commit()
        log = killed.database.with_name("offbeat.db-wal").read_bytes()
        size = killed.database.stat().st_size
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    assert pages * 4_096 > size
    # Closing has copied everything back; put the log back and cut the file to what it was.
    assert killed.database.stat().st_size == pages * 4_096
    killed.database.with_name("offbeat.db-wal").write_bytes(log)
    with killed.database.open("r+b") as file:
        file.truncate(size)
    killed.start()
    assert killed.ask("GET", "/v1/schedules/daily").status == 200
    killed.stop()


@pytest.mark.parametrize("obstacle", ["master.new", "offbeat.db.new"])
def test_a_first_start_that_was_cut_off_is_gone_on_with(obstacle: str, engine: Engine) -> None:
    """Something in the way of one of the two files stands for a kill before it is made."""
    (engine.data_dir / obstacle).mkdir(parents=True)
    code, said = refusal(engine)
    assert code == 1
    assert one_line(said, obstacle)
    (engine.data_dir / obstacle).rmdir()
    engine.start()
    engine.stop()


@pytest.mark.parametrize("name", ["offbeat.db", "offbeat.db-wal", "lock"])
def test_a_directory_where_a_file_should_be_is_named_with_what_to_do(
    name: str, used: Engine
) -> None:
    (used.data_dir / name).unlink(missing_ok=True)
    (used.data_dir / name).mkdir()
    code, said = refusal(used)
    assert code == 1
    assert one_line(said, str(used.data_dir / name.removesuffix("-wal")), "write")
    assert "Errno" not in said
    assert "a bug" not in said


def test_a_database_that_another_program_holds_is_refused(used: Engine) -> None:
    with closing(sqlite3.connect(used.database, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN IMMEDIATE")
        code, said = refusal(used)
    assert code == 1
    assert one_line(said, "database is locked", "stop whatever holds it")


def test_a_directory_may_have_any_name(engine: Engine) -> None:
    engine.data_dir = engine.data_dir.with_name("what?mode=ro#100%25 & more")
    engine.start()
    engine.stop()
    assert engine.database.exists()


def test_an_earlier_clock_is_refused_once_there_are_later_rows(engine: Engine) -> None:
    engine.start("--clock-start", "2026-11-30T12:00:00Z")
    engine.stop()
    code, said = refusal(engine, "--clock-start", "2026-11-30T11:59:59Z")
    assert code == 2
    assert one_line(said, "--clock-start 2026-11-30T11:59:59Z is before 2026-11-30T12:00:0")
    engine.start("--clock-start", "2026-11-30T13:00:00Z")
    engine.stop()


def test_a_copy_of_a_directory_is_the_same_engine(used: Engine, directory: Path) -> None:
    """What a backup restores: the same secrets, the same schedules."""
    used.start()
    secrets = used.ask("GET", "/v1/secrets").document
    used.stop()
    shutil.copytree(used.data_dir, directory / "restored")
    used.data_dir = directory / "restored"
    used.start()
    assert used.ask("GET", "/v1/secrets").document == secrets
    assert used.ask("GET", "/v1/schedules/daily").status == 200
    used.stop()


def one_line(said: str, *words: str) -> bool:
    """Whether the last word was one line that holds all of `words`, and no traceback."""
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if line.startswith("offbeat: ")]
    assert len(lines) == 1, said
    assert all(word in lines[0] for word in words), lines
    return True
