"""Whether an answer is one that `/openapi.json` describes: its status, type, headers and body."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from engine.web.application import DESCRIPTION

HERE = "urn:openapi"
# What says that a method or an address is none of the document's.
OUTSIDE = {404, 405}
# What is no header of HTTP's own bookkeeping.
OWN_HEADERS = {"ETag", "Location", "Idempotent-Replayed"}


def check_described(
    method: str, path: str, status: int, headers: Mapping[str, str], body: bytes
) -> None:
    """Assert that the document describes this answer."""
    template = template_of(path)
    operation = DESCRIPTION.document["paths"].get(template, {}).get(_asked(method).lower())
    if operation is None:
        assert status in OUTSIDE or is_dashboard(path), (
            f"{method} {path}: {status} is not described"
        )
        return
    assert str(status) in operation["responses"], f"{method} {template}: {status} is not described"
    answer = resolved(operation["responses"][str(status)])
    for name, header in answer.get("headers", {}).items():
        assert name in headers or not header.get("required"), f"{name} is missing"
    for name in OWN_HEADERS & set(headers):
        assert name in answer.get("headers", {}), f"{method} {template}: {name} is not described"
    if method != "HEAD":
        check_body(answer, headers.get("Content-Type", ""), body)


def check_body(answer: Mapping[str, Any], content_type: str, body: bytes) -> None:
    content = answer.get("content")
    if content is None:
        assert body == b"", "no content is described"
        return
    media = content_type.partition(";")[0]
    assert media in content, f"{media} is not described"
    if "json" in media:
        value = list(map(json.loads, body.splitlines())) if "nd" in media else json.loads(body)
        validator(json.dumps(content[media]["schema"])).validate(value)


def resolved(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in value:
        return value
    found: Any = DESCRIPTION.document
    for part in value["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def is_dashboard(path: str) -> bool:
    """Whether it is the dashboard's, which is no part of the API."""
    return path == "/" or path.startswith("/static/")


def template_of(path: str) -> str | None:
    """The template that a path is of: the most literal one, as a router finds it."""
    plain = path.partition("?")[0]
    found = [template for template, pattern in patterns() if pattern.fullmatch(plain)]
    return min(found, key=lambda template: template.count("{"), default=None)


@cache
def patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (path, re.compile(re.sub(r"\\{\w+\\}", "[^{}/]+", re.escape(path))))
        for path in sorted(DESCRIPTION.document["paths"], key=len, reverse=True)
    ]


@cache
def validator(schema: str) -> Draft202012Validator:
    """Of a schema in the document, whose references are to the document."""
    resource = DRAFT202012.create_resource(DESCRIPTION.document)
    registry = Registry().with_resource(HERE, resource)
    absolute = schema.replace('"#/', f'"{HERE}#/')
    return Draft202012Validator(json.loads(absolute), registry=registry)


def _asked(method: str) -> str:
    return "GET" if method == "HEAD" else method
