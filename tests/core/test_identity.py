"""Identity and signatures against the published vectors, and the edges that those leave out."""

import hmac
import json
from base64 import b64encode
from datetime import UTC, datetime
from math import gcd
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from engine.core.identity import (
    MAX_INSTANT_MS,
    Signer,
    default_jitter_seconds,
    derive_secret,
    format_instant,
    hashed_field,
    idempotency_key,
    jitter_offset_ms,
    parse_instant,
    schedule_id,
    unit_u53,
    verify_scheduler,
    verify_webhook,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "offbeat-v1.json").read_text())
OLD, NEW = derive_secret(b"m" * 32, "acme", 1), derive_secret(b"m" * 32, "acme", 2)
KEY = VECTORS["idempotency_key"][0]["idempotency_key"]

Vector = dict[str, Any]


def vectors(kind: str) -> pytest.MarkDecorator:
    assert VECTORS[kind]
    return pytest.mark.parametrize("vector", VECTORS[kind])


@vectors("schedule_id")
def test_tenant_and_name_give_the_id(vector: Vector) -> None:
    assert schedule_id(vector["tenant"], vector["name"]) == vector["schedule_id"]
    assert len(vector["schedule_id"]) == 30


def test_tenant_and_name_do_not_run_together() -> None:
    assert schedule_id("ab", "c") != schedule_id("a", "bc")


@vectors("jitter")
def test_the_offset_follows_from_id_and_jitter(vector: Vector) -> None:
    name, seconds = vector["schedule_id"], vector["jitter_seconds"]
    assert jitter_offset_ms(name, seconds) == vector["offset_ms"]
    assert jitter_offset_ms(name, seconds, subsecond=False) == vector["offset_ms_whole_second"]


@given(st.text(alphabet="abc0123", max_size=9), st.integers(1, 900), st.booleans())
def test_the_offset_stays_inside_the_jitter(name: str, seconds: int, subsecond: bool) -> None:
    offset = jitter_offset_ms(schedule_id("default", name), seconds, subsecond=subsecond)
    assert 0 <= offset < seconds * 1000


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS["default_jitter"] if "every" in v["trigger"]]
)
def test_an_interval_gets_its_default_jitter(vector: Vector) -> None:
    every, phase = vector["trigger"]["every"], vector["trigger"].get("phase", 0)
    jitter = default_jitter_seconds(
        lands_on_hour=phase % gcd(every, 3600) == 0, interval_seconds=every, deadline_seconds=None
    )
    assert jitter == vector["jitter_seconds"]


@pytest.mark.parametrize(
    ("lands_on_hour", "interval_seconds", "deadline_seconds", "jitter"),
    [
        (True, 3600, None, 60),
        (True, 300, None, 30),
        (True, 599, None, 59),
        (True, 9, None, 0),
        (False, 3600, None, 0),
        (True, None, None, 0),
        (True, 3600, 20, 20),
        (True, 60, 20, 6),
    ],
)
def test_default_jitter_is_a_tenth_a_minute_or_the_deadline(
    lands_on_hour: bool, interval_seconds: int | None, deadline_seconds: int | None, jitter: int
) -> None:
    assert jitter == default_jitter_seconds(
        lands_on_hour=lands_on_hour,
        interval_seconds=interval_seconds,
        deadline_seconds=deadline_seconds,
    )


@vectors("hashed_field")
def test_h_is_spread_by_the_id(vector: Vector) -> None:
    low, high = vector["range"]
    assert hashed_field(vector["schedule_id"], vector["field"], low, high) == vector["value"]


@vectors("idempotency_key")
def test_the_key_commits_to_the_canonical_instant(vector: Vector) -> None:
    instant = vector["scheduled_for_ms"]
    assert format_instant(instant) == vector["scheduled_for"]
    assert parse_instant(vector["scheduled_for"]) == instant
    assert idempotency_key(vector["schedule_id"], instant) == vector["idempotency_key"]


@vectors("retry")
def test_the_retry_phase_follows_from_key_and_attempt(vector: Vector) -> None:
    assert unit_u53(vector["idempotency_key"], vector["attempt"]) == vector["unit_u53"]


def test_each_purpose_has_its_own_phase() -> None:
    assert unit_u53(KEY, 1, "catchup") != unit_u53(KEY, 1)
    assert 0 <= unit_u53(KEY, 1, "catchup") < 2**53


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (951_868_799_999, "2000-02-29T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        (MAX_INSTANT_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_instants_are_written_in_utc(instant: int, text: str) -> None:
    assert format_instant(instant) == text
    assert parse_instant(text) == instant


@given(st.integers(0, MAX_INSTANT_MS))
def test_reading_undoes_writing_in_every_year(instant: int) -> None:
    text = format_instant(instant)
    assert parse_instant(text) == instant
    assert datetime.fromisoformat(text) == datetime.fromtimestamp(instant // 1000, UTC).replace(
        microsecond=instant % 1000 * 1000
    )


@pytest.mark.parametrize("instant", [-1, MAX_INSTANT_MS + 1])
def test_an_instant_outside_the_four_digit_years_is_not_written(instant: int) -> None:
    with pytest.raises(ValueError, match="outside the years 1970 to 9999"):
        format_instant(instant)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30t12:00:00z",
        "2026-11-30T13:00:00+01:00",
        "2026-11-30T06:30:00-05:30",
        "2026-12-01T11:59:00+23:59",
        "2026-11-30T12:00:00-00:00",
        "2026-11-30T12:00:00.0Z",
        "2026-11-30T12:00:00.000000000Z",
    ],
)
def test_every_spelling_of_an_instant_is_one_number(text: str) -> None:
    assert parse_instant(text) == 1_796_040_000_000


@pytest.mark.parametrize(
    ("text", "milliseconds"), [(".5", 500), (".12", 120), (".007", 7), (".123000", 123)]
)
def test_decimals_are_read_to_the_millisecond(text: str, milliseconds: int) -> None:
    assert parse_instant(f"1970-01-01T00:00:00{text}Z") == milliseconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not an instant"),
        ("2026-11-30", "is not an instant"),
        ("2026-11-30T12:00:00", "is not an instant"),
        ("2026-11-30 12:00:00Z", "is not an instant"),
        ("2026-11-30T12:00Z", "is not an instant"),
        ("2026-11-30T12:00:00.Z", "is not an instant"),
        ("2026-11-30T12:00:00,5Z", "is not an instant"),
        ("2026-11-30T12:00:00+0100", "is not an instant"),
        ("2026-11-30T12:00:00Z\n", "is not an instant"),
        ("٢٠٢٦-11-30T12:00:00Z", "is not an instant"),
        ("2026-11-30T12:00:00.0001Z", "finer than a millisecond"),
        ("2016-12-31T23:59:60Z", "leap second"),
        ("2027-02-29T12:00:00Z", "names no instant"),
        ("2026-13-01T12:00:00Z", "names no instant"),
        ("2026-11-30T24:00:00Z", "names no instant"),
        ("2026-11-30T12:00:61Z", "names no instant"),
        ("0000-01-01T00:00:00Z", "names no instant"),
        ("2026-11-30T12:00:00+24:00", "an offset ends at 23:59"),
        ("2026-11-30T12:00:00-01:60", "an offset ends at 23:59"),
        ("1970-01-01T00:59:59+01:00", "outside the years 1970 to 9999"),
        ("9999-12-31T23:59:59-00:01", "outside the years 1970 to 9999"),
    ],
)
def test_what_is_no_instant_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_instant(text)


def test_a_long_text_is_not_repeated_back() -> None:
    with pytest.raises(ValueError, match="is not an instant") as refusal:
        parse_instant("9" * 100_000)
    assert len(str(refusal.value)) < 200


@vectors("signature")
def test_signatures_are_as_published(vector: Vector) -> None:
    signer, body = Signer([vector["secret"]]), vector["body_utf8"].encode()
    assert vector["webhook-signature"] == signer.webhook_signature(
        vector["webhook-id"], vector["attempt_unix_s"], body
    )
    assert vector["x-scheduler-signature"] == signer.scheduler_signature(
        vector["schedule_id"], vector["scheduled_for"], body
    )


def test_each_tenant_and_version_has_its_own_secret() -> None:
    # The text `signing|acme|1` under 32 zero bytes, as `openssl dgst -mac HMAC` has it.
    assert derive_secret(bytes(32), "acme", 1) == (
        "whsec_c4+F9jLdHYQaqSs942EGBxbRTKJO3Zshk2bpc+9w8gU="
    )
    assert len({OLD, NEW, derive_secret(b"m" * 32, "globex", 1)}) == 3


def test_while_secrets_rotate_either_one_verifies() -> None:
    now_s, body = int(datetime.now(UTC).timestamp()), b'{"a":1}'
    signature = Signer([NEW, OLD]).webhook_signature(KEY, now_s, body)
    headers = {"webhook-id": KEY, "webhook-timestamp": str(now_s), "webhook-signature": signature}
    for secret in (OLD, NEW):
        assert Webhook(secret).verify(body, headers) == {"a": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(derive_secret(b"x" * 32, "acme", 1)).verify(body, headers)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, True),
        ({"secrets": [NEW]}, False),
        ({"secrets": [NEW, OLD]}, True),
        ({"secrets": []}, False),
        ({"secrets": [], "signature": ""}, False),
        ({"webhook_id": KEY[::-1]}, False),
        ({"timestamp": "1001"}, False),
        ({"timestamp": "01000"}, False),
        ({"timestamp": "1e3"}, False),
        ({"timestamp": ""}, False),
        ({"body": b"other"}, False),
        ({"signature": ""}, False),
        ({"signature": "v1,é"}, False),
        ({"now_s": 1300}, True),
        ({"now_s": 1301}, False),
        ({"now_s": 699}, False),
        ({"now_s": 1301, "tolerance_seconds": 400}, True),
    ],
)
def test_a_webhook_verifies_only_as_signed_and_when_fresh(changed: Vector, verdict: bool) -> None:
    request: Vector = {
        "secrets": [OLD],
        "webhook_id": KEY,
        "timestamp": "1000",
        "body": b"body",
        "signature": "v1,AAAA " + Signer([OLD]).webhook_signature(KEY, 1000, b"body"),
        "now_s": 1000,
    }
    assert verify_webhook(**request | changed) is verdict


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, True),
        ({"secrets": [NEW, OLD]}, True),
        ({"secrets": [NEW]}, False),
        ({"schedule_id": "sch_" + "1" * 26}, False),
        ({"scheduled_for": "2026-11-30T13:00:00Z"}, False),
        ({"body": b""}, False),
        ({"signature": "v1="}, False),
    ],
)
def test_an_occurrence_verifies_only_as_signed(changed: Vector, verdict: bool) -> None:
    name, instant = "sch_" + "0" * 26, "2026-11-30T12:00:00Z"
    request: Vector = {
        "secrets": [OLD],
        "schedule_id": name,
        "scheduled_for": instant,
        "body": b"body",
        "signature": Signer([OLD]).scheduler_signature(name, instant, b"body"),
    }
    assert verify_scheduler(**request | changed) is verdict


@pytest.mark.parametrize("secret", ["", "AAECAwQ=", "whsec_AAE", "whsec_AA*ECAwQ="])
def test_a_secret_that_cannot_be_read_is_refused_without_being_quoted(secret: str) -> None:
    with pytest.raises(ValueError, match="signing secret") as refusal:
        Signer([secret])
    assert secret.removeprefix("whsec_") == "" or secret not in str(refusal.value)


@pytest.mark.parametrize("size", [0, 1, 23])
def test_a_secret_that_could_be_guessed_is_refused(size: int) -> None:
    secret = "whsec_" + b64encode(b"k" * size).decode()
    with pytest.raises(ValueError, match=f"24 bytes or more, and this one of {size};"):
        Signer([secret])


@pytest.mark.parametrize("size", [24, 32, 64])
def test_a_secret_of_another_system_may_have_any_length_of_standard_webhooks(size: int) -> None:
    """What it signs is the HMAC of RFC 2104 with those bytes as the key."""
    key = b"k" * size
    mac = hmac.digest(key, b"id.1.body", "sha256")
    signature = Signer(["whsec_" + b64encode(key).decode()]).webhook_signature("id", 1, b"body")
    assert signature == "v1," + b64encode(mac).decode()
