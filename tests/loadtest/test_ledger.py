"""The ledger: what a receiver wrote down, as requests in the engine's time."""

import orjson
import pytest

from loadtest.arithmetic import key_of
from loadtest.evidence import ACCEPTED, FORGED, FRESH, WRONG_KEY
from loadtest.ledger import lines_in, read_ledger
from loadtest.workload import NOON_MS

KEY = key_of("sch_1", NOON_MS)
HEADERS = {
    "X-Schedule-Id": "sch_1",
    "X-Schedule-Name": "s-0000007",
    "X-Scheduled-For": "2027-01-12T12:00:00Z",
    "X-Fire-After": "2027-01-12T12:00:01.500Z",
    "X-Attempt": "2",
    "X-Trigger": "schedule",
    "Idempotency-Key": KEY,
    "webhook-id": KEY,
}
LINE = {"wall_ns": 5_000_000, "status": 200, "webhook_signature": True, "scheduler_signature": True}


@pytest.mark.parametrize(
    ("changed", "headers", "in_time", "flags"),
    [
        ({}, {}, True, FRESH | ACCEPTED),
        ({}, {}, False, FRESH),
        ({"status": 503}, {}, True, FRESH),
        ({"webhook_signature": False}, {}, True, FRESH | ACCEPTED | FORGED),
        ({"scheduler_signature": False}, {}, True, FRESH | ACCEPTED | FORGED),
        ({}, {"webhook-id": "k"}, True, FRESH | ACCEPTED | WRONG_KEY),
        ({}, {"Idempotency-Key": "k"}, True, FRESH | ACCEPTED | WRONG_KEY),
        ({}, {"X-Trigger": "catch_up"}, True, ACCEPTED),
    ],
)
def test_a_line_is_a_request_by_the_calendar_of_its_life(
    changed, headers, in_time, flags, tmp_path
):
    ledger = tmp_path / "ledger.ndjson"
    line = {**LINE, **changed, "headers": {**HEADERS, **headers}}
    ledger.write_bytes(orjson.dumps(line) + b"\n")
    calendar = [(0, 1_000_000), (5_000_000, 7_000_000), (5_000_001, 0)]
    request = read_ledger(ledger, calendar, in_time=in_time).at(0)
    assert request == (12, 7, NOON_MS, NOON_MS + 1_500, 2, flags)


def test_a_line_that_is_being_written_is_counted_when_it_is_whole(tmp_path):
    ledger = tmp_path / "ledger.ndjson"
    ledger.write_bytes(b"{}\n{}\n{")
    assert lines_in(ledger, 0) == (2, 6)
    ledger.write_bytes(b"{}\n{}\n{}\n")
    assert lines_in(ledger, 6) == (1, 9)
