#!/usr/bin/env python3
"""How long a day's forecast and a what-if take, and how long the event loop stands still for them.

    scripts/bench_forecast.py [--schedules 1000000] [--timetables 2000] [--repeat 5]

The fleet is a realistic mix: of ten timetables one fires each minute, two every five minutes, one
and a half every fifteen, three and a half hourly and two daily, a fifth of them at :00. It sends to
200 flows; the last questions are asked when five of them have a rate of their own. The journal is a
real one, the loop is the engine's, and beside the question a task wakes every millisecond and notes
how late it is. The same is noted without a question, since a busy machine is late, too.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent))

from engine.clock import SystemClock
from engine.core.document import read_schedule
from engine.core.flow import PARALLELISM
from engine.core.herd_document import Change, Span
from engine.core.identity import jitter_offset_ms, schedule_id
from engine.core.model import CronTrigger, IntervalTrigger, Schedule, Trigger
from engine.core.timetable import default_jitter
from engine.process import settle_interpreter
from engine.services.forecast import Forecasts
from engine.store.database import DATABASE_NAME, prepare
from engine.store.herd import SqliteHerd
from engine.store.rows import schedule_values, timetable_spec
from engine.store.statements import statements
from engine.store.writer import Reader

TARGET = {"url": "http://127.0.0.1:9/hook"}
FLOWS = 200
LIMITED_FLOWS = 5
FLOW_RATE = 50
EVERY_SECONDS = (*(60,) * 2, *(300,) * 4, *(900,) * 3, *(3_600,) * 7, *(86_400,) * 4)


def main() -> None:
    """Print the machine's load and a line a question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--timetables", type=int, default=2_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps({"load": os.getloadavg()[0]}))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / DATABASE_NAME
        prepare(path)
        fill(path, options.schedules, options.timetables)
        settle_interpreter()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(measure(path, options.repeat))


def triggers(count: int) -> Iterator[Trigger]:
    """Distinct timetables of the mix: a fifth of each kind at :00, the others anywhere.

    The same list in another order is another text, and so another timetable.
    """
    made: Counter[int] = Counter()
    for number in range(count):
        every = EVERY_SECONDS[number % len(EVERY_SECONDS)]
        made[every] += 1
        k = made[every]
        on_hour = k % 5 == 0
        if every < 3_600:
            step = every // 60
            minutes = range(0 if on_hour else k % step, 60, step)
            second = 0 if on_hour else k // step % 60
            yield cron(f"{second} {rotated(minutes, k)} * * * {rotated(range(7), k // 60)}")
        elif on_hour:
            hours = range(24) if every == 3_600 else (k % 24,)
            yield cron(f"0 0 {rotated(hours, k)} * * {rotated(range(7), k // 24)}")
        else:
            yield IntervalTrigger(every_seconds=every, phase_seconds=k * 37 % every)


def cron(text: str) -> CronTrigger:
    return CronTrigger(cron=text, resolved=text)


def rotated(values: Sequence[int], by: int) -> str:
    by %= len(values)
    return ",".join(map(str, (*values[by:], *values[:by])))


def fill(path: Path, schedules: int, timetables: int) -> None:
    """A journal with so many schedules, their offsets those of their names."""
    sql = statements()
    mix = list({timetable_spec(trigger): trigger for trigger in triggers(timetables)}.items())
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        ids = [db.execute(sql["insert_timetable"], (spec,)).fetchone()[0] for spec, _ in mix]
        for number in range(FLOWS):
            db.execute(sql["intern_flow"], {"tenant": "default", "key": f"receiver-{number}"})
        jitters = [default_jitter(trigger, None) for _, trigger in mix]
        draft = read_schedule({"every": 60, "target": TARGET}, tenant="default", name="any")
        created_ms = SystemClock().now_ms() - 3_600_000
        schedule = Schedule(
            definition=draft.definition,
            pause=None,
            counted_after_ms=created_ms,
            owed_after_ms=created_ms,
            last_owed_ms=None,
            revision=1,
            created_at_ms=created_ms,
            updated_at_ms=created_ms,
        )
        for number in range(schedules):
            which = number * 7_919 % len(ids)
            name = f"job-{number}"
            public_id = schedule_id("default", name)
            definition = replace(
                draft.definition,
                schedule_id=public_id,
                name=name,
                jitter_seconds=jitters[which],
                offset_ms=jitter_offset_ms(public_id, jitters[which]),
            )
            row = schedule_values(
                replace(schedule, definition=definition),
                timetable_id=ids[which],
                target_id=1,
                flow_id=number % FLOWS + 1,
            )
            db.execute(sql["put_schedule"], row)
        db.execute("COMMIT")
    print(json.dumps({"schedules": schedules, "timetables": len(ids)}))


async def measure(path: Path, repeat: int) -> None:
    reader = Reader(path)
    await reader.open()
    forecasts = Forecasts(
        SystemClock(), SqliteHerd(reader), rate=10_000, burst=1_000, tokens=lambda: 0
    )
    questions: dict[str, Callable[[], Awaitable[object]]] = {
        "nothing": lambda: asyncio.sleep(2),
        "forecast": lambda: forecasts.forecast(day()),
        "what_if_jitter": lambda: forecasts.what_if(Change(jitter_seconds=120), day()),
        "what_if_add": lambda: forecasts.what_if(Change(rate=9_000, add=50_000), day()),
        "advice": forecasts.advice,
    }
    for name, ask in questions.items():
        await report(name, ask, repeat)
    limit_flows(path)
    await report("forecast, limited flows", questions["forecast"], repeat)
    await report("what_if_jitter, limited flows", questions["what_if_jitter"], repeat)
    await reader.close()


def limit_flows(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for number in range(LIMITED_FLOWS):
            key = f"receiver-{number}"
            limits = {"rate": FLOW_RATE, "parallelism": PARALLELISM, "paused": False}
            db.execute(
                statements()["set_flow"], {"tenant": "default", "key": key, "now": 0, **limits}
            )


def day() -> Span:
    from_s = SystemClock().now_ms() // 1000 + 1
    return Span(from_s=from_s, to_s=from_s + 86_400)


async def report(name: str, ask: Callable[[], Awaitable[object]], repeat: int) -> None:
    """Ask some times and print the median time and the longest that the loop stood still."""
    asked = [await measure_once(ask) for _ in range(repeat)]
    figures = {
        "question": name,
        "seconds": round(median(seconds for seconds, _, _ in asked), 2),
        "seconds_max": round(max(seconds for seconds, _, _ in asked), 2),
        "cpu_seconds": round(median(cpu for _, cpu, _ in asked), 2),
        "loop_late_ms_p99": round(max(late[len(late) * 99 // 100] for *_, late in asked), 1),
        "loop_late_ms_max": [round(late[-1], 1) for *_, late in asked],
    }
    print(json.dumps(figures), flush=True)


async def measure_once(ask: Callable[[], Awaitable[object]]) -> tuple[float, float, list[float]]:
    """Seconds, seconds of CPU, and how late a task beside it was woken each time, in ms, sorted."""
    late_ms: list[float] = []

    async def wake_often() -> None:
        while True:
            due = time.perf_counter() + 0.001
            await asyncio.sleep(0.001)
            late_ms.append((time.perf_counter() - due) * 1_000)

    waking = asyncio.ensure_future(wake_often())
    cpu, began = time.process_time(), time.perf_counter()
    await ask()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    waking.cancel()
    return seconds, cpu, sorted(late_ms)


if __name__ == "__main__":
    main()
