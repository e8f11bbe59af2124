"""Serving an application on a loopback port or a Unix socket: every server setting in one place."""

import asyncio
import errno
import os
import socket
import stat
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from engine.config import read_listen
from engine.core.errors import ConfigError
from engine.web.connection import LINE_BYTES_MAX, Connection
from engine.web.server_log import ServerLog

SHUTDOWN_SECONDS = 5.0
"""Handlers get this long to end at shutdown; the drain of deliveries has its own time."""

CONNECTION_SETTINGS: dict[str, Any] = {
    # aiohttp's hour is for a front end; a client that was silent so long has gone.
    "keepalive_timeout": 30.0,
    # What a client still sends after its answer is thrown away this long, so that it sees the
    # answer and not a reset; then the connection is closed.
    "lingering_time": 1.0,
    # Requests with Content-Encoding are refused; a decompressor is a way to fill memory.
    "auto_decompress": False,
    "max_line_size": LINE_BYTES_MAX,
    "max_field_size": LINE_BYTES_MAX,
    # One event is one line, and a request is not an event.
    "access_log": None,
    "logger": ServerLog(),
}


class Server:
    """A running server; `listen` says where, with the port that the kernel chose."""

    __slots__ = ("_accepting", "_path", "_runner", "listen")

    def __init__(
        self, runner: web.AppRunner, accepting: asyncio.Server, listen: str, path: Path | None
    ) -> None:
        self._runner = runner
        self._accepting = accepting
        self._path = path
        self.listen = listen

    async def stop(self) -> None:
        """Accept no more, let handlers end, close."""
        self._accepting.close()
        await self._runner.cleanup()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


async def start_server(app: web.Application, listen: str) -> Server:
    """Serve `app` on `HOST:PORT` or `unix:PATH`. Raises ConfigError when that cannot be had."""
    place = read_listen(listen)
    try:
        listener = _unix_listener(place) if isinstance(place, Path) else _tcp_listener(*place)
    except OSError as error:
        raise ConfigError(f"cannot listen on {listen}: {error.strerror or error}") from None
    runner = web.AppRunner(app, shutdown_timeout=SHUTDOWN_SECONDS)
    try:
        await runner.setup()
        accepting = await _accept(runner, listener)
    except BaseException:  # Cancellation too must leave no listener behind.
        await runner.cleanup()
        listener.close()
        raise
    if isinstance(place, Path):
        return Server(runner, accepting, listen, place)
    address = f"{listen.rpartition(':')[0]}:{listener.getsockname()[1]}"
    return Server(runner, accepting, address, None)


async def _accept(runner: web.AppRunner, listener: socket.socket) -> asyncio.Server:
    assert runner.server is not None, "setup() made it"
    loop = asyncio.get_running_loop()
    connect = partial(Connection, runner.server, loop=loop, **CONNECTION_SETTINGS)
    return await loop.create_server(connect, sock=listener)


def _tcp_listener(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return _bound(family, address)


def _unix_listener(path: Path) -> socket.socket:
    """A socket that only its owner can connect to.

    Between bind and listen nobody can connect, so there is no moment at which the file is open to
    others.
    """
    _remove_stale(path)
    listener = _bound(socket.AF_UNIX, str(path))
    path.chmod(0o600)
    return listener


def _bound(family: socket.AddressFamily, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restart must not wait for the last connections of its predecessor to be forgotten.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _remove_stale(path: Path) -> None:
    """Remove the socket that a killed process left behind; leave everything else alone."""
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise OSError(errno.EEXIST, "there is a file that is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
