"""Receivers that mean harm: their attempts end in time, cost little and delay nobody else."""

import json
import re
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.end_to_end import hostile
from tests.end_to_end.checker import text_of
from tests.end_to_end.hostile import KINDS
from tests.end_to_end.journal import read_journal
from tests.end_to_end.processes import Engine, Receiver, now_ms, until

TIMES = 10
TIMEOUT_MS = 2_000
GRACE_MS = 500
MEMORY_KIB_MAX = 16 * 1_024
SLOTS = 64
"""So few that those which hang, 110 of 370, fill all that their tenant may have of them, 56."""

HOSTILE, OTHER = "mallory", "acme"
ADMIN_KEY = "obk_operator_" + "0123456789abcdef" * 4


@pytest.fixture
def ports() -> Iterator[dict[str, int]]:
    """Where each kind of hostile receiver listens."""
    command = [sys.executable, hostile.__file__]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


def test_attempts_end_in_time_within_memory_and_change_nothing_for_others(
    engine: Engine, receiver: Receiver, ports: dict[str, int]
) -> None:
    """When those of others start is shown where time is virtual (`test_hostile_tenant.py`)."""
    keys = start_with_tenants(engine)
    for tenant, key in keys.items():
        engine.key = key
        target = {"url": receiver.url(f"/{tenant}")}
        engine.put("others", {"every": 1, "jitter_seconds": 0, "target": target})
    engine.key = keys[HOSTILE]
    kind_of = put_hostile(engine, ports, at_ms=now_ms() + 6_000)
    for tenant in keys:
        until(more_than(0, receiver, tenant), "the others are under way")
    memory = Memory(engine)
    until(lambda: ended(engine) == len(kind_of), "all of them end")
    growth_kib = memory.growth_kib()
    for tenant in keys:
        delivered = len(receiver.requests(f"/{tenant}"))
        until(more_than(delivered, receiver, tenant), "the others go on")
    engine.stop()

    outcomes, started, lasted, others = defaultdict(list), [], [], []
    for (identity, _), run in read_journal(engine.database).runs.items():
        for attempt in run.attempts:
            if identity in kind_of:
                outcomes[kind_of[identity]].append(attempt.outcome)
                started.append(attempt.started_ms)
                lasted.append((attempt.ended_ms or 0) - attempt.started_ms)
            elif attempt.ended_ms:
                others.append(attempt.outcome)
    print(f"attempts up to {max(lasted)} ms, memory +{growth_kib} KiB, {len(others)} others")
    assert {name: len(of) for name, of in outcomes.items()} == dict.fromkeys(KINDS, TIMES)
    assert [n for n, of in outcomes.items() if not KINDS[n].outcomes.issuperset(of)] == []
    assert max(started) - min(started) >= TIMEOUT_MS, "their tenant's slots were full"
    assert max(lasted) <= TIMEOUT_MS + GRACE_MS
    assert growth_kib <= MEMORY_KIB_MAX
    assert set(others) == {"success"}


def more_than(count: int, receiver: Receiver, tenant: str) -> Callable[[], bool]:
    return lambda: len(receiver.requests(f"/{tenant}")) > count


def start_with_tenants(engine: Engine) -> dict[str, str]:
    """Start an engine that may call this machine for two tenants; a key of each."""
    file = engine.data_dir.parent / "admin.key"
    file.write_text(ADMIN_KEY)
    file.chmod(0o600)
    engine.environment["OFFBEAT_AUTH__ADMIN_KEY_FILE"] = str(file)
    engine.environment["OFFBEAT_EGRESS__ALLOW"] = "127.0.0.0/8"
    engine.start("--concurrency", str(SLOTS))
    engine.key, keys = ADMIN_KEY, {}
    for tenant in (HOSTILE, OTHER):
        engine.write("PUT", f"/v1/tenants/{tenant}", {})
        made = engine.write("POST", "/v1/keys", {"tenant": tenant, "scope": "write"})
        keys[tenant] = made.document["key"]
    return keys


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
    """How many runs of hostile schedules have ended; asked of the file, since keys have a rate."""
    with closing(sqlite3.connect(f"file:{engine.database}?mode=ro", uri=True)) as db:
        (count,) = db.execute(
            "SELECT count(*) FROM job_run r JOIN schedule s ON s.id = r.schedule_id"
            " WHERE s.name LIKE 'hostile-%' AND r.ended_at IS NOT NULL"
        ).fetchone()
    return int(count)


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
