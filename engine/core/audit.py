"""Occurrence audit: what was owed, less what has a run or is in a counted range (SPEC §9).

A schedule's revisions divide time between them: each owes the occurrences with
`after < scheduled_for <= until` by its own rules, from the edit that made it to the next. So what
was owed in any span is arithmetic on timetables, and needs neither the planner nor its watermark:
an occurrence that the planner lost is found because it never planned it.

An occurrence is accounted for in one of three ways. It has a run, whatever became of that; or a
counted range covers it, whose count must be what was owed in it and has no run; or it is pending:
not planned yet, in downtime that is still being judged, or in a pause that lasts. What remains is
unaccounted, and is never right.

Two limits are by nature. A count has no names, so of a range that counts too few the span is named
and not the instant. And where the clock was set back into a range that was counted before, an
edit may make rows there beside the count; only too few is a fault, too many is not.

Ranges are half-open to the left, as in `owed`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.core.owed import Owing

FINDINGS_MAX = 100
"""Findings named in one report: enough to see the pattern; the number is exact whatever it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What a schedule owes by one set of rules: up to `until_ms`, or, being in force, on and on."""

    owing: Owing
    until_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Occurrences with after < scheduled_for <= until that need no run of their own.

    `count` of them were counted; None: they are pending.
    """

    after_ms: int
    until_ms: int
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of time under one revision and at most one cover."""

    owing: Owing
    after_ms: int
    until_ms: int
    cover: Cover | None = None

    def count(self) -> int:
        """How many occurrences are owed in it."""
        return self.owing.count(self.after_ms, self.until_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`count` unaccounted occurrences of one schedule, from `first_ms` to `last_ms`."""

    schedule_id: str
    schedule_name: str
    first_ms: int
    last_ms: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Occurrences by what became of them: owed = runs + counted + pending + unaccounted."""

    schedules: int = 0
    owed: int = 0
    runs: int = 0
    counted: int = 0
    pending: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def unaccounted(self) -> int:
        return self.owed - self.runs - self.counted - self.pending

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            schedules=self.schedules + other.schedules,
            owed=self.owed + other.owed,
            runs=self.runs + other.runs,
            counted=self.counted + other.counted,
            pending=self.pending + other.pending,
            findings=(*self.findings, *other.findings)[:FINDINGS_MAX],
        )


def pieces(
    revisions: Sequence[Revision], covers: Iterable[Cover], after_ms: int, until_ms: int
) -> Iterator[Piece]:
    """(after, until] divided by revisions (oldest first) and covers: in order, without overlap.

    A later revision has the word from its beginning on, even where the clock was set back into the
    time of an earlier one.
    """
    ordered = sorted(covers, key=lambda cover: cover.after_ms)
    ends = [until_ms if r.until_ms is None else min(until_ms, r.until_ms) for r in revisions]
    for index in range(len(revisions) - 1, 0, -1):
        ends[index - 1] = min(ends[index - 1], ends[index], revisions[index].owing.owed_after_ms)
    for revision, end in zip(revisions, ends, strict=True):
        begin = max(after_ms, revision.owing.owed_after_ms)
        if begin < end:
            whole = Piece(owing=revision.owing, after_ms=begin, until_ms=end)
            yield from _divide(whole, ordered)


def _divide(whole: Piece, covers: Sequence[Cover]) -> Iterator[Piece]:
    at_ms = whole.after_ms
    for cover in covers:
        begin, end = max(at_ms, cover.after_ms), min(whole.until_ms, cover.until_ms)
        if begin < end:
            if at_ms < begin:
                yield Piece(owing=whole.owing, after_ms=at_ms, until_ms=begin)
            yield Piece(owing=whole.owing, after_ms=begin, until_ms=end, cover=cover)
            at_ms = end
    if at_ms < whole.until_ms:
        yield Piece(owing=whole.owing, after_ms=at_ms, until_ms=whole.until_ms)


def missing(owed: Sequence[int], runs: Sequence[int]) -> list[int]:
    """The owed instants that have no run; both in ascending order."""
    if owed == runs:
        return []  # The usual case, at the speed of a comparison.
    there = set(runs)
    return [instant for instant in owed if instant not in there]


def stretches(owed: Sequence[int], lost: Sequence[int]) -> list[tuple[int, int, int]]:
    """Runs of neighbours among the lost: (first, last, how many), so that an outage is one line."""
    place = {instant: index for index, instant in enumerate(owed)}
    found: list[tuple[int, int, int]] = []
    for instant in lost:
        if found and place[instant] == place[found[-1][1]] + 1:
            first, _, count = found[-1]
            found[-1] = (first, instant, count + 1)
        else:
            found.append((instant, instant, 1))
    return found
