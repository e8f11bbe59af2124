"""`offbeat run` under a supervisor: what it is told, in which order, and what it keeps."""

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.end_to_end.processes import DEADLINE_SECONDS, Engine, Receiver, until

WATCHDOG_USEC = 200_000
"""So short that a test hears it often."""


@pytest.fixture
def supervisor(directory: Path, engine: Engine) -> Iterator[socket.socket]:
    """The supervisor's end; the engine knows where it is."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
        end.bind(str(directory / "notify"))
        end.settimeout(DEADLINE_SECONDS)
        engine.environment |= {
            "NOTIFY_SOCKET": str(directory / "notify"),
            "WATCHDOG_USEC": str(WATCHDOG_USEC),
        }
        yield end


def next_message(end: socket.socket, *, of: str) -> str:
    """The next one that begins with `of`."""
    while not (message := end.recv(4096).decode()).startswith(of):
        pass
    return message


def test_it_is_ready_when_it_listens_and_on_time_until_it_stops(
    engine: Engine, supervisor: socket.socket, receiver: Receiver
) -> None:
    engine.spawn()
    ready = next_message(supervisor, of="")
    engine.wait_ready()
    assert ready == f"READY=1\nSTATUS=listening on {urlsplit(engine.url).netloc}"
    for _ in range(5):
        assert next_message(supervisor, of="") == "WATCHDOG=1"
    engine.put("tick", {"every": 1, "target": {"url": receiver.url("/held?hold=1")}})
    until(receiver.requests, "a request is under way")
    engine.signal(signal.SIGTERM)
    assert next_message(supervisor, of="STOPPING") == "STOPPING=1\nSTATUS=letting requests end"
    assert next_message(supervisor, of="") == "WATCHDOG=1", "while requests end, it is on time"
    receiver.release()
    assert engine.exit_code() == 0
