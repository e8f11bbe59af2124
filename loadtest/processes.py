"""The processes of a real run: the engine as its users start it, and the receiver.

Everything is on loopback, every wait has a deadline, and both processes end with this one: the
receiver when its standard input closes, the engine by SIGTERM on the way out.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from loadtest.arithmetic import ms_of, text_of
from loadtest.workload import Experiment

ROOT = Path(__file__).parent.parent

START_SECONDS_MAX = 60.0
"""For an engine to listen; a journal of millions of rows is not read at start."""

ANSWER_SECONDS_MAX = 600.0
"""For a batch."""

BATCH_SCHEDULES_MAX = 50_000
"""Schedules of one request: it is sent whole before its answer is read, and the engine holds the
results of some 100,000 meanwhile."""

STOP_SECONDS_MAX = 60.0
"""More than the engine's own drain timeout."""

PROBES = 12
"""Looks at the engine's clock; the best of them bound it to a millisecond or two."""


class LoadtestError(Exception):
    """The experiment could not be made; the sentence says why and what to do."""


def write_key(path: Path, key: bytes) -> None:
    """Write a key in hexadecimal digits, for its owner alone to read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(key.hex())


class Receiver:
    """`receiver.py` in a process of its own."""

    def __init__(self, directory: Path, experiment: Experiment) -> None:
        self.ledger = directory / "ledger.ndjson"
        self.key_file = directory / "signing.key"
        self._directory = directory
        self._experiment = experiment

    def __enter__(self) -> Self:
        e = self._experiment
        command = [sys.executable, "-m", "loadtest.receiver", str(self.ledger), str(self.key_file)]
        self._process = subprocess.Popen(
            [*command, str(e.receivers), str(e.fail_rate), str(e.delay_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        assert self._process.stdout is not None
        self.ports = [int(port) for port in self._process.stdout.readline().split()]
        if not self.ports:
            raise LoadtestError("the receiver did not start")
        return self

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}/hook" for port in self.ports]

    def order(self, word: str) -> None:
        """`down` or `up`."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Engine:
    """`python -m engine run` on a data directory, one process at a time."""

    def __init__(self, directory: Path, experiment: Experiment) -> None:
        self.data_dir = directory / "data"
        self.master = secrets.token_bytes(32)
        self.calendar: list[tuple[int, int]] = []
        self.grain_ms = 0
        self._master_file = directory / "master.key"
        self._log = directory / "engine.log"
        self._experiment = experiment
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def start(self, clock_ms: int) -> None:
        """Start a process whose calendar begins at `clock_ms`; returns when it listens."""
        e = self._experiment
        write_key(self._master_file, self.master)
        command = [sys.executable, "-m", "engine", "run", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(self.data_dir), "--clock-start", text_of(clock_ms)]
        command += ["--rate", str(e.rate), "--burst", str(e.burst)]
        command += ["--concurrency", str(e.concurrency)]
        begin = self._log.stat().st_size if self._log.exists() else 0
        spawned_ns = time.time_ns()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self._log.parent,  # No offbeat.toml there.
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT),
                    "OFFBEAT_MASTER_KEY_FILE": str(self._master_file),
                    "OFFBEAT_JITTER__SUBSECOND": str(e.subsecond).lower(),
                    "OFFBEAT_HISTORY__RUNS": "1000000000",  # What is pruned cannot be checked.
                },
            )
        self._port = self._wait_for_port(begin)
        shift_ns = self._read_clock()
        self.calendar.append((spawned_ns, shift_ns))

    def put(self, documents: Iterable[dict[str, Any]]) -> None:
        """Store the schedules; every one must be taken."""
        left = iter(documents)
        while part := list(islice(left, BATCH_SCHEDULES_MAX)):
            self._put_part(part)

    def now_ms(self) -> int:
        """The engine's calendar."""
        return (time.time_ns() + self.calendar[-1][1]) // 1_000_000

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the process, if there is one, in order or not."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise LoadtestError(f"the engine did not stop; see {self._log}") from None

    def _put_part(self, documents: list[dict[str, Any]]) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS_MAX)
        headers = {"Content-Type": "application/x-ndjson"}
        connection.request("POST", "/v1/schedules:batch", _chunks(documents), headers)
        response = connection.getresponse()
        for line in response.read().splitlines():
            if b'"created"' not in line:
                raise LoadtestError(f"a schedule was not taken: {line.decode()}")
        if response.status != 200:
            raise LoadtestError(f"the batch was answered with {response.status}")
        connection.close()

    def _wait_for_port(self, begin: int) -> int:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.is_alive():
            for line in self._log.read_bytes()[begin:].splitlines():
                if b'"listening"' in line:
                    return int(json.loads(line)["on"].rpartition(":")[2])
            time.sleep(0.05)
        raise LoadtestError(f"the engine does not listen; see {self._log}")

    def _read_clock(self) -> int:
        """What to add to the machine's nanoseconds to get the engine's calendar.

        A write is stamped by the engine between its sending and its answer, so each probe bounds
        the difference of the clocks from both sides (Cristian, "Probabilistic clock
        synchronization", 1989). The tightest bounds are kept, and half of what is between them is
        how far the answer may be off.
        """
        low, high = -(2**62), 2**62
        connection = HTTPConnection("127.0.0.1", self._port, timeout=START_SECONDS_MAX)
        path = "/v1/schedules/loadtest-clock-probe"
        for number in range(PROBES):
            document = {"cron": "0 0 29 2 *", "target": {"url": f"http://127.0.0.1:9/{number}"}}
            sent_ns = time.time_ns()
            connection.request(
                "PUT", path, json.dumps(document), {"Content-Type": "application/json"}
            )
            stored = json.loads(connection.getresponse().read())
            answered_ns = time.time_ns()
            # A stamp is cut to the millisecond: the instant itself is up to 1 ms later.
            stamp_ns = ms_of(stored["updated_at"]) * 1_000_000
            low = max(low, stamp_ns - answered_ns)
            high = min(high, stamp_ns + 1_000_000 - sent_ns)
        connection.request("DELETE", path)
        connection.getresponse().read()
        connection.close()
        self.grain_ms = max(self.grain_ms, -(-(high - low) // 2_000_000))
        return (low + high) // 2


def _chunks(documents: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    piece: list[str] = []
    for document in documents:
        piece.append(json.dumps(document))
        if len(piece) == 500:
            yield ("\n".join(piece) + "\n").encode()
            piece = []
    yield ("\n".join(piece) + "\n").encode()
