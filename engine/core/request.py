"""The headers of an attempt: the occurrence's names, the attempt's freshness, both signatures."""

from collections.abc import Iterable

from engine.core.identity import Signer, format_instant

ENGINE_HEADERS = (
    "Idempotency-Key",
    "webhook-id",
    "X-Scheduled-For",
    "X-Fire-After",
    "X-Schedule-Id",
    "X-Schedule-Name",
    "X-Attempt",
    "X-Trigger",
    "webhook-timestamp",
    "webhook-signature",
    "X-Scheduler-Signature",
)
"""Sent with every attempt (SPEC §7); a target's own headers cannot carry these names."""


def attempt_headers(
    signer: Signer,
    own: Iterable[tuple[str, str]],
    *,
    key: str,
    schedule_id: str,
    schedule_name: str,
    scheduled_for_ms: int,
    fire_after_ms: int,
    attempt: int,
    trigger: str,
    now_ms: int,
    body: bytes,
) -> list[tuple[str, str]]:
    """The target's `own` headers and the engine's, signed for an attempt that starts at `now_ms`.

    Freshness is the attempt's time: receivers refuse what is older than five minutes, and jitter
    alone may be fifteen. The scheduler's signature commits to the occurrence instead, and is the
    same on every attempt.
    """
    scheduled_for = format_instant(scheduled_for_ms)
    timestamp_s = now_ms // 1_000
    return [
        *own,
        ("Idempotency-Key", key),
        ("webhook-id", key),
        ("X-Scheduled-For", scheduled_for),
        ("X-Fire-After", format_instant(fire_after_ms)),
        ("X-Schedule-Id", schedule_id),
        ("X-Schedule-Name", schedule_name),
        ("X-Attempt", str(attempt)),
        ("X-Trigger", trigger),
        ("webhook-timestamp", str(timestamp_s)),
        ("webhook-signature", signer.webhook_signature(key, timestamp_s, body)),
        ("X-Scheduler-Signature", signer.scheduler_signature(schedule_id, scheduled_for, body)),
    ]
