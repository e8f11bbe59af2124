"""Stopping in order, and what the next life makes of what a stop or a kill left under way."""

import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from engine.process import SAME_SIGNAL_SECONDS
from engine.web.server import SHUTDOWN_SECONDS
from tests.end_to_end.checker import ms_of
from tests.end_to_end.journal import Journal, read_journal
from tests.end_to_end.processes import Engine, Receiver, until

STOPS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
LAST_CLAIM_MS = 100
"""How long after the signal an attempt may still start."""


def put_tick(engine: Engine, url: str) -> None:
    """A schedule that fires every second, at once when the engine is ready."""
    engine.put("tick", {"every": 1, "jitter_seconds": 0, "target": {"url": url}})


def hold_one(engine: Engine, receiver: Receiver, *flags: str) -> None:
    """Run until the receiver has a request that it does not answer."""
    engine.start(*flags)
    put_tick(engine, receiver.url("/held?hold=1"))
    until(receiver.requests, "a request is under way")


@contextmanager
def held_by_another(database: Path) -> Iterator[None]:
    """A program that has the database to itself."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        yield


def last_start_ms(journal: Journal) -> int:
    return max(attempt.started_ms for attempt in journal.attempts)


@STOPS
def test_a_stop_claims_nothing_more_and_lets_requests_end(
    number: int, engine: Engine, receiver: Receiver
) -> None:
    hold_one(engine, receiver)
    told_ms = engine.signal(number)
    assert engine.outlives(2), "more runs are due, and one request is under way"
    receiver.release()
    assert engine.exit_code() == 0
    journal = read_journal(engine.database)
    assert last_start_ms(journal) <= told_ms + LAST_CLAIM_MS
    states = [run.state for _, run in sorted(journal.runs.items())]
    assert "attempting" not in states
    assert states[0] == "succeeded"
    assert "planned" in states
    assert journal.integrity == "ok"


def test_an_idle_engine_stops_at_once(engine: Engine) -> None:
    engine.start("--drain-timeout", "600")
    engine.stop()
    assert not engine.database.with_name("offbeat.db-wal").exists()


@STOPS
def test_an_engine_that_waits_for_the_directory_stops_at_once(
    number: int, engine: Engine, make_engine: Callable[..., Engine]
) -> None:
    engine.start()
    second = make_engine(log="second.log")
    second.spawn("--lock-timeout", "600")
    assert second.outlives(2)
    second.signal(number)
    assert (second.exit_code(), second.said()) == (0, "")
    engine.stop()


def test_an_engine_that_waits_for_its_database_stops_at_once(engine: Engine) -> None:
    engine.start()
    engine.stop()
    with held_by_another(engine.database):
        engine.spawn()
        assert engine.outlives(2)
        engine.signal(signal.SIGTERM)
        assert (engine.exit_code(), engine.said()) == (0, "")
    engine.start()
    engine.stop()


def test_a_database_that_is_let_go_in_time_is_opened(engine: Engine) -> None:
    engine.start()
    engine.stop()
    with held_by_another(engine.database):
        engine.spawn()
        assert engine.outlives(1)
    engine.wait_ready()
    engine.stop()


def test_open_event_streams_do_not_delay_a_stop(engine: Engine) -> None:
    """The server would wait for each of them, twice `SHUTDOWN_SECONDS`."""
    engine.start()
    streams = [HTTPConnection(urlsplit(engine.url).netloc) for _ in range(20)]
    for stream in streams:
        stream.request("GET", "/v1/events")
    answers = [stream.getresponse() for stream in streams]
    engine.signal(signal.SIGTERM)
    assert engine.exit_code(seconds=SHUTDOWN_SECONDS) == 0
    assert all(b"retry: " in answer.read() for answer in answers), "each ended in order"
    for stream in streams:
        stream.close()


@STOPS
def test_a_second_signal_ends_it_at_once_and_the_next_life_delivers(
    number: int, engine: Engine, receiver: Receiver
) -> None:
    hold_one(engine, receiver, "--drain-timeout", "600")
    engine.signal(number)
    assert engine.outlives(2 * SAME_SIGNAL_SECONDS)
    engine.signal(number)
    assert engine.exit_code(seconds=10) == 128 + number
    assert [event["signal"] for event in engine.events("stopped_at_once")] == [
        signal.Signals(number).name
    ]
    receiver.release()
    engine.start()
    until(lambda: runs_in(engine, "succeeded"), "it is delivered")
    engine.stop()
    journal = read_journal(engine.database)
    attempts = journal.runs[min(journal.runs)].attempts
    assert [attempt.outcome for attempt in attempts] == ["crash", "success"]
    assert journal.integrity == "ok"
    assert_one_more(receiver)


def test_a_signal_that_comes_twice_in_a_moment_is_one(engine: Engine, receiver: Receiver) -> None:
    hold_one(engine, receiver)
    engine.signal(signal.SIGTERM)
    engine.signal(signal.SIGINT)
    assert engine.outlives(2 * SAME_SIGNAL_SECONDS)
    receiver.release()
    assert engine.exit_code() == 0
    runs = read_journal(engine.database).runs
    assert runs[min(runs)].state == "succeeded"


def test_the_api_says_that_the_engine_is_stopping(engine: Engine, receiver: Receiver) -> None:
    hold_one(engine, receiver)
    engine.signal(signal.SIGTERM)
    stopping = until(
        lambda: (call := engine.ask("GET", "/readyz")).status == 503 and call, "not ready any more"
    )
    assert stopping.document["reasons"] == ["stopping"]
    receiver.release()
    assert engine.exit_code() == 0


def test_what_outlasts_the_drain_timeout_is_made_again_by_the_next_life(
    engine: Engine, receiver: Receiver
) -> None:
    hold_one(engine, receiver, "--drain-timeout", "1")
    engine.signal(signal.SIGTERM)
    assert engine.exit_code(seconds=10) == 0
    abandoned = read_journal(engine.database)
    occurrence = min(abandoned.runs)
    assert abandoned.runs[occurrence].state == "attempting"
    receiver.release()
    engine.start()
    until(lambda: runs_in(engine, "succeeded"), "it is delivered")
    engine.stop()
    run = read_journal(engine.database).runs[occurrence]
    assert [attempt.outcome for attempt in run.attempts] == ["crash", "success"]
    assert_one_more(receiver)


def test_c32_killed_between_answer_and_commit_it_is_sent_once_more_with_the_number_continued(
    engine: Engine, receiver: Receiver
) -> None:
    """The receiver's answer comes when nobody is left to hear it: the outcome stays unknown."""
    hold_one(engine, receiver)
    engine.kill()
    receiver.release()
    engine.start()
    until(lambda: runs_in(engine, "succeeded"), "it is delivered")
    engine.stop()
    assert_one_more(receiver)


def test_c32_what_was_delivered_before_a_kill_is_not_missed_after_it(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start("--clock-start", "2026-03-10T00:59:57Z")
    engine.put(
        "evening",
        {
            "cron": "0 22 * * *",
            "timezone": "America/Santiago",
            "jitter_seconds": 0,
            "catch_up": "latest",
            "target": {"url": receiver.url("/")},
        },
    )
    until(lambda: runs_in(engine, "succeeded"), "22:00 is delivered")
    engine.kill()
    engine.start("--clock-start", "2026-03-10T01:30:37Z")
    until(lambda: engine.events("downtime"), "the downtime was noticed")
    assert engine.outlives(1.5), "judging takes a second at most"
    engine.stop()
    assert [r.fields["x-scheduled-for"] for r in receiver.requests()] == ["2026-03-10T01:00:00Z"]
    (run,) = read_journal(engine.database).runs.values()
    assert run.attempt_count == 1


def runs_in(engine: Engine, state: str) -> list[str]:
    return [run["id"] for run in engine.runs(f"state={state}")]


def assert_one_more(receiver: Receiver) -> None:
    """The first run arrived twice, as attempts 1 and 2 with one key; the second one was later."""
    first = receiver.requests()[0]
    same = [r for r in receiver.requests() if r.key == first.key]
    assert [r.attempt for r in same] == [1, 2]
    assert {r.fields["x-scheduled-for"] for r in same} == {first.fields["x-scheduled-for"]}
    assert ms_of(first.fields["x-fire-after"]) <= same[0].wall_ms <= same[1].wall_ms
