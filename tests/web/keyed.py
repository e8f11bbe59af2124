"""A real engine with keys and two tenants behind its real server: who may do what."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from engine.app import Engine
from engine.clock import SystemClock
from engine.config import Config
from engine.core.access import Quotas, Scope
from engine.core.model import Outcome
from engine.testing import FakeTransport
from engine.web.application import create_app
from engine.web.server import Listener, Server, start_server
from tests.web.api_client import WAIT_SECONDS_MAX
from tests.web.described import check_described

ADMIN_KEY = "obk_operator_" + "0123456789abcdef" * 4
TENANTS = ("acme", "globex")
OK = Outcome(name="success", status=200)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A response, read to its end."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Node:
    """The engine, its keys by `(tenant, scope)`, and a client that may use any of them."""

    def __init__(
        self,
        runner: asyncio.Runner,
        engine: Engine,
        server: Server,
        session: aiohttp.ClientSession,
    ) -> None:
        self._session = session
        self.run = runner.run
        self.engine = engine
        self.url = f"http://{server.listen}"
        self.keys: dict[tuple[str, str], str] = {}

    def create_key(self, tenant: str, scope: Scope) -> str:
        return self.run(self.engine.keys.create(tenant=tenant, scope=scope, name=None))[1]

    def until(self, question: Callable[[], Any], answer: Any) -> None:
        """Ask again until that is the answer: what it waits for is done by the engine's loops."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while (found := question()) != answer:
            assert time.monotonic() < deadline, f"still {found}, not {answer}"

    def ask(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        patient: bool = True,
    ) -> Answer:
        """One request; `body` is sent as JSON, or as it is when it is bytes.

        `patient`: when its key asks too often, which a fast machine does, it asks again.
        """
        given = dict(headers or {})
        if key is not None:
            given["Authorization"] = f"Bearer {key}"
        if body is not None:
            given.setdefault("Content-Type", "application/json")
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        until = time.monotonic() + WAIT_SECONDS_MAX
        while True:
            asked = self._ask(method, path, given, data)
            answer = self.run(asyncio.wait_for(asked, WAIT_SECONDS_MAX))
            if answer.status != 429 or not patient or time.monotonic() > until:
                return answer

    async def _ask(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes | None
    ) -> Answer:
        async with self._session.request(
            method, self.url + path, headers=headers, data=data
        ) as response:
            if response.content_type == "text/event-stream":  # It does not end; how it begins.
                blocks = [await response.content.readuntil(b"\n\n") for _ in range(2)]
                text = b"".join(blocks).decode()
            else:
                text = await response.text()
            check_described(method, path, response.status, response.headers, text.encode())
            return Answer(status=response.status, headers=response.headers, text=text)


@contextmanager
def keyed_node(
    directory: Path, *, answer: Callable[[Any], Outcome] = lambda _: OK
) -> Iterator[Node]:
    """An engine on `directory` with the operator's key and, for both tenants, one of each scope."""
    path = directory / "admin.key"
    path.write_text(ADMIN_KEY + "\n")
    path.chmod(0o600)
    with node_on(directory, answer=answer, admin_key_file=path) as node:
        for tenant in TENANTS:
            node.run(node.engine.tenants.put(tenant, Quotas()))
            node.keys |= {(tenant, scope): node.create_key(tenant, scope) for scope in Scope}
        yield node


@contextmanager
def node_on(
    directory: Path, *, answer: Callable[[Any], Outcome] = lambda _: OK, **settings: Any
) -> Iterator[Node]:
    """An engine on `directory`, keyless unless its settings say otherwise."""
    config = Config(data_dir=directory / "data", listen="127.0.0.1:0", **settings)
    transport = FakeTransport(SystemClock(), answer=answer)
    with asyncio.Runner() as runner:
        engine = Engine(config, transport=lambda: transport)
        runner.run(engine.__aenter__())
        listener = Listener(config.listen)
        listener.bind()
        server = runner.run(start_server(create_app(engine), listener))
        session = runner.run(_session())
        try:
            yield Node(runner, engine, server, session)
        finally:
            runner.run(session.close())
            runner.run(server.stop())
            runner.run(engine.stop())


async def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession()
