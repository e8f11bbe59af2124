"""`offbeat sign` and `offbeat verify`, and a receiver that shares no code with them."""

import json
from pathlib import Path

import pytest
import standardwebhooks

from tests.cli.conftest import Offbeat

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
OTHER = "whsec_YWJjZGVmZ2hpamFiY2RlZmdoaWphYmNkZWZnaGlqYWI="
OCCURRENCE = ("--name", "nightly-report", "--scheduled-for", "2026-11-30T12:00:00Z")


@pytest.fixture
def body(tmp_path: Path) -> str:
    path = tmp_path / "body.json"
    path.write_bytes(b'{"kind":"nightly"}')
    return str(path)


def headers(offbeat: Offbeat, body: str, *options: str, secret: str = SECRET) -> dict[str, str]:
    result = offbeat("sign", "--secret", secret, *OCCURRENCE, *options, body, "-o", "json")
    assert result.code == 0, result.err
    signed: dict[str, str] = json.loads(result.out)["headers"]
    return signed


def verify(
    offbeat: Offbeat, body: str, signed: dict[str, str], *options: str, secret: str = SECRET
):
    lines = [text for name, value in signed.items() for text in ("-H", f"{name}: {value}")]
    return offbeat("verify", "--secret", secret, *lines, *options, body, "-o", "json")


def test_what_is_signed_is_accepted_by_standard_webhooks(offbeat: Offbeat, body: str):
    signed = headers(offbeat, body)
    checked = standardwebhooks.Webhook(SECRET).verify(Path(body).read_bytes(), signed)
    assert checked == {"kind": "nightly"}


def test_key_and_ids_are_those_of_the_occurrence(offbeat: Offbeat, body: str):
    signed = headers(offbeat, body, "--timestamp", "2026-11-30T12:00:45Z")
    key = "0fdbdd41b1e798dc4868ef7b0831db95a907dbfa9b695fbefee0f247c4753bf2"
    assert signed["Idempotency-Key"] == signed["webhook-id"] == key
    assert signed["X-Schedule-Id"] == "sch_tq9s2dobvk1gq0sevfcr4j94no"
    assert signed["webhook-timestamp"] == "1796040045"


def test_two_secrets_sign_twice_and_either_verifies(offbeat: Offbeat, body: str):
    signed = headers(offbeat, body, secret=f"{SECRET}\n{OTHER}")
    assert len(signed["webhook-signature"].split(" ")) == 2
    assert verify(offbeat, body, signed, secret=SECRET).code == 0
    assert verify(offbeat, body, signed, secret=OTHER).code == 0


def test_a_changed_body_header_or_secret_does_not_verify(offbeat: Offbeat, body: str):
    signed = headers(offbeat, body)
    assert verify(offbeat, body, signed, secret=OTHER).code == 1
    moved = signed | {"X-Scheduled-For": "2026-11-30T13:00:00Z"}
    result = verify(offbeat, body, moved)
    found = json.loads(result.out)
    assert (result.code, found["webhook_signature"], found["scheduler_signature"]) == (
        1,
        "valid",
        "invalid",
    )
    Path(body).write_bytes(b"{}")
    assert verify(offbeat, body, signed).code == 1


def test_an_attempt_of_more_than_five_minutes_ago_is_not_fresh(offbeat: Offbeat, body: str):
    signed = headers(offbeat, body, "--timestamp", "2026-11-30T12:00:00Z")
    assert verify(offbeat, body, signed, "--at", "2026-11-30T12:05:00Z").code == 0
    late = verify(offbeat, body, signed, "--at", "2026-11-30T12:05:01Z")
    assert (late.code, json.loads(late.out)["age_seconds"]) == (1, 301)


def test_headers_may_come_from_a_file_as_sign_prints_them(
    offbeat: Offbeat, body: str, tmp_path: Path
):
    printed = offbeat("sign", "--secret", SECRET, *OCCURRENCE, body).out
    for among in (b"", b"\xef\xbb\xbf", b"X-Of-A-Proxy: \xfc\r\n"):
        (tmp_path / "headers").write_bytes(among + printed.encode())
        result = offbeat("verify", "--secret", SECRET, "-H", f"@{tmp_path / 'headers'}", body)
        assert (result.code, result.out.splitlines()[:2]) == (
            0,
            ["webhook_signature: valid", "scheduler_signature: valid"],
        )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--secret", "abc", "-H", "a: b"], "starts with whsec_"),
        (["--secret", "whsec_AA==", "-H", "a: b"], "24 bytes or more, and this one of 1;"),
        (["--secret", SECRET, "--secret", "whsec_", "-H", "a: b"], "and this one of 0;"),
        (["--secret", "", "-H", "a: b"], "it is empty"),
        (["-H", "a: b"], "offbeat secrets prints"),
        (["--secret", SECRET, "-H", "nonsense"], "is not NAME: VALUE"),
        (["--secret", SECRET, "-H", "@/nowhere"], "/nowhere: No such file"),
    ],
)
def test_what_cannot_be_checked_is_a_usage_error(
    arguments: list[str], says: str, offbeat: Offbeat, body: str
):
    result = offbeat("verify", *arguments, body)
    assert (result.code, says in result.err) == (2, True)


def test_without_any_signature_nothing_holds(offbeat: Offbeat, body: str):
    assert verify(offbeat, body, {"Content-Type": "text/plain"}).code == 1
