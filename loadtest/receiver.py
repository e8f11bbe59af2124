"""The receiver: a process of its own that answers requests and writes down each of them first.

`python -m loadtest.receiver LEDGER KEYFILE PORTS` listens on so many free ports of 127.0.0.1 and
prints them. It must never be what limits a measurement: a request is taken apart by hand in some
20 microseconds, signatures included; what arrives in one turn of the loop is one write(2) to the
ledger, and only then is any of it answered. So what an engine may believe delivered is in the
ledger.

Orders come on standard input, one a line: `down` and `up` begin and end an outage (503 to all). It
ends when standard input does, so it never outlives whoever started it.
"""

import asyncio
import os
import socket
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import cast

import orjson
import uvloop

from loadtest.arithmetic import signatures_hold, unit

BACKLOG = 4_096
"""A herd connects at once, and what does not fit waits a second for its next SYN."""

REQUEST_BYTES_MAX = 2**20
"""No request of a workload comes near it."""

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


@dataclass(slots=True)
class Receiver:
    """Judges, records and answers what arrived in one turn of the loop."""

    ledger: int
    key: bytes
    fail_rate: float
    delay_seconds: float
    is_down: bool = False
    lines: list[bytes] = field(default_factory=list)
    answers: list[tuple[asyncio.Transport, bytes]] = field(default_factory=list)

    def take(self, port: int, head: bytes, body: bytes, transport: asyncio.Transport) -> None:
        """One request, complete."""
        request_line, *fields = head.decode("latin-1").split("\r\n")
        headers = dict([line.split(": ", 1) for line in fields])
        key = headers.get("Idempotency-Key", "")
        failed = self.is_down or (
            self.fail_rate > 0 and unit(f"{key}|{headers.get('X-Attempt')}") < self.fail_rate
        )
        webhook, scheduler = signatures_hold(self.key, headers, body)
        if not self.lines:
            asyncio.get_running_loop().call_soon(self._flush)
        self.lines.append(
            orjson.dumps(
                {
                    "wall_ns": time.time_ns(),
                    "monotonic_ns": time.monotonic_ns(),
                    "port": port,
                    "request": request_line,
                    "headers": headers,
                    "body_sha256": sha256(body).hexdigest(),
                    "webhook_signature": webhook,
                    "scheduler_signature": scheduler,
                    "status": 503 if failed else 200,
                },
                option=orjson.OPT_APPEND_NEWLINE,
            )
        )
        self.answers.append((transport, _BROKEN if failed else _OK))

    def _flush(self) -> None:
        os.write(self.ledger, b"".join(self.lines))
        self.lines.clear()
        answers, self.answers = self.answers, []
        if self.delay_seconds:
            asyncio.get_running_loop().call_later(self.delay_seconds, _answer, answers)
        else:
            _answer(answers)

    def obey(self, over: asyncio.Event) -> None:
        """Read orders; their end is the end of the receiver, too."""
        text = os.read(sys.stdin.fileno(), 4_096).decode()
        for order in text.split():
            self.is_down = order == "down"
        if not text:
            over.set()


class _Connection(asyncio.Protocol):
    """One client's requests; each waits for its answer before the next, as the engine does."""

    def __init__(self, receiver: Receiver, port: int) -> None:
        self._receiver = receiver
        self._port = port
        self._rest = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance.

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while self._take():
            pass
        if len(self._rest) > REQUEST_BYTES_MAX:
            self._transport.abort()

    def _take(self) -> bool:
        head, blank, _ = self._rest.partition(b"\r\n\r\n")
        if not blank:
            return False
        _, _, length = head.partition(b"\r\nContent-Length: ")
        begin = len(head) + 4
        end = begin + int(length.partition(b"\r\n")[0] or 0)
        if len(self._rest) < end:
            return False
        body, self._rest = self._rest[begin:end], self._rest[end:]
        self._receiver.take(self._port, head, body, self._transport)
        return True


def _answer(answers: list[tuple[asyncio.Transport, bytes]]) -> None:
    for transport, answer in answers:
        if not transport.is_closing():
            transport.write(answer)


async def _serve(receiver: Receiver, ports: int) -> None:
    loop = asyncio.get_running_loop()
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) for _ in range(ports)]
    for listener in listeners:
        port = listener.getsockname()[1]
        await loop.create_server(
            partial(_Connection, receiver, port), sock=listener, backlog=BACKLOG
        )
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), receiver.obey, over)
    print(*(listener.getsockname()[1] for listener in listeners), flush=True)
    await over.wait()
    loop.remove_reader(sys.stdin.fileno())


def main(ledger: str, key_file: str, ports: str, fail_rate: str, delay_ms: str) -> None:
    """Serve until standard input ends."""
    receiver = Receiver(
        ledger=os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600),
        key=bytes.fromhex(Path(key_file).read_text()),
        fail_rate=float(fail_rate),
        delay_seconds=int(delay_ms) / 1_000,
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(receiver, int(ports)))


if __name__ == "__main__":
    main(*sys.argv[1:])
