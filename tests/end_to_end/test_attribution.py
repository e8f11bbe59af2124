"""Delay attribution of a real engine with real sockets: it adds up for every run."""

from typing import Any

from tests.end_to_end.checker import ms_of, text_of
from tests.end_to_end.processes import Engine, Receiver, now_ms, until

RUNS = 60
DELAY_MS = 400


def test_of_each_run_of_a_herd_the_parts_are_the_whole(engine: Engine, receiver: Receiver) -> None:
    engine.start("--rate", "40", "--burst", "5")
    at = text_of(now_ms() + 3_000)
    target = {"url": receiver.url(f"/?delay_ms={DELAY_MS}")}
    for number in range(RUNS):
        engine.put(f"once-{number}", {"at": at, "jitter_seconds": 1, "target": target})
    until(lambda: len(engine.runs("state=succeeded")) == RUNS, "all have succeeded")
    runs = [engine.ask("GET", f"/v1/runs/{run['id']}").document for run in engine.runs()]
    for run in runs:
        parts = run["attribution"]
        total_ms = parts.pop("total_ms")
        assert sum(parts.values()) == total_ms == whole_ms(run)
        assert min(parts.values()) >= 0
        assert parts["jitter_ms"] == ms_of(run["fire_after"]) - ms_of(run["scheduled_for"])
    answered_ms = [run["attribution"]["first_byte_ms"] for run in runs]
    assert max(answered_ms) > DELAY_MS / 2  # The receiver takes up to so long.
    herd = engine.ask("GET", "/v1/herd/attribution").document
    assert (herd["runs"], herd["complete"]) == (RUNS, True)
    assert herd["total_ms"] == sum(map(whole_ms, runs))


def whole_ms(run: dict[str, Any]) -> int:
    """What a run's only attempt says, and nothing else in the document."""
    (attempt,) = run["attempts"]
    return ms_of(attempt["ended_at"]) - ms_of(run["scheduled_for"])
