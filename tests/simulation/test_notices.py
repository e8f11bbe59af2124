"""Failure notices: one for each run that fails and each schedule that the engine pauses (SPEC §5).

The receiver of the notices is another one than that of the runs, so the ledger tells them apart.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engine.app import Engine
from engine.core import notice
from engine.core.document import read_schedule
from engine.core.errors import NotFound
from engine.core.identity import format_instant, idempotency_key, parse_instant, schedule_id
from engine.core.labels import ScheduleFilter
from engine.core.model import Draft, Outcome, Run, State
from engine.core.notice import NOTICES
from engine.core.replay import Selection
from engine.services.transport import HttpRequest
from engine.store import notices as stored
from tests.simulation.world import HOUR_MS, World, put, simulate

START = "2026-11-30T12:00:00Z"
AT = "2026-11-30T12:00:05Z"
ALERTS = "http://127.0.0.1:9/alerts"
SUCCESS = Outcome(name="success", status=200)
FINAL = Outcome(name="http_error", status=400, error="HTTP 400", response=b"a secret of theirs")
GONE = Outcome(name="http_error", status=410, error="HTTP 410")
BROKEN = Outcome(name="http_error", status=500, error="HTTP 500")
ONCE = {"max_attempts": 1}
X = schedule_id("default", "x")
NOTICES_ID = schedule_id("default", NOTICES)

Answer = Callable[[HttpRequest], Outcome]


class Told(NamedTuple):
    """A notice as its receiver saw it."""

    at: str
    type: str
    data: dict[str, Any]
    headers: dict[str, str]


def told(world: World) -> list[Told]:
    return [
        Told(format_instant(at), body["type"], body["data"], dict(request.headers))
        for at, request in world.ledger
        if request.url == ALERTS
        for body in [json.loads(request.body)]
    ]


def types(world: World) -> list[str]:
    return [each.type for each in told(world)]


def failing(outcome: Outcome, notices: Outcome = SUCCESS) -> Answer:
    """Runs end in `outcome`, notices in another."""
    return lambda request: notices if request.url == ALERTS else outcome


async def tell_alerts(engine: Engine) -> None:
    await engine.notices.put({"target": {"url": ALERTS}})


async def notices_of(engine: Engine) -> list[Run]:
    page, _ = await engine.runs.page(
        schedule=NOTICES_ID, state=None, from_ms=None, to_ms=None, limit=1_000, after=None
    )
    return page


async def unaccounted(engine: Engine) -> int:
    floor_ms = await engine.audit.history_floor_ms()
    tally = await engine.audit.run(floor_ms, engine.clock.now_ms() + HOUR_MS)
    assert tally.findings == ()
    return tally.unaccounted


def test_a_run_that_fails_is_told_once_with_what_ended_it_and_nothing_else(directory: Path) -> None:
    async def main(world: World) -> list[Run]:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", at=AT, retry=ONCE)
            await world.until("2026-11-30T12:02:00Z")
            assert await unaccounted(engine) == 0
            runs = await notices_of(engine)
        [(sent_at, request)] = [sent for sent in world.ledger if sent[1].url == ALERTS]
        assert json.loads(request.body) == {
            "type": "run.failed",
            "timestamp": AT,
            "data": {
                "schedule_id": X,
                "schedule_name": "x",
                "run_id": f"{X}@{AT}",
                "scheduled_for": AT,
                "reason": "final",
                "attempt_count": 1,
                "outcome": "http_error",
                "status": 400,
                "error": "HTTP 400",
            },
        }
        headers = dict(request.headers)
        [run] = runs
        assert (headers["X-Trigger"], headers["X-Schedule-Name"]) == ("notice", NOTICES)
        assert headers["Content-Type"] == "application/json"
        assert headers["Idempotency-Key"] == idempotency_key(NOTICES_ID, run.scheduled_for_ms)
        assert headers["webhook-signature"].startswith("v1,")
        assert sent_at >= run.scheduled_for_ms > parse_instant(AT)
        return runs

    [run] = simulate(main, directory, START, answer=failing(FINAL))
    assert (run.trigger, run.state, run.schedule_name) == ("notice", State.SUCCEEDED, NOTICES)


def test_without_a_target_and_for_what_succeeds_nothing_is_sent(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await put(engine, "x", at=AT, retry=ONCE)
            await world.until("2026-11-30T12:01:00Z")
            await tell_alerts(engine)
            await put(
                engine, "good", at="2026-11-30T12:02:00Z", target={"url": "http://[::1]/good"}
            )
            await world.until("2026-11-30T12:05:00Z")
            assert await notices_of(engine) == []

    simulate(
        main,
        directory,
        START,
        answer=lambda r: SUCCESS if r.url.endswith("good") else FINAL,
    )


def test_a_retry_is_no_end_and_a_replay_that_fails_again_is_another(directory: Path) -> None:
    async def main(world: World) -> list[int]:
        async with world.engine() as engine:
            await tell_alerts(engine)
            two = {"max_attempts": 2, "min_backoff_seconds": 20, "jitter": "none"}
            await put(engine, "x", at=AT, retry=two)
            await world.until("2026-11-30T12:00:20Z")
            assert told(world) == []
            await world.until("2026-11-30T12:01:00Z")
            await engine.runs.replay(X, parse_instant(AT))
            await world.until("2026-11-30T12:05:00Z")
        return [each.data["attempt_count"] for each in told(world)]

    assert simulate(main, directory, START, answer=failing(BROKEN)) == [2, 4]


def test_a_schedule_paused_by_410_is_told_beside_its_run(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60)
            await world.until("2026-11-30T12:10:00Z")
        failed, paused = told(world)
        assert (failed.type, paused.type) == ("run.failed", "schedule.paused")
        assert paused.data == failed.data | {"pause_reason": "the receiver answered 410 Gone"}

    simulate(main, directory, START, answer=failing(GONE))


def test_too_many_failures_in_a_row_are_told_one_by_one_and_then_the_pause(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60, jitter_seconds=0, retry=ONCE, pause_after_failures=3)
            await world.until("2026-11-30T12:10:00Z")
        assert types(world) == ["run.failed"] * 3 + ["schedule.paused"]
        assert told(world)[-1].data["pause_reason"] == "3 runs in a row failed"
        assert told(world)[-1].data["scheduled_for"] == "2026-11-30T12:03:00Z"

    simulate(main, directory, START, answer=failing(FINAL))


def test_a_pause_that_a_person_asks_for_is_not_told(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60, paused=True)
            await world.until("2026-11-30T12:10:00Z")
            assert await notices_of(engine) == []

    simulate(main, directory, START)


@pytest.mark.parametrize("rate", [1, 1_000], ids=["before its claim", "after an attempt"])
def test_a_run_that_expires_is_told_with_its_last_attempt_if_it_had_one(
    directory: Path, rate: int
) -> None:
    """At one a second, the second run of an instant comes too late for a deadline of 1 s."""
    last = [2, None, None, None] if rate == 1 else [1, "http_error", 500, "HTTP 500"]
    patient = {"min_backoff_seconds": 30, "jitter": "none"}

    async def main(world: World) -> None:
        async with world.engine(rate=rate) as engine:
            await tell_alerts(engine)
            for name in "abcd" if rate == 1 else "x":
                await put(engine, name, at=AT, deadline_seconds=1, retry=patient)
            await world.until("2026-11-30T12:05:00Z")
        expired = [each.data for each in told(world) if each.data["reason"] == "expired"]
        assert expired
        if rate == 1:
            assert {e["attempt_count"] for e in expired} == {0}
            assert {e["outcome"] for e in expired} == {None}
        else:
            [end] = expired
            assert [end[k] for k in ("attempt_count", "outcome", "status", "error")] == last

    answer = failing(SUCCESS if rate == 1 else BROKEN)
    simulate(main, directory, START, answer=answer)


def test_a_notice_is_tried_again_with_its_key_and_bytes_and_never_told_of_itself(
    directory: Path,
) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", at=AT, retry=ONCE)
            await world.until("2026-11-30T12:12:00Z")
            [run] = await notices_of(engine)
            assert (run.state, run.reason) == (State.FAILED, "attempts")
            letters = engine.of("default").dead_letters
            which = Selection(tenant="default", schedule_id=NOTICES_ID)
            assert (await letters.delete(which, dry_run=False)).count == 1
            assert world.rows("SELECT * FROM counted_range") == []  # Nobody was owed it.
            assert await unaccounted(engine) == 0
        sent = [request for _, request in world.ledger if request.url == ALERTS]
        keys = {dict(request.headers)["Idempotency-Key"] for request in sent}
        assert (len(sent), len(keys), len({request.body for request in sent})) == (8, 1, 1)

    simulate(main, directory, START, answer=failing(FINAL, BROKEN))


def test_notices_that_are_answered_410_stop_until_a_target_is_put(directory: Path) -> None:
    gone = [True]

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60, jitter_seconds=0, retry=ONCE)
            await world.until("2026-11-30T12:03:30Z")
            assert types(world) == ["run.failed"]
            assert len(await notices_of(engine)) == 1
            pause = (await engine.notices.get()).pause
            assert pause
            assert pause.reason == "the receiver answered 410 Gone"
            gone.clear()
            await tell_alerts(engine)
            await world.until("2026-11-30T12:05:30Z")
            minutes = [each.data["scheduled_for"][14:16] for each in told(world)]
            assert minutes == ["01", "04", "05"]

    def answer(request: HttpRequest) -> Outcome:
        return failing(FINAL, GONE if gone else SUCCESS)(request)

    simulate(main, directory, START, answer=answer)


def test_deleting_the_target_cancels_what_waits_and_ends_the_telling(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60, jitter_seconds=0, retry=ONCE)
            await world.until("2026-11-30T12:01:02Z")
            await engine.notices.delete()
            await world.until("2026-11-30T12:10:00Z")
            [run] = await notices_of(engine)
            assert (run.state, run.reason) == (State.CANCELLED, "deleted")
            with pytest.raises(NotFound, match="nobody is told"):
                await engine.notices.get()

    simulate(main, directory, START, answer=failing(FINAL, BROKEN))


def test_the_schedule_of_notices_is_no_schedule_of_the_tenants(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60)
            page, _ = await engine.schedules.page(ScheduleFilter(), limit=10, after_name=None)
            assert [schedule.definition.name for schedule in page] == ["x"]
            for ask in (engine.schedules.get, engine.schedules.trigger, engine.schedules.delete):
                with pytest.raises(NotFound, match="no such schedule"):
                    await ask(NOTICES)
            with pytest.raises(NotFound, match="no such schedule"):
                await engine.backfills.run(NOTICES, from_ms=0, to_ms=1, dry_run=True)

    simulate(main, directory, START)


def test_a_notice_waits_for_the_next_start_when_the_engine_ends_before_it(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", at=AT, retry=ONCE)
            engine.dispatcher.on_recorded = lambda _: engine.dispatcher.stop()
            await world.until("2026-11-30T12:00:30Z")
            assert told(world) == []
        await world.until("2026-11-30T12:05:00Z")
        async with world.engine() as engine:
            await world.until("2026-11-30T12:06:00Z")
            await put(engine, "y", at="2026-11-30T12:07:00Z", retry=ONCE)
            await world.until("2026-11-30T12:08:00Z")
        assert [each.data["schedule_name"] for each in told(world)] == ["x", "y"]

    simulate(main, directory, START, answer=failing(FINAL))


def test_the_same_end_written_twice_is_told_once(directory: Path) -> None:
    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", at=AT, retry=ONCE)
            await world.until("2026-11-30T12:01:00Z")
            [(row,)] = world.rows("SELECT id FROM schedule WHERE name = 'x'")
            end = [("default", parse_instant(AT), row)]
            await engine._writer.submit(
                lambda db: stored.tell(db, {"default"}, end, now_ms=world.clock.now_ms())
            )
            assert len(await notices_of(engine)) == 1

    simulate(main, directory, START, answer=failing(FINAL))


def test_a_storm_of_failures_is_told_through_bucket_and_flow_behind_fresh_runs(
    directory: Path,
) -> None:
    """1,500 runs expire at once, and every second a fresh one is due while their notices wait:
    first in memory, and after a start in the journal."""
    runs, rate = 1_500, 100

    async def main(world: World) -> None:
        async with world.engine(rate=rate) as engine:
            await tell_alerts(engine)
            await put(engine, "fresh", cron="* * * * * *", jitter_seconds=0, target={"url": ALERTS})
            await engine.schedules.put_many([draft(f"x{number}") for number in range(runs)])
            await world.until("2026-11-30T12:00:11Z")
        async with world.engine(rate=rate) as engine:
            await world.until("2026-11-30T12:01:00Z")
            assert await unaccounted(engine) == 0
            notices = await all_notices(engine)
        assert {run.state for run in notices} == {State.SUCCEEDED}
        assert len({run.scheduled_for_ms for run in notices}) == len(notices) > runs - 2 * rate
        assert all(run.scheduled_for_ms % 1_000 for run in notices)
        by_second = Counter(at_ms // 1_000 for at_ms, _ in world.ledger)
        assert max(by_second.values()) <= rate + rate // 10
        late = [
            parse_instant(sent.at) - parse_instant(sent.scheduled_for)
            for sent in world.sent("fresh")
        ]
        assert max(late) <= 1_000

    def draft(name: str) -> Draft:
        target = {"url": "http://127.0.0.1:8/x"}
        document = {"at": AT, "retry": ONCE, "target": target, "deadline_seconds": 1}
        return read_schedule(document, tenant="default", name=name)

    async def all_notices(engine: Engine) -> list[Run]:
        found, after = list[Run](), None
        while True:
            page, after = await engine.runs.page(
                schedule=NOTICES_ID, state=None, from_ms=None, to_ms=None, limit=1_000, after=after
            )
            found += page
            if after is None:
                return found

    simulate(main, directory, START, answer=lambda _: SUCCESS)


def test_ends_are_told_no_more_when_too_many_runs_wait_in_the_flow(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "WAITING_MAX", 2)

    async def main(world: World) -> None:
        async with world.engine() as engine:
            await tell_alerts(engine)
            await put(engine, "x", every=60, jitter_seconds=0, retry=ONCE)
            await engine.flows.put("127.0.0.1:9", rate=None, parallelism=1, paused=False)
            await world.until("2026-11-30T12:05:30Z")
            assert len(await notices_of(engine)) == 2

    assert notice.WAITING_MAX == 50_000
    simulate(main, directory, START, answer=failing(FINAL, BROKEN))
