"""JSON Schema in words: what a value may be, and the members of an object as rows of a table."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pages.markdown import code

Schema = Mapping[str, Any]


def anchor(name: str) -> str:
    """Where the page describes the document of this name."""
    return f"#{name.lower()}-document"


def words(schema: Schema) -> str:
    """What a value may be, null aside where it stands for absence."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(map(words, schema["anyOf"]))
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(word) for word in schema["enum"] if word is not None)
    kinds = schema.get("type", "any value")
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    return " or ".join(_kind(kind, schema) for kind in kinds)


def rows(schema: Schema, *, prefix: str = "", answers: bool = False) -> Iterator[tuple[str, ...]]:
    """Name, value, default or whether it is required, and meaning; of objects inside, too.

    In what a client sends null is absence, and not told.
    """
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        if member.get("readOnly"):
            continue
        path = f"{prefix}{name}"
        shown = member if answers else _present(member)
        default = "required" if name in required else _default(member)
        yield code(path), words(shown), default, member.get("description", "")
        inner = member.get("items", member)
        if "properties" in inner:
            yield from rows(inner, prefix=f"{path}{'[]' if 'items' in member else ''}.")


def _present(schema: Schema) -> Schema:
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    return {**schema, "type": [kind for kind in kinds if kind != "null"]}


def _default(schema: Schema) -> str:
    if schema.get("default") in (None, ""):
        return ""
    return code(json.dumps(schema["default"], ensure_ascii=False).strip('"'))


def _kind(kind: str, schema: Schema) -> str:
    match kind:
        case "string" if schema.get("format") == "date-time":
            return "instant"
        case "string" if "maxLength" in schema:
            return f"text of {schema['maxLength']:,} characters at most"
        case "string" if "contentEncoding" in schema:
            return f"text in {schema['contentEncoding']}"
        case "string":
            return "text"
        case "integer" | "number" if "maximum" in schema:
            return f"{kind}, {schema['minimum']:,} to {schema['maximum']:,}"
        case "array" if "items" in schema:
            return f"array of {words(schema['items'])}"
        case "object" if isinstance(extra := schema.get("additionalProperties"), dict) and extra:
            most = f", {schema['maxProperties']:,} at most" if "maxProperties" in schema else ""
            return f"object of {words(extra)}{most}"
        case _:
            return kind
