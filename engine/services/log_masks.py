"""What a log must not say. The last of two nets: nothing here is logged that is known to be secret.

Masked are the shapes in which a secret could slip into a sentence or a traceback: API keys (their
id stays), signing secrets, a URL's credentials and query, and the values of headers that carry
credentials. And an event stays on its line: whatever could end it or move a terminal's cursor is
escaped.

What follows a JSON pointer to a header is why it was refused, which says nothing of its value.
"""

import re
from collections.abc import MutableMapping
from typing import Any

MASK = "***"

SECRET_FIELDS = frozenset({"headers", "authorization", "cookie", "password", "secret", "token"})
"""Fields of an event whose value is never shown."""

_SHAPES = (
    (re.compile(r"\bobk_([a-z0-9]{1,32})_[A-Za-z0-9]+"), rf"obk_\1_{MASK}"),
    (re.compile(r"\bwhsec_[A-Za-z0-9+/=_-]+"), f"whsec_{MASK}"),
    (re.compile(r"(?i)\b(https?://)[^\s/?#@\"']+@"), rf"\1{MASK}@"),
    (re.compile(r"(?i)\b(https?://[^\s?#\"'<>]+)\?[^\s#\"'<>]+"), rf"\1?{MASK}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s,\"']+"), rf"\1 {MASK}"),
    (
        re.compile(
            r"(?i)(?<![\w-])(?<!/headers/)"
            r"([\w-]*(?:authorization|cookie|password|secret|token|api-?key)[\"']?\s*[:=]\s*)"
            r"[^\r\n]+"
        ),
        rf"\1{MASK}",
    ),
)
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def mask_secrets(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A structlog processor: the event without secrets."""
    for field, value in event.items():
        event[field] = MASK if field in SECRET_FIELDS else _masked(value)
    return event


def one_line(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """A structlog processor for a renderer that escapes nothing, as a terminal's."""
    for field, value in event.items():
        event[field] = escaped(value) if isinstance(value, str) else value
    return event


def escaped(text: str) -> str:
    """`text` with what could end a line as `\\uXXXX`, which JSON reads back."""
    return _BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        for shape, mask in _SHAPES:
            value = shape.sub(mask, value)
        return value
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {_masked(key): _masked(item) for key, item in value.items()}
    return value
