"""The receiver as a process: it writes down, judges and fails as it is told."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import orjson
import pytest

from loadtest.arithmetic import scheduler_signature, webhook_signature
from loadtest.processes import Receiver
from tests.loadtest.experiments import experiment

KEY = bytes(range(32))
BODY = b"{}"


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    made = Receiver(tmp_path, experiment(receivers=2))
    made.key_file.write_text(KEY.hex())
    with made:
        yield made


def send(receiver: Receiver, *, attempt: int = 1, body: bytes = BODY, port: int = 0) -> int:
    """One request as the engine would make it, signed for `BODY`; the status."""
    connection = HTTPConnection("127.0.0.1", receiver.ports[port], timeout=10)
    headers = {
        "Idempotency-Key": "k",
        "webhook-id": "k",
        "X-Schedule-Id": "sch_1",
        "X-Scheduled-For": "2027-01-12T12:00:00Z",
        "X-Attempt": str(attempt),
        "webhook-timestamp": "1799755200",
        "webhook-signature": webhook_signature(KEY, "k", "1799755200", BODY),
        "X-Scheduler-Signature": scheduler_signature(KEY, "sch_1", "2027-01-12T12:00:00Z", BODY),
    }
    connection.request("POST", "/hook", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def lines(receiver: Receiver) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in receiver.ledger.read_bytes().splitlines()]


def test_a_request_is_in_the_ledger_when_it_is_answered(receiver):
    assert send(receiver) == 200
    (line,) = lines(receiver)
    assert line["status"] == 200
    assert line["webhook_signature"] is True
    assert line["scheduler_signature"] is True
    assert line["headers"]["X-Attempt"] == "1"
    assert line["port"] == receiver.ports[0]


def test_a_body_that_was_not_signed_is_seen(receiver):
    send(receiver, body=b"[]")
    (line,) = lines(receiver)
    assert line["webhook_signature"] is False
    assert line["scheduler_signature"] is False


def test_it_listens_on_as_many_ports_as_it_was_told(receiver):
    assert send(receiver, port=1) == 200
    assert lines(receiver)[0]["port"] == receiver.ports[1]
    assert len(set(receiver.ports)) == 2


def test_an_outage_begins_and_ends_when_it_is_told(receiver):
    receiver.order("down")
    statuses = [send(receiver, attempt=number) for number in range(1, 20)]
    assert statuses[-1] == 503
    receiver.order("up")
    statuses = [send(receiver, attempt=number) for number in range(20, 40)]
    assert statuses[-1] == 200


def test_the_share_that_fails_follows_from_key_and_attempt(tmp_path):
    made = Receiver(tmp_path, experiment(fail_rate=0.5))
    made.key_file.write_text(KEY.hex())
    with made:
        first = [send(made, attempt=number) for number in range(1, 30)]
        assert first == [send(made, attempt=number) for number in range(1, 30)]
    assert set(first) == {200, 503}
