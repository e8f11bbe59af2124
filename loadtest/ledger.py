"""The receiver's ledger, read into columns and judged line by line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from loadtest.arithmetic import key_of, ms_of
from loadtest.evidence import ACCEPTED, FORGED, FRESH, WRONG_KEY, Request, Requests
from loadtest.workload import index_of

Calendar = Sequence[tuple[int, int]]
"""(wall nanoseconds from which on, what to add to them): the engine's calendar, life by life."""


def read_ledger(path: Path, calendar: Calendar) -> Requests:
    """Every request, with its arrival by the engine's calendar."""
    requests = Requests()
    with path.open("rb") as file:
        for line in file:
            requests.add(_request(orjson.loads(line), calendar))
    return requests


def lines_in(path: Path, offset: int) -> tuple[int, int]:
    """How many whole lines were added after `offset`, and the offset after them."""
    with path.open("rb") as file:
        file.seek(offset)
        grown = file.read()
    end = grown.rfind(b"\n") + 1
    return grown.count(b"\n"), offset + end


def _request(line: dict[str, Any], calendar: Calendar) -> Request:
    headers = line["headers"]
    wall_ns = line["wall_ns"]
    shift_ns = [shift_ns for from_ns, shift_ns in calendar if from_ns <= wall_ns][-1]
    scheduled_for_ms = ms_of(headers["X-Scheduled-For"])
    key = key_of(headers["X-Schedule-Id"], scheduled_for_ms)
    is_signed = line["webhook_signature"] and line["scheduler_signature"]
    has_key = headers["Idempotency-Key"] == headers["webhook-id"] == key
    return Request(
        arrived_ms=(wall_ns + shift_ns) // 1_000_000,
        schedule=index_of(headers["X-Schedule-Name"]),
        scheduled_for_ms=scheduled_for_ms,
        fire_after_ms=ms_of(headers["X-Fire-After"]),
        attempt=int(headers["X-Attempt"]),
        flags=(ACCEPTED if line["status"] == 200 else 0)
        | (0 if is_signed else FORGED)
        | (0 if has_key else WRONG_KEY)
        | (FRESH if headers["X-Trigger"] == "schedule" else 0),
    )
