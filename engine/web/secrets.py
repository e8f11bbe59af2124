"""`/v1/secrets`: what receivers verify deliveries with, and how one takes the place of another."""

from typing import TypedDict

from aiohttp import web

from engine.web.json_bodies import json_response, read_json, refuse_body
from engine.web.operations import NOTHING, Answer, Body, operation
from engine.web.ports import Secrets, engine_of
from engine.web.queries import Page


class SecretDocument(TypedDict):
    """A signing secret, `whsec_` and base64 of 32 bytes."""

    secret: str


ACTIVE = Answer(Page[SecretDocument])


@operation(answers={200: ACTIVE})
async def list_secrets(request: web.Request) -> web.Response:
    """The tenant's active signing secrets, newest first; what a receiver is given."""
    return _answer(engine_of(request).secrets)


@operation(body=Body(shape=NOTHING), answers={200: ACTIVE}, problems=("conflict",))
async def rotate_secret(request: web.Request) -> web.Response:
    """Sign with a new secret beside the old one, from the next attempt on. 409 while two are."""
    refuse_body(await read_json(request))
    secrets = engine_of(request).secrets
    await secrets.rotate()
    return _answer(secrets)


@operation(body=Body(shape=NOTHING), answers={200: ACTIVE}, problems=("conflict",))
async def retire_secret(request: web.Request) -> web.Response:
    """Sign with the newer secret alone, from the next attempt on. 409 when there is but one."""
    refuse_body(await read_json(request))
    secrets = engine_of(request).secrets
    await secrets.retire()
    return _answer(secrets)


def _answer(secrets: Secrets) -> web.Response:
    documents: list[SecretDocument] = [{"secret": secret} for secret in secrets.active]
    answer: Page[SecretDocument] = {"data": documents, "next_cursor": None}
    return json_response(answer, headers={"Cache-Control": "no-store"})
