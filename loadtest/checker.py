"""The checker: joins ledger and journal, and holds them to the invariants of SPEC §5.

Each fault is counted, and the first few of a kind are kept as sentences. Runs outside the window
are held to the same rules, but for being owed: what is loaded before the window may have had an
occurrence or not, depending on how fast the API was.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from loadtest.arithmetic import text_of
from loadtest.evidence import ACCEPTED, FORGED, WRONG_KEY, Evidence, Request, Run
from loadtest.workload import Wanted, schedules

EXAMPLES_KEPT = 5
"""Of each kind of fault: enough to begin with."""

CLOCK_GRAIN_MS = 2
"""Bucket and journal read two clocks, cut to the millisecond each."""

SKIPPED = {"catch_up", "paused", "overlap", "superseded"}
"""Reasons of a run that a policy ended: accounted for."""

UNDER_WAY_MS = 2_000
"""From a request's arrival to its outcome on disk, at most, beside the receiver's own delay."""

BREAKER_FAILURES = 10
"""In a row, and a flow's breaker opens (SPEC §8): its runs wait, and no attempts are used up."""

KINDS = {
    "lost": "owed, and neither sent nor accounted for",
    "invented": "sent or planned, and not owed",
    "early": "arrived before fire_after",
    "misplaced": "fire_after is not scheduled_for plus the offset",
    "duplicate": "an attempt that arrived twice",
    "needless": "sent again after it had been accepted, and no crash explains it",
    "unjournaled": "arrived, and the journal does not know it",
    "forged": "a signature that does not verify",
    "wrong_key": "a key that is not that of the occurrence",
    "over_rate": "attempts beyond the token bucket's bound, in the worst window",
}


@dataclass(slots=True)
class Findings:
    """How many faults of each kind, and sentences about the first.

    `waiting`: owed runs that had not ended when watching did, and had a reason.
    """

    waiting: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, sentence: str, count: int = 1) -> None:
        assert kind in KINDS
        self.counts[kind] += count
        if len(self.examples[kind]) < EXAMPLES_KEPT:
            self.examples[kind].append(sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The owed runs of the window, one place each in every column; -1: it did not happen.

    `arrived_ms` and `started_ms`: of the first attempt, by receiver and by journal. `fresh`: 1 for
    a run in its own time, 0 for one that caught up.
    """

    scheduled_for_ms: "array[int]"
    fire_after_ms: "array[int]"
    arrived_ms: "array[int]"
    started_ms: "array[int]"
    fresh: "array[int]"


def check(evidence: Evidence) -> tuple[Joined, Findings]:
    """Join and judge everything."""
    findings = Findings()
    wanted = list(schedules(evidence.experiment))
    offsets = array("q", (w.offset_ms(subsecond=evidence.experiment.subsecond) for w in wanted))
    joined = _join(evidence, wanted, offsets, findings)
    excess = bucket_excess(
        evidence.starts_ms, evidence.experiment.rate, evidence.experiment.burst, CLOCK_GRAIN_MS
    )
    if excess > 0:
        findings.add("over_rate", f"{excess} beyond burst + rate * T", excess)
    return joined, findings


def bucket_excess(starts_ms: Sequence[int], rate: int, burst: int, grain_ms: int) -> int:
    """By how many starts the fullest window of any length is above `burst + rate * T`.

    `starts_ms` ascends. One pass: the fullest window that ends at a start begins where the count
    stood lowest against the rate. Whole milli-tokens, nothing is rounded.
    """
    lowest = worst = 0
    for index, started_ms in enumerate(starts_ms):
        level = index * 1_000 - rate * (started_ms - starts_ms[0])
        lowest = min(lowest, level)
        worst = max(worst, level + 1_000 - lowest - burst * 1_000 - rate * grain_ms)
    return -(-worst // 1_000)


def _join(
    e: Evidence, wanted: Sequence[Wanted], offsets: Sequence[int], findings: Findings
) -> Joined:
    columns = Joined(**{name: array("q") for name in Joined.__slots__})
    requests, runs = _places(e.requests.scheduled_for_ms), _places(e.runs.scheduled_for_ms)
    owed, shut = _owed(e, wanted), _shut(e)
    for instant in sorted(requests.keys() | runs.keys() | owed.keys()):
        herd = _Herd(e, instant, wanted=wanted, offsets=offsets, shut=shut, findings=findings)
        herd.read_requests(requests.get(instant, ()))
        herd.read_runs(runs.get(instant, ()))
        for index in owed.get(instant, ()):
            herd.settle(index, columns)
    return columns


class _Herd:
    """Everything of one `scheduled_for`; memory holds one of these at a time."""

    def __init__(
        self,
        evidence: Evidence,
        instant: int,
        *,
        wanted: Sequence[Wanted],
        offsets: Sequence[int],
        shut: Set[int],
        findings: Findings,
    ) -> None:
        self._e = evidence
        self._instant = instant
        self._wanted = wanted
        self._offsets = offsets
        self._shut = shut
        self._findings = findings
        self._requests: dict[int, list[Request]] = {}
        self._runs: dict[int, Run] = {}

    def read_requests(self, places: Sequence[int]) -> None:
        """Judge the requests one by one, and against those before them."""
        for place in places:
            request = self._e.requests.at(place)
            before = self._requests.setdefault(request.schedule, [])
            self._judge(request, before)
            before.append(request)

    def read_runs(self, places: Sequence[int]) -> None:
        """Judge the journal's rows, and the requests that have none."""
        for place in places:
            run = self._e.runs.at(place)
            self._runs[run.schedule] = run
            if not self._wanted[run.schedule].owed(self._instant, self._instant + 1):
                self._find("invented", run.schedule)
            if run.fire_after_ms != self._instant + self._offsets[run.schedule]:
                self._find("misplaced", run.schedule)
        for index, requests in self._requests.items():
            known = self._runs[index].attempts if index in self._runs else 0
            for request in requests:
                if request.attempt > known:
                    self._find("unjournaled", index)

    def settle(self, index: int, columns: Joined) -> None:
        """An owed run: lost, accounted for without a request, or a line of the columns."""
        run, requests = self._runs.get(index), self._requests.get(index, ())
        if run is None and self._is_counted(index):
            return
        if run is not None and run.state == "skipped" and run.reason in SKIPPED:
            return
        if run is not None and self._waits(run, requests):
            self._findings.waiting += 1
        elif run is None or not self._ended(run, requests):
            self._find("lost", index)
        columns.scheduled_for_ms.append(self._instant)
        columns.fire_after_ms.append(self._instant + self._offsets[index])
        columns.arrived_ms.append(requests[0].arrived_ms if requests else -1)
        columns.started_ms.append(run.first_ms if run else -1)
        columns.fresh.append(int(run is None or run.trigger == "schedule"))

    def _judge(self, request: Request, before: Sequence[Request]) -> None:
        fire_after_ms = self._instant + self._offsets[request.schedule]
        if request.fire_after_ms != fire_after_ms:
            self._find("misplaced", request.schedule)
        if request.arrived_ms + self._e.grain_ms < fire_after_ms:
            self._find("early", request.schedule)
        if request.flags & FORGED:
            self._find("forged", request.schedule)
        if request.flags & WRONG_KEY:
            self._find("wrong_key", request.schedule)
        if not before:
            return
        if any(earlier.attempt == request.attempt for earlier in before):
            self._find("duplicate", request.schedule)
        if any(earlier.flags & ACCEPTED for earlier in before) and not self._crashed(before[-1]):
            self._find("needless", request.schedule)

    def _crashed(self, request: Request) -> bool:
        """Whether the engine died so soon after this request that its outcome was not on disk."""
        crash_ms = self._e.experiment.attempt_ms + UNDER_WAY_MS
        return any(
            -self._e.grain_ms <= killed_ms - request.arrived_ms <= crash_ms
            for killed_ms in self._e.killed_ms
        )

    def _ended(self, run: Run, requests: Sequence[Request]) -> bool:
        """Whether a run has failed, or succeeded and was accepted."""
        if run.state == "succeeded":
            return any(request.flags & ACCEPTED for request in requests)
        return run.state == "failed"

    def _waits(self, run: Run, requests: Sequence[Request]) -> bool:
        """Whether a run had no business to have ended when watching did.

        Its retry is due later, its receiver's breaker is shut, or its last request was under way.
        Never sent and due later is no reason: all that may take is watched.
        """
        if run.state in ("planned", "retry_wait"):
            is_shut = self._wanted[run.schedule].receiver in self._shut
            is_later = run.state == "retry_wait" and run.next_ms > self._e.ended_ms
            return is_shut or is_later
        under_way_ms = self._e.experiment.attempt_ms + UNDER_WAY_MS
        return (
            run.state == "attempting"
            and bool(requests)
            and self._e.ended_ms - requests[-1].arrived_ms <= under_way_ms
        )

    def _is_counted(self, index: int) -> bool:
        return any(
            after < self._instant <= until for after, until in self._e.counted.get(index, ())
        )

    def _find(self, kind: str, index: int) -> None:
        self._findings.add(kind, f"schedule {index}, {text_of(self._instant)}")


def _places(instants: Sequence[int]) -> dict[int, "array[int]"]:
    """Where in a column each instant is."""
    places: defaultdict[int, array[int]] = defaultdict(lambda: array("L"))
    for place, instant in enumerate(instants):
        places[instant].append(place)
    return places


def _shut(e: Evidence) -> set[int]:
    """The receivers whose breaker may be open at the end: by their last answers, all failures.

    A success opens the door when it is answered and its runs have got new times on disk, and only
    that of a probe: one that was under way when the last failure was answered does not.
    """
    failures: Counter[int] = Counter()
    failed_ms: dict[int, int] = {}
    known_ms = e.ended_ms - e.experiment.attempt_ms - UNDER_WAY_MS
    seen = e.requests
    for arrived_ms, schedule, flags in zip(seen.arrived_ms, seen.schedule, seen.flags, strict=True):
        receiver = schedule % e.experiment.receivers
        if not flags & ACCEPTED:
            failures[receiver] += 1
            failed_ms[receiver] = arrived_ms + e.experiment.attempt_ms
        elif failures[receiver] < BREAKER_FAILURES or (
            failed_ms[receiver] <= arrived_ms <= known_ms
        ):
            failures[receiver] = 0
    return {receiver for receiver, count in failures.items() if count >= BREAKER_FAILURES}


def _owed(e: Evidence, wanted: Sequence[Wanted]) -> dict[int, "array[int]"]:
    """The schedules that owe an occurrence, by instant of the window."""
    owed: defaultdict[int, array[int]] = defaultdict(lambda: array("L"))
    for schedule in wanted:
        for instant in schedule.owed(e.experiment.from_ms, e.experiment.until_ms):
            owed[instant].append(schedule.index)
    return owed
