"""Handlers in the engine's own process, called as a receiver would be (`inproc:NAME`).

The journal, the bucket, retries and attribution know nothing of it: a handler stands where the
network does, behind the same `Transport`. What it returns is read as a receiver's status: None is
200. What it raises is 500, so the run is tried again; and so is a name without a handler, which may
come with the program's next release.

A handler has the target's timeout, and is cancelled when it is over. Nobody waits for one that will
not be cancelled: the attempt has ended, and the next may overlap with what is left of it, as with a
receiver that goes on working. Handlers run on the engine's loop: what takes long there belongs into
`asyncio.to_thread`, or everybody's deliveries wait for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import structlog

from engine.core.identity import parse_instant
from engine.core.inproc import NAME_RULE, SCHEME, is_handler_name, is_inproc
from engine.core.model import Outcome
from engine.services.transport import HttpRequest, Transport

log = structlog.get_logger("offbeat.handlers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a handler is given; `key` is the same on every attempt of a run."""

    headers: Mapping[str, str]
    """As a receiver would get them, the engine's own included."""
    body: bytes
    key: str
    scheduled_for_ms: int
    attempt: int


Handler = Callable[[Call], Awaitable[int | None]]
"""Returns None when all is well, or the HTTP status that a receiver would have answered."""


class Handlers:
    """The program's handlers by name."""

    __slots__ = ("_by_name",)

    def __init__(self) -> None:
        self._by_name: dict[str, Handler] = {}

    def add(self, name: str, handler: Handler) -> None:
        """Call `handler` for `inproc:NAME`. Raises ValueError: a bad name, or one that is taken."""
        if not is_handler_name(name):
            raise ValueError(f"{name!r} is no handler's name: {NAME_RULE}")
        if name in self._by_name:
            raise ValueError(f"there is a handler named {name} already; give this one its own name")
        self._by_name[name] = handler

    async def call(self, request: HttpRequest) -> Outcome:
        """The outcome of one attempt."""
        loop = asyncio.get_running_loop()
        name = request.url.removeprefix(SCHEME)
        handler = self._by_name.get(name)
        if handler is None:
            return Outcome(name="connect_error", error=f"this process has no handler named {name}")
        request.connected_s = loop.time()
        # A task of its own: what will not be cancelled holds up no slot and no shutdown.
        task = loop.create_task(_run(name, handler, _call_of(request)))
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        request.answered_s = loop.time()
        return task.result()


class HandlingTransport:
    """Sends what is for a handler to it, and everything else on."""

    __slots__ = ("_handlers", "_onward")

    def __init__(self, handlers: Handlers, onward: Transport) -> None:
        self._handlers = handlers
        self._onward = onward

    def send(self, request: HttpRequest) -> Coroutine[Any, Any, Outcome]:
        # Not a coroutine of its own: each delivery passes here.
        if is_inproc(request.url):
            return self._handlers.call(request)
        return self._onward.send(request)

    async def close(self) -> None:
        await self._onward.close()


def _call_of(request: HttpRequest) -> Call:
    headers = dict(request.headers)
    return Call(
        headers=MappingProxyType(headers),
        body=request.body,
        key=headers["Idempotency-Key"],
        scheduled_for_ms=parse_instant(headers["X-Scheduled-For"]),
        attempt=int(headers["X-Attempt"]),
    )


async def _run(name: str, handler: Handler, call: Call) -> Outcome:
    try:
        status = await handler(call)
    except (asyncio.CancelledError, Exception) as error:
        # Whatever it was, it is the program's; a handler that cancels itself has failed, too. What
        # an error says may be secret, and a tenant reads outcomes: it goes to the log alone.
        log.warning("handler_failed", handler=name, attempt=call.attempt, exc_info=error)
        return _answered(500, f"the handler raised {type(error).__name__}")
    if status is None:
        return Outcome(name="success", status=200)
    if type(status) is int and 200 <= status < 600:
        return _answered(status, f"status {status}")
    return Outcome(
        name="protocol_error", error="the handler returned neither None nor a status, 200 to 599"
    )


def _answered(status: int, error: str) -> Outcome:
    if status < 300:
        return Outcome(name="success", status=status)
    return Outcome(name="http_error", status=status, error=error)
