"""The end of a long test: drain the engine, stop it, and let the checker speak."""

import re

from tests.end_to_end.checker import Evidence, Report, check, text_of
from tests.end_to_end.journal import read_journal
from tests.end_to_end.processes import Engine, Receiver, now_ms, until

UNFINISHED = {"planned", "retry_wait", "attempting"}
PLANNER_LAG = re.compile(r"^scheduler_planner_lag_seconds (\S+)$", re.MULTILINE)
LAG_SECONDS_MAX = 4.0
"""Less than the lookahead of 5 s: everything up to now is planned."""


def drain_and_check(
    engine: Engine, receiver: Receiver, *, rate: int = 1_000, burst: int = 100
) -> Report:
    """Wait until everything that is owed by now has ended, and check all that happened."""
    until_ms = now_ms()
    until(lambda: _planner_lag_seconds(engine) < LAG_SECONDS_MAX, "everything due is planned")
    to = text_of(until_ms + 1)
    until(lambda: not _unfinished(engine, to), "the backlog is drained")
    schedules = engine.ask("GET", "/v1/schedules?limit=1000").document["data"]
    engine.stop()
    report = check(
        Evidence(
            ledger=receiver.requests(),
            journal=read_journal(engine.database),
            schedules={schedule["id"]: schedule for schedule in schedules},
            until_ms=until_ms,
            calls=engine.calls,
            kills=engine.kills,
            absences=engine.absences,
            rate=rate,
            burst=burst,
        )
    )
    print(dict(report.counts))
    return report


def _unfinished(engine: Engine, to: str) -> bool:
    """Whether a run before `to` has not ended.

    Asked state by state alone, a run that goes from one to the next between two questions is in
    none of them; what has been seen at its end stays there.
    """
    if any(engine.runs(f"state={state}&to={to}") for state in sorted(UNFINISHED)):
        return True
    return any(run["state"] in UNFINISHED for run in engine.all_runs(f"to={to}"))


def _planner_lag_seconds(engine: Engine) -> float:
    lag = PLANNER_LAG.search(engine.ask("GET", "/metrics").document)
    assert lag is not None, "the engine says how far its planner is behind"
    return float(lag[1])
