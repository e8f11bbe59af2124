"""The instrument's own arithmetic against the published vectors: shared with nobody's code."""

import json
from base64 import b64decode
from pathlib import Path

import pytest

from loadtest import arithmetic

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "offbeat-v1.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["schedule_id"])
def test_an_id_follows_from_the_name(vector):
    if vector["tenant"] == arithmetic.TENANT:
        assert arithmetic.schedule_id(vector["name"]) == vector["schedule_id"]
    else:
        assert arithmetic.schedule_id(vector["name"]) != vector["schedule_id"]


@pytest.mark.parametrize("vector", VECTORS["jitter"])
def test_an_offset_follows_from_the_id(vector):
    given = vector["schedule_id"], vector["jitter_seconds"]
    assert arithmetic.offset_ms(*given, subsecond=True) == vector["offset_ms"]
    assert arithmetic.offset_ms(*given, subsecond=False) == vector["offset_ms_whole_second"]


@pytest.mark.parametrize("vector", VECTORS["idempotency_key"])
def test_a_key_follows_from_id_and_instant(vector):
    assert arithmetic.text_of(vector["scheduled_for_ms"]) == vector["scheduled_for"]
    assert arithmetic.ms_of(vector["scheduled_for"]) == vector["scheduled_for_ms"]
    key = arithmetic.key_of(vector["schedule_id"], vector["scheduled_for_ms"])
    assert key == vector["idempotency_key"]


@pytest.mark.parametrize("vector", [v for v in VECTORS["signature"] if "secret" in v])
def test_signatures_follow_from_the_secret(vector):
    key = b64decode(vector["secret"].removeprefix("whsec_"))
    body = vector["body_utf8"].encode()
    stamp = str(vector["attempt_unix_s"])
    assert (
        arithmetic.webhook_signature(key, vector["webhook-id"], stamp, body)
        == vector["webhook-signature"]
    )
    occurrence = vector["schedule_id"], vector["scheduled_for"]
    assert arithmetic.scheduler_signature(key, *occurrence, body) == vector["x-scheduler-signature"]
