"""Requests that are to have their effect once, however often they are sent: idempotency keys.

A client that got no answer cannot know whether its POST arrived. So it names the request by a key
of its own choice and sends it again under the same one: what had its effect is answered as it was
the first time, and has none again. Another request under a key that is taken is a mistake of the
client's, and is told so.

The answer is kept in the transaction that has the effect: there is no moment at which one is on
disk without the other. A request that was refused had no effect, so nothing is kept of it, and its
key is free for the request as it should have been.

Source: draft-ietf-httpapi-idempotency-key-header-07.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

KEPT_MS = 24 * 3_600_000
"""How long an answer is kept under `Idempotency-Key`, at least: a day's outage of whoever sends
again."""

IDEMPOTENCY_KEYS_MAX = 10_000
"""Answers that a tenant has kept under `Idempotency-Key` at a time. None is dropped before its day
is over, since what was promised to its client would be; so the next one is refused."""

T_contra = TypeVar("T_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A tenant's request under a key; `fingerprint` is the SHA-256 of what it asks for."""

    tenant: str
    key: str = field(repr=False)
    fingerprint: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a request was answered with; `document` is a JSON value."""

    status: int
    document: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Generic[T_contra]):
    """What to keep of a request when its effect is stored: the answer to what came of it."""

    once: Once
    now_ms: int
    answer: Callable[[T_contra], Reply]
