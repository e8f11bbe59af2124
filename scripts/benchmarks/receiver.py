"""A receiver that costs almost nothing, so that the client under test is the bottleneck.

A process of its own answers every request on a keep-alive connection with the same 200. It tells
requests apart by their blank lines and `Content-Length`, and says over a pipe when each arrived and
when it was due.
"""

import asyncio
import multiprocessing
import os
import socket
import time
from datetime import datetime
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import cast

import uvloop

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"


class Receiver:
    """A receiver that runs; `port` on 127.0.0.1."""

    def __init__(self, process: BaseProcess, port: int, pipe: Connection) -> None:
        self.process = process
        self.port = port
        self._pipe = pipe

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def arrivals(self) -> list[tuple[float, float]]:
        """The requests since the last call: when each arrived and was due, or 0 if it says not.

        In order, in seconds of the calendar.
        """
        self._pipe.send("arrivals")
        seen: list[tuple[float, bytes]] = self._pipe.recv()
        return [(instant, _seconds(due)) for instant, due in seen]

    def stop(self) -> None:
        self._pipe.send("stop")
        self.process.join(timeout=5)


def start_receiver() -> Receiver:
    """Start the process and wait until it listens."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # Should the process die, its end is closed and the wait over.
    return Receiver(process, ours.recv(), ours)


def _seconds(instant: bytes) -> float:
    return datetime.fromisoformat(instant.decode()).timestamp() if instant else 0.0


class _Answering(asyncio.Protocol):
    def __init__(self, arrivals: list[tuple[float, bytes]]) -> None:
        self._arrivals = arrivals
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (head := self._take_head()) is not None:
            _, _, due = head.partition(b"\r\nX-Fire-After: ")
            self._arrivals.append((time.time(), due.partition(b"\r\n")[0]))
            self._transport.write(ANSWER)

    def _take_head(self) -> bytes | None:
        """The head of the next request that is here whole."""
        head, blank, _ = self._received.partition(b"\r\n\r\n")
        if not blank:
            return None
        _, _, length = head.partition(b"\r\nContent-Length: ")
        whole = len(head) + 4 + int(length.partition(b"\r\n")[0] or 0)
        if len(self._received) < whole:
            return None
        self._received = self._received[whole:]
        return head


def _serve(pipe: Connection) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_answer_until_stopped(pipe))


async def _answer_until_stopped(pipe: Connection) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    arrivals: list[tuple[float, bytes]] = []

    def obey() -> None:
        try:
            command = pipe.recv()
        except EOFError:  # The benchmark is gone.
            command = "stop"
        if command == "arrivals":
            os.set_blocking(pipe.fileno(), True)  # The loop has made it otherwise.
            pipe.send(arrivals)
            del arrivals[:]
        else:
            loop.remove_reader(pipe.fileno())
            stopped.set()

    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = await loop.create_server(lambda: _Answering(arrivals), sock=listener)
    loop.add_reader(pipe.fileno(), obey)
    pipe.send(listener.getsockname()[1])
    await stopped.wait()
    server.close()
