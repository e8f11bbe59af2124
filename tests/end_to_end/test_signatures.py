"""What a receiver can verify of a delivery, with somebody else's code and with ours."""

from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from engine.core.identity import verify_scheduler, verify_webhook
from tests.end_to_end.checker import text_of
from tests.end_to_end.journal import read_journal
from tests.end_to_end.processes import Engine, Receiver, Request, now_ms, until

HOUR_MS = 3_600_000
HASTY = {"min_backoff_seconds": 1, "max_backoff_seconds": 1}
ENGINE_HEADERS = [
    "idempotency-key",
    "webhook-id",
    "x-scheduled-for",
    "x-fire-after",
    "x-schedule-id",
    "x-schedule-name",
    "x-attempt",
    "x-trigger",
    "webhook-timestamp",
    "webhook-signature",
    "x-scheduler-signature",
]


def secret_of(engine: Engine) -> str:
    (entry,) = engine.ask("GET", "/v1/secrets").document["data"]
    secret: str = entry["secret"]
    return secret


def verify(secret: str, request: Request, body: bytes | None = None) -> None:
    """As a receiver that uses the standardwebhooks package does."""
    text = request.body if body is None else body
    Webhook(secret).verify(text, request.fields, json_parse=False)


def is_ours(secret: str, request: Request, body: bytes) -> tuple[bool, bool]:
    """Both signatures by the one file that a receiver can copy."""
    fields = request.fields
    return (
        verify_webhook(
            [secret],
            webhook_id=fields["webhook-id"],
            timestamp=fields["webhook-timestamp"],
            body=body,
            signature=fields["webhook-signature"],
            now_s=request.wall_ms // 1_000,
        ),
        verify_scheduler(
            [secret],
            schedule_id=fields["x-schedule-id"],
            scheduled_for=fields["x-scheduled-for"],
            body=body,
            signature=fields["x-scheduler-signature"],
        ),
    )


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ({"json": {"total": 7, "name": "Zoë"}}, '{"total":7,"name":"Zoë"}'.encode()),
        ({"body": "plain, with a\nline"}, b"plain, with a\nline"),
        ({"body_base64": "AP+AfwA="}, b"\x00\xff\x80\x7f\x00"),
        ({}, b""),
    ],
)
def test_a_delivery_verifies_as_received_and_not_when_touched(
    content: dict[str, Any], body: bytes, engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    secret = secret_of(engine)
    engine.put("tick", {"every": 1, "target": {"url": receiver.url("/"), **content}})
    until(receiver.requests, "a delivery")
    engine.stop()
    request = receiver.requests()[0]
    assert request.body == body
    assert is_ours(secret, request, request.body) == (True, True)
    assert is_ours(secret, request, request.body + b" ") == (False, False)
    assert is_ours("whsec_" + "A" * 43 + "=", request, request.body) == (False, False)
    if body.isascii():  # The package takes text alone, and joins it as such.
        verify(secret, request)
        with pytest.raises(WebhookVerificationError):
            verify(secret, request, request.body + b" ")


def test_c42_attempts_share_key_and_bytes_and_differ_in_number_and_freshness(
    engine: Engine, receiver: Receiver
) -> None:
    engine.start()
    secret = secret_of(engine)
    target = {
        "url": receiver.url("/flaky?status=500,500,200"),
        "headers": {"X-Own": "kept", "User-Agent": "somebody/1"},
        "json": {"total": 7},
    }
    document = {"at": text_of(now_ms() + 300), "target": target, "retry": HASTY}
    engine.put("once", document)
    until(lambda: engine.runs("state=succeeded"), "the third attempt")
    engine.stop()
    attempts = receiver.requests()
    assert [request.attempt for request in attempts] == [1, 2, 3]
    assert [request.status for request in attempts] == [500, 500, 200]
    for request in attempts:
        verify(secret, request)
        names = [name.lower() for name, _ in request.headers]
        assert sorted(names) == sorted(
            [*ENGINE_HEADERS, "x-own", "user-agent", "host", "content-length", "content-type"]
        )
        assert request.fields["x-own"] == "kept"
        assert request.fields["user-agent"] == "somebody/1"
        assert request.fields["x-trigger"] == "schedule"
    for name in ("idempotency-key", "webhook-id", "x-scheduler-signature", "x-scheduled-for"):
        assert len({request.fields[name] for request in attempts}) == 1
    assert {request.body for request in attempts} == {b'{"total":7}'}
    (run,) = read_journal(engine.database).runs.values()
    started = [str(attempt.started_ms // 1_000) for attempt in run.attempts]
    assert [request.fields["webhook-timestamp"] for request in attempts] == started


def test_c49_a_late_retry_and_one_after_a_crash_are_signed_when_they_are_sent(
    engine: Engine, receiver: Receiver
) -> None:
    """The first attempts are four hours old; the second ones verify within 300 s of now."""
    past_ms = now_ms() - 4 * HOUR_MS
    engine.start("--clock-start", text_of(past_ms))
    secret = secret_of(engine)
    patient = {"jitter": "none", "min_backoff_seconds": 3 * 3_600, "max_backoff_seconds": 86_400}
    soon = text_of(past_ms + 5_000)
    failing = {"url": receiver.url("/late?status=503,200")}
    engine.put("late", {"at": soon, "target": failing, "retry": patient})
    holding = {"url": receiver.url("/cut?hold=1"), "timeout_seconds": 60}
    engine.put("cut", {"at": soon, "target": holding})
    until(lambda: engine.runs("state=retry_wait"), "the first attempt has failed")
    until(lambda: receiver.requests("/cut"), "the other one is under way")
    engine.kill()
    receiver.release()
    engine.start()
    until(lambda: len(engine.runs("state=succeeded")) == 2, "both are delivered")
    engine.stop()
    for path in ("/late", "/cut"):
        early, late = receiver.requests(path)
        assert [early.attempt, late.attempt] == [1, 2]
        assert early.fields["webhook-id"] == late.fields["webhook-id"]
        verify(secret, late)
        with pytest.raises(WebhookVerificationError, match="too old"):
            verify(secret, early)
