"""Engines and receivers as real processes, and the one way in which these tests wait.

What a test waits for happens in another process, so there is nothing to await: `until` asks again
and again, up to a deadline that is generous because it is reached only when something is broken.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parent.parent.parent

DEADLINE_SECONDS = 30.0
"""For anything that takes a second at most when nothing is broken, on a crowded machine."""

POLL_SECONDS = 0.01

T = TypeVar("T")


def until(condition: Callable[[], T], what: str, *, seconds: float = DEADLINE_SECONDS) -> T:
    """Ask until the answer is true, and give it; fail with `what` when it never is."""
    end = time.monotonic() + seconds
    pause = threading.Event()  # Never set: its wait is the pause between two questions.
    while not (answer := condition()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        pause.wait(POLL_SECONDS)
    return answer


def now_ms() -> int:
    """The calendar's instant, as the engine counts."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to the API and its answer; `status` None: none came, its effect is unknown."""

    method: str
    path: str
    sent_ms: int
    answered_ms: int | None = None
    status: int | None = None
    document: Any = None


@dataclass(frozen=True)
class Request:
    """A line of the receiver's ledger: one request as it arrived."""

    wall_ms: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    status: int | None

    @cached_property
    def fields(self) -> dict[str, str]:
        """Header values by lower-case name."""
        return {name.lower(): value for name, value in self.headers}

    @property
    def key(self) -> str:
        return self.fields["idempotency-key"]

    @property
    def attempt(self) -> int:
        return int(self.fields["x-attempt"])


class Ledger:
    """The receiver's file, read as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self._requests: list[Request] = []

    def requests(self, path: str | None = None) -> list[Request]:
        """All requests so far, or those to `path`."""
        with self.path.open("rb") as file:
            file.seek(self._read)
            grown = file.read()
        whole = grown[: grown.rfind(b"\n") + 1]
        self._read += len(whole)
        self._requests += map(_request, whole.splitlines())
        return [r for r in self._requests if path in (None, r.path)]


class Receiver:
    """`receiver.py` in a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.ledger = Ledger(directory / "ledger.ndjson")
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("receiver.py")), self.ledger.path],
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def requests(self, path: str | None = None) -> list[Request]:
        """What it has received so far."""
        return self.ledger.requests(path)

    def release(self) -> None:
        """Answer what is held, now and from now on."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS)
        connection.request("GET", "/release")
        connection.getresponse().read()
        connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


class Engine:
    """`offbeat run` on a data directory: one process at a time, any number in a row."""

    def __init__(self, data_dir: Path, log: Path) -> None:
        self.data_dir = data_dir
        self.log = log
        self.program: Sequence[str | Path] = (sys.executable, "-m", "engine")
        self.environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
        self.key: str | None = None
        self.calls: list[Call] = []
        self.kills: list[int] = []
        self.absences: list[tuple[int, int]] = []
        self.process: subprocess.Popen[bytes] | None = None
        self._log_from = 0
        self._away_since_ms: int | None = None
        self._port: int | None = None

    @property
    def database(self) -> Path:
        return self.data_dir / "offbeat.db"

    @property
    def url(self) -> str:
        """Where the running process is asked."""
        return f"http://127.0.0.1:{self._address()}"

    def spawn(self, *flags: str) -> None:
        """Start a process and do not wait for it."""
        assert self.process is None or self.process.returncode is not None, "one at a time"
        self._log_from = self.log.stat().st_size if self.log.exists() else 0
        self._port = None
        command = [*self.program, "run", "--listen", "127.0.0.1:0", *flags]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(self.data_dir)],
                stderr=log,
                stdout=log,
                cwd=self.log.parent,  # No offbeat.toml there.
                env=self.environment,
                umask=0,  # Whatever is private is so by the engine's own doing.
            )

    def start(self, *flags: str) -> None:
        """Start a process and wait until it is ready."""
        self.spawn(*flags)
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until it is ready; how long none was, since the last that had been, is kept."""
        until(self.is_ready, "the engine is ready")
        if self._away_since_ms is not None:
            self.absences.append((self._away_since_ms, now_ms()))
            self._away_since_ms = None

    def is_ready(self) -> bool:
        return self._address() is not None and self.ask("GET", "/readyz").status == 200

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """What this process has logged, or its events called `name`."""
        with self.log.open("rb") as file:
            file.seek(self._log_from)
            lines = file.read().split(b"\n")[:-1]
        events = [json.loads(line) for line in lines if line.startswith(b"{")]
        return [event for event in events if name in (None, event["event"])]

    def said(self) -> str:
        """Everything that this process has written on stderr."""
        return self.log.read_bytes()[self._log_from :].decode()

    def ask(self, method: str, path: str, document: object = None) -> Call:
        """Send one request to the API; whoever dies meanwhile, the answer says what is known."""
        port = self._address()
        assert port is not None, "the engine does not listen yet"
        sent_ms = now_ms()
        connection = HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
        try:
            body = None if document is None else json.dumps(document)
            headers = {"Content-Type": "application/json"} if body else {}
            if self.key is not None:
                headers["Authorization"] = f"Bearer {self.key}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException):
            return Call(method=method, path=path, sent_ms=sent_ms)
        finally:
            connection.close()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return Call(
            method=method,
            path=path,
            sent_ms=sent_ms,
            answered_ms=now_ms(),
            status=answer.status,
            document=json.loads(text) if is_json else text.decode(),
        )

    def write(self, method: str, path: str, document: object = None) -> Call:
        """`ask`, kept in the log of what was asked and acknowledged."""
        call = self.ask(method, path, document)
        self.calls.append(call)
        return call

    def put(self, name: str, document: object) -> dict[str, Any]:
        """Store a schedule that must be accepted; the document as stored."""
        call = self.write("PUT", f"/v1/schedules/{name}", document)
        assert call.status in (200, 201), call
        stored: dict[str, Any] = call.document
        return stored

    def runs(self, query: str = "") -> list[dict[str, Any]]:
        """A page of runs, newest first."""
        found: list[dict[str, Any]] = self.ask("GET", f"/v1/runs?limit=1000&{query}").document[
            "data"
        ]
        return found

    def all_runs(self, query: str = "") -> Iterator[dict[str, Any]]:
        """Every run, newest first, page by page; each as it was when its page was asked for."""
        cursor: str | None = ""
        while cursor is not None:
            page = self.ask("GET", f"/v1/runs?limit=1000&{query}{cursor}").document
            yield from page["data"]
            cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"

    def outlives(self, seconds: float) -> bool:
        """Whether the process is still there after `seconds`."""
        assert self.process is not None
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def signal(self, number: int) -> int:
        """Send a signal; when that was."""
        assert self.process is not None
        sent_ms = now_ms()
        self.process.send_signal(number)
        return sent_ms

    def exit_code(self, *, seconds: float = DEADLINE_SECONDS) -> int:
        """Wait for the end of the process."""
        assert self.process is not None
        code = self.process.wait(seconds)
        self.process = None
        return code

    def stop(self) -> None:
        """Stop in order."""
        self.signal(signal.SIGTERM)
        assert self.exit_code() == 0, self.said()

    def kill(self) -> None:
        """kill -9, if there is a process; the instant is kept once it is certainly dead."""
        if self.process is not None:
            self.process.kill()
            self.exit_code()
            self.kills.append(now_ms())
            self._away_since_ms = self._away_since_ms or self.kills[-1]

    def _address(self) -> int | None:
        """The port, once the process listens."""
        if self._port is None:
            assert self.process is not None
            assert self.process.poll() is None, f"the engine ended: {self.said()}"
            for event in self.events("listening"):
                self._port = int(event["on"].rpartition(":")[2])
        return self._port


def _request(line: bytes) -> Request:
    fields = json.loads(line)
    headers = tuple((name, value) for name, value in fields["headers"])
    return Request(**{**fields, "headers": headers, "body": b64decode(fields["body"])})
