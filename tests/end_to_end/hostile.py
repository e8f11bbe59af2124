"""Receivers that mean harm, in a process of their own: one port for each kind.

`python hostile.py` prints the ports by kind, as JSON, and serves until it is killed. What a kind
does is a row of `KINDS`, and so is what the engine should make of it. Nothing here comes from the
engine.
"""

import asyncio
import gzip
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CERTIFICATE = Path(__file__).parent.parent / "services" / "localhost.pem"
DRIP_SECONDS = 0.05
"""Between two pieces of a drip: too often for an idle timeout of any sensible length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Say `start`, then `piece` over and over; then stay, hang up, or break off.

    `drips`: with a pause before each piece. `waits`: for the request, before anything else. `tls`:
    with a certificate that nobody believes; `https`: called so, whether it speaks TLS or not.
    `outcomes`: what the engine may make of it; more than one where a race decides.
    """

    outcomes: frozenset[str]
    start: bytes = b""
    piece: bytes = b""
    drips: bool = False
    waits: bool = True
    end: Literal["stay", "hang_up", "reset"] = "stay"
    tls: bool = False
    https: bool = False


TIMEOUT = frozenset({"timeout"})
SUCCESS = frozenset({"success"})
BROKEN = frozenset({"protocol_error"})
TLS_ERROR = frozenset({"tls_error"})
NO_CONNECTION = frozenset({"connect_error"})
REFUSED = frozenset({"http_error"})

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BOMB = gzip.compress(bytes(1_000_000))
MOVED = b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: "

KINDS = {
    # Silence.
    "never answers": Kind(outcomes=TIMEOUT),
    "never reads": Kind(outcomes=TIMEOUT, waits=False),
    "accepts and hangs up": Kind(outcomes=BROKEN, waits=False, end="hang_up"),
    "stops in the body": Kind(outcomes=TIMEOUT, start=OK + b"Content-Length: 10\r\n\r\n01234"),
    "stops in a chunk": Kind(outcomes=TIMEOUT, start=CHUNKED + b"a\r\n01234"),
    # Drips: always something, never an end.
    "drips a status line": Kind(outcomes=TIMEOUT, start=b"HTTP/1.1 200 ", piece=b"O", drips=True),
    "drips headers": Kind(outcomes=TIMEOUT, start=OK, piece=b"X: y\r\n", drips=True),
    "drips a body": Kind(outcomes=TIMEOUT, start=OK + b"\r\n", piece=b"x", drips=True),
    "drips chunks": Kind(outcomes=TIMEOUT, start=CHUNKED, piece=b"1\r\nx\r\n", drips=True),
    "drips hints": Kind(
        outcomes=TIMEOUT, piece=b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n", drips=True
    ),
    # Floods.
    "endless headers": Kind(outcomes=BROKEN, start=OK, piece=b"X: y\r\n" * 1_000),
    "one endless header": Kind(outcomes=BROKEN, start=OK + b"X: ", piece=b"y" * 65_536),
    "endless status line": Kind(
        outcomes=BROKEN, start=b"HTTP/1.1 200 ", piece=b"O" * 65_536
    ),
    "endless body": Kind(outcomes=SUCCESS, start=OK + b"\r\n", piece=bytes(65_536)),
    "endless chunks": Kind(outcomes=SUCCESS, start=CHUNKED, piece=b"1\r\nx\r\n" * 10_000),
    "endless chunk extension": Kind(
        outcomes=SUCCESS, start=CHUNKED + b"1;", piece=b"x" * 65_536
    ),
    "ten terabytes": Kind(
        outcomes=SUCCESS,
        start=OK + b"Content-Length: 10000000000000\r\n\r\n",
        piece=bytes(65_536),
    ),
    "gzip bomb": Kind(
        outcomes=SUCCESS, start=OK + b"Content-Encoding: gzip\r\n\r\n", piece=BOMB * 50
    ),
    "interim answers": Kind(
        outcomes=BROKEN, piece=b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000
    ),
    # Nonsense.
    "garbage": Kind(outcomes=BROKEN, piece=bytes(range(256)) * 64),
    "another protocol": Kind(outcomes=BROKEN, start=b"SSH-2.0-OpenSSH_9.6\r\n"),
    "two lengths": Kind(
        outcomes=BROKEN, start=OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok"
    ),
    "a negative length": Kind(
        outcomes=BROKEN, start=OK + b"Content-Length: -1\r\n\r\n", piece=bytes(65_536)
    ),
    "length and chunks": Kind(
        outcomes=BROKEN,
        start=OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "a length too long": Kind(
        outcomes=BROKEN, start=OK + b"Content-Length: 10\r\n\r\n012", end="hang_up"
    ),
    "a length too short": Kind(
        outcomes=SUCCESS, start=OK + b"Content-Length: 2\r\n\r\n", piece=b"ok" * 30_000
    ),
    "a huge chunk size": Kind(
        outcomes=BROKEN, start=CHUNKED + b"f" * 40 + b"\r\n", piece=bytes(65_536)
    ),
    # Redirects.
    "redirects to itself": Kind(outcomes=REFUSED, start=MOVED + b"/\r\n\r\n"),
    "redirects to metadata": Kind(
        outcomes=REFUSED, start=MOVED + b"http://169.254.169.254/latest/\r\n\r\n"
    ),
    # Resets.
    "resets on accept": Kind(outcomes=NO_CONNECTION | BROKEN, waits=False, end="reset"),
    "resets on the request": Kind(outcomes=BROKEN, end="reset"),
    "resets in the body": Kind(
        outcomes=BROKEN, start=OK + b"Content-Length: 10\r\n\r\n012", end="reset"
    ),
    # TLS.
    "speaks no TLS": Kind(outcomes=TLS_ERROR, waits=False, start=OK + b"\r\n", https=True),
    "is silent in the handshake": Kind(outcomes=TIMEOUT, waits=False, https=True),
    "drips a handshake": Kind(
        outcomes=TIMEOUT, waits=False, start=b"\x16\x03\x03\x40\x00", piece=b"\2", drips=True,
        https=True,
    ),
    "resets in the handshake": Kind(
        outcomes=NO_CONNECTION, waits=False, end="reset", https=True
    ),
    "has nobody's certificate": Kind(outcomes=TLS_ERROR, start=OK + b"\r\n", tls=True, https=True),
}  # fmt: skip


async def serve(kind: Kind, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection."""
    try:
        if kind.waits:
            await reader.readuntil(b"\r\n\r\n")
        writer.write(kind.start)
        async for piece in pieces(kind):
            writer.write(piece)
            await writer.drain()
        if kind.end == "stay":
            await reader.read()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        if kind.end == "reset":
            linger_not = struct.pack("ii", 1, 0)
            connected = writer.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
            writer.transport.abort()
        writer.close()


async def pieces(kind: Kind) -> AsyncIterator[bytes]:
    while kind.piece:
        if kind.drips:
            await asyncio.sleep(DRIP_SECONDS)
        yield kind.piece


async def main() -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(CERTIFICATE)
    ports = {}
    for name, kind in KINDS.items():

        async def accept(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: Kind = kind
        ) -> None:
            await serve(kind, reader, writer)

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls if kind.tls else None)
        ports[name] = server.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
