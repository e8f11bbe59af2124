"""The `target` of a schedule's document: the request to make, and what it reads back as.

A body is written one of three ways: `json` (any JSON value, serialised once, compactly, so that
every attempt sends the same bytes), `body` (text, sent as UTF-8) or `body_base64` (bytes). Each
way has a Content-Type that is sent when the tenant names none; because it follows from the way,
the document never shows it.

`"json": null` is no body, as null means absent everywhere (RFC 7396 leaves a patch no other way to
take a body away). The JSON text `null` is sent as `"body": "null"` with the header
`"Content-Type": "application/json"`.
"""

from base64 import b64decode, b64encode
from typing import Any

from engine.core.credentials import masked
from engine.core.errors import Fault
from engine.core.fields import Fields
from engine.core.header_rules import HEADER_NAME, HEADER_VALUE, HEADERS_MAX, read_headers
from engine.core.inproc import is_inproc, read_inproc
from engine.core.json_text import compact_json, parse_json
from engine.core.members import Choice, Integer, Judged, Shape, whole
from engine.core.model import BodyKind, Target
from engine.core.url_rules import URL_LENGTH_MAX, wire_url

BODY_BYTES_MAX = 102_400
"""A target's body: a webhook carries a notice, no file; 1,000 runs in flight hold 100 MB then."""

TIMEOUT_SECONDS_MAX = 300
"""`target.timeout_seconds`: so long may a receiver occupy one of the slots that all share."""


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# RFC 9110 §9.3.1: content there has no meaning, and some servers close the connection on it.
BODILESS_METHODS = ("GET", "HEAD")

URL = Judged(
    "url",
    {
        "type": "string",
        "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]",
        "maxLength": URL_LENGTH_MAX,
        "examples": ["https://example.com/hook"],
    },
    about="Where the request goes.",
)
METHOD = Choice("method", "POST", METHODS, about="How it is sent.")
HEADERS = Judged(
    "headers",
    {
        "type": "object",
        "maxProperties": HEADERS_MAX,
        "propertyNames": {"pattern": whole(HEADER_NAME)},
        "additionalProperties": {"type": "string", "pattern": whole(HEADER_VALUE)},
    },
    about="Sent along, but for names that are the engine's; credentials are masked in answers.",
)
JSON = Judged("json", {}, about="The body, as JSON.")
BODY = Judged("body", {"type": "string", "maxLength": BODY_BYTES_MAX}, about="The body, as text.")
BODY_BASE64 = Judged(
    "body_base64", {"type": "string", "contentEncoding": "base64"}, about="The body, as bytes."
)
TIMEOUT = Integer(
    "timeout_seconds",
    15,
    low=1,
    high=TIMEOUT_SECONDS_MAX,
    about="For a whole attempt, connecting included.",
)
TARGET = Shape(
    (URL, METHOD, HEADERS, JSON, BODY, BODY_BASE64, TIMEOUT), required=frozenset({"url"})
)

BODY_KINDS: dict[str, BodyKind] = {"json": "json", "body": "text", "body_base64": "base64"}
CONTENT_TYPES: dict[BodyKind, str] = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "base64": "application/octet-stream",
}


def read_target(value: object, faults: list[Fault], *, inproc: bool = False) -> Target:
    """The target that `value` describes; meaningless once it added to `faults`.

    `inproc`: whoever writes it may name a handler in the engine's process.
    """
    fields = Fields(value, pointer="/target", known=TARGET.names, faults=faults)
    method = fields.choice(METHOD)
    kind, body = _read_body(fields, method)
    headers = read_headers(fields.raw("headers"), pointer="/target/headers", faults=faults)
    return Target(
        url=_read_url(fields, inproc=inproc),
        method=method,
        headers=_with_content_type(headers, kind),
        body=body,
        body_kind=kind,
        timeout_seconds=fields.integer(TIMEOUT),
    )


def write_target(target: Target) -> dict[str, Any]:
    """The document that `read_target` reads as `target`, a mask for each credential."""
    own = _default_header(target.body_kind)
    document: dict[str, Any] = {
        "url": target.url,
        "method": target.method,
        "headers": {n: v for n, v in masked(target).items() if (n, v) != own},
        "timeout_seconds": target.timeout_seconds,
    }
    match target.body_kind:
        case "json":
            document["json"] = parse_json(target.body)
        case "text":
            document["body"] = target.body.decode()
        case "base64":
            document["body_base64"] = b64encode(target.body).decode()
    return document


def _read_url(fields: Fields, *, inproc: bool) -> str:
    url = fields.raw("url")
    if type(url) is not str:
        fields.refuse("url", "write the URL to call, like https://example.com/hook")
        return ""
    try:
        return read_inproc(url, allowed=inproc) if is_inproc(url) else wire_url(url)
    except ValueError as error:
        fields.refuse("url", str(error))
        return ""


def _read_body(fields: Fields, method: str) -> tuple[BodyKind, bytes]:
    given = fields.given(BODY_KINDS)
    if not given:
        return "none", b""
    field = given[-1]
    if len(given) > 1:
        fields.refuse(field, f"write one body, not both {' and '.join(given)}; null removes one")
    elif method in BODILESS_METHODS:
        fields.refuse(field, f"{method} carries no body; write another method or use the query")
    try:
        body = _body_bytes(field, fields.raw(field))
    except ValueError as error:
        fields.refuse(field, str(error))
        return "none", b""
    if len(body) > BODY_BYTES_MAX:
        fields.refuse(field, f"the body has {len(body):,} bytes; at most {BODY_BYTES_MAX:,} fit")
    return BODY_KINDS[field], body


def _body_bytes(field: str, value: Any) -> bytes:
    if field == "json":
        return compact_json(value)
    if type(value) is not str:
        raise ValueError("write text, or use json for a JSON value")
    if field == "body":
        return value.encode()
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise ValueError("write base64 as RFC 4648 §4 has it, padded, without blanks") from None


def _with_content_type(
    headers: tuple[tuple[str, str], ...], kind: BodyKind
) -> tuple[tuple[str, str], ...]:
    # One that the tenant wrote just as it would be added counts as added: so documents and
    # targets answer each other exactly, whatever the order in which the headers were written.
    own = _default_header(kind)
    if own is None:
        return headers
    others = tuple(header for header in headers if header != own)
    named = any(name.lower() == "content-type" for name, _ in others)
    return others if named else (*others, own)


def _default_header(kind: BodyKind) -> tuple[str, str] | None:
    value = CONTENT_TYPES.get(kind)
    return None if value is None else ("Content-Type", value)
