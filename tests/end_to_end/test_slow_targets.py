"""Targets that hang take their slots and nobody else's time (case C43)."""

from tests.end_to_end.checker import text_of
from tests.end_to_end.journal import read_journal
from tests.end_to_end.processes import Engine, Receiver, now_ms, until

HUNG = 200
TIMEOUT_SECONDS = 6
PARALLELISM = 20
"""Of one flow, unless told otherwise."""


def test_c43_200_targets_that_never_answer_do_not_stop_the_others(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start("--concurrency", "256")
    engine.put("others", {"every": 1, "jitter_seconds": 0, "target": {"url": receiver.url("/ok")}})
    silent = {
        "at": text_of(now_ms() + 4_000),
        "target": {"url": receiver.url("/silent?hold=1"), "timeout_seconds": TIMEOUT_SECONDS},
        "retry": {"max_attempts": 1},
    }
    for number in range(HUNG):
        # As many flows as let all of them be under way at once.
        flow_key = f"silent-{number % (HUNG // PARALLELISM)}"
        engine.put(f"hung-{number}", {**silent, "flow_key": flow_key})
    until(lambda: len(receiver.requests("/silent")) == HUNG, "all of them hang")
    delivered = len(receiver.requests("/ok"))
    until(lambda: len(receiver.requests("/ok")) >= delivered + 3, "the others go on")
    assert len(engine.runs("state=attempting")) >= HUNG, "while all of them hang"
    until(lambda: len(engine.runs("state=failed")) == HUNG, "they time out")
    engine.stop()
    failed = [r for r in read_journal(engine.database).runs.values() if r.state == "failed"]
    assert {a.outcome for run in failed for a in run.attempts} == {"timeout"}
    lasted = [a.ended_ms - a.started_ms for run in failed for a in run.attempts if a.ended_ms]
    assert min(lasted) >= TIMEOUT_SECONDS * 1_000
    print(f"timeouts after {min(lasted)} to {max(lasted)} ms of {TIMEOUT_SECONDS * 1_000}")
