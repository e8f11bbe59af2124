"""kill -9 in the middle of a herd, and the audit of what came of it."""

import json
import sqlite3
from contextlib import closing

import pytest

from engine.cli.client import Client
from engine.cli.options import Server
from engine.cli.root import execute
from tests.end_to_end.processes import Engine, Receiver, now_ms, until

SCHEDULES = 2_000
KILLED_AFTER = 500
FLAGS = ("--rate", "500", "--burst", "50")
DAY_SECONDS = 86_400


def put_herd(engine: Engine, receiver: Receiver, herd_ms: int) -> None:
    """All of them once a day, at the same second, smeared over three."""
    rules = {"every": DAY_SECONDS, "phase": herd_ms // 1_000 % DAY_SECONDS, "jitter_seconds": 3}
    target = {"url": receiver.url("/herd")}
    documents = [{"name": f"s{n}", **rules, "target": target} for n in range(SCHEDULES)]
    with Client(Server(engine.url)) as client:
        assert {line["status"] for line in client.batch(documents)} == {"created"}


def test_nothing_is_unaccounted_after_a_kill_in_the_middle_of_a_herd(
    engine: Engine, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    def delivered() -> int:
        return len({request.key for request in receiver.requests("/herd")})

    engine.start(*FLAGS)
    herd_ms = (now_ms() // 1_000 + 8) * 1_000
    put_herd(engine, receiver, herd_ms)
    until(lambda: delivered() >= KILLED_AFTER, "the herd runs")
    engine.kill()
    assert delivered() < SCHEDULES, "the herd was over: this showed nothing"

    engine.start(*FLAGS)
    until(lambda: delivered() == SCHEDULES, "the rest of the herd has run")
    report = engine.ask("GET", "/v1/audit").document
    assert (report["owed"], report["runs"], report["unaccounted"]) == (SCHEDULES, SCHEDULES, 0)

    with closing(sqlite3.connect(engine.database)) as db, db:
        db.execute(
            "DELETE FROM job_run WHERE schedule_id = (SELECT id FROM schedule WHERE name = 's1234')"
        )
    assert execute(["audit", "--server", engine.url, "-o", "json"]) == 6
    printed = json.loads(capsys.readouterr().out)
    assert [(f["schedule_name"], f["count"]) for f in printed["findings"]] == [("s1234", 1)]
    assert execute(["audit", "--server", engine.url]) == 6
    assert "missing: 1 of s1234" in capsys.readouterr().err
