"""`/docs`: the OpenAPI document as one page of HTML, with no script and nothing from elsewhere."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from typing import Any

from engine.core.json_text import compact_json

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; } h3 { margin-top: 2rem; font-size: 1rem; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
nav li { list-style: none; } nav ul { padding: 0; columns: 24rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-top: 1px solid #8884; padding: 0.25rem 1rem 0.25rem 0; }
td, th { text-align: left; vertical-align: top; }
details { margin: 0.5rem 0; }
"""

_STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

Json = Mapping[str, Any]


def render(document: Json) -> str:
    """The page of an OpenAPI document."""
    title = escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style></head><body><h1>{title} {escape(document['info']['version'])}</h1>"
        f"{_prose(document['info']['description'])}"
        '<p><a href="openapi.json">openapi.json</a></p>'
        f"{''.join(_page(document))}</body></html>"
    )


def _page(document: Json) -> Iterator[str]:
    by_tag: dict[str, list[tuple[str, str, Json]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    yield "<nav><ul>"
    for operations in by_tag.values():
        for method, path, operation in operations:
            yield f'<li><a href="#{operation["operationId"]}"><code>{method} {path}</code></a></li>'
    yield "</ul></nav>"
    for tag, operations in by_tag.items():
        yield f"<h2>{escape(tag)}</h2>"
        for method, path, operation in operations:
            yield from _operation(method, path, operation, document)
    yield "<h2>Documents</h2>"
    for name, schema in document["components"]["schemas"].items():
        yield f'<h3 id="schema-{name}">{name}</h3>{_prose(schema.get("description", ""))}'
        yield _members(schema)


def _operation(method: str, path: str, operation: Json, document: Json) -> Iterator[str]:
    yield f'<h3 id="{operation["operationId"]}"><code>{method} {escape(path)}</code></h3>'
    yield _prose(operation["summary"]) + _prose(operation.get("description", ""))
    scopes = [scope for rule in operation.get("security", ()) for scope in rule["key"]]
    yield f"<p>Scope: {', '.join(scopes) or 'none, anybody may ask'}.</p>"
    if operation["parameters"]:
        yield _table(
            (f"{p['name']} ({p['in']})", p["schema"], p.get("required", False))
            for p in operation["parameters"]
        )
    if "requestBody" in operation:
        media, content = next(iter(operation["requestBody"]["content"].items()))
        yield f"<p>Body: <code>{media}</code></p>{_members(content['schema'])}"
    yield "<table>"
    for status, found in operation["responses"].items():
        answer = found
        if "$ref" in found:
            answer = document["components"]["responses"][found["$ref"].rpartition("/")[2]]
        yield f"<tr><td>{status}</td><td>{_code(answer['description'])}{_content(answer)}</td></tr>"
    yield "</table>"


def _content(answer: Json) -> str:
    for media, content in answer.get("content", {}).items():
        if media != "application/problem+json":
            return f": <code>{media}</code>, {_words(content['schema'])}"
    return ""


def _members(schema: Json) -> str:
    required = schema.get("required", ())
    members = schema.get("properties", {}).items()
    return _table((name, member, name in required) for name, member in members)


def _table(rows: Iterator[tuple[str, Json, bool]]) -> str:
    lines = [
        f"<tr><td><code>{escape(name)}</code></td><td>{_words(schema)}"
        f"{_default(schema)}{', required' if required else ''}"
        f"{_about(schema)}{_nested(schema)}</td></tr>"
        for name, schema, required in rows
        if not schema.get("readOnly")
    ]
    return f"<table>{''.join(lines)}</table>" if lines else ""


def _nested(schema: Json) -> str:
    return (
        f"<details><summary>members</summary>{_members(schema)}</details>"
        if schema.get("properties")
        else ""
    )


def _about(schema: Json) -> str:
    return f"<br>{_code(schema['description'])}" if "description" in schema else ""


def _default(schema: Json) -> str:
    return (
        f", default <code>{escape(compact_json(schema['default']).decode())}</code>"
        if "default" in schema
        else ""
    )


def _words(schema: Json) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#schema-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_words, schema["anyOf"]))
    if "enum" in schema:
        words = [w for w in schema["enum"] if w is not None]
        return "one of " + ", ".join(f"<code>{escape(str(word))}</code>" for word in words)
    kinds = schema.get("type", "any value")
    # Null is absence wherever it may be written, which the introduction says once.
    text = kinds if isinstance(kinds, str) else " or ".join(k for k in kinds if k != "null")
    if "items" in schema:
        return f"{text} of {_words(schema['items'])}"
    if schema.get("properties") and "data" in schema["properties"]:
        return f"page of {_words(schema['properties']['data']['items'])}"
    if schema.get("format") == "date-time":
        text = text.replace("string", "instant")
    if "minimum" in schema:
        text += f", {schema['minimum']:,} to {schema['maximum']:,}"
    if "maxLength" in schema and "format" not in schema:
        text += f", at most {schema['maxLength']:,} characters"
    return escape(text)


def _prose(text: str) -> str:
    paragraphs = (part.replace("\n", " ") for part in text.split("\n\n") if part.strip())
    return "".join(f"<p>{_code(paragraph)}</p>" for paragraph in paragraphs)


def _code(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")
