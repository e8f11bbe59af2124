"""`offbeat sink`: a receiver that verifies what it gets, remembers it, and fails when asked to.

Failures are drawn from key and attempt, so that the same deliveries fail in every run. A record is
in the ledger before its answer is on the wire: a delivery that the engine saw succeed and the
ledger does not have was not made by this sink.
"""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from io import RawIOBase
from pathlib import Path
from typing import Any

import click
import orjson

from engine.cli.http_receiver import Received, listen, serve
from engine.cli.options import Number, example, output, secrets
from engine.cli.output import talk
from engine.cli.signatures import judge, small_number
from engine.clock import Clock, SystemClock
from engine.config import DEFAULT_PORT
from engine.core.errors import ConfigError
from engine.core.identity import format_instant, parse_instant, unit_u53

DELAY_SECONDS_MAX = 3_600  # Longer than any timeout that an engine has.
# Beyond this, engine and sink do not share a calendar (--clock-start), and "late" says nothing.
LATENESS_SHOWN_MS_MAX = 3_600_000


@dataclass(slots=True, kw_only=True)
class Sink:
    """What to do with a request: judge, decide, record; `write` takes each record."""

    clock: Clock
    secrets: Sequence[str]
    fail_rate: float
    write: Callable[[dict[str, Any]], None]
    received: int = 0
    failed: int = 0
    refused: int = 0

    def receive(self, request: Received) -> int:
        """The status to answer with: 401 without both signatures, 503 for a failure asked for."""
        verdicts = judge(self.secrets, request.headers, request.body)
        key = request.headers.get("idempotency-key", "")
        status = HTTPStatus.NO_CONTENT
        if self.secrets and {verdicts.webhook, verdicts.scheduler} != {"valid"}:
            status = HTTPStatus.UNAUTHORIZED
        elif self._fails(key, request.headers.get("x-attempt", "1")):
            status = HTTPStatus.SERVICE_UNAVAILABLE
        self.received += 1
        self.failed += status == HTTPStatus.SERVICE_UNAVAILABLE
        self.refused += status == HTTPStatus.UNAUTHORIZED
        self.write(
            {
                "wall_ms": self.clock.now_ms(),
                "monotonic_ms": self.clock.monotonic_ms(),
                "status": int(status),
                "idempotency_key": key,
                "webhook_signature": verdicts.webhook,
                "scheduler_signature": verdicts.scheduler,
                "method": request.method,
                "path": request.path,
                "headers": request.headers,
                "body_bytes": len(request.body),
                "body_sha256": sha256(request.body).hexdigest(),
            }
        )
        return status

    def _fails(self, key: str, attempt: str) -> bool:
        number = small_number(attempt) or 1
        return unit_u53(key, number, "sink") < self.fail_rate * 2**53


def address_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def write_line(record: dict[str, Any]) -> None:
    """A record for people, on one line."""
    headers = record["headers"]
    parts = (
        format_instant(record["wall_ms"]),
        str(record["status"]),
        headers.get("x-schedule-name", f"{record['method']} {record['path']}"),
        *_lateness(record["wall_ms"], headers.get("x-fire-after", "")),
        f"attempt {headers.get('x-attempt', '?')}",
        f"signature {record['webhook_signature']}",
    )
    click.echo("  ".join(parts))


@click.command(
    "sink",
    epilog=example(
        'offbeat sink --secret "$(offbeat secrets)"',
        "offbeat sink --port 9000 --fail-rate 0.2 --delay 0.5 --ledger ledger.ndjson",
    ),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=DEFAULT_PORT + 1,
    show_default=True,
    help="On 127.0.0.1; 0 takes a free one.",
)
@secrets
@click.option(
    "--fail-rate",
    type=Number(0, 1),
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="Answer this share of the attempts with 503.",
)
@click.option(
    "--delay",
    type=Number(0, DELAY_SECONDS_MAX),
    metavar="SECONDS",
    default=0.0,
    show_default=True,
    help="Wait so long before each answer.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append a JSON line per request here; nothing on stdout.",
)
@output
def command(
    *,
    port: int,
    secrets: tuple[str, ...],
    fail_rate: float,
    delay: float,
    ledger: Path | None,
    form: str,
) -> None:
    """Receive webhooks on 127.0.0.1 and verify them, until Ctrl-C.

    Answers 204; 401 where a secret is known and a signature does not hold; 503 as often as
    --fail-rate asks, decided by key and attempt so that a rerun fails the same way.
    """
    with contextlib.ExitStack() as stack:
        if ledger is not None:
            write = _to_file(stack.enter_context(_open(ledger)))
        else:
            write = _as_json if form == "json" else write_line
        sink = Sink(clock=SystemClock(), secrets=secrets, fail_rate=fail_rate, write=write)
        listener = stack.enter_context(_listen(port))
        asyncio.run(_receive_until_told(sink, listener, delay))
    talk(f"{sink.received} received, {sink.failed} failed on purpose, {sink.refused} refused")


async def _receive_until_told(sink: Sink, listener: socket.socket, delay_seconds: float) -> None:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    async with await serve(sink.receive, listener, delay_seconds=delay_seconds):
        # Not before it can be told to end.
        talk(f"the sink listens on {address_of(listener)}")
        await told.wait()


def _open(ledger: Path) -> RawIOBase:
    try:
        # Unbuffered: what was answered is in the file, however the sink ends.
        return ledger.open("ab", buffering=0)
    except OSError as error:
        raise ConfigError(
            f"--ledger {ledger}: {error.strerror}; name a file that can be written"
        ) from None


def _listen(port: int) -> socket.socket:
    try:
        return listen(port)
    except OSError as error:
        reason = os.strerror(error.errno or 0)  # Its own text repeats the address.
        raise ConfigError(
            f"--port {port}: {reason}; name another, or 0 for any that is free"
        ) from None


def _to_file(file: RawIOBase) -> Callable[[dict[str, Any]], None]:
    def write(record: dict[str, Any]) -> None:
        file.write(orjson.dumps(record) + b"\n")

    return write


def _as_json(record: dict[str, Any]) -> None:
    click.echo(orjson.dumps(record))


def _lateness(wall_ms: int, fire_after: str) -> list[str]:
    try:
        late_ms = wall_ms - parse_instant(fire_after)
    except ValueError:
        return []
    return [f"{late_ms:+} ms"] if abs(late_ms) <= LATENESS_SHOWN_MS_MAX else []
