"""Receivers that mean harm: their attempts end in time, cost little and delay nobody else."""

import json
import re
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Self

import pytest

from tests.end_to_end import hostile
from tests.end_to_end.checker import text_of
from tests.end_to_end.hostile import KINDS
from tests.end_to_end.journal import read_journal
from tests.end_to_end.processes import POLL_SECONDS, Engine, Receiver, now_ms, until

TIMES = 10
TIMEOUT_MS = 2_000
GRACE_MS = 500
MEMORY_KIB_MAX = 16 * 1_024
LATENESS_MS_MAX = 2_000
"""Of the others: the service level in ordinary times (SPEC §8)."""


@pytest.fixture
def ports() -> Iterator[dict[str, int]]:
    """Where each kind of hostile receiver listens."""
    command = [sys.executable, hostile.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


def test_attempts_end_in_time_within_memory_and_delay_nobody_else(
    engine: Engine, receiver: Receiver, ports: dict[str, int]
) -> None:
    engine.start("--concurrency", "500")
    engine.put("others", {"every": 1, "jitter_seconds": 0, "target": {"url": receiver.url("/ok")}})
    kind_of = put_hostile(engine, ports, at_ms=now_ms() + 6_000)
    until(lambda: len(receiver.requests("/ok")) >= 2, "the others are under way")
    memory = Memory(engine)
    with Stalls() as stalls:
        until(lambda: ended(engine) == len(kind_of), "all of them end")
    growth_kib = memory.growth_kib()
    delivered = len(receiver.requests("/ok"))
    until(lambda: len(receiver.requests("/ok")) > delivered, "the others go on")
    engine.stop()

    runs = read_journal(engine.database).runs
    others = [run for (identity, _), run in runs.items() if identity not in kind_of]
    outcomes, lasted = defaultdict(list), []
    for (identity, _), run in runs.items():
        for attempt in run.attempts if identity in kind_of else ():
            outcomes[kind_of[identity]].append(attempt.outcome)
            lasted.append((attempt.ended_ms or 0) - attempt.started_ms)
    late = max(run.attempts[0].started_ms - run.fire_after_ms for run in others if run.attempts)
    print(
        f"attempts up to {max(lasted)} ms, memory +{growth_kib} KiB, others up to {late} ms late, "
        f"and the machine stalls for up to {stalls.worst_ms} ms"
    )
    assert {name: len(of) for name, of in outcomes.items()} == dict.fromkeys(KINDS, TIMES)
    assert [n for n, of in outcomes.items() if not KINDS[n].outcomes.issuperset(of)] == []
    assert max(lasted) <= TIMEOUT_MS + GRACE_MS + stalls.worst_ms
    assert growth_kib <= MEMORY_KIB_MAX
    assert {a.outcome for run in others for a in run.attempts if a.ended_ms} == {"success"}
    assert late <= LATENESS_MS_MAX + stalls.worst_ms


def put_hostile(engine: Engine, ports: dict[str, int], *, at_ms: int) -> dict[str, str]:
    """Schedules for every kind, all at one instant; the kinds by the schedules' ids."""
    kind_of = {}
    for number, (name, kind) in enumerate(KINDS.items()):
        url = f"{'https' if kind.https else 'http'}://127.0.0.1:{ports[name]}/"
        document = {
            "at": text_of(at_ms),
            "target": {"url": url, "timeout_seconds": TIMEOUT_MS // 1_000},
            "retry": {"max_attempts": 1},
        }
        for time in range(TIMES):
            kind_of[engine.put(f"hostile-{number}-{time}", document)["id"]] = name
    return kind_of


def ended(engine: Engine) -> int:
    """How many runs of hostile schedules have ended."""
    runs = engine.runs("state=failed") + engine.runs("state=succeeded")
    return sum(run["schedule_name"] != "others" for run in runs)


class Memory:
    """How far an engine's memory grows from now on."""

    def __init__(self, engine: Engine) -> None:
        assert engine.process is not None
        self._proc = Path(f"/proc/{engine.process.pid}")
        (self._proc / "clear_refs").write_text("5")  # The peak starts anew (proc(5)).
        self._start_kib = self._read("VmRSS")

    def growth_kib(self) -> int:
        """From the start to the peak since."""
        return self._read("VmHWM") - self._start_kib

    def _read(self, field: str) -> int:
        found = re.search(rf"{field}:\s+(\d+) kB", (self._proc / "status").read_text())
        assert found is not None
        return int(found[1])


class Stalls:
    """How long this machine lets a process wait for its turn: what no engine can make good."""

    def __init__(self) -> None:
        self.worst_ms = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        before_s = monotonic()
        while not self._over.wait(POLL_SECONDS):
            now_s = monotonic()
            self.worst_ms = max(self.worst_ms, int((now_s - before_s - POLL_SECONDS) * 1_000))
            before_s = now_s
