"""`--virtual`: the real planner, wheel, queue, bucket and journal in virtual time.

Nothing waits, so an hour takes seconds, and the same seed gives the same requests at the same
milliseconds: `digest` is SHA-256 over all of them in order. What it cannot show is speed. Requests
take as long as `delay_ms` says and no time at all otherwise; a crossing to the database's thread
takes `disk_ms` of virtual time, so that claims and outcomes gather into batches as they do on a
disk. Meanwhile the loop stands still, which is coarser than the truth by as much.

A kill of the process cannot be had here: `recovery` stops the engine in order and lets the
calendar go on without it.
"""

import asyncio
import gc
import logging
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path

import structlog

from engine.app import Engine
from engine.config import Config
from engine.core.document import read_schedule
from engine.core.model import Outcome
from engine.services.transport import HttpRequest
from engine.testing import VirtualClock, VirtualLoop, run_virtual
from loadtest import journal
from loadtest.arithmetic import signatures_hold, signing_key, unit
from loadtest.evidence import Evidence, Requests
from loadtest.ledger import request_of
from loadtest.processes import LoadtestError, write_key
from loadtest.progress import stage
from loadtest.workload import Experiment, patience_ms, schedules

LEAD_MS = 20_000
"""The calendar before the window: the lookahead of 5 s and a quiet moment."""

MEMORY = Path("/dev/shm")
"""What is simulated is time; a disk would only slow it."""

PUT_AT_ONCE = 1_000
"""Schedules of one commit."""

STEP_MS = 1_000
"""Between two looks at how far it has come."""

_OK = Outcome(name="success", status=200)
_BROKEN = Outcome(name="http_error", status=503)


def run(experiment: Experiment, _directory: Path) -> Evidence:
    """Make the experiment, the journal in memory; raises `LoadtestError` when it stalls."""
    began = time.monotonic()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="loadtest-", dir=place) as name:
        world = _World(experiment, Path(name), began)
        return run_virtual(world.run, experiment.from_ms - LEAD_MS)


class _Receivers:
    """Receivers without a network: a transport that judges, remembers and answers."""

    def __init__(self, experiment: Experiment, clock: VirtualClock, key: bytes) -> None:
        self.requests = Requests()
        self.digest = sha256()
        self.is_down = False
        self._clock = clock
        self._key = key
        self._in_time = experiment.in_time
        self._fail_rate = experiment.fail_rate
        self._delay_seconds = experiment.delay_ms / 1_000

    async def send(self, request: HttpRequest) -> Outcome:
        headers = dict(request.headers)
        key, attempt = headers["Idempotency-Key"], headers["X-Attempt"]
        failed = self.is_down or (
            self._fail_rate > 0 and unit(f"{key}|{attempt}") < self._fail_rate
        )
        now_ms = self._clock.now_ms()
        self.digest.update(f"{now_ms} {key} {attempt} {failed:d}\n".encode())
        self.requests.add(
            request_of(
                headers,
                arrived_ms=now_ms,
                is_accepted=self._in_time and not failed,
                is_signed=all(signatures_hold(self._key, headers, request.body)),
            )
        )
        loop = asyncio.get_running_loop()
        request.connected_s = loop.time()
        if self._delay_seconds:
            await asyncio.sleep(self._delay_seconds)
        request.answered_s = loop.time()
        return _BROKEN if failed else _OK

    async def close(self) -> None:
        """Nothing to close."""


class _World:
    """One experiment in virtual time."""

    def __init__(self, experiment: Experiment, directory: Path, began: float) -> None:
        self._e = experiment
        self._data_dir = directory / "data"
        self._master_file = directory / "master.key"
        self._began = began
        self._cpu_began = time.process_time()
        self._killed: list[int] = []
        self._resumed: list[int] = []
        self._outage: tuple[int, int] | None = None

    async def run(self, clock: VirtualClock) -> Evidence:
        e = self._e
        self._clock = clock
        master = secrets.token_bytes(32)
        write_key(self._master_file, master)
        self._receivers = _Receivers(e, clock, signing_key(master))
        loading = time.monotonic()
        engine = self._engine()
        async with engine:
            await self._load(engine)
            load_seconds = time.monotonic() - loading
            gc.collect()
            gc.freeze()  # As the engine's own process does once it has started.
            owed_from_ms = clock.now_ms()
            await self._disturb(engine)
            if e.scenario != "recovery":
                await self._drain()
        if e.scenario == "recovery":
            async with self._engine():
                self._resumed.append(clock.now_ms())
                await self._drain()
        gc.unfreeze()
        return Evidence(
            experiment=e,
            requests=self._receivers.requests,
            runs=journal.runs(self._data_dir),
            starts_ms=journal.starts(self._data_dir),
            counted=journal.counted(self._data_dir),
            owed_from_ms=owed_from_ms,
            ended_ms=clock.now_ms(),
            grain_ms=0,
            load_seconds=load_seconds,
            wall_seconds=time.monotonic() - self._began,
            cpu_seconds=time.process_time() - self._cpu_began,
            killed_ms=self._killed,
            resumed_ms=self._resumed,
            outage_ms=self._outage,
            digest=self._receivers.digest.hexdigest(),
        )

    def _engine(self) -> Engine:
        config = Config(
            data_dir=self._data_dir,
            master_key_file=self._master_file,
            rate=self._e.rate,
            burst=self._e.burst,
            concurrency=self._e.concurrency,
            jitter_subsecond=self._e.subsecond,
            history_days=3_650,  # What is pruned cannot be checked.
            history_runs=1_000_000_000,
        )
        return Engine(config, clock=self._clock, transport=lambda: self._receivers, busy=self._busy)

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """Stop the clock while the database works, then let it go on by what that takes."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        with loop.hold():
            yield
        loop.now_us += round(self._e.disk_ms * 1_000)

    async def _load(self, engine: Engine) -> None:
        urls = [f"http://127.0.0.1:{9_000 + number}/hook" for number in range(self._e.receivers)]
        wanted = schedules(self._e)
        with stage("schedules", self._e.schedules) as advance:
            done = 0
            while batch := list(islice(wanted, PUT_AT_ONCE)):
                drafts = [
                    read_schedule(
                        w.document(urls), tenant=engine.tenant, subsecond=engine.subsecond
                    )
                    for w in batch
                ]
                for result in await engine.schedules.put_many(drafts):
                    if isinstance(result, Exception):
                        raise LoadtestError(f"a schedule was not taken: {result}")
                done += len(batch)
                advance(done)

    async def _disturb(self, engine: Engine) -> None:
        """Do what the scenario does to the engine or its receivers."""
        e = self._e
        if e.scenario == "recovery":
            await self._until(e.from_ms + e.jitter * 500)
            await engine.stop()
            self._killed.append(self._clock.now_ms())
            self._clock.step(e.outage_seconds * 1_000)
        if e.scenario == "shock":
            self._receivers.is_down = True
            began_ms = self._clock.now_ms()
            await self._until(e.from_ms + e.outage_seconds * 1_000)
            self._receivers.is_down = False
            self._outage = began_ms, self._clock.now_ms()

    async def _drain(self) -> None:
        """Let time pass until every run of the window has ended, or has had the time to."""
        e = self._e
        end_ms = e.until_ms + patience_ms(e)
        settled_ms = e.until_ms + e.jitter * 1_000 + STEP_MS
        with stage("virtual seconds", (settled_ms - self._clock.now_ms()) // 1_000) as advance:
            began_ms = self._clock.now_ms()
            while self._clock.now_ms() < end_ms:
                await self._clock.run_for(STEP_MS)
                advance((self._clock.now_ms() - began_ms) // 1_000)
                if self._clock.now_ms() >= settled_ms and not journal.unfinished(
                    self._data_dir, e.from_ms, e.until_ms
                ):
                    return

    async def _until(self, instant_ms: int) -> None:
        await self._clock.run_for(max(0, instant_ms - self._clock.now_ms()))
