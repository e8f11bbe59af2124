"""What a supervisor hears, on a real socket; tests/end_to_end has a real process, too."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from engine.supervisor import ON_TIME_MS_MAX, Supervisor
from engine.testing import VirtualClock, run_virtual

START_MS = 1_700_000_000_000
TEN_SECONDS = {"WATCHDOG_USEC": "10000000"}
NOBODY = 2**22 + 1
"""No process has such a number: Linux ends at 2²²."""


@pytest.fixture(params=["path", "abstract"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[socket.socket]:
    """The supervisor's end."""
    name = str(tmp_path / "notify") if request.param == "path" else f"\0offbeat-{uuid4()}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
        end.bind(name)
        end.setblocking(False)
        yield end


def told_at(end: socket.socket) -> dict[str, str]:
    """The environment that a supervisor with this end gives a process."""
    name = end.getsockname()
    return {"NOTIFY_SOCKET": "@" + name[1:].decode() if isinstance(name, bytes) else name}


def messages(end: socket.socket) -> list[str]:
    """What has come since the last look."""
    found = []
    while True:
        try:
            found.append(end.recv(4096).decode())
        except BlockingIOError:
            return found


def beats(environ: dict[str, str], lates_ms: list[int], *, every_ms: int = 1_000) -> Supervisor:
    """A supervisor that has been told of beats, `every_ms` apart."""
    supervisor = Supervisor(environ)

    async def main(clock: VirtualClock) -> None:
        for late_ms in lates_ms:
            supervisor.beat(late_ms)
            await clock.run_for(every_ms)

    run_virtual(main, START_MS)
    return supervisor


def test_it_is_told_of_the_beginning_and_the_end(heard: socket.socket) -> None:
    supervisor = Supervisor(told_at(heard))
    supervisor.ready("listening on 127.0.0.1:8420")
    supervisor.stopping()
    assert messages(heard) == [
        "READY=1\nSTATUS=listening on 127.0.0.1:8420",
        "STOPPING=1\nSTATUS=letting requests end",
    ]


def test_a_watchdog_hears_of_beats_twice_in_its_time(heard: socket.socket) -> None:
    beats(told_at(heard) | TEN_SECONDS, [0] * 15)
    assert messages(heard) == ["WATCHDOG=1"] * 3, "after 0, 5 and 10 s"


def test_beats_of_a_late_loop_are_not_told(heard: socket.socket) -> None:
    beats(told_at(heard) | TEN_SECONDS, [ON_TIME_MS_MAX + 1] * 60)
    assert messages(heard) == []
    beats(told_at(heard) | TEN_SECONDS, [ON_TIME_MS_MAX + 1] * 60 + [ON_TIME_MS_MAX])
    assert messages(heard) == ["WATCHDOG=1"], "one beat on time is enough"


@pytest.mark.parametrize(
    ("watched", "told"),
    [(os.getpid(), True), (os.getppid(), True), (NOBODY, False)],
    ids=["us", "what unpacked us", "another"],
)
def test_a_watchdog_hears_of_the_process_that_it_watches(
    heard: socket.socket, watched: int, told: bool
) -> None:
    beats(told_at(heard) | TEN_SECONDS | {"WATCHDOG_PID": str(watched)}, [0])
    assert messages(heard) == ["WATCHDOG=1"] * told


def test_without_a_watchdog_beats_are_not_told(heard: socket.socket) -> None:
    beats(told_at(heard), [0])
    beats(told_at(heard) | {"WATCHDOG_USEC": "soon"}, [0])
    assert messages(heard) == []


@pytest.mark.parametrize(
    ("environ", "event"),
    [
        ({}, None),
        ({"NOTIFY_SOCKET": "/nonexistent/notify"}, "supervisor_unreachable"),
        ({"NOTIFY_SOCKET": "vsock:2:1234"}, "supervisor_unknown"),
    ],
)
def test_nobody_to_tell_is_logged_once_and_no_reason_to_stop(
    environ: dict[str, str], event: str | None
) -> None:
    with capture_logs() as logs:
        supervisor = beats(environ | TEN_SECONDS, [0])
        supervisor.ready("listening")
        supervisor.stopping()
    assert [line["event"] for line in logs] == [event] * (event is not None)


def test_a_manager_that_did_not_listen_for_a_while_is_told_again(tmp_path: Path) -> None:
    place = tmp_path / "notify"
    supervisor = Supervisor({"NOTIFY_SOCKET": str(place)})
    supervisor.ready("told to nobody")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as end:
        end.bind(str(place))
        end.setblocking(False)
        supervisor.stopping()
        assert messages(end) == ["STOPPING=1\nSTATUS=letting requests end"]
