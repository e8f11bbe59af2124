"""A client of the API on a real loopback socket; the server runs while a request is under way."""

import asyncio
import io
import json
import socket
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from engine.web.application import create_app
from engine.web.server import Listener, start_server
from tests.web.described import check_described

T = TypeVar("T")

WAIT_SECONDS_MAX = 30.0
"""For what takes milliseconds when nothing is broken."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def problem(self) -> dict[str, Any]:
        """The body, which must be an RFC 9457 problem about this status."""
        assert self.headers["Content-Type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return self.json

    @property
    def faults(self) -> dict[str, str]:
        """Details by pointer or parameter."""
        errors = self.problem["errors"]
        return {error.get("pointer", error.get("parameter")): error["detail"] for error in errors}


class Api:
    """A client of the engine's API; the server runs while a request is under way."""

    def __init__(self, engine: Any, runner: asyncio.Runner) -> None:
        self._runner = runner
        listener = Listener("127.0.0.1:0")
        listener.bind()
        self._server = runner.run(start_server(create_app(engine), listener))
        self.port = int(self._server.listen.rpartition(":")[2])

    def request(
        self,
        method: str,
        path: str,
        *,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        **json_body: Any,
    ) -> Answer:
        """`json=` sends that value as JSON; `data=` sends bytes, or what an iterator yields."""
        return self._run(self._request(method, path, data, dict(headers or {}), json_body))

    def get(self, path: str, **rest: Any) -> Answer:
        return self.request("GET", path, **rest)

    def put(self, name: str, json: Any, **rest: Any) -> Answer:
        return self.request("PUT", f"/v1/schedules/{name}", json=json, **rest)

    def post(self, path: str, **rest: Any) -> Answer:
        return self.request("POST", path, **rest)

    def batch(self, data: Any) -> Answer:
        headers = {"Content-Type": "application/x-ndjson"}
        return self.request("POST", "/v1/schedules:batch", data=data, headers=headers)

    def raw(self, data: bytes) -> bytes:
        """Send bytes on a new connection and read until the server closes it."""
        return self._run(self._raw(data))

    def send_then_read(self, data: bytes) -> bytes:
        """As `raw`, but there is hardly room for an answer before all is sent."""
        return self._run(self._send_then_read(data))

    def head(self, data: bytes) -> bytes:
        """Send bytes on a new connection; the head of the answer, after which it is given up."""
        return self._run(self._head(data))

    def hang_up(self, data: bytes) -> None:
        """Send bytes on a new connection and close it without reading."""
        self._run(self._hang_up(data))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(asyncio.wait_for(work, WAIT_SECONDS_MAX))

    def close(self) -> None:
        self._runner.run(self._server.stop())

    async def _request(
        self, method: str, path: str, data: Any, headers: dict[str, str], json_body: dict[str, Any]
    ) -> Answer:
        if "json" in json_body:
            data = json.dumps(json_body["json"]).encode()
            headers = {"Content-Type": "application/json"} | headers
        if isinstance(data, bytes):
            data = io.BytesIO(data)
        url = f"http://127.0.0.1:{self.port}{path}"
        async with (
            aiohttp.ClientSession(skip_auto_headers=["Content-Type"]) as session,
            session.request(method, url, data=data, headers=headers) as response,
        ):
            body = await response.read()
            check_described(method, path, response.status, response.headers, body)
            return Answer(status=response.status, headers=response.headers, body=body)

    async def _send_then_read(self, data: bytes) -> bytes:
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        narrow.connect(("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=narrow)
        writer.write(data)
        await writer.drain()
        answer = await reader.read()
        writer.close()
        return answer

    async def _raw(self, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        answer = await reader.read()
        writer.close()
        return answer

    async def _head(self, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return head

    async def _hang_up(self, data: bytes) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
