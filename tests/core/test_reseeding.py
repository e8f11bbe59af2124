"""The second spread: its width, and the place of each run in it."""

from collections import Counter
from typing import Any

import pytest

from engine.core.reseeding import due_again_ms, window_ms

NOW_MS = 1_000_000


def due(key: str, **changes: Any) -> int:
    situation: dict[str, Any] = {
        "attempt": 1,
        "epoch": 7,
        "now_ms": NOW_MS,
        "window_ms": 10_000,
        "ends_ms": None,
    }
    return due_again_ms(key, **situation | changes)


@pytest.mark.parametrize(
    ("backlog", "rate", "beside", "bucket_rate", "seconds"),
    [
        (100, 1_000, 0, 1_000, 10),  # Never less.
        (10_000, 1_000, 0, 1_000, 20),
        (10_000, 100, 0, 1_000, 200),  # The flow is slower than the bucket.
        (10_000, 1_000, 90_000, 1_000, 200),  # Nine other flows want the same tokens.
        (10_000, 100, 10_000, 1_000, 200),
    ],
)
def test_a_backlog_takes_half_of_the_flows_rate_and_all_of_them_half_of_the_buckets(
    backlog: int, rate: int, beside: int, bucket_rate: int, seconds: int
) -> None:
    assert window_ms(backlog, rate, beside=beside, bucket_rate=bucket_rate) == seconds * 1_000


def test_the_place_is_the_formulas_and_the_same_each_time() -> None:
    # sha256("k|1|7") begins with fe7f20..., the share 0.9941 of the window.
    assert due("k") == due("k") == NOW_MS + 1 + 9_941


def test_key_attempt_and_epoch_each_change_the_place() -> None:
    places = {due("k"), due("l"), due("k", attempt=2), due("k", epoch=8)}
    assert len(places) == 4


def test_ten_thousand_runs_fill_the_window_evenly() -> None:
    seconds = Counter((due(f"run-{n}") - NOW_MS - 1) // 1_000 for n in range(10_000))
    assert sorted(seconds) == list(range(10))
    assert max(seconds.values()) <= 1.1 * 1_000


def test_a_run_with_a_deadline_is_due_in_the_first_half_of_what_is_left() -> None:
    last = max(due(f"run-{n}", ends_ms=NOW_MS + 4_000) for n in range(1_000))
    assert NOW_MS + 1_900 < last <= NOW_MS + 2_001


def test_a_run_past_its_deadline_is_due_now_and_its_claim_ends_it() -> None:
    assert due("k", ends_ms=NOW_MS - 1) == NOW_MS + 1
