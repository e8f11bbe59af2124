"""Without keys an engine serves one tenant, and so it sends for one only (SPEC §11)."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.end_to_end.processes import Engine
from tests.end_to_end.test_directory import files_of, one_line, refusal

DAILY = {"cron": "0 0 * * *", "target": {"url": "http://127.0.0.1:9/"}}


def lived(engine: Engine) -> Engine:
    """With a schedule of the tenant `default`."""
    engine.start()
    engine.put("daily", DAILY)
    return engine


@pytest.mark.parametrize("end", [Engine.stop, Engine.kill])
def test_schedules_that_nobody_could_see_or_stop_are_not_sent(
    engine: Engine, end: Callable[[Engine], None]
) -> None:
    end(lived(engine))
    before = files_of(engine.data_dir)
    code, said = refusal(engine, "--tenant", "edge-7")
    assert code == 2
    assert one_line(
        said, "other tenants than edge-7 (default)", "--tenant default, or OFFBEAT_AUTH"
    )
    assert files_of(engine.data_dir) == before
    engine.start("--tenant", "default")
    engine.stop()


def test_a_directory_of_several_tenants_wants_keys(engine: Engine) -> None:
    lived(engine).stop()
    copy_to(engine.database, "acme", "bee", "cat", "dot", "elk", "fox")
    code, said = refusal(engine)
    assert code == 2
    assert one_line(said, "(acme, bee, cat, dot, elk and 1 more)", "start it with OFFBEAT_AUTH")


def test_what_was_deleted_is_in_nobodys_way(engine: Engine) -> None:
    lived(engine).write("DELETE", "/v1/schedules/daily")
    engine.stop()
    engine.start("--tenant", "edge-7")
    engine.stop()


def test_with_keys_every_tenant_is_served(engine: Engine) -> None:
    lived(engine).stop()
    key, settings = (engine.data_dir.with_name(name) for name in ("admin.key", "keys.toml"))
    key.write_text("obk_operator_" + "0123456789abcdef" * 4)
    key.chmod(0o600)
    settings.write_text(f'[auth]\nadmin_key_file = "{key}"\n')
    engine.start("--tenant", "edge-7", "--config", str(settings))
    engine.stop()


def copy_to(database: Path, *tenants: str) -> None:
    """Give each of them the schedule that is there."""
    with closing(sqlite3.connect(database)) as db, db:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(schedule)")]
        for tenant in tenants:
            new = {"id": "NULL", "public_id": f"'sch_{tenant}'", "tenant": f"'{tenant}'"}
            values = ", ".join(new.get(name, name) for name in columns)
            db.execute(f"INSERT INTO schedule SELECT {values} FROM schedule LIMIT 1")
