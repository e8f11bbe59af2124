"""Who is asking, and whether they may: keys, scopes and rates, before a handler is reached.

Each route says once which scope it needs (`application.ROUTES`). While the engine has no keys
everybody is its one tenant's administrator, since only this machine can ask; a delivery is nobody,
for it says where its schedule points and not who wrote it. Where another tenant's resource would be
there is nothing: names and ids are looked up among the caller's own.

An engine refuses to call where it listens (`services/own_addresses.py`), but mounted in another
program, or behind a proxy, it does not know all of its addresses. Its deliveries tell themselves by
a header that no target can take away. Those of other engines are refused with them: to have one
engine trigger another's schedule is what keys are for, and with one a delivery acts as anybody.

Statuses and `WWW-Authenticate` are those of RFC 6750 §3.
"""

from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler

from engine.core.access import ApiKey, Scope
from engine.core.addresses import read_address
from engine.listening import is_private
from engine.services.keys import REQUESTS_BURST, REQUESTS_PER_SECOND
from engine.web.expectations import put_off
from engine.web.operations import OPERATION, Operation
from engine.web.ports import CALLER, ENGINE, MOUNTED_AT, Caller
from engine.web.problems import Problem
from engine.web.queries import refuse_parameters

REALM = 'Bearer realm="offbeat"'

DELIVERY_MARK = "X-Scheduler-Signature"
"""Sent with every attempt; a tenant's own headers cannot have the name (`core/header_rules.py`)."""


@dataclass(frozen=True, slots=True)
class Route:
    """An address, the scope that it needs (None: anybody may ask) and what is done there."""

    method: str
    path: str
    scope: Scope | None
    operation: Operation

    def definition(self) -> web.RouteDef:
        """What aiohttp is given."""
        return web.RouteDef(self.method, self.path, self._guarded(), {"expect_handler": put_off})

    def _guarded(self) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            request[CALLER] = _caller(request, self)
            request[OPERATION] = self.operation
            request[MOUNTED_AT] = _whole_path(request).removesuffix(self.path)
            if not self.operation.query:
                refuse_parameters(request)
            return await self.operation.handler(request)

        return answer


def _whole_path(request: web.Request) -> str:
    resource = request.match_info.route.resource
    assert resource is not None, "a route of the table"
    return resource.canonical


def _caller(request: web.Request, route: Route) -> Caller:
    """For whom the request acts. Raises Problem 401, 403 or 429."""
    engine = request.app[ENGINE]
    if route.scope is None or _needs_no_key(request):
        return Caller(tenant=engine.tenant, scope=Scope.ADMIN)
    key = _key(request)
    _count(request, key)
    if not key.scope.allows(route.scope):
        raise insufficient(key.scope, route.scope)
    return Caller(tenant=key.tenant, scope=key.scope, key=key)


def asker_of(request: web.Request) -> Caller | None:
    """Who asks on a route that is open to anybody; None: nobody whom this engine knows.

    A key's requests count here as everywhere. Raises Problem 429.
    """
    if _needs_no_key(request):
        return request[CALLER]
    key = _find(request, request.headers.get("Authorization", ""))
    if key is None:
        return None
    _count(request, key)
    return Caller(tenant=key.tenant, scope=key.scope, key=key)


def _needs_no_key(request: web.Request) -> bool:
    """Whether the request acts for the one tenant of an engine without keys."""
    engine = request.app[ENGINE]
    if engine.keys.required or DELIVERY_MARK in request.headers:
        return False
    return is_private(engine.listen) and _came_to_this_machine(request)


def _came_to_this_machine(request: web.Request) -> bool:
    """Whether the connection was made to loopback or to a Unix socket.

    Mounted in another application, the engine is served where that one listens, whatever `listen`
    says; a Host header can be written by anybody.
    """
    socket_name = request.transport and request.transport.get_extra_info("sockname")
    if isinstance(socket_name, tuple):
        address = read_address(socket_name[0])
        return address is not None and address.is_loopback
    return isinstance(socket_name, str | bytes)


_OF_A_STRANGER = "send an API key: Authorization: Bearer obk_..."
_OF_A_DELIVERY = (
    "this is a delivery of a schedule, which without an API key may do nothing here; point the"
    " schedule at its receiver, or give its target the header Authorization: Bearer obk_..."
)


def _key(request: web.Request) -> ApiKey:
    given = request.headers.get("Authorization")
    if given is None:
        detail = _OF_A_DELIVERY if DELIVERY_MARK in request.headers else _OF_A_STRANGER
        raise Problem(401, "key_required", detail, headers={"WWW-Authenticate": REALM})
    key = _find(request, given)
    if key is None:
        raise unknown()
    return key


def _find(request: web.Request, given: str) -> ApiKey | None:
    scheme, _, text = given.partition(" ")
    return request.app[ENGINE].keys.find(text.strip()) if scheme.lower() == "bearer" else None


def is_known(request: web.Request) -> bool:
    """Whether the key of a request that goes on for a while is still one."""
    key = request[CALLER].key
    return key is None or request.app[ENGINE].keys.knows(key)


def unknown() -> Problem:
    """The same for a key that never was, that was revoked, or that is half right."""
    challenge = f'{REALM}, error="invalid_token"'
    detail = "that is no key of this engine, or it was revoked; send one as Bearer obk_..."
    return Problem(401, "key_unknown", detail, headers={"WWW-Authenticate": challenge})


def insufficient(has: Scope, needed: Scope) -> Problem:
    """The problem of a key whose scope does not go so far."""
    challenge = f'{REALM}, error="insufficient_scope", scope="{needed}"'
    return Problem(
        403,
        "insufficient_scope",
        f"this needs a key of scope {needed}; the scope of this key is {has}",
        headers={"WWW-Authenticate": challenge},
        scope=needed,
    )


def _count(request: web.Request, key: ApiKey) -> None:
    wait_ms = request.app[ENGINE].keys.wait_ms(key)
    if not wait_ms:
        return
    raise Problem(
        429,
        "rate_limited",
        f"a key may ask {REQUESTS_PER_SECOND} times a second, {REQUESTS_BURST} times at once",
        headers={"Retry-After": str(-(-wait_ms // 1_000))},
        limit={"name": "requests_per_second", "value": REQUESTS_PER_SECOND},
    )
