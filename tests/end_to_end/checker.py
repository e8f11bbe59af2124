"""The checker: joins ledger, journal and API log, and holds them to the invariants of SPEC §5.

What should have happened is computed here from the schedules as the API acknowledged them, with
arithmetic of its own (`cronsim`, whole numbers, `hashlib`) and not a line of the engine's, so that
no mistake is shared. Each invariant is a function that yields one sentence for each breach; a test
asserts that there is none, and reads the counts to know that there was something to find.
"""

from base64 import b32hexencode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from cronsim import CronSim

from tests.end_to_end.journal import Journal, Occurrence, RunRow
from tests.end_to_end.processes import Call, Request

CLOCK_GRAIN_MS = 2
"""Two clocks, read to the millisecond each: what a duration between two stamps may be off by."""

UNDER_WAY_MS = 100
"""A claim that was on disk before a deletion may still start its attempt for this long after it."""

MISSED_AFTER_MS = 10_000
"""SPEC §6: what is later than this, and because nobody was there, is missed."""

STALE_MS = 5_000
"""A dying engine may not have said for this long that it was alive."""

PER_ATTEMPT = {"x-attempt", "webhook-timestamp", "webhook-signature"}
"""The only headers that differ between two attempts of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a test has collected.

    `schedules`: documents as the API last gave them, by id. `until_ms`: everything scheduled up to
    here has had the time to end. `kills`: when an engine was found dead; `absences`: from when to
    when none was ready.
    """

    ledger: Sequence[Request]
    journal: Journal
    schedules: Mapping[str, Mapping[str, Any]]
    until_ms: int
    calls: Sequence[Call] = ()
    kills: Sequence[int] = ()
    absences: Sequence[tuple[int, int]] = ()
    rate: int = 1_000
    burst: int = 100

    @property
    def deleted(self) -> dict[str, Call]:
        """Deletions that happened or may have happened, by schedule id."""
        return {
            schedule_id("default", call.path.rpartition("/")[2]): call
            for call in self.calls
            if call.method == "DELETE" and call.status in (204, None)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`faults`: the breaches by invariant, none of them empty; `counts`: what was looked at."""

    faults: Mapping[str, list[str]]
    counts: Mapping[str, int]


def check(evidence: Evidence) -> Report:
    """Apply every invariant."""
    found = {rule.__name__: list(rule(evidence)) for rule in RULES}
    runs = evidence.journal.runs.values()
    attempts = evidence.journal.attempts
    return Report(
        faults={name: faults for name, faults in found.items() if faults},
        counts={
            "schedules": len(evidence.schedules),
            "runs": len(runs),
            "attempts": len(attempts),
            "requests": len(evidence.ledger),
            "keys": len({request.key for request in evidence.ledger}),
            "retried": sum(run.attempt_count > 1 for run in runs),
            "cut off by a crash": sum(a.outcome == "crash" for a in attempts),
            "seen twice after a crash": len(_seen_twice(evidence)),
            "caught up with": sum(run.trigger == "catch_up" for run in runs),
            "kills": len(evidence.kills),
        },
    )


def schedule_id(tenant: str, name: str) -> str:
    """SPEC §2, once more."""
    digest = sha256(tenant.encode() + b"\0" + name.encode()).digest()
    return "sch_" + b32hexencode(digest[:16]).decode().rstrip("=").lower()


def offset_ms(public_id: str, jitter_seconds: int) -> int:
    """SPEC §2, once more."""
    if not jitter_seconds:
        return 0
    digest = sha256(public_id.encode()).digest()
    seconds = int.from_bytes(digest[:8], "big") % jitter_seconds
    return seconds * 1_000 + int.from_bytes(digest[8:12], "big") % 1_000


def key_of(occurrence: Occurrence) -> str:
    """SPEC §2, once more."""
    public_id, scheduled_for_ms = occurrence
    return sha256((public_id + text_of(scheduled_for_ms)).encode()).hexdigest()


def text_of(ms: int) -> str:
    """RFC 3339, with three decimals when they say something."""
    instant = datetime.fromtimestamp(ms // 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return instant + (f".{ms % 1_000:03}Z" if ms % 1_000 else "Z")


def ms_of(text: str) -> int:
    """The instant that an RFC 3339 text names."""
    since = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(milliseconds=1)


def backoff_ms(policy: Mapping[str, Any], key: str, attempt: int) -> int:
    """SPEC §7's full jitter, once more."""
    longest = policy["max_backoff_seconds"] * 1_000
    growth = policy["min_backoff_seconds"] * 1_000 * policy["multiplier"] ** (attempt - 1)
    u = int.from_bytes(sha256(f"{key}|{attempt}|retry".encode()).digest()[:8], "big") >> 11
    wait: int = max(100, (min(longest, growth) * u) >> 53)
    return wait


def owed(schedule: Mapping[str, Any], until_ms: int) -> list[int]:
    """Every `scheduled_for` later than the schedule's creation, up to `until_ms`."""
    created_ms = ms_of(schedule["created_at"])
    if "at" in schedule:
        at_ms = ms_of(schedule["at"])
        return [at_ms] if at_ms <= until_ms else []
    if "every" in schedule:
        step, phase = schedule["every"] * 1_000, schedule.get("phase", 0) * 1_000
        first = phase + (created_ms - phase) // step * step + step
        return list(range(first, until_ms + 1, step))
    instants = []
    for wall in CronSim(schedule["cron"], datetime.fromtimestamp(created_ms // 1_000, UTC)):
        instant = int(wall.timestamp()) * 1_000
        if instant > until_ms:
            break
        instants.append(instant)
    return instants


def lost(e: Evidence) -> Iterator[str]:
    """1: every occurrence owed has a run, every run ended, every success was received."""
    answered = {r.key for r in e.ledger if r.status is not None and 200 <= r.status < 300}
    for public_id, schedule in e.schedules.items():
        for instant in owed(schedule, e.until_ms):
            run = e.journal.runs.get((public_id, instant))
            if run is None:
                yield f"no run: {schedule['name']} {text_of(instant)}"
            elif run.state in ("planned", "retry_wait", "attempting"):
                yield f"not ended: {schedule['name']} {text_of(instant)} {run.state}"
            elif run.state == "succeeded" and key_of((public_id, instant)) not in answered:
                yield f"never received: {schedule['name']} {text_of(instant)}"
            elif run.state != "succeeded" and public_id not in e.deleted:
                yield f"given up: {schedule['name']} {text_of(instant)} {run.state}"


def invented(e: Evidence) -> Iterator[str]:
    """4: a run for each occurrence owed and no other; manual ones are never on a whole second."""
    latest_ms = max((at for _, at in e.journal.runs), default=0)
    expected = {
        (public_id, instant)
        for public_id, schedule in e.schedules.items()
        for instant in owed(schedule, latest_ms)
    }
    for occurrence, run in e.journal.runs.items():
        public_id, instant = occurrence
        is_manual = run.trigger == "manual" and instant % 1_000 != 0
        if not is_manual and occurrence not in expected and public_id not in e.deleted:
            yield f"not owed: {public_id} {text_of(instant)}"


def early(e: Evidence) -> Iterator[str]:
    """2: nothing before `fire_after`, which is arithmetic; no retry before its backoff is over."""
    for r in e.ledger:
        if r.wall_ms < ms_of(r.fields["x-fire-after"]):
            yield f"received {ms_of(r.fields['x-fire-after']) - r.wall_ms} ms early: {r.key}"
    for (public_id, instant), run in e.journal.runs.items():
        schedule = e.schedules.get(public_id)
        name = f"{public_id} {text_of(instant)}"
        if schedule and run.trigger == "schedule":
            due_ms = instant + offset_ms(public_id, schedule["jitter_seconds"])
            if run.fire_after_ms != due_ms:
                yield f"fires {run.fire_after_ms - due_ms:+} ms beside its time: {name}"
        for attempt in run.attempts:
            if attempt.started_ms < run.fire_after_ms:
                yield f"started {run.fire_after_ms - attempt.started_ms} ms early: {name}"
        if schedule:
            yield from _hasty_retries((public_id, instant), run, schedule["retry"])


def overlapping(e: Evidence) -> Iterator[str]:
    """3: the attempts of a run never overlap, and are numbered from 1 on without a gap."""
    for (public_id, instant), run in e.journal.runs.items():
        numbers = [attempt.number for attempt in run.attempts]
        if numbers != list(range(1, run.attempt_count + 1)):
            yield f"attempts {numbers} of {run.attempt_count}: {public_id} {text_of(instant)}"
        for attempt, following in zip(run.attempts, run.attempts[1:], strict=False):
            end_ms = attempt.started_ms if attempt.ended_ms is None else attempt.ended_ms
            if following.started_ms < end_ms:
                name = f"{public_id} {text_of(instant)}"
                yield f"attempt {following.number} began in the one before: {name}"


def sent_twice(e: Evidence) -> Iterator[str]:
    """4, 5: one request for an attempt, one key for an occurrence, and it is the right one."""
    for (key, attempt), times in Counter((r.key, r.attempt) for r in e.ledger).items():
        if times > 1:
            yield f"attempt {attempt} arrived {times} times: {key}"
    for r in e.ledger:
        occurrence = (r.fields["x-schedule-id"], ms_of(r.fields["x-scheduled-for"]))
        if not r.key == r.fields["webhook-id"] == key_of(occurrence):
            yield f"wrong key: {r.key} {occurrence}"


def unstable(e: Evidence) -> Iterator[str]:
    """5: every attempt of a run is the same request, but for number and freshness."""
    first: dict[str, object] = {}
    for r in e.ledger:
        stable = {name: value for name, value in r.fields.items() if name not in PER_ATTEMPT}
        request = (r.method, r.path, r.body, stable)
        if first.setdefault(r.key, request) != request:
            yield f"attempt {r.attempt} differs: {r.key}"


def unjournaled(e: Evidence) -> Iterator[str]:
    """6: what a receiver saw, the journal knew before."""
    runs = {key_of(occurrence): run for occurrence, run in e.journal.runs.items()}
    for r in e.ledger:
        run = runs.get(r.key)
        attempts = {a.number: a for a in run.attempts} if run else {}
        if r.attempt not in attempts:
            yield f"attempt {r.attempt} is not in the journal: {r.key}"
        elif attempts[r.attempt].started_ms > r.wall_ms:
            yield f"attempt {r.attempt} was received before its start: {r.key}"


def unprovoked(e: Evidence) -> Iterator[str]:
    """7: a further attempt follows a retryable outcome or a crash; a crash is a kill of ours."""
    for (public_id, instant), run in e.journal.runs.items():
        name = f"{public_id} {text_of(instant)}"
        for attempt, following in zip(run.attempts, run.attempts[1:], strict=False):
            if not _is_retryable(attempt.outcome, attempt.status):
                yield f"again after {attempt.outcome} {attempt.status}: {name}"
            if attempt.outcome == "crash" and not any(
                attempt.started_ms <= kill <= following.started_ms for kill in e.kills
            ):
                yield f"crash without a kill: {name}"


def over_rate(e: Evidence) -> Iterator[str]:
    """8: attempt starts <= burst + rate * T over every window, restarts included."""
    starts = sorted(attempt.started_ms for attempt in e.journal.attempts)
    lowest = 0.0
    for index, started_ms in enumerate(starts):
        # The window that is fullest at its end begins where the count was lowest against the rate.
        level = index - e.rate * (started_ms - starts[0]) / 1_000
        lowest = min(lowest, level)
        excess = level + 1 - lowest - e.burst - e.rate * CLOCK_GRAIN_MS / 1_000
        if excess > 0:
            yield f"{excess:.1f} attempts too many by {text_of(started_ms)}"


def forgotten(e: Evidence) -> Iterator[str]:
    """10: what was acknowledged is there: schedules, triggered runs, deletions."""
    for call in e.calls:
        if call.status is None or call.status >= 300:
            continue
        name = call.path.rpartition("/")[2].partition(":")[0]
        public_id = schedule_id("default", name)
        if call.method == "PUT" and public_id not in e.deleted:
            now = e.schedules.get(public_id)
            if now is None or now["created_at"] != call.document["created_at"]:
                yield f"acknowledged and gone: {name}"
        if call.method == "DELETE" and public_id in e.schedules:
            yield f"deleted and back: {name}"
        if call.path.endswith(":trigger"):
            occurrence = (public_id, ms_of(call.document["scheduled_for"]))
            if occurrence not in e.journal.runs:
                yield f"triggered and gone: {call.document['id']}"
    for public_id, call in e.deleted.items():
        yield from _sent_after_deletion(e, public_id, call)


def misjudged(e: Evidence) -> Iterator[str]:
    """SPEC §6: only what a long absence made late is caught up with."""
    long = [(a, b) for a, b in e.absences if b - a > MISSED_AFTER_MS - STALE_MS]
    for (public_id, instant), run in e.journal.runs.items():
        excused = any(a - STALE_MS <= run.fire_after_ms <= b for a, b in long)
        if run.trigger == "catch_up" and not excused:
            yield f"caught up with though nobody was away: {public_id} {text_of(instant)}"


def corrupt(e: Evidence) -> Iterator[str]:
    """The database is sound, and nothing was skipped: no downtime was long enough for a miss."""
    if e.journal.integrity != "ok":
        yield e.journal.integrity
    if e.journal.counted:
        yield f"{e.journal.counted} occurrences were counted instead of run"


RULES: tuple[Callable[[Evidence], Iterator[str]], ...] = (
    lost,
    invented,
    early,
    overlapping,
    sent_twice,
    unstable,
    unjournaled,
    unprovoked,
    over_rate,
    forgotten,
    misjudged,
    corrupt,
)


def _seen_twice(e: Evidence) -> list[str]:
    """Keys that a receiver saw again because a crash left open whether it had seen them."""
    requests = Counter(r.key for r in e.ledger)
    crashed: defaultdict[str, int] = defaultdict(int)
    for occurrence, run in e.journal.runs.items():
        crashed[key_of(occurrence)] += sum(a.outcome == "crash" for a in run.attempts)
    return [key for key, times in requests.items() if times > 1 and crashed[key]]


def _hasty_retries(occurrence: Occurrence, run: RunRow, policy: Mapping[str, Any]) -> Iterator[str]:
    for attempt, following in zip(run.attempts, run.attempts[1:], strict=False):
        if attempt.ended_ms is None:
            continue  # A crash: made again at once.
        wait_ms = backoff_ms(policy, key_of(occurrence), attempt.number)
        if following.started_ms < attempt.ended_ms + wait_ms:
            early_ms = attempt.ended_ms + wait_ms - following.started_ms
            yield f"attempt {following.number} {early_ms} ms before its backoff ends: {occurrence}"


def _is_retryable(outcome: str | None, status: int | None) -> bool:
    if outcome == "http_error":
        return status is not None and (status in (408, 425, 429) or status >= 500)
    return outcome in ("crash", "timeout", "connect_error", "protocol_error", "dns_error")


def _sent_after_deletion(e: Evidence, public_id: str, call: Call) -> Iterator[str]:
    if call.status != 204 or call.answered_ms is None:
        return
    for (owner, instant), run in e.journal.runs.items():
        late = any(a.started_ms > call.answered_ms + UNDER_WAY_MS for a in run.attempts)
        if owner == public_id and late:
            yield f"attempted after its deletion: {public_id} {text_of(instant)}"
