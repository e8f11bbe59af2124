"""Two tenants and one journal: what one that asks without pause makes the other's questions wait.

300,000 runs of a keyed engine, of which the one that asks little has every hundredth. An ordinary
GET of its own is timed alone and beside fifty clients of the other, for each kind of question that
takes the store long. The clients are one process and come back at once, refused or not.
"""

import asyncio
import http.client
import json
import multiprocessing
import os
import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.engines import Process, engine_process
from benchmarks.findings import Finding, percentile
from engine.core.identity import format_instant
from engine.store.database import DATABASE_NAME

RUNS = 300_000
QUIET_ONE_IN = 100
FAILED_ONE_IN = 10
SCHEDULES = 20
CLIENTS = 50
QUESTIONS = 150
SECONDS = 20
"""Of the quiet tenant: ten questions a second unless it waits, and no more than it can wait for."""

GET_MS_MAX = 200
AGAIN_SECONDS = 0.05
"""How soon a client that was refused is back."""

SLOW = {
    "runs in a state that none is in": "/v1/runs?state=cancelled",
    "pages of a thousand runs": "/v1/runs?limit=1000",
    "a schedule's runs, none in the state": "/v1/schedules/loud-0/runs?state=cancelled",
    "failures": "/v1/failures",
    "audit": "/v1/audit",
    "attribution": "/v1/herd/attribution?from={day}",
    "occurrences": "/v1/schedules/loud-0/occurrences?limit=1000&from={begin}",
    "forecast": "/v1/herd/forecast",
}

ORDINARY = (
    "/v1/schedules/quiet-1",
    "/v1/runs?limit=20",
    "/v1/schedules/quiet-1/runs?limit=20",
    "/v1/schedules",
    "/v1/failures",
)

_FILL = """
WITH RECURSIVE turn (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM turn WHERE n < :runs - 1),
owned (n, tenant) AS (SELECT n, iif(n % :one_in = 0, 'quiet', 'loud') FROM turn)
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, state, reason, trigger, target_id,
  flow_id, attempt, first_attempt_at, ended_at, failed_of)
SELECT :from + n * 1000, s.id, :from + n * 1000,
  iif(n / :one_in % :failed_one_in, 'succeeded', 'failed'),
  iif(n / :one_in % :failed_one_in, NULL, 'attempts'), 'schedule', s.target_id, s.flow_id, 1,
  :from + n * 1000, :from + n * 1000 + 5, iif(n / :one_in % :failed_one_in, NULL, o.tenant)
FROM owned o CROSS JOIN schedule s ON s.tenant = o.tenant
  AND s.name = o.tenant || '-' || ((n % :one_in * 7 + n / :one_in) % :schedules)
"""


async def strangers(directory: Path) -> AsyncIterator[Finding]:
    """A tenant's ordinary GETs, alone and beside each kind of another's slow questions."""
    with _keyed(directory) as (process, keys, span):
        alone = await asyncio.to_thread(_ask, process.listen, keys["quiet"])
        before = f"alone: {percentile(alone, 99):.0f} ms (p50 {percentile(alone, 50):.0f})"
        for what, path in SLOW.items():
            with _crowd(process.listen, keys["loud"], path.format(**span)) as answers:
                beside = await asyncio.to_thread(_ask, process.listen, keys["quiet"])
                theirs = await asyncio.to_thread(answers)
            p99 = percentile(beside, 99)
            yield Finding(
                what=f"GET beside {CLIENTS} of {what}, p99",
                measured=f"{p99:.0f} ms (p50 {percentile(beside, 50):.0f}); theirs {theirs}",
                reference=before,
                target=f"<= {GET_MS_MAX} ms",
                holds=p99 <= GET_MS_MAX,
            )


@contextmanager
def _keyed(directory: Path) -> Iterator[tuple[Process, dict[str, str], dict[str, str]]]:
    """An engine with two tenants, their keys, and the span of their runs."""
    directory.mkdir(exist_ok=True)
    file, admin = directory / "admin.key", f"obk_admin_{secrets.token_hex(32)}"
    file.touch(0o600)
    file.write_text(admin)
    os.environ["OFFBEAT_AUTH__ADMIN_KEY_FILE"] = str(file)
    try:
        with engine_process(directory) as process:
            keys = {
                tenant: _introduce(process.listen, admin, tenant) for tenant in ("quiet", "loud")
            }
        span = _fill(directory / DATABASE_NAME)
        with engine_process(directory) as process:
            yield process, keys, span
    finally:
        del os.environ["OFFBEAT_AUTH__ADMIN_KEY_FILE"]


def _introduce(listen: str, admin: str, tenant: str) -> str:
    """Make a tenant with schedules that fire in a while; its key."""
    _call(listen, admin, "PUT", f"/v1/tenants/{tenant}", {})
    key = str(_call(listen, admin, "POST", "/v1/keys", {"tenant": tenant, "scope": "write"})["key"])
    for number in range(SCHEDULES):
        document = {"cron": "* 3 1 1 *", "target": {"url": "https://h.example/"}}
        _call(listen, key, "PUT", f"/v1/schedules/{tenant}-{number}", document)
    return key


def _fill(path: Path) -> dict[str, str]:
    """History, as the engine would have left it; where it begins, and its last day."""
    now_ms = int(time.time()) * 1_000
    values = {
        "runs": RUNS,
        "from": now_ms - RUNS * 1_000,
        "one_in": QUIET_ONE_IN,
        "failed_one_in": FAILED_ONE_IN,
        "schedules": SCHEDULES,
    }
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(_FILL, values)
        assert db.total_changes == RUNS, "each run has a schedule"
    return {"begin": format_instant(values["from"]), "day": format_instant(now_ms - 86_000_000)}


def _call(listen: str, key: str, method: str, path: str, document: Any = None) -> Any:
    with closing(http.client.HTTPConnection(listen, timeout=60)) as connection:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        assert answer.status < 300, answer.read()
        return json.load(answer)


def _ask(listen: str, key: str) -> list[float]:
    """Milliseconds of each of the quiet tenant's questions, ten a second."""
    took: list[float] = []
    began = time.perf_counter()
    for path in islice(cycle(ORDINARY), QUESTIONS):
        time.sleep(0.1)
        asked = time.perf_counter()
        _call(listen, key, "GET", path)
        answered = time.perf_counter()
        took.append((answered - asked) * 1_000)
        if answered - began > SECONDS:
            break
    return took


@contextmanager
def _crowd(listen: str, key: str, path: str) -> Iterator[Callable[[], dict[int, int]]]:
    """The loud tenant's clients, at work for a second already; how many answers of each status."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    stop = context.Event()
    process = context.Process(
        target=_run_crowd, args=(listen, key, path, theirs, stop), daemon=True
    )
    process.start()
    ours.recv()
    time.sleep(1)

    def answers() -> dict[int, int]:
        stop.set()
        return dict(sorted(ours.recv().items()))

    try:
        yield answers
    finally:
        process.terminate()
        process.join()


def _run_crowd(listen: str, key: str, path: str, pipe: Any, stop: Any) -> None:
    statuses: Counter[int] = Counter()

    def client() -> None:
        with closing(http.client.HTTPConnection(listen, timeout=60)) as connection:
            while not stop.is_set():
                connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
                answer = connection.getresponse()
                answer.read()
                statuses[answer.status] += 1
                if answer.status != 200:
                    time.sleep(AGAIN_SECONDS)

    for _ in range(CLIENTS):
        Thread(target=client, daemon=True).start()
    pipe.send("at work")
    stop.wait()
    pipe.send(statuses)
