"""The sink: what it answers, what it remembers."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from engine.core.identity import Signer, format_instant, idempotency_key, schedule_id
from tests.cli.conftest import Offbeat

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
NOON_MS = 1_796_040_000_000
BODY = b'{"kind":"nightly"}'


@contextmanager
def sink(*options: str) -> Iterator[tuple[subprocess.Popen[str], HTTPConnection]]:
    command = [sys.executable, "-m", "engine", "sink", "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        port = re.search(r":(\d+)$", process.stderr.readline())
        assert port is not None
        connection = HTTPConnection("127.0.0.1", int(port[1]), timeout=30)
        try:
            yield process, connection
        finally:
            connection.close()
            process.terminate()


def delivery(*, planned_ms: int = NOON_MS, attempt: int = 1) -> dict[str, str]:
    signer, identity = Signer([SECRET]), schedule_id("default", "nightly")
    planned, sent_s = format_instant(planned_ms), planned_ms // 1000
    key = idempotency_key(identity, planned_ms)
    return {
        "Idempotency-Key": key,
        "webhook-id": key,
        "webhook-timestamp": str(sent_s),
        "webhook-signature": signer.webhook_signature(key, sent_s, BODY),
        "X-Schedule-Id": identity,
        "X-Schedule-Name": "nightly",
        "X-Scheduled-For": planned,
        "X-Attempt": str(attempt),
        "X-Scheduler-Signature": signer.scheduler_signature(identity, planned, BODY),
    }


def post(connection: HTTPConnection, headers: dict[str, str], body: bytes = BODY) -> int:
    connection.request("POST", "/hook?a=1", body=body, headers=headers)
    with connection.getresponse() as response:
        response.read()
        return response.status


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_signed_delivery_is_accepted_and_in_the_ledger_before_its_answer(tmp_path: Path):
    ledger = tmp_path / "ledger.ndjson"
    with sink("--secret", SECRET, "--ledger", str(ledger)) as (process, connection):
        assert post(connection, delivery()) == 204
        [record] = records(ledger)
        process.kill()
    assert record["idempotency_key"] == idempotency_key(schedule_id("default", "nightly"), NOON_MS)
    assert (record["webhook_signature"], record["scheduler_signature"]) == ("valid", "valid")
    assert (record["method"], record["path"], record["status"]) == ("POST", "/hook?a=1", 204)
    assert record["headers"]["x-attempt"] == "1"
    assert (record["body_bytes"], record["body_sha256"]) == (
        18,
        "fdaf3038099f21d1a150542f1b77dc414fc128d8b435bc18a877d96f5f643d2f",
    )
    assert all(type(record[clock]) is int for clock in ("wall_ms", "monotonic_ms"))


def test_what_is_signed_by_somebody_else_is_refused_for_good(tmp_path: Path):
    ledger = tmp_path / "ledger.ndjson"
    with sink("--secret", SECRET, "--ledger", str(ledger)) as (_, connection):
        assert post(connection, delivery(), b"{}") == 401
        moved = delivery() | {"X-Scheduled-For": format_instant(NOON_MS + 1)}
        assert post(connection, moved) == 401
        assert post(connection, {}) == 401
    verdicts = [(r["webhook_signature"], r["scheduler_signature"]) for r in records(ledger)]
    assert verdicts == [("invalid", "invalid"), ("valid", "invalid"), ("absent", "absent")]


def test_without_a_secret_nothing_is_checked_and_without_a_signature_nothing_is_there(
    tmp_path: Path,
):
    ledger = tmp_path / "ledger.ndjson"
    with sink("--ledger", str(ledger)) as (_, connection):
        assert post(connection, delivery()) == 204
        assert post(connection, {}) == 204
    assert [record["webhook_signature"] for record in records(ledger)] == ["unchecked", "absent"]


def test_the_same_attempts_fail_in_every_run(tmp_path: Path):
    def statuses() -> list[int]:
        with sink("--secret", SECRET, "--fail-rate", "0.5") as (_, connection):
            instants = range(NOON_MS, NOON_MS + 40_000, 1_000)
            return [post(connection, delivery(planned_ms=instant)) for instant in instants]

    first = statuses()
    assert set(first) == {204, 503}
    assert statuses() == first


def test_a_retry_is_drawn_anew():
    with sink("--fail-rate", "0.5") as (_, connection):
        attempts = [post(connection, delivery(attempt=number)) for number in range(1, 21)]
    assert set(attempts) == {204, 503}


def test_numbers_that_nobody_would_send_are_no_numbers():
    huge = "9" * 5_000
    with sink("--secret", SECRET) as (_, connection):
        assert post(connection, delivery() | {"X-Attempt": huge}) == 204
        assert post(connection, delivery() | {"webhook-timestamp": huge}) == 401


def test_all_fail_or_none():
    with sink("--fail-rate", "1") as (_, connection):
        assert {post(connection, delivery(attempt=number)) for number in range(9)} == {503}


def test_stdout_tells_people_or_programs_and_stderr_sums_up(tmp_path: Path):
    with sink("--secret", SECRET) as (process, connection):
        post(connection, delivery())
        process.terminate()
        out, err = process.communicate(timeout=30)
    assert out.count("\n") == 1
    assert out.rstrip().endswith("204  nightly  attempt 1  signature valid")
    assert err == "1 received, 0 failed on purpose, 0 refused\n"
    with sink("-o", "json") as (process, connection):
        connection.request("GET", "/")
        connection.getresponse().read()
        process.terminate()
        out, _ = process.communicate(timeout=30)
    assert json.loads(out)["method"] == "GET"


def test_late_answers_are_given_to_every_request_on_a_connection():
    with sink("--delay", "0.05") as (_, connection):
        connection.connect()
        assert connection.sock is not None
        connection.sock.sendall(b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n")
        received = b""
        while received.count(b"\r\n\r\n") < 2:
            received += connection.sock.recv(4_096)
    assert received == b"HTTP/1.1 204 No Content\r\n\r\n" * 2


def test_what_the_server_does_not_understand_is_refused_with_the_status_for_it():
    cases = [
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", b"413"),
        (b"A" * 70_000, b"431"),
    ]
    with sink() as (_, connection):
        for request, status in cases:
            connection.connect()
            assert connection.sock is not None
            connection.sock.sendall(request)
            assert connection.sock.recv(4_096).split(b" ")[1] == status
            connection.close()


@pytest.mark.parametrize(("secret", "says"), [("", "is empty"), ("whsec_", "this one of 0;")])
def test_a_secret_that_checks_nothing_is_a_usage_error(secret: str, says: str, offbeat: Offbeat):
    result = offbeat("sink", "--port", "0", "--secret", secret, "--ledger", "/nowhere/x")
    assert (result.code, says in result.err) == (2, True), result.err
    assert "offbeat secrets prints" in result.err


@pytest.mark.parametrize("option", ["--fail-rate", "--delay"])
@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "-0", "1e-1", "1_0", "", "3601", "0,5"])
def test_a_number_is_plain_digits_in_its_range(option: str, text: str, offbeat: Offbeat):
    result = offbeat("sink", option, text, "--ledger", "/nowhere/x")
    assert (result.code, result.out) == (2, "")
    assert f"'{option}'" in result.err
    assert result.err.count("\n") == 1


def test_a_port_that_is_taken_is_said_with_what_to_write(offbeat: Offbeat):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = offbeat("sink", "--port", str(port))
    assert result.code == 2
    assert result.err == (
        f"offbeat: --port {port}: Address already in use; name another, or 0 for any that is free\n"
    )
