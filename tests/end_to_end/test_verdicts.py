"""What the monitor of a real engine says of two herds at noon, one that was spread and one not.

Demand and planned follow from the schedules' names alone, the bucket is far slower than any
machine, and the herds are put in an earlier life: however busy this one is, the verdicts are these.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.cli.client import Client
from engine.cli.options import Server
from tests.end_to_end.processes import Engine, Receiver, until

SCHEDULES = 400
JITTER_SECONDS = 4
FLAGS = ("--rate", "200", "--burst", "20", "--clock-start")
JUDGED_FROM = "2026-11-30T12:00:05"
"""When the last run of either herd has been due for a second."""


def put_herd(engine: Engine, target: str, jitter_seconds: int) -> None:
    engine.start(*FLAGS, "2026-11-30T11:00:00Z")
    rules = {"cron": "0 12 * * *", "jitter_seconds": jitter_seconds, "target": {"url": target}}
    with Client(Server(engine.url)) as client:
        lines = client.batch([{"name": f"s{n}", **rules} for n in range(SCHEDULES)])
        assert {line["status"] for line in lines} == {"created"}
    engine.stop()


def test_a_herd_at_once_is_an_alignment_and_the_same_with_jitter_is_flattened(
    make_engine: Callable[..., Engine], receiver: Receiver, directory: Path
) -> None:
    def seen(engine: Engine) -> Any:
        document = engine.ask("GET", "/v1/herd/monitor").document
        return document if document["at"] >= JUDGED_FROM else None

    at_once = make_engine(directory / "at-once", "at-once.log")
    spread = make_engine(directory / "spread", "spread.log")
    for engine, jitter_seconds in ((at_once, 0), (spread, JITTER_SECONDS)):
        put_herd(engine, receiver.url(f"/{jitter_seconds}"), jitter_seconds)
        engine.spawn(*FLAGS, "2026-11-30T11:59:57Z")
    for path in ("/0", f"/{JITTER_SECONDS}"):
        until(
            lambda path=path: len(receiver.requests(path)) == SCHEDULES, f"all of {path} have come"
        )

    herd = until(lambda: seen(at_once), "the herd at once is over")
    assert herd["window"]["stages"]["planned"]["busiest_second"] == SCHEDULES
    verdict = herd["verdict"]
    assert (verdict["name"], verdict["period_seconds"]) == ("alignment", 3_600)
    assert verdict["timetables"] == [{"timetable": "0 12 * * * (UTC)", "runs": SCHEDULES}]
    assert verdict["advice"] == "Give these timetables jitter_seconds = 60."

    herd = until(lambda: seen(spread), "the spread herd is over")
    stages = herd["window"]["stages"]
    assert stages["demand"]["busiest_second"] == SCHEDULES
    assert stages["planned"]["busiest_second"] < SCHEDULES // 2
    assert herd["verdict"]["name"] == "flattened"
    assert herd["verdict"]["advice"] == "Nothing to do: the jitter works."
