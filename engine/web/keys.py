"""`/v1/keys`: API keys, shown once and revoked at once. For administrators."""

from dataclasses import replace
from typing import TypedDict

from aiohttp import web

from engine.core.access import TENANT_LENGTH_MAX, ApiKey, Scope
from engine.core.errors import Fault, Invalid, NotFound
from engine.core.fields import Fields
from engine.core.identity import format_instant, parse_instant
from engine.core.members import Choice, InstantText, Shape, Text
from engine.core.once import Record, Reply
from engine.web.json_bodies import list_response, read_json
from engine.web.once import (
    IDEMPOTENCY_KEY,
    PROBLEMS_OF_ONCE,
    read_once,
    replied_once,
    response_of,
)
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

NAME_LENGTH_MAX = 128
"""A sentence about who has the key."""


TENANT = Text("tenant", None, longest=TENANT_LENGTH_MAX, about="For whom the key acts.")
SCOPE = Choice("scope", None, Scope, about="What it may do.")
NAME = Text("name", None, longest=NAME_LENGTH_MAX, about="Who has it.")
KEY = Shape((TENANT, SCOPE, NAME), required=frozenset({"tenant", "scope"}))


class KeyDocument(TypedDict):
    """A key without its secret; `last_used_at` is coarse."""

    id: str
    tenant: str
    scope: Scope
    name: str | None
    created_at: InstantText
    last_used_at: InstantText | None


class NewKeyDocument(KeyDocument):
    """A key with its text, which is shown here and nowhere else."""

    key: str


@operation(
    headers=(IDEMPOTENCY_KEY,),
    body=Body(shape=KEY, required=True),
    answers={201: Answer(NewKeyDocument)},
    problems=("conflict", *PROBLEMS_OF_ONCE),
)
async def create_key(request: web.Request) -> web.Response:
    """A key for a tenant with a scope: 201. Its text, `key`, is in this answer and nowhere else.

    Sent again with its Idempotency-Key, the request is answered with the same text, which is not
    kept but computed; or with 409 once the key was revoked.
    """
    faults: list[Fault] = []
    fields = Fields(await read_json(request), pointer="", known=KEY.names, faults=faults)
    tenant, scope, name = fields.text(TENANT), fields.choice(SCOPE), fields.text(NAME)
    if tenant is None and fields.sound("tenant"):
        fields.refuse("tenant", "write the name of a tenant")
    if scope is None and fields.sound("scope"):
        fields.refuse("scope", 'write "read", "write" or "admin"')
    if faults or tenant is None or scope is None:
        raise Invalid(*faults)
    keys = request.app[ENGINE].keys
    text: str | None = None

    async def create(record: Record[ApiKey] | None) -> ApiKey:
        nonlocal text
        try:
            key, text = await keys.create(tenant=tenant, scope=scope, name=name, record=record)
        except NotFound as error:
            raise Invalid(Fault("/tenant", str(error))) from None
        return key

    reply = await replied_once(request, create, _created)
    once = await read_once(request)
    if text is None and once is not None:
        text = keys.text_again(once, parse_instant(reply.document["created_at"]))
    return response_of(replace(reply, document={**reply.document, "key": text}))


@operation(query=(LIMIT, CURSOR), answers={200: Answer(Page[KeyDocument])})
async def list_keys(request: web.Request) -> web.Response:
    """By id, without secrets. The key of the operator's file is not among them."""
    with query_of(request) as query:
        limit, after_id = read_limit(query), read_name_cursor(query)
    page, next_id = request.app[ENGINE].keys.page(limit=limit, after_id=after_id)
    return await list_response(request, map(_document, page), write_cursor(next_id))


@operation(answers={204: Answer()}, problems=("not_found", "conflict"))
async def revoke_key(request: web.Request) -> web.Response:
    """Revoke a key: from the next request on nobody knows it."""
    await request.app[ENGINE].keys.revoke(request.match_info["id"])
    return web.Response(status=204)


def _created(key: ApiKey) -> Reply:
    return Reply(status=201, document=_document(key), headers={"Cache-Control": "no-store"})


def _document(key: ApiKey) -> KeyDocument:
    used_ms = key.last_used_at_ms
    return {
        "id": key.key_id,
        "tenant": key.tenant,
        "scope": key.scope,
        "name": key.name,
        "created_at": format_instant(key.created_at_ms),
        "last_used_at": None if used_ms is None else format_instant(used_ms),
    }
