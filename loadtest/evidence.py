"""What was seen: the receiver's requests and the journal's rows, as columns.

A day of a million schedules is 5.6 million requests; as Python objects they would take gigabytes,
as arrays of machine integers 34 bytes each.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from loadtest.workload import Experiment

ACCEPTED = 1
"""Flag of a request: it was answered with 2xx, and in time."""
FORGED = 2
"""One of its two signatures is wrong."""
WRONG_KEY = 4
"""Its key is not that of its schedule and `scheduled_for`."""
FRESH = 8
"""Its `X-Trigger` is `schedule`."""


def integers() -> "array[int]":
    return array("q")


class Request(NamedTuple):
    """One request as it arrived; instants in calendar milliseconds, `schedule` by its place."""

    arrived_ms: int
    schedule: int
    scheduled_for_ms: int
    fire_after_ms: int
    attempt: int
    flags: int


@dataclass(slots=True)
class Requests:
    """The ledger, in order of arrival."""

    arrived_ms: "array[int]" = field(default_factory=integers)
    schedule: "array[int]" = field(default_factory=integers)
    scheduled_for_ms: "array[int]" = field(default_factory=integers)
    fire_after_ms: "array[int]" = field(default_factory=integers)
    attempt: "array[int]" = field(default_factory=lambda: array("B"))
    flags: "array[int]" = field(default_factory=lambda: array("B"))

    def __len__(self) -> int:
        return len(self.arrived_ms)

    def at(self, place: int) -> Request:
        return Request(
            self.arrived_ms[place],
            self.schedule[place],
            self.scheduled_for_ms[place],
            self.fire_after_ms[place],
            self.attempt[place],
            self.flags[place],
        )

    def add(self, request: Request) -> None:
        self.arrived_ms.append(request.arrived_ms)
        self.schedule.append(request.schedule)
        self.scheduled_for_ms.append(request.scheduled_for_ms)
        self.fire_after_ms.append(request.fire_after_ms)
        self.attempt.append(min(request.attempt, 255))
        self.flags.append(request.flags)


class Run(NamedTuple):
    """A row of the journal.

    `first_ms`: when its first attempt started; `next_ms`: when it is next due; -1 for never.
    """

    scheduled_for_ms: int
    schedule: int
    fire_after_ms: int
    state: str
    reason: str | None
    trigger: str
    attempts: int
    first_ms: int
    next_ms: int


@dataclass(slots=True)
class Runs:
    """The journal, by `scheduled_for`."""

    scheduled_for_ms: "array[int]" = field(default_factory=integers)
    schedule: "array[int]" = field(default_factory=integers)
    fire_after_ms: "array[int]" = field(default_factory=integers)
    disposition: "array[int]" = field(default_factory=lambda: array("B"))
    attempts: "array[int]" = field(default_factory=lambda: array("B"))
    first_ms: "array[int]" = field(default_factory=integers)
    next_ms: "array[int]" = field(default_factory=integers)
    dispositions: list[tuple[str, str | None, str]] = field(default_factory=list)
    """(state, reason, trigger) by number: few differ."""

    def __len__(self) -> int:
        return len(self.scheduled_for_ms)

    def at(self, place: int) -> Run:
        return Run(
            self.scheduled_for_ms[place],
            self.schedule[place],
            self.fire_after_ms[place],
            *self.dispositions[self.disposition[place]],
            self.attempts[place],
            self.first_ms[place],
            self.next_ms[place],
        )

    def states(self) -> Counter[str]:
        """How many runs stand where."""
        counts: Counter[str] = Counter()
        for disposition, count in Counter(self.disposition).items():
            counts[self.dispositions[disposition][0]] += count
        return counts

    def add(self, run: Run) -> None:
        disposition = (run.state, run.reason, run.trigger)
        if disposition not in self.dispositions:
            self.dispositions.append(disposition)
        self.scheduled_for_ms.append(run.scheduled_for_ms)
        self.schedule.append(run.schedule)
        self.fire_after_ms.append(run.fire_after_ms)
        self.disposition.append(self.dispositions.index(disposition))
        self.attempts.append(min(run.attempts, 255))
        self.first_ms.append(run.first_ms)
        self.next_ms.append(run.next_ms)


@dataclass(slots=True, kw_only=True, repr=False)  # asyncio asks for it when a run ends, in vain.
class Evidence:
    """All that one experiment left behind.

    `owed_from_ms`: by then every schedule was acknowledged. `ended_ms`: when watching ended.
    `grain_ms`: by how much arrival and journal may be apart because two clocks were compared.
    `starts_ms`: of every attempt, by the journal, ascending. `counted`: by schedule,
    spans (after, until] whose occurrences were counted instead of run. `digest`: of everything that
    was sent, in virtual time. `cpu_seconds`: what that took; None where the processes are others'.
    """

    experiment: Experiment
    requests: Requests
    runs: Runs
    starts_ms: "array[int]"
    counted: Mapping[int, Sequence[tuple[int, int]]]
    owed_from_ms: int
    ended_ms: int
    grain_ms: int
    load_seconds: float
    wall_seconds: float
    cpu_seconds: float | None
    killed_ms: Sequence[int] = ()
    resumed_ms: Sequence[int] = ()
    outage_ms: tuple[int, int] | None = None
    digest: str | None = None
