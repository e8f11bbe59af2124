"""`offbeat run --demo`: a receiver and a dozen schedules beside the engine, so that things happen.

It uses nothing but the public API, from a thread of its own: waits until the engine answers, asks
for the signing secret, puts the schedules, and receives what they send. One delivery in twenty is
refused on purpose, so that retries can be seen.
"""

import asyncio
import socket
import threading
from pathlib import Path
from typing import Any

from engine.cli.apply import report
from engine.cli.client import Client
from engine.cli.http_receiver import listen, serve
from engine.cli.options import Server, read_key
from engine.cli.output import sentence_of, talk
from engine.cli.sink import Sink, address_of, write_line
from engine.clock import SystemClock
from engine.config import DEFAULT_PORT, Config
from engine.core.errors import ConfigError, NoServer, OffbeatError, Unavailable
from engine.listening import read_listen

FAIL_RATE = 0.05
# An engine that has a large journal to recover takes seconds.
READY_SECONDS = 60
POLL_SECONDS = 0.1


def accompany(config: Config) -> None:
    """Start the demo beside an engine that is about to start with `config`. Raises ConfigError.

    The thread is a daemon: it ends with the engine's process and holds nothing that matters.
    """
    place = read_listen(config.listen)
    if not isinstance(place, Path) and place[1] == 0:
        raise ConfigError("--demo needs to know the port; name one in --listen")
    url = config.listen if isinstance(place, Path) else f"http://{config.listen}"
    server = Server(url, read_key(config.admin_key_file) if config.admin_key_file else None)
    threading.Thread(target=_demonstrate, args=(server,), daemon=True, name="demo").start()


def demo_documents(sink_url: str) -> list[dict[str, Any]]:
    """Example schedules, a kind each, that call `sink_url`."""
    return [
        {
            "name": name,
            "labels": {"demo": "true"},
            "target": {"url": f"{sink_url}/{name}", "json": {"schedule": name}},
            **rest,
        }
        for name, rest in _EXAMPLES.items()
    ]


_EXAMPLES: dict[str, dict[str, Any]] = {
    "every-second": {"every": 1},
    "every-three-seconds": {"every": 3, "retry": {"min_backoff_seconds": 1}},
    "every-ten-seconds-spread": {"every": 10, "jitter_seconds": 8},
    "cron-with-seconds": {"cron": "*/15 * * * * *"},
    "every-minute": {"cron": "* * * * *"},
    "every-minute-by-its-own-second": {"cron": "H * * * * *"},
    "every-five-minutes": {"cron": "*/5 * * * *"},
    "hourly": {"cron": "@hourly"},
    "hourly-exactly": {"cron": "@hourly", "jitter_seconds": 0},
    "office-hours-in-berlin": {"cron": "*/10 9-17 * * mon-fri", "timezone": "Europe/Berlin"},
    "nightly-in-new-york": {
        "cron": "30 2 * * *",
        "timezone": "America/New_York",
        "dst_gap": "shift",
        "catch_up": "latest",
        "deadline_seconds": 3_600,
    },
    "last-friday-of-the-month": {"cron": "0 18 * * 5L", "timezone": "Europe/London"},
}


def _demonstrate(server: Server) -> None:
    try:
        with Client(server) as client:
            secrets = _secrets(client)
            listener = _listen()
            talk(f"demo: these schedules call {address_of(listener)}")
            report(client.batch(demo_documents(address_of(listener))))
    except OffbeatError as error:
        talk(f"demo: {sentence_of(error)}")
        return
    sink = Sink(clock=SystemClock(), secrets=secrets, fail_rate=FAIL_RATE, write=write_line)
    asyncio.run(_receive(sink, listener))


def _secrets(client: Client) -> list[str]:
    """The signing secrets, once the engine is ready."""
    clock = SystemClock()
    deadline_ms = clock.monotonic_ms() + READY_SECONDS * 1000
    while True:
        try:
            client.get("/readyz")
            return [row["secret"] for row in client.get("/v1/secrets")["data"]]
        except (NoServer, Unavailable):
            if clock.monotonic_ms() > deadline_ms:
                raise
        threading.Event().wait(POLL_SECONDS)


def _listen() -> socket.socket:
    """At the sink's usual port, so that a second demo changes no schedule; else at any."""
    try:
        return listen(DEFAULT_PORT + 1)
    except OSError:
        return listen(0)


async def _receive(sink: Sink, listener: socket.socket) -> None:
    async with await serve(sink.receive, listener) as server:
        await server.serve_forever()
