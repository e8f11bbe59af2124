"""The engine's HTTP API, one call at a time, as commands use it.

Commands are straight-line programs, so the client is synchronous on the outside. A problem
document (RFC 9457) becomes the `OffbeatError` that a call inside the engine would have raised,
and with it the same exit code.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import aiohttp

from engine.cli.options import Server
from engine.cli.progress import Advance, progress
from engine.config import DEFAULT_PORT, Config
from engine.core.errors import (
    ConfigError,
    Conflict,
    Fault,
    Invalid,
    NoServer,
    NotFound,
    OffbeatError,
    PreconditionFailed,
    Unavailable,
)
from engine.core.revision import NOTHING
from engine.core.url_rules import wire_url
from engine.listening import read_listen

# An engine that accepts a connection answers within milliseconds; a batch of 100,000 takes 10 s.
CONNECT_SECONDS = 5
ANSWER_SECONDS = 300
# Three times as long as an event stream is silent.
SILENT_SECONDS = 45
# The API's largest page.
PAGE_ROWS = 1_000


class Client:
    """Use as a context manager: `with Client(server) as client: client.get("/v1/secrets")`."""

    def __init__(self, server: Server) -> None:
        """Raises ConfigError for an address that no engine can have."""
        self._server = server.url
        self._key = server.key
        self._date = ""
        try:
            self._origin, self._socket = _read_address(server.url)
        except ValueError as error:
            raise ConfigError(f"--server {server.url}: {error}") from None

    def __enter__(self) -> Self:
        self._runner = asyncio.Runner()
        self._session = self._runner.run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._session.close())
        self._runner.close()

    @property
    def now_ms(self) -> int:
        """What time it was for the engine at its last answer, to the second: not this machine's."""
        try:
            return int(parsedate_to_datetime(self._date).timestamp()) * 1_000
        except ValueError:
            raise NoServer(
                f"what answers at {self._server} says no Date; is it an engine?"
            ) from None

    def get(self, path: str, **query: object) -> Any:
        """The JSON answer to a GET; parameters that are None are left out."""
        return self.call("GET", path, query=query)

    def text(self, path: str) -> str:
        """The answer to a GET of plain text."""
        return self._send("GET", path, {}, {}, None)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: object = None,
        if_match: int | None = None,
    ) -> Any:
        """The JSON answer; None for an empty one. Raises the error that a problem stands for.

        `if_match`: the revision that a change is meant for, or `NOTHING`.
        """
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if if_match == NOTHING:
            headers["If-None-Match"] = "*"
        elif if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        data = json.dumps(body).encode() if body is not None else None
        text = self._send(method, path, query or {}, headers, data)
        return _json(text) if text else None

    def rows(self, path: str, *, limit: int | None = None, **query: object) -> Iterator[Any]:
        """The rows of a list, page after page; `limit` bounds them all."""
        cursor = None
        left = limit if limit is not None else -1
        while left != 0:
            size = PAGE_ROWS if left < 0 else min(left, PAGE_ROWS)
            page = self.get(path, limit=size, cursor=cursor, **query)
            yield from page["data"]
            left -= len(page["data"]) if left > 0 else 0
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def events(
        self, path: str, *, after: str | None, **query: object
    ) -> Iterator[tuple[str | None, str | None, Any]]:
        """Server-sent events as (name, id, document), from the one after the id `after` on.

        Ends with the stream, and when nothing came for longer than the engine is ever silent.
        """
        params = {name: str(value) for name, value in query.items() if value is not None}
        headers = {} if after is None else {"Last-Event-ID": after}
        try:
            response = self._runner.run(self._listen(path, params, headers))
            while block := self._runner.run(_block(response)):
                fields = dict(line.split(": ", 1) for line in block.split("\n") if line[1:])
                if fields.keys() & {"id", "data"}:
                    data = _json(fields.get("data", "null"))
                    yield fields.get("event"), fields.get("id"), data
        except (aiohttp.ClientError, TimeoutError) as error:
            raise NoServer(f"the events of {self._server} broke off") from error

    def batch(
        self, documents: Collection[Mapping[str, Any]], *, dry_run: bool = False
    ) -> list[dict[str, Any]]:
        """Put schedules, each with its `name`, or try to; a result for each, in their order."""
        lines = b"".join(json.dumps(document).encode() + b"\n" for document in documents)
        headers = {"Content-Type": "application/x-ndjson"}
        # As a file: aiohttp sends large bytes in one piece, and warns of it.
        query = {"dry_run": "true"} if dry_run else {}
        title = "comparing schedules" if dry_run else "storing schedules"
        with progress(title, len(documents)) as advance:
            text = self._send(
                "POST", "/v1/schedules:batch", query, headers, BytesIO(lines), advance=advance
            )
        names = [document["name"] for document in documents]  # The answer leaves out long ones.
        answers = zip(map(_json, text.splitlines()), names, strict=True)
        return [answer | {"name": name} for answer, name in answers]

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, object],
        headers: Mapping[str, str],
        data: bytes | BytesIO | None,
        *,
        advance: Advance = lambda _: None,
    ) -> str:
        """The text of the answer; `advance` is told of its lines as they come."""
        params = {name: str(value) for name, value in query.items() if value is not None}
        try:
            status, text = self._runner.run(
                self._exchange(method, path, params, headers, data, advance=advance)
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise ConfigError(
                f"--server {self._server}: {error.certificate_error}; "
                "name the file of the authority to trust in SSL_CERT_FILE"
            ) from error
        except aiohttp.ClientSSLError as error:
            plain = self._server.replace("https:", "http:", 1)
            raise ConfigError(
                f"--server {self._server}: what answers there does not speak TLS, and an engine "
                f"itself never does; write {plain}"
            ) from error
        except aiohttp.ClientConnectorError as error:
            raise NoServer(self._nobody(error.os_error)) from error
        except aiohttp.ClientConnectionError as error:
            raise NoServer(f"what answers at {self._server} hung up; is it an engine?") from error
        except TimeoutError as error:
            raise OffbeatError(
                f"{self._server} did not answer within {ANSWER_SECONDS} s"
            ) from error
        except aiohttp.ClientError as error:
            raise OffbeatError(f"{self._server} does not speak HTTP: {error}") from error
        if status >= 400:
            raise _error(status, text)
        return text

    async def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.UnixConnector(str(self._socket)) if self._socket else None
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS, sock_connect=CONNECT_SECONDS)
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        return aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers)

    async def _exchange(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        data: bytes | BytesIO | None,
        *,
        advance: Advance,
    ) -> tuple[int, str]:
        url = self._origin + path
        async with self._session.request(
            method, url, params=params, headers=headers, data=data, allow_redirects=False
        ) as response:
            content = bytearray()
            async for part in response.content.iter_any():
                content += part
                advance(part.count(b"\n"))
            self._date = response.headers.get("Date", "")
            return response.status, content.decode(errors="replace")

    async def _listen(
        self, path: str, params: Mapping[str, str], headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=SILENT_SECONDS)
        response = await self._session.get(
            self._origin + path, params=params, headers=headers, timeout=timeout
        )
        if response.status >= 400:
            raise _error(response.status, await response.text())
        return response

    def _nobody(self, error: OSError) -> str:
        if not isinstance(error, ConnectionRefusedError | FileNotFoundError):
            return f"no engine can be reached at {self._server}: {error.strerror or error}"
        place = self._server if self._socket else urlsplit(self._origin).netloc
        listen = "" if place == Config().listen else f" --listen {place}"
        return f"no engine answers at {self._server}; start one with: offbeat run{listen}"


def schedule_path(name: str, action: str = "") -> str:
    """The address of a schedule, or of something to do with it (`:pause`)."""
    return f"/v1/schedules/{quote(name, safe='')}{action}"


def run_path(run: str, action: str = "") -> str:
    """The address of a run, or of something to do with it (`:cancel`)."""
    return f"/v1/runs/{quote(run, safe='@:')}{action}"


def _read_address(server: str) -> tuple[str, Path | None]:
    """What paths are appended to, and the socket if it is one. Raises ValueError."""
    if server.startswith("unix:"):
        place = read_listen(server)
        assert isinstance(place, Path), "it says unix:"
        # The engine checks the Host header on loopback; a socket has no name of its own.
        return "http://localhost", place
    if not server.lower().startswith(("http://", "https://")):
        raise ValueError("write http://HOST:PORT or unix:PATH")
    origin = wire_url(server).removesuffix("/")
    parts = urlsplit(origin)
    if parts.path or parts.query:
        raise ValueError(f"write {parts.scheme}://{parts.netloc}, without a path")
    if parts.scheme == "http" and parts.port is None:
        raise ValueError(f"write its port, as in http://{parts.netloc}:{DEFAULT_PORT}")
    return origin, None


async def _block(response: aiohttp.ClientResponse) -> str:
    """The next block of a stream; empty at its end."""
    try:
        return (await response.content.readuntil(b"\n\n")).decode()
    except asyncio.IncompleteReadError:
        return ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise NoServer("what answers there is not an Offbeat engine; see --server") from None


def _error(status: int, text: str) -> OffbeatError:
    try:
        problem = json.loads(text)
        detail, errors = str(problem["detail"]), problem.get("errors", [])
    except (ValueError, KeyError, TypeError, AttributeError):
        return OffbeatError(f"the server answered {status}; is it an Offbeat engine?")
    match status:
        case 400 | 413 | 415 | 422:
            return Invalid(*(faults_of(errors) or (Fault("", detail),)))
        case 401 | 403:
            return OffbeatError(f"{detail} (--key-file FILE, or OFFBEAT_KEY)")
        case 404:
            return NotFound(detail)
        case 409:
            return Conflict(detail)
        case 412:
            return PreconditionFailed(detail)
        case 429 | 503:
            return Unavailable(detail)
        case _:
            return OffbeatError(f"the server answered {status}: {detail}")


def faults_of(errors: Iterable[Mapping[str, str]]) -> tuple[Fault, ...]:
    """The `errors` of a problem: of a body by pointer, of a query by parameter."""
    return tuple(
        Fault(each.get("pointer", each.get("parameter", "")), each["detail"]) for each in errors
    )
