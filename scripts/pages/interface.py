"""The API, from the same document as `/openapi.json`."""

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from engine.web.access import Route
from engine.web.application import DESCRIPTION, ROUTES
from engine.web.openapi import ALWAYS, INTRODUCTION, WITH_BODY, WITH_SCOPE
from engine.web.problem_codes import PROBLEMS
from pages.markdown import code, one_line, opening, table
from pages.schemas import anchor, rows, words

Json = Mapping[str, Any]
Members = tuple[tuple[str, str, str], ...]

GENERAL = {
    "Any request": (*ALWAYS, "too_many_connections"),
    "Where a scope is wanted": WITH_SCOPE,
    "What changes something": ("cross_origin",),
    "With a body": WITH_BODY,
}
"""Problems that follow from what a request is, told once for all operations."""


def page() -> str:
    document = DESCRIPTION.document
    parts = [
        opening(
            "The HTTP API",
            "the route table (`engine/web/application.py`)",
            f"{INTRODUCTION.strip()}\n\nAn engine serves the same as `/openapi.json`, for programs,"
            " and as a page at `/docs`.",
        ),
        *_problems(),
        *_operations(document),
        *_documents(document["components"]["schemas"]),
    ]
    return "\n".join(filter(None, parts))


def _problems() -> Iterator[str]:
    yield "## Problems\n\nWhich of these may come follows from what a request is:\n"
    yield table(("request", "codes"), ((kind, _codes(codes)) for kind, codes in GENERAL.items()))
    yield "What each code says; `type`, `title` and `detail` are as RFC 9457 has them.\n"
    listed = sorted(PROBLEMS.items(), key=lambda item: (item[1][0], item[0]))
    yield table(
        ("status", "code", "meaning"),
        ((str(status), code(name), says) for name, (status, says) in listed),
    )


def _operations(document: Json) -> Iterator[str]:
    bodies: dict[Members, str] = {}
    by_tag: dict[str, list[Route]] = {}
    for route in ROUTES:
        by_tag.setdefault(_described(route, document)["tags"][0], []).append(route)
    for tag, routes in by_tag.items():
        yield f"## {tag.replace('_', ' ')}\n"
        for route in routes:
            yield from _operation(route, _described(route, document), bodies)


def _described(route: Route, document: Json) -> Json:
    described: Json = document["paths"][route.path][route.method.lower()]
    return described


def _operation(route: Route, described: Json, bodies: dict[Members, str]) -> Iterator[str]:
    title = code(f"{route.method} {route.path}")
    yield f"### {title}\n\n{described['summary']}\n"
    if "description" in described:
        yield f"{described['description']}\n"
    yield "".join(f"* {fact}.\n" for fact in _facts(route, described))
    yield table(("parameter", "in", "value", "default", "meaning"), _parameters(described))
    if "requestBody" in described:
        yield from _body(title, described["requestBody"]["content"], bodies)


def _facts(route: Route, described: Json) -> Iterator[str]:
    yield "No key is asked for" if route.scope is None else f"Scope {code(route.scope)}"
    for status, answer in described["responses"].items():
        if int(status) < HTTPStatus.BAD_REQUEST:
            yield f"Answers {status}: {_answer(answer)}"
    if route.operation.problems:
        yield f"Problems of its own: {_codes(route.operation.problems)}"


def _answer(answer: Json) -> str:
    content = [
        f"{_document(each['schema'])}{'' if media == 'application/json' else f' ({media})'}"
        for media, each in answer.get("content", {}).items()
    ]
    headers = [code(name) for name in answer.get("headers", {})]
    sent_with = f", with {', '.join(headers)}" if headers else ""
    return f"{' or '.join(content) or 'nothing'}{sent_with}"


def _parameters(described: Json) -> Iterator[tuple[str, ...]]:
    for each in described["parameters"]:
        required = [each["name"]] if each.get("required") else []
        one = {"properties": {each["name"]: each["schema"]}, "required": required}
        for name, value, default, meaning in rows(one):
            yield name, each["in"], value, default, meaning or each.get("description", "")


def _document(schema: Json) -> str:
    """A page of a list by its rows, anything else as it is."""
    inner = schema.get("properties", {})
    return f"a page of {words(inner['data']['items'])}" if "data" in inner else words(schema)


def _body(title: str, content: Json, bodies: dict[Members, str]) -> Iterator[str]:
    media, first = next(iter(content.items()))
    schema = first["schema"]
    members = tuple(rows(schema.get("items", schema)))
    form = f"{'a document a line, ' if 'items' in schema else ''}{code(media)}"
    # What may be left out in one place must be there in another; the members are the same.
    same = tuple((name, value, meaning) for name, value, _, meaning in members)
    if not members:
        yield "Body: none, or an empty object.\n"
    elif (known := bodies.setdefault(same, title)) != title:
        required = [name for name, _, default, _ in members if default == "required"]
        yield f"Body ({form}): as of {known}; required: {', '.join(required) or 'nothing'}.\n"
    else:
        yield f"Body ({form}):\n"
        yield table(("member", "value", "default", "meaning"), members)
        if "oneOf" in schema:
            choices = (code(*each["required"]) for each in schema["oneOf"])
            yield f"Exactly one of {', '.join(choices)}.\n"


def _documents(schemas: Mapping[str, Json]) -> Iterator[str]:
    yield "## Documents\n\nWhat is answered; every member is there, unless it says otherwise.\n"
    for name, schema in schemas.items():
        assert anchor(name)[1:] == f"{name} document".lower().replace(" ", "-")
        yield f"### {name} document\n"
        if "description" in schema:
            yield f"{one_line(schema['description'])}\n"
        required = schema.get("required", ())
        yield table(
            ("member", "value"),
            (
                (path if path.strip("`") in required else f"{path} (not always)", value)
                for path, value, *_ in rows(schema, answers=True)
            ),
        )


def _codes(codes: Iterable[str]) -> str:
    return ", ".join(f"{code(each)} ({PROBLEMS[each][0]})" for each in codes)
