"""Which headers are credentials, and when the mask keeps a stored one."""

import pytest

from engine.core.credentials import (
    MASK,
    is_credential,
    kept_target,
    masked,
    without_credentials,
)
from engine.core.errors import Invalid
from engine.core.model import Outcome, Target

MASKED = (("X-Kind", "a"), ("Authorization", MASK))
STORED = Target(url="https://h.example/a", headers=MASKED, sealed=(("Authorization", "c2VhbGVk"),))


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "cookie",
        "X-Api-Key",
        "apikey",
        "X-Auth",
        "X-Auth-Token",
        "X-Client-Secret",
        "X_KEY",
        "X.Key.2",
        "Key-Id",
        "X-AccessKey",
        "X-Authkey",
        "X-Authentication",
        "X-Authorisation",
        "X-OAuth",
        "X-Bearer",
        "X-Jwt",
        "X-Pass",
        "X-Passcode",
        "X-Passphrase",
        "X-Passwd",
        "X-Pwd",
        "X-Session-Id",
    ],
)
def test_what_names_a_credential_is_one(name: str):
    assert is_credential(name, "s")
    assert not is_credential(name, "")


@pytest.mark.parametrize(
    "name",
    [
        "Content-Type",
        "Accept",
        "X-Author",
        "X-Authority",
        "X-Bypass",
        "X-Compass",
        "X-Keyboard",
        "X-Keyword",
        "X-Monkey",
        "X-Passenger",
    ],
)
def test_what_does_not_name_one_is_none(name: str):
    assert not is_credential(name, "s")


def test_the_mask_keeps_what_is_stored_while_the_origin_stays():
    edited = Target(url="https://H.example:443/b?c", headers=MASKED, body=b"new")
    kept = kept_target(edited, STORED)
    assert (kept.sealed, kept.body, kept.headers) == (STORED.sealed, b"new", MASKED)


@pytest.mark.parametrize(
    "url", ["http://h.example:443/a", "https://h.example:444/a", "https://other.example/a"]
)
def test_it_does_not_go_with_the_target_to_another_origin(url: str):
    with pytest.raises(Invalid, match="write it") as refused:
        kept_target(Target(url=url, headers=MASKED), STORED)
    assert [fault.pointer for fault in refused.value.faults] == ["/target/headers/Authorization"]


def test_a_mask_for_nothing_is_refused():
    target = Target(url="https://h.example/a", headers=(("X-Token", MASK),))
    for previous in (None, STORED):
        with pytest.raises(Invalid, match="write"):
            kept_target(target, previous)


def test_a_mask_elsewhere_is_a_value():
    target = Target(url="https://h.example/a", headers=(("X-Kind", MASK),))
    assert kept_target(target, None) is target


def test_one_that_was_stored_before_there_was_sealing_stays():
    plain = Target(url="https://h.example/a", headers=(("Authorization", "Bearer old-value"),))
    edited = Target(url="https://h.example/b", headers=(("Authorization", MASK),))
    assert kept_target(edited, plain).headers == plain.headers


def test_one_that_was_stored_before_there_was_sealing_is_masked_all_the_same():
    plain = Target(url="https://h.example/a", headers=(("X-Kind", "a"), ("X-Token", "old-value")))
    assert masked(plain) == {"X-Kind": "a", "X-Token": MASK}


def test_an_answer_that_echoes_a_credential_is_kept_without_it():
    opened = Target(
        url="https://h.example/",
        headers=(("Authorization", "Bearer s3cret-value"), ("X-Kind", "ordinary-kind")),
        sealed=STORED.sealed,
    )
    echo = b'{"got": "Bearer s3cret-value", "token": "s3cret-value", "kind": "ordinary-kind"}'
    kept = without_credentials(Outcome(name="http_500", status=500, response=echo), opened)
    assert kept.response == b'{"got": "********", "token": "********", "kind": "ordinary-kind"}'
