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

from engine.core.errors import ConfigError
from engine.listening import read_listen
from engine.web.connection import LINE_BYTES_MAX, Connection
from engine.web.connection_limits import Places
from engine.web.server_log import ServerLog

SHUTDOWN_SECONDS = 5.0
"""Handlers get this long to end at shutdown; the drain of deliveries has its own time."""

BACKLOG = 128
"""Connections that wait to be accepted: what clients open within a moment, or while we start."""

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


class Listener:
    """An address to serve on. Bound, it is nobody else's; clients that come early wait."""

    __slots__ = ("_path", "_socket", "listen")

    def __init__(self, listen: str) -> None:
        """`listen`: `HOST:PORT` or `unix:PATH`."""
        self.listen = listen
        self._socket: socket.socket | None = None
        self._path: Path | None = None

    @property
    def bound(self) -> socket.socket:
        assert self._socket is not None, "bind() comes first"
        return self._socket

    def bind(self) -> None:
        """Take the address; `listen` then has the port that the kernel chose.

        Raises ConfigError when it cannot be had.
        """
        try:
            place = read_listen(self.listen)
            if isinstance(place, Path):
                self._socket, self._path = _unix_listener(place), place
            else:
                self._socket = _tcp_listener(*place)
                host, port = self.listen.rpartition(":")[0], self._socket.getsockname()[1]
                self.listen = f"{host}:{port}"
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise ConfigError(f"cannot listen on {self.listen}: {reason}") from None

    def close(self) -> None:
        """Give the address back, if it was taken."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Server:
    """A running server; `listen` says where."""

    __slots__ = ("_accepting", "_listener", "_runner")

    def __init__(
        self, runner: web.AppRunner, accepting: asyncio.Server, listener: Listener
    ) -> None:
        self._runner = runner
        self._accepting = accepting
        self._listener = listener

    @property
    def listen(self) -> str:
        return self._listener.listen

    async def stop(self) -> None:
        """Accept no more, let handlers end, close."""
        self._accepting.close()
        await self._runner.cleanup()
        self._listener.close()


async def start_server(app: web.Application, listener: Listener) -> Server:
    """Serve `app` on a bound listener, which is closed with the server."""
    runner = web.AppRunner(app, shutdown_timeout=SHUTDOWN_SECONDS)
    try:
        await runner.setup()
        return Server(runner, await _accept(runner, listener.bound), listener)
    except BaseException:  # Cancellation too must leave no listener behind.
        await runner.cleanup()
        listener.close()
        raise


async def _accept(runner: web.AppRunner, listener: socket.socket) -> asyncio.Server:
    assert runner.server is not None, "setup() made it"
    loop = asyncio.get_running_loop()
    connect = partial(Connection, runner.server, places=Places(), loop=loop, **CONNECTION_SETTINGS)
    return await loop.create_server(connect, sock=listener, backlog=BACKLOG)


def _tcp_listener(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    return _listening(family, address)


def _unix_listener(path: Path) -> socket.socket:
    _remove_stale(path)
    return _listening(socket.AF_UNIX, str(path))


def _listening(family: socket.AddressFamily, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restart must not wait for the last connections of its predecessor to be forgotten.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        if family == socket.AF_UNIX:
            # Nobody can connect before it listens, so at no moment is it open to others.
            os.chmod(address, 0o600)
        # At once: of two sockets that are bound to one port, the first to listen has it.
        listener.listen(BACKLOG)
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
