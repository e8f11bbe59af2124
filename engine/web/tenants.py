"""`/v1/tenants`: who has schedules here, and how many each may have. For administrators."""

from typing import TypedDict

from aiohttp import web

from engine.core.access import (
    INTERVAL_SECONDS_MIN,
    SCHEDULES_MAX,
    TENANT_RULE,
    Quotas,
    Tenant,
    is_tenant_name,
)
from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.core.members import InstantText, Integer, Shape
from engine.web.flows import RATE_MAX
from engine.web.json_bodies import json_response, list_response, read_json
from engine.web.operations import Answer, Body, operation
from engine.web.ports import ENGINE
from engine.web.queries import (
    CURSOR,
    LIMIT,
    Page,
    query_of,
    read_limit,
    read_name_cursor,
    write_cursor,
)
from engine.web.revisions import CONDITIONS, etag, read_if_match

INTERVAL_SECONDS_MAX = 31_536_000
"""A tenant's `interval_seconds_min`: a year, as the longest interval."""

SCHEDULES_QUOTA_MAX = 1_000_000_000
"""A tenant's `schedules_max`: beyond what any node holds."""

SCHEDULES_QUOTA = Integer(
    "schedules_max",
    None,
    low=0,
    high=SCHEDULES_QUOTA_MAX,
    about="Schedules that the tenant may have.",
)
INTERVAL_QUOTA = Integer(
    "interval_seconds_min",
    None,
    low=1,
    high=INTERVAL_SECONDS_MAX,
    about="The least interval of its schedules.",
)
RATE_QUOTA = Integer(
    "rate", None, low=1, high=RATE_MAX, about="Attempts a second, for all its flows together."
)
QUOTAS = Shape(
    (SCHEDULES_QUOTA, INTERVAL_QUOTA, RATE_QUOTA),
    ignored=frozenset({"name", "schedules", "created_at", "revision"}),
)


class TenantDocument(TypedDict):
    """A tenant, how many schedules it has, and its quotas as they hold.

    `rate`: attempts that it may start in a second; null: as many as its fair share allows.
    """

    name: str
    schedules: int
    schedules_max: int
    interval_seconds_min: int
    rate: int | None
    created_at: InstantText
    revision: int


STORED = Answer(TenantDocument, headers=("ETag",))


@operation(
    headers=CONDITIONS,
    body=Body(shape=QUOTAS),
    answers={200: STORED, 201: STORED},
    problems=("precondition_failed", "conflict", "limit_reached"),
)
async def put_tenant(request: web.Request) -> web.Response:
    """Make a tenant (201) or give one other quotas (200); what is left out is the default."""
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=QUOTAS.names, faults=faults)
    quotas = Quotas(
        schedules_max=fields.integer(SCHEDULES_QUOTA),
        interval_seconds_min=fields.integer(INTERVAL_QUOTA),
        rate=fields.integer(RATE_QUOTA),
    )
    name = request.match_info["tenant"]
    if not is_tenant_name(name):
        faults.append(Fault("", TENANT_RULE))
    if faults:
        raise Invalid(*faults)
    if_match = read_if_match(request)
    tenant, is_new = await request.app[ENGINE].tenants.put(name, quotas, if_match=if_match)
    return _answer(tenant, status=201 if is_new else 200)


@operation(answers={200: STORED}, problems=("not_found",))
async def get_tenant(request: web.Request) -> web.Response:
    """A tenant and its quotas."""
    return _answer(await request.app[ENGINE].tenants.get(_name(request)))


@operation(
    headers=CONDITIONS,
    answers={204: Answer()},
    problems=("not_found", "conflict", "precondition_failed"),
)
async def delete_tenant(request: web.Request) -> web.Response:
    """Forget a tenant: 409 while it has schedules, history of their runs, or keys."""
    if_match = read_if_match(request)
    await request.app[ENGINE].tenants.delete(_name(request), if_match=if_match)
    return web.Response(status=204)


@operation(query=(LIMIT, CURSOR), answers={200: Answer(Page[TenantDocument])})
async def list_tenants(request: web.Request) -> web.Response:
    """By name."""
    with query_of(request) as query:
        limit, after_name = read_limit(query), read_name_cursor(query)
    page, next_name = await request.app[ENGINE].tenants.page(limit=limit, after_name=after_name)
    return await list_response(request, map(_document, page), write_cursor(next_name))


def _name(request: web.Request) -> str:
    return request.match_info["tenant"]


def _answer(tenant: Tenant, *, status: int = 200) -> web.Response:
    return json_response(_document(tenant), status=status, headers=etag(tenant.revision))


def _document(tenant: Tenant) -> TenantDocument:
    quotas = tenant.quotas
    most, least = quotas.schedules_max, quotas.interval_seconds_min
    return {
        "name": tenant.name,
        "schedules": tenant.schedules,
        "schedules_max": SCHEDULES_MAX if most is None else most,
        "interval_seconds_min": INTERVAL_SECONDS_MIN if least is None else least,
        "rate": quotas.rate,
        "created_at": format_instant(tenant.created_at_ms),
        "revision": tenant.revision,
    }
