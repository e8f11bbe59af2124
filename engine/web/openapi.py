"""The OpenAPI 3.1 document of a table of routes: `/openapi.json`.

Nothing is written here that the code says elsewhere. Parameters and bodies are the members that
handlers read by (`core/members.py`), answers the types that they return (`answer_schema.py`), words
their docstrings, and which problems may come follows from scope, body and parameters.
"""

from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from inspect import cleandoc
from itertools import groupby
from re import findall
from typing import Any

from engine import __version__
from engine.core.access import TENANT_NAME
from engine.core.members import JsonSchema, Member, annotations, whole
from engine.core.schedule_members import FLOW_KEY_LENGTH_MAX, NAME
from engine.web.access import Route
from engine.web.answer_schema import schema_of
from engine.web.connection import HEALTH
from engine.web.host_guard import SAFE_METHODS
from engine.web.once import IDEMPOTENCY_KEY, REPLAYED
from engine.web.openapi_links import links_from
from engine.web.operations import Answer
from engine.web.problem_codes import PROBLEMS, ProblemDocument

# What may happen to any request.
ALWAYS = (
    "malformed",
    "expectation_failed",
    "host_not_allowed",
    "invalid_query",
    "headers_too_large",
    "internal",
    "version_not_supported",
)
WITH_SCOPE = (
    "key_required",
    "key_unknown",
    "insufficient_scope",
    "rate_limited",
    "crowded",
    "unavailable",
)
WITH_BODY = ("invalid", "timeout", "too_large", "unsupported_media_type")

SENT_WITH = {401: ("WWW-Authenticate",), 429: ("Retry-After",)}

GIVEN_AGAIN: dict[str, JsonSchema] = {
    REPLAYED: {
        "description": "Of an answer that was kept under this Idempotency-Key.",
        "schema": {"const": "true"},
    }
}

# What `/readyz?verbose` answers with.
TEXT = {"text/plain": {"schema": {"type": "string"}}}

PATH_PARAMETERS: dict[str, tuple[str, JsonSchema]] = {
    "name": ("The schedule's name.", NAME.schema()),
    "id": ("The id, as answers give it.", {"type": "string", "pattern": "^[A-Za-z0-9_@:.-]+$"}),
    "key": (
        "The flow's key.",
        {"type": "string", "minLength": 1, "maxLength": FLOW_KEY_LENGTH_MAX},
    ),
    "tenant": ("The tenant's name.", {"type": "string", "pattern": whole(TENANT_NAME)}),
}

INTRODUCTION = """A webhook scheduling engine that spreads the herd and tells when everything fires.

Instants are RFC 3339; null means absent. Lists come in pages: `next_cursor` of one is `cursor` of
the next. Errors are RFC 9457 problems whose `code` is for programs. An engine without keys serves
its own machine alone, but no delivery of a schedule, and asks for none; otherwise the security
requirement of an operation names the scope that its key must have. A POST that takes no
`Idempotency-Key` may be sent again as it is: it changes nothing, says how things are to be, or is
refused the second time.
"""


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """The document, as JSON values."""
    components: dict[str, JsonSchema] = {}
    schema_of(ProblemDocument, components)
    components["Problem"]["properties"]["code"] = {"enum": sorted(PROBLEMS)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        described = _operation(route, components)
        for status in route.operation.answers:
            described["responses"][str(status)] |= links_from(route, status, routes)
        paths.setdefault(route.path, {})[route.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "Offbeat", "version": __version__, "description": INTRODUCTION},
        # Relative to where the document is, which is where the interface is mounted.
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": {
                _name(status, codes): _problem(status, codes)
                for route in routes
                for status, codes in _problems(route)
            },
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key, obk_..."}
            },
        },
    }


def problems_of(route: Route) -> list[str]:
    """The codes of all problems that a route may answer with, each once."""
    operation = route.operation
    found = [*ALWAYS, *operation.problems]
    if route.scope is not None:
        found += WITH_SCOPE
    if route.path not in HEALTH:
        found.append("too_many_connections")
    if route.method not in SAFE_METHODS:
        found.append("cross_origin")
    if operation.body is not None:
        found += WITH_BODY
    return list(dict.fromkeys(found))


def _operation(route: Route, components: dict[str, JsonSchema]) -> dict[str, Any]:
    operation = route.operation
    summary, _, description = cleandoc(operation.handler.__doc__ or "").partition("\n\n")
    answers = {
        str(status): _answer(status, answer, components)
        for status, answer in operation.answers.items()
    }
    if IDEMPOTENCY_KEY in operation.headers:
        for answer in answers.values():
            answer["headers"] = answer.get("headers", {}) | GIVEN_AGAIN
    described: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "tags": [operation.handler.__module__.rpartition(".")[2]],
        "summary": summary.replace("\n", " "),
        "parameters": list(_parameters(route)),
        "responses": answers
        | {
            str(status): {"$ref": f"#/components/responses/{_name(status, codes)}"}
            for status, codes in _problems(route)
        },
    }
    if description:
        described["description"] = description
    if operation.body is not None:
        schema = operation.body.schema()
        described["requestBody"] = {
            "content": {media: {"schema": schema} for media in operation.body.media_types},
            "required": operation.body.required,
        }
    if route.scope is not None:
        described["security"] = [{"key": [route.scope.value]}]
    return described


def _parameters(route: Route) -> Iterator[dict[str, Any]]:
    for name in findall(r"{(\w+)}", route.path):
        description, schema = PATH_PARAMETERS[name]
        about = {"description": description, "required": True, "schema": schema}
        yield {"name": name, "in": "path", **about}
    yield from _members("query", route.operation.query)
    yield from _members("header", route.operation.headers)


def _members(place: str, members: Iterable[Member]) -> Iterator[dict[str, Any]]:
    for member in members:
        schema = member.schema() | annotations(member)
        yield {"name": member.name, "in": place, "schema": schema}


def _answer(status: int, answer: Answer, components: dict[str, JsonSchema]) -> dict[str, Any]:
    described: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if answer.document is not None:
        schema = schema_of(answer.document, components)
        described["content"] = {answer.media_type: {"schema": schema}}
        if answer.or_text:
            described["content"] |= TEXT
    if answer.headers:
        described["headers"] = _headers(answer.headers)
    return described


def _problems(route: Route) -> Iterator[tuple[int, list[str]]]:
    """Statuses of problems, each with the codes that come with it."""

    def status_of(code: str) -> int:
        return PROBLEMS[code][0]

    for status, codes in groupby(sorted(problems_of(route), key=status_of), key=status_of):
        yield status, sorted(codes)


def _name(status: int, codes: Iterable[str]) -> str:
    return ".".join((str(status), *codes))


def _problem(status: int, codes: Sequence[str]) -> dict[str, Any]:
    narrowed = {"properties": {"status": {"const": status}, "code": {"enum": codes}}}
    schema = {"allOf": [{"$ref": "#/components/schemas/Problem"}, narrowed]}
    content = {"application/problem+json": {"schema": schema}}
    return {
        "description": "\n".join(f"`{code}`: {PROBLEMS[code][1]}." for code in codes),
        "content": content | TEXT if "not_ready" in codes else content,
        "headers": _headers(SENT_WITH.get(status, ())),
    }


def _headers(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"required": True, "schema": {"type": "string"}} for name in names}
