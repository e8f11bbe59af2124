"""`--real`: the engine as a process, real sockets, its calendar set to just before :00.

The order of a run: receiver, engine, clocks compared, schedules put through the API, the window
waited for, what is to happen in it done (a kill, an outage), everything drained, the engine
stopped, and only then ledger and journal read.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadtest import journal
from loadtest.arithmetic import signing_key
from loadtest.evidence import Evidence
from loadtest.ledger import lines_in, read_ledger
from loadtest.processes import Engine, LoadtestError, Receiver, write_key
from loadtest.progress import Advance, stage
from loadtest.workload import Experiment, count_owed, patience_ms, schedules

LOAD_RATE_MIN = 1_000
"""Schedules a second that the API is given time for; a quiet machine takes 10,000."""

LEAD_MS = 12_000
"""Beyond that: the lookahead of 5 s must be quiet before the herd, and so must the disk."""

QUIET_MS = 6_000
"""Loading must have ended so long before the window; the herd's first rows are planned then."""

POLL_SECONDS = 0.25

SETTLED_MS = 1_000
"""After the last `fire_after`, before the journal is asked whether all has ended."""


def run(experiment: Experiment, directory: Path) -> Evidence:
    """Make the experiment in `directory`; raises `LoadtestError` when it cannot be made.

    The processes run in directories of their own, so that a relative one would be three.
    """
    assert directory.is_absolute()
    began = time.monotonic()
    engine = Engine(directory, experiment)
    receiver = Receiver(directory, experiment)
    write_key(receiver.key_file, signing_key(engine.master))
    with receiver:
        try:
            return _run(experiment, engine, receiver, began)
        finally:
            engine.stop()


def _run(e: Experiment, engine: Engine, receiver: Receiver, began: float) -> Evidence:
    lead_ms = e.schedules * 1_000 // LOAD_RATE_MIN + LEAD_MS
    engine.start(e.from_ms - lead_ms)
    load_seconds = _load(e, engine, receiver)
    owed_from_ms = engine.now_ms()
    if owed_from_ms > e.from_ms - QUIET_MS:
        raise LoadtestError(f"the API took {load_seconds:.0f} s for the schedules: too slow")
    _sleep_until(engine, e.from_ms - 1_000, "before the window")
    killed, resumed, outage = _disturb(e, engine, receiver)
    with stage("deliveries", count_owed(e)) as advance:
        _drain(e, engine, receiver, advance)
    ended_ms = engine.now_ms()
    engine.stop()
    return Evidence(
        experiment=e,
        requests=read_ledger(receiver.ledger, engine.calendar, in_time=e.in_time),
        runs=journal.runs(engine.data_dir),
        starts_ms=journal.starts(engine.data_dir),
        counted=journal.counted(engine.data_dir),
        owed_from_ms=owed_from_ms,
        ended_ms=ended_ms,
        grain_ms=engine.grain_ms,
        load_seconds=load_seconds,
        wall_seconds=time.monotonic() - began,
        cpu_seconds=None,
        killed_ms=killed,
        resumed_ms=resumed,
        outage_ms=outage,
    )


def _load(e: Experiment, engine: Engine, receiver: Receiver) -> float:
    began = time.monotonic()
    with stage("schedules", e.schedules) as advance:

        def documents() -> Iterator[dict[str, Any]]:
            for wanted in schedules(e):
                if wanted.index % 500 == 0:
                    advance(wanted.index)
                yield wanted.document(receiver.urls)

        engine.put(documents())
    return time.monotonic() - began


def _disturb(
    e: Experiment, engine: Engine, receiver: Receiver
) -> tuple[list[int], list[int], tuple[int, int] | None]:
    """Do what the scenario does to the engine or its receiver; when that was."""
    if e.scenario == "recovery":
        _sleep_until(engine, e.from_ms + e.jitter * 500, "until the kill")
        engine.stop(signal.SIGKILL)
        killed_ms = engine.now_ms()
        engine.start(killed_ms + e.outage_seconds * 1_000)
        return [killed_ms], [engine.now_ms()], None
    if e.scenario == "shock":
        receiver.order("down")
        began_ms = engine.now_ms()
        _sleep_until(engine, e.from_ms + e.outage_seconds * 1_000, "outage")
        receiver.order("up")
        return [], [], (began_ms, engine.now_ms())
    return [], [], None


def _drain(e: Experiment, engine: Engine, receiver: Receiver, advance: Advance) -> None:
    """Wait until every run of the window has ended, or for as long as that may take."""
    done, offset = 0, 0
    settled_ms = e.until_ms + e.jitter * 1_000 + SETTLED_MS
    until_ms = e.until_ms + patience_ms(e)
    while engine.now_ms() < until_ms:
        time.sleep(POLL_SECONDS)
        if not engine.is_alive():
            raise LoadtestError("the engine ended by itself; see engine.log")
        grown, offset = lines_in(receiver.ledger, offset)
        done += grown
        advance(done)
        if engine.now_ms() > settled_ms and not journal.unfinished(
            engine.data_dir, e.from_ms, e.until_ms
        ):
            return


def _sleep_until(engine: Engine, until_ms: int, title: str) -> None:
    began_ms = engine.now_ms()
    with stage(title, (until_ms - began_ms) // 1_000) as advance:
        while (now_ms := engine.now_ms()) < until_ms:
            if not engine.is_alive():
                raise LoadtestError("the engine ended by itself; see engine.log")
            time.sleep(min(POLL_SECONDS, (until_ms - now_ms) / 1_000))
            advance((now_ms - began_ms) // 1_000)
