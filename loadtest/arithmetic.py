"""SPEC §2 and §7 once more: ids, offsets, keys and signatures, without a line of the engine's.

A load test that took these from the engine would call right whatever the engine does.
"""

import hmac
from base64 import b32hexencode, b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256

TENANT = "default"
SECRET_VERSION = 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def schedule_id(name: str) -> str:
    """The id of a schedule of the keyless tenant."""
    digest = sha256(f"{TENANT}\0{name}".encode()).digest()
    return "sch_" + b32hexencode(digest[:16]).decode().rstrip("=").lower()


def offset_ms(public_id: str, jitter_seconds: int, *, subsecond: bool) -> int:
    """From `scheduled_for` to `fire_after`."""
    if not jitter_seconds:
        return 0
    digest = sha256(public_id.encode()).digest()
    seconds = int.from_bytes(digest[:8], "big") % jitter_seconds
    phase_ms = int.from_bytes(digest[8:12], "big") % 1_000
    return seconds * 1_000 + (phase_ms if subsecond else 0)


def key_of(public_id: str, scheduled_for_ms: int) -> str:
    """The idempotency key of one occurrence."""
    return sha256((public_id + text_of(scheduled_for_ms)).encode()).hexdigest()


@lru_cache(65_536)
def text_of(ms: int) -> str:
    """RFC 3339 in UTC, with three decimals when they say something."""
    text = (_EPOCH + timedelta(milliseconds=ms)).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{ms % 1_000:03}Z" if ms % 1_000 else "Z")


@lru_cache(65_536)
def ms_of(text: str) -> int:
    """The instant that an RFC 3339 text names."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)


def signing_key(master: bytes) -> bytes:
    """The tenant's signing key, the bytes of its `whsec_` secret."""
    return hmac.digest(master, f"signing|{TENANT}|{SECRET_VERSION}".encode(), "sha256")


def webhook_signature(key: bytes, webhook_id: str, timestamp: str, body: bytes) -> str:
    """What `webhook-signature` must hold (Standard Webhooks)."""
    message = f"{webhook_id}.{timestamp}.".encode() + body
    return "v1," + b64encode(hmac.digest(key, message, "sha256")).decode()


def scheduler_signature(key: bytes, public_id: str, scheduled_for: str, body: bytes) -> str:
    """What `X-Scheduler-Signature` must hold."""
    message = f"{public_id}.{scheduled_for}.".encode() + body
    return "v1=" + hmac.digest(key, message, "sha256").hex()


def signatures_hold(key: bytes, headers: Mapping[str, str], body: bytes) -> tuple[bool, bool]:
    """Whether a request's `webhook-signature` and its `X-Scheduler-Signature` are right."""
    webhook_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    public_id, instant = headers.get("X-Schedule-Id", ""), headers.get("X-Scheduled-For", "")
    return (
        headers.get("webhook-signature") == webhook_signature(key, webhook_id, timestamp, body),
        headers.get("X-Scheduler-Signature") == scheduler_signature(key, public_id, instant, body),
    )


def unit(text: str) -> float:
    """A number in [0, 1) that follows from `text` alone: how failures are drawn."""
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big") / 2**56
