"""For receivers of deliveries: is this one genuine, and which never came?

It needs the standard library and `engine/core/identity.py`, no more: a receiver that does not
install Offbeat copies the two files, each in its folder.

    delivery = verify(request.headers, body, [SECRET])
    if delivery.key in seen:  # Another attempt of a run that was done already.
        return

What is proven. `webhook-signature` (Standard Webhooks) commits to key, time of sending and body;
`X-Scheduler-Signature` to schedule, `scheduled_for` and body; and the key must follow from schedule
and `scheduled_for`. A `Delivery` has these and no more: `X-Attempt`, `X-Trigger` and the schedule's
name are not signed. Old requests are refused by the time of sending, since `scheduled_for` may be
long ago on a retry; a copy sent again within the tolerance is told by its key.

Sources: Standard Webhooks 1.0; SPEC §2, §7.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.core.identity import (
    WEBHOOK_TOLERANCE_SECONDS,
    format_instant,
    idempotency_key,
    parse_instant,
    verify_scheduler,
    verify_webhook,
)


class NotGenuine(Exception):
    """Answer 400 or 401: the request is not a delivery, or cannot be told from a forged one."""


class HeaderMissing(NotGenuine):
    """A header that every delivery has is absent, or unreadable."""


class Stale(NotGenuine):
    """The attempt was made too long ago, or this machine's clock is wrong."""


class WrongSignature(NotGenuine):
    """No secret signed this, or something on the way has changed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What the signatures prove. `key` is the same on every attempt of a run."""

    key: str
    schedule_id: str
    scheduled_for_ms: int
    sent_s: int


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secrets: Sequence[str],
    *,
    now_s: float | None = None,
    tolerance_seconds: int = WEBHOOK_TOLERANCE_SECONDS,
) -> Delivery:
    """The delivery, if one of `secrets` signed it and it was sent within the tolerance of now.

    `headers`: names in any case; `body`: the bytes as received; `secrets`: `whsec_` texts, of which
    two are active while one replaces the other; `now_s`: Unix seconds, by default the system's.
    Raises `NotGenuine`, and ValueError when a secret cannot be read.
    """
    if not secrets:
        raise ValueError("name the tenant's signing secrets: offbeat secrets shows them")
    found = {name.lower(): value for name, value in headers.items()}
    key, sent = _header(found, "webhook-id"), _header(found, "webhook-timestamp")
    schedule_id = _header(found, "x-schedule-id")
    scheduled_for = _header(found, "x-scheduled-for")
    now_s = int(time.time() if now_s is None else now_s)
    sent_s = _seconds(sent)
    if abs(now_s - sent_s) > tolerance_seconds:
        raise Stale(f"sent {now_s - sent_s} s ago; {tolerance_seconds} s are allowed")
    genuine = verify_webhook(
        secrets,
        webhook_id=key,
        timestamp=sent,
        body=body,
        signature=_header(found, "webhook-signature"),
        now_s=now_s,
        tolerance_seconds=tolerance_seconds,
    ) and verify_scheduler(
        secrets,
        schedule_id=schedule_id,
        scheduled_for=scheduled_for,
        body=body,
        signature=_header(found, "x-scheduler-signature"),
    )
    if not genuine:
        raise WrongSignature("none of the secrets signed this request as it arrived")
    scheduled_for_ms = _instant(scheduled_for)
    if key != idempotency_key(schedule_id, scheduled_for_ms):
        raise WrongSignature("webhook-id is another occurrence's")
    return Delivery(
        key=key, schedule_id=schedule_id, scheduled_for_ms=scheduled_for_ms, sent_s=sent_s
    )


def expected_keys(row: Mapping[str, Any], from_: str, to: str) -> Iterator[tuple[str, str]]:
    """(key, `scheduled_for`) of what is due with `from_ <= scheduled_for < to`, oldest first.

        missing = dict(expected_keys(row, from_, to)).keys() - seen_keys

    `row`: a schedule as `GET /v1/schedules/NAME` answers, with `every` or `at`: computed here,
    later than `owed_after`, where its present rules begin, and from `start_at` to `end_at`. Cron
    arithmetic needs more than the standard library; in place of such a row pass the answer of
    `/v1/schedules/NAME/occurrences` for the same span (at most 1,000 at once), of which those count
    that are `owed`. What earlier rules owed `GET /v1/runs` knows. What fell into a pause, or was
    skipped by `overlap` or `catch_up`, is among them and was not sent: `GET /v1/runs` says why.
    Instants are RFC 3339.
    Raises ValueError with what to write instead.
    """
    from_ms, to_ms = parse_instant(from_), parse_instant(to)
    if "data" in row:
        return _answered(row["data"], from_ms, to_ms)
    if row.get("max_runs") is not None or row.get("cron") is not None:
        raise ValueError("pass the answer of /v1/schedules/NAME/occurrences: the row is not enough")
    return _computed(row["id"], _instants(row, from_ms, to_ms))


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise HeaderMissing(f"the header {name} is missing")
    if not value.isascii():
        raise HeaderMissing(f"the header {name} holds what no delivery's does")
    return value


def _seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HeaderMissing("webhook-timestamp holds no Unix seconds")
    return int(text)


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise HeaderMissing(f"x-scheduled-for: {error}") from None


def _answered(
    occurrences: Iterable[Mapping[str, Any]], from_ms: int, to_ms: int
) -> Iterator[tuple[str, str]]:
    for each in occurrences:
        if each["owed"] and from_ms <= parse_instant(each["scheduled_for"]) < to_ms:
            yield each["idempotency_key"], each["scheduled_for"]


def _computed(schedule_id: str, instants: Iterable[int]) -> Iterator[tuple[str, str]]:
    for ms in instants:
        yield idempotency_key(schedule_id, ms), format_instant(ms)


def _instants(row: Mapping[str, Any], from_ms: int, to_ms: int) -> Iterable[int]:
    from_ms = max(from_ms, parse_instant(row["owed_after"]) + 1)
    if row.get("at") is not None:
        at_ms = parse_instant(row["at"])
        return [at_ms] if from_ms <= at_ms < to_ms else []
    if row.get("start_at") is not None:
        from_ms = max(from_ms, parse_instant(row["start_at"]))
    if row.get("end_at") is not None:
        to_ms = min(to_ms, parse_instant(row["end_at"]) + 1)
    step, phase = row["every"] * 1_000, row["phase"] * 1_000
    return range(from_ms + (phase - from_ms) % step, to_ms, step)
