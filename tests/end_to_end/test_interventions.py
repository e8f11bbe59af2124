"""What was acknowledged about runs holds after a kill -9 in the moment of the answer."""

from collections import Counter

from tests.end_to_end.processes import Engine, Receiver, until

FAILED = 20


def fail_some(engine: Engine, receiver: Receiver) -> None:
    """Runs of x that the receiver refuses at first, and takes when they come again."""
    url = receiver.url("/x?status=400,200")
    engine.put("x", {"cron": "0 0 1 1 *", "jitter_seconds": 0, "target": {"url": url}})
    for _ in range(FAILED):
        assert engine.write("POST", "/v1/schedules/x:trigger").status == 202
    until(lambda: len(engine.runs("state=failed")) == FAILED, "all have failed")


def test_replays_acknowledged_are_sent_by_the_next_life(engine: Engine, receiver: Receiver) -> None:
    engine.start()
    fail_some(engine, receiver)
    answer = engine.write("POST", "/v1/runs:replay", {"schedule": "x"})
    engine.kill()
    assert (answer.status, answer.document["count"]) == (202, FAILED)
    engine.start()
    until(lambda: len(engine.runs("state=succeeded")) == FAILED, "each was sent again")
    attempts = Counter(request.key for request in receiver.requests())
    # One that was under way in the moment of the kill is made again, as after any.
    assert len(attempts) == FAILED
    assert set(attempts.values()) <= {2, 3}


def test_what_was_cancelled_or_deleted_does_not_come_back(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    fail_some(engine, receiver)
    kept, *others = engine.runs("state=failed")
    # So that a replay waits, and can be cancelled.
    engine.write("PUT", f"/v1/flows/127.0.0.1:{receiver.port}", {"paused": True})
    assert engine.write("POST", f"/v1/runs/{kept['id']}:replay").status == 202
    cancelled = engine.write("POST", f"/v1/runs/{kept['id']}:cancel")
    deleted = engine.write("POST", "/v1/runs:delete", {})
    engine.kill()
    assert cancelled.document["state"] == "cancelled"
    assert deleted.document["count"] == len(others)
    engine.start()
    assert [(run["id"], run["state"]) for run in engine.runs()] == [(kept["id"], "cancelled")]
    assert engine.ask("GET", "/v1/audit").document["unaccounted"] == 0
    assert len(receiver.requests()) == FAILED
