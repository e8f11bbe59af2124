"""What a receiver was sent, judged request by request, and its ledger, read into columns."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from loadtest.arithmetic import key_of, ms_of
from loadtest.evidence import ACCEPTED, FORGED, FRESH, WRONG_KEY, Request, Requests
from loadtest.workload import index_of

Calendar = Sequence[tuple[int, int]]
"""(wall nanoseconds from which on, what to add to them): the engine's calendar, life by life."""


def read_ledger(path: Path, calendar: Calendar, *, in_time: bool) -> Requests:
    """Every request, with its arrival by the engine's calendar; `in_time`: answers came so."""
    requests = Requests()
    with path.open("rb") as file:
        for line in map(orjson.loads, file):
            wall_ns = line["wall_ns"]
            shift_ns = [shift_ns for from_ns, shift_ns in calendar if from_ns <= wall_ns][-1]
            requests.add(
                request_of(
                    line["headers"],
                    arrived_ms=(wall_ns + shift_ns) // 1_000_000,
                    is_accepted=in_time and line["status"] == 200,
                    is_signed=line["webhook_signature"] and line["scheduler_signature"],
                )
            )
    return requests


def request_of(
    headers: Mapping[str, str], *, arrived_ms: int, is_accepted: bool, is_signed: bool
) -> Request:
    """A request, from its headers and what its receiver found."""
    scheduled_for_ms = ms_of(headers["X-Scheduled-For"])
    key = key_of(headers["X-Schedule-Id"], scheduled_for_ms)
    has_key = headers["Idempotency-Key"] == headers["webhook-id"] == key
    return Request(
        arrived_ms=arrived_ms,
        schedule=index_of(headers["X-Schedule-Name"]),
        scheduled_for_ms=scheduled_for_ms,
        fire_after_ms=ms_of(headers["X-Fire-After"]),
        attempt=int(headers["X-Attempt"]),
        flags=(ACCEPTED if is_accepted else 0)
        | (0 if is_signed else FORGED)
        | (0 if has_key else WRONG_KEY)
        | (FRESH if headers["X-Trigger"] == "schedule" else 0),
    )


def lines_in(path: Path, offset: int) -> tuple[int, int]:
    """How many whole lines were added after `offset`, and the offset after them."""
    with path.open("rb") as file:
        file.seek(offset)
        grown = file.read()
    end = grown.rfind(b"\n") + 1
    return grown.count(b"\n"), offset + end
