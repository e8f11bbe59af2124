"""Requests made out of `/openapi.json`: each operation, the scope it needs, and what it takes.

A value is taken from the caller's words, by the name of its parameter or member, and otherwise made
from its schema. Where neither says enough the request cannot be made, and the test that wants it
fails: so an operation that is new is asked, or somebody is told which word it lacks.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from re import findall
from typing import Any
from urllib.parse import quote, urlencode

from engine.core.access import Scope
from engine.web.application import DESCRIPTION
from engine.web.operations import NDJSON_TYPES

Words = Mapping[str, Any]
"""By name; None: leave it out. Of a place in a path by all that stands before it, and its name."""


@dataclass(frozen=True, kw_only=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None

    @property
    def text(self) -> str:
        """All that it carries."""
        return f"{self.path}\n{self.headers}\n{(self.body or b'').decode()}"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A method and a path of the document; `needs` None: anybody may ask."""

    method: str
    path: str
    needs: Scope | None
    described: Mapping[str, Any]

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"

    @cached_property
    def place(self) -> str | None:
        """The path up to the place for a resource, and with it; None: it names none."""
        found = findall(r"^.*?{\w+}", self.path)
        return found[0] if found else None

    @property
    def names_a_tenants(self) -> bool:
        """Whether it names something that one tenant has. What admins see is the node's."""
        return self.place is not None and self.needs is not Scope.ADMIN

    @property
    def can_make(self) -> bool:
        """Whether it stores under names that the request gives."""
        is_batch = self.media_type == NDJSON_TYPES[0]
        return self.method == "PUT" or "201" in self.described["responses"] or is_batch

    @property
    def media_type(self) -> str | None:
        body = self.described.get("requestBody")
        return None if body is None else next(iter(body["content"]))

    def request(self, words: Words, wanted: Callable[[str], bool] = lambda _: False) -> Request:
        """With what is required, and of the rest what is `wanted`, by its name."""
        given: dict[str, dict[str, str]] = {"query": {}, "header": {}}
        for parameter in self.described["parameters"]:
            name, place = parameter["name"], parameter["in"]
            if place != "path" and (parameter.get("required") or wanted(name)):
                value = value_of(parameter["schema"], name, words, wanted)
                if value is not None:
                    given[place][name] = str(value)
        path = self.path
        if self.place is not None:
            path = path.replace(findall(r"{\w+}", path)[0], quote(words[self.place], safe="@:"))
        body = self._body(words, wanted)
        if body is not None:
            given["header"]["Content-Type"] = str(self.media_type)
        query = f"?{urlencode(given['query'])}" if given["query"] else ""
        return Request(method=self.method, path=path + query, headers=given["header"], body=body)

    def _body(self, words: Words, wanted: Callable[[str], bool]) -> bytes | None:
        if self.media_type is None:
            return None
        schema = self.described["requestBody"]["content"][self.media_type]["schema"]
        value = value_of(schema, f"the body of {self.route}", words, wanted)
        items = value if self.media_type == NDJSON_TYPES[0] else [value]
        return b"".join(json.dumps(item).encode() + b"\n" for item in items)


def operations() -> list[Operation]:
    """All of the document's."""
    return [
        Operation(method=method.upper(), path=path, needs=_scope(described), described=described)
        for path, methods in DESCRIPTION.document["paths"].items()
        for method, described in methods.items()
    ]


def value_of(
    schema: Mapping[str, Any], name: str, words: Words, wanted: Callable[[str], bool]
) -> Any:
    """A value for a parameter or a member; `words` go before the schema."""
    if name in words:
        return words[name]
    kinds = schema.get("type")
    match schema, kinds if isinstance(kinds, str) else (kinds or [None])[0]:
        case {"enum": [first, *_]}, _:
            return first
        case {"examples": [first, *_]}, _:
            return first
        case _, "object":
            return _object(schema, words, wanted)
        case {"items": items}, "array":
            return [value_of(items, name, words, wanted)]
        case {"minimum": least}, "integer":
            return least
        case _, "boolean":
            return False
    raise AssertionError(f"the schema of {name} does not say what to write: give it a word")


def _object(
    schema: Mapping[str, Any], words: Words, wanted: Callable[[str], bool]
) -> dict[str, Any]:
    """What is required, one of those of which there must be one, and what words there are for."""
    members = schema["properties"]
    names = [*schema.get("required", ())]
    if "oneOf" in schema:
        names += next(
            (one["required"] for one in schema["oneOf"] if set(one["required"]) & words.keys()),
            schema["oneOf"][0]["required"],
        )
    names += [name for name in members if name in words and name not in names and wanted(name)]
    found = {name: value_of(members[name], name, words, wanted) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _scope(described: Mapping[str, Any]) -> Scope | None:
    security = described.get("security")
    return None if security is None else Scope(security[0]["key"][0])
