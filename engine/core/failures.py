"""Failed runs by what they have in common: where they went, and how their last attempt ended.

Of a night on which a target was down, ten thousand rows tell one thing. A group's four features are
members of the filter by which failed runs are replayed and deleted, so a group that is seen is a
group that can be replayed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from engine.core.flow import default_key

NOTHING_SENT: Literal["none"] = "none"
"""The outcome of a run whose deadline passed before its first attempt."""

SCHEDULES_NAMED_MAX = 5
"""Of each group; how many there are beyond is told."""


class Failed(NamedTuple):
    """Runs of one schedule and one target that failed in the same way.

    `newest_ms`: the largest `scheduled_for`; `error` is of that run's last attempt.
    """

    url: str
    reason: str
    outcome: str
    status: int | None
    schedule_id: str
    schedule_name: str
    runs: int
    newest_ms: int
    error: str | None


class Cause(NamedTuple):
    """What the runs of a group have in common; `host` with its port."""

    host: str
    reason: str
    outcome: str
    status: int | None


@dataclass(slots=True, kw_only=True, eq=False)
class FailuresOfSchedule:
    """A schedule's part in a group."""

    schedule_id: str
    schedule_name: str
    runs: int = 0
    newest_ms: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Failures:
    """A group; `error` is its newest run's, `worst` are the schedules with the most runs.

    Both are kept as runs are counted: to sort a hundred thousand schedules afterwards would hold
    the interpreter.
    """

    cause: Cause
    error: str | None = None
    runs: int = 0
    newest_ms: int = 0
    worst: list[FailuresOfSchedule] = field(default_factory=list)
    by_schedule: dict[str, FailuresOfSchedule] = field(default_factory=dict)

    def add(self, failed: Failed) -> None:
        """Count runs, newer ones first."""
        if not self.runs:
            self.error, self.newest_ms = failed.error, failed.newest_ms
        self.runs += failed.runs
        part = self.by_schedule.get(failed.schedule_id)
        if part is None:
            part = self.by_schedule[failed.schedule_id] = FailuresOfSchedule(
                schedule_id=failed.schedule_id, schedule_name=failed.schedule_name
            )
        part.runs += failed.runs
        part.newest_ms = max(part.newest_ms, failed.newest_ms)
        if part not in self.worst:
            self.worst.append(part)
        self.worst.sort(key=lambda one: (-one.runs, one.schedule_name))
        del self.worst[SCHEDULES_NAMED_MAX:]


def add_failed(groups: dict[Cause, Failures], page: Iterable[Failed]) -> None:
    """Count a page of failed runs, pages with newer ones first, into their groups."""
    for failed in page:
        cause = cause_of(failed)
        groups.setdefault(cause, Failures(cause=cause)).add(failed)


def cause_of(failed: Failed) -> Cause:
    """What puts a failed run into its group."""
    return Cause(default_key(failed.url), failed.reason, failed.outcome, failed.status)
