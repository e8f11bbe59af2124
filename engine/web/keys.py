"""`/v1/keys`: API keys, shown once and revoked at once. For administrators."""

from typing import Any

from aiohttp import web

from engine.core.access import TENANT_LENGTH_MAX, ApiKey, Scope
from engine.core.errors import Fault, Invalid, NotFound
from engine.core.fields import Fields
from engine.core.identity import format_instant
from engine.web.json_bodies import json_response, list_response, read_json
from engine.web.ports import ENGINE
from engine.web.queries import query_of, read_limit, read_name_cursor, write_cursor

NAME_LENGTH_MAX = 128
"""A sentence about who has the key."""


async def create_key(request: web.Request) -> web.Response:
    """A key for a tenant with a scope: 201. Its text, `key`, is in this answer and nowhere else."""
    faults: list[Fault] = []
    known = frozenset({"tenant", "scope", "name"})
    fields = Fields(await read_json(request), pointer="", known=known, faults=faults)
    tenant = fields.text("tenant", None, longest=TENANT_LENGTH_MAX)
    scope = fields.choice("scope", None, Scope)
    name = fields.text("name", None, longest=NAME_LENGTH_MAX)
    if tenant is None and fields.sound("tenant"):
        fields.refuse("tenant", "write the name of a tenant")
    if scope is None and fields.sound("scope"):
        fields.refuse("scope", 'write "read", "write" or "admin"')
    if faults or tenant is None or scope is None:
        raise Invalid(*faults)
    try:
        key, text = await request.app[ENGINE].keys.create(tenant=tenant, scope=scope, name=name)
    except NotFound as error:
        raise Invalid(Fault("/tenant", str(error))) from None
    answer = {**_document(key), "key": text}
    return json_response(answer, status=201, headers={"Cache-Control": "no-store"})


async def list_keys(request: web.Request) -> web.Response:
    """By id, without secrets. The key of the operator's file is not among them."""
    with query_of(request, "limit", "cursor") as query:
        limit, after_id = read_limit(query), read_name_cursor(query)
    page, next_id = request.app[ENGINE].keys.page(limit=limit, after_id=after_id)
    return await list_response(map(_document, page), write_cursor(next_id))


async def revoke_key(request: web.Request) -> web.Response:
    """From the next request on nobody knows it."""
    await request.app[ENGINE].keys.revoke(request.match_info["id"])
    return web.Response(status=204)


def _document(key: ApiKey) -> dict[str, Any]:
    used_ms = key.last_used_at_ms
    return {
        "id": key.key_id,
        "tenant": key.tenant,
        "scope": key.scope,
        "name": key.name,
        "created_at": format_instant(key.created_at_ms),
        "last_used_at": None if used_ms is None else format_instant(used_ms),
    }
