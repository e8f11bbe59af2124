"""Missed occurrences: what the catch-up policy makes of a stretch of downtime (SPEC §6).

Nothing here loops over elapsed periods: a judgement is two bounds and two counts, whether an hour
of minutes was missed or a year of seconds.
"""

from dataclasses import dataclass

from engine.core.identity import unit_u53
from engine.core.model import CatchUp
from engine.core.owed import Owing

MISSED_AFTER_MS = 10_000
"""Later than this past `fire_after`, through downtime, and an occurrence counts as missed."""

ALL_WINDOW_SECONDS = 3_600
"""How far back `catch_up: all` reaches when its window is null."""

SPREAD_MS_MIN = 10_000
"""Caught-up runs are spread over at least this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """A verdict on the owed occurrences in (after, until].

    Those in (run_after, until] run, `run_count` of them; those in (after, run_after] are skipped,
    `skip_count` of them.
    """

    after_ms: int
    run_after_ms: int
    until_ms: int
    run_count: int
    skip_count: int


def missed_until_ms(now_ms: int) -> int:
    """Up to which `fire_after` what has not been sent by now is missed; later is merely late."""
    return now_ms - MISSED_AFTER_MS - 1


def judge(
    owing: Owing,
    policy: CatchUp,
    window_seconds: int | None,
    *,
    after_ms: int,
    until_ms: int,
    resume_ms: int,
) -> Missed:
    """The verdict on what was owed with after < scheduled_for <= until.

    `latest` runs the newest inside the window, `all` every one inside it, `skip` none.
    """
    after_ms, until_ms = owing.clip(after_ms, until_ms)
    until_ms = max(after_ms, until_ms)
    total = owing.count(after_ms, until_ms)
    run_after_ms = max(
        after_ms, min(until_ms, _run_after(owing, policy, window_seconds, until_ms, resume_ms))
    )
    run_count = owing.count(run_after_ms, until_ms)
    return Missed(
        after_ms=after_ms,
        run_after_ms=run_after_ms,
        until_ms=until_ms,
        run_count=run_count,
        skip_count=total - run_count,
    )


def _run_after(
    owing: Owing, policy: CatchUp, window_seconds: int | None, until_ms: int, resume_ms: int
) -> int:
    if policy == "skip":
        return until_ms
    if policy == "all":
        return resume_ms - (window_seconds or ALL_WINDOW_SECONDS) * 1_000 - 1
    newest = owing.timetable.until(until_ms)
    if newest is None:
        return until_ms
    outside = window_seconds is not None and newest < resume_ms - window_seconds * 1_000
    return until_ms if outside else newest - 1


def spread_ms(missed: int, rate_per_second: int) -> int:
    """Over how long `missed` caught-up runs are spread, so that they take half of the rate."""
    return max(SPREAD_MS_MIN, missed * 2_000 // rate_per_second)


def due_ms(
    schedule_id: str, index: int, count: int, *, resume_ms: int, spread_ms: int, fire_after_ms: int
) -> int:
    """When the `index`-th (from 0) of a schedule's `count` caught-up runs becomes due.

    `resume + W * (i + u) / n`, `u` drawn from the schedule and the resumption (SPEC §6).
    """
    assert 0 <= index < count, "an index outside its own count"
    u = unit_u53(schedule_id, resume_ms, "catchup")
    due = resume_ms + spread_ms * ((index << 53) + u) // (count << 53)
    return max(due, fire_after_ms)
