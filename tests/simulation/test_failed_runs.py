"""A failed run says whose it is, so that its tenant finds it among those of others."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.core.identity import schedule_id
from engine.core.model import Outcome
from engine.core.replay import Selection
from engine.services.transport import HttpRequest
from engine.store.database import check
from tests.simulation.world import World, put, simulate

START = "2026-11-30T12:00:30Z"
MINUTELY: dict[str, Any] = {
    "cron": "* * * * *",
    "jitter_seconds": 0,
    "retry": {"max_attempts": 1},
}


def first_fails(request: HttpRequest) -> Outcome:
    if int(dict(request.headers)["X-Attempt"]) > 1:
        return Outcome(name="success", status=200)
    return Outcome(name="http_error", status=400)


def test_what_failed_is_its_tenants_until_it_is_sent_again(directory: Path) -> None:
    """By an answer, or since its deadline went by behind a flow that is paused."""

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", **MINUTELY)
            target = {"url": "http://paused.example/"}
            await engine.flows.put("paused.example:80", rate=None, parallelism=1, paused=True)
            await put(engine, "y", deadline_seconds=5, target=target, **MINUTELY)
            await world.until("2026-11-30T12:02:30Z")
            await engine.flows.put("paused.example:80", rate=None, parallelism=1, paused=False)
            await world.until("2026-11-30T12:02:40Z")
            whose = "SELECT reason, failed_of, count(*) FROM job_run GROUP BY reason, failed_of"
            assert world.rows(whose) == [("expired", "default", 2), ("final", "default", 2)]
            which = Selection(tenant="default", schedule_id=schedule_id("default", "x"))
            assert (await engine.of("default").dead_letters.replay(which, dry_run=False)).count == 2
            assert world.rows(whose) == [(None, None, 2), ("expired", "default", 2)]
            await world.until("2026-11-30T12:02:55Z")
            assert world.rows(whose) == [(None, None, 2), ("expired", "default", 2)]
        assert check(world.directory / "offbeat.db") == []
        with closing(sqlite3.connect(world.directory / "offbeat.db")) as db, db:
            db.execute("UPDATE job_run SET failed_of = 'stranger' WHERE reason = 'expired'")
        (fault,) = check(world.directory / "offbeat.db")
        assert fault == "2 failed runs that their tenant does not find"

    simulate(main, directory, START, answer=first_fails)
