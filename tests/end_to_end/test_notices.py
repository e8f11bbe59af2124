"""A failure and its notice are one commit: shown by killing the engine while runs fail."""

import json
from collections import Counter

from tests.end_to_end.processes import Engine, Receiver, until

LIVES = 4
TRIGGERED = 30


def test_each_failure_has_its_one_notice_whenever_the_engine_is_killed(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    alerts = {"target": {"url": receiver.url("/alerts")}}
    assert engine.write("PUT", "/v1/notices", alerts).status == 201
    engine.put("x", {"cron": "0 0 1 1 *", "target": {"url": receiver.url("/x?status=400")}})
    for _ in range(LIVES):
        for _ in range(TRIGGERED):
            assert engine.write("POST", "/v1/schedules/x:trigger").status == 202
        engine.kill()
        engine.start()
    until(
        lambda: Counter(r["state"] for r in engine.runs()) == {"failed": 120, "succeeded": 120},
        "all have failed and all is told",
    )
    failed = {run["id"] for run in engine.runs("state=failed")}
    notices = {r.key: json.loads(r.body)["data"] for r in receiver.requests("/alerts")}
    assert Counter(notice["run_id"] for notice in notices.values()) == dict.fromkeys(failed, 1)
    assert engine.ask("GET", "/v1/audit").document["unaccounted"] == 0
