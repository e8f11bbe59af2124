"""The errors that are not bugs, in one tree.

`assert` is for our own mistakes; expected failures of a delivery are values (`model.Outcome`).
What is here reaches a person: each sentence says what is wrong and what to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.core.identity import format_instant
from engine.core.model import CountedRange

NO_SCHEDULE = (
    "there is no such schedule: GET /v1/schedules (offbeat schedules) lists those that there are"
)
NO_TENANT = (
    "there is no such tenant: GET /v1/tenants (offbeat tenant list) lists those that there are"
)
NO_KEY = "there is no such key: GET /v1/keys (offbeat key list) lists those that there are"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a document: where (RFC 6901 JSON pointer) and what to write instead."""

    pointer: str
    detail: str


class OffbeatError(Exception):
    """Root of the tree."""


class Invalid(OffbeatError):
    """A document that breaks rules, with every fault that was found (HTTP 422, exit 2)."""

    def __init__(self, *faults: Fault) -> None:
        assert faults, "an Invalid without a fault says nothing"
        super().__init__("; ".join(f"{f.pointer or '/'}: {f.detail}" for f in faults))
        self.faults = faults


class Malformed(OffbeatError):
    """Text that is not what it claims to be, so that no field can be named (HTTP 400, exit 2)."""


class NotFound(OffbeatError):
    """What was named does not exist for this tenant (HTTP 404, exit 4)."""


class Counted(NotFound):
    """There is no run, since what was owed then was counted in a range."""

    def __init__(self, counted: CountedRange) -> None:
        after, until = format_instant(counted.after_ms), format_instant(counted.until_ms)
        decided = counted.decided_at_ms
        when = "" if decided is None else f", decided at {format_instant(decided)}"
        span = f"{counted.count:,} in all after {after} and up to {until}{when}"
        super().__init__(f"there is no such run: {_COUNTED[counted.reason]} ({span})")
        self.counted = counted


class Conflict(OffbeatError):
    """The request contradicts what is stored (HTTP 409, exit 5)."""


class WrongState(Conflict):
    """What was asked for does not happen in the state that a run is in: `code` names the state."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class InProgress(OffbeatError):
    """The same request is under way (HTTP 409, exit 5)."""


class KeyTaken(OffbeatError):
    """Another request has this idempotency key (HTTP 422, exit 2)."""


class LimitReached(OffbeatError):
    """There is no room for more: the limit's name and value (HTTP 409, exit 5)."""

    def __init__(self, name: str, value: int, detail: str) -> None:
        super().__init__(detail)
        self.name = name
        self.value = value


class Crowded(OffbeatError):
    """Too much of one tenant's waits already: the limit's name and value (HTTP 429)."""

    def __init__(self, name: str, value: int, detail: str) -> None:
        super().__init__(detail)
        self.name = name
        self.value = value


class PreconditionFailed(OffbeatError):
    """A condition on the revision does not hold (HTTP 412, exit 5).

    `current`: the revision that is there; None: there is none, or it cannot be read.
    """

    def __init__(self, detail: str, current: int | None = None) -> None:
        super().__init__(detail)
        self.current = current


class Unavailable(OffbeatError):
    """The journal cannot take a change right now; try again later (HTTP 503)."""


class ConfigError(OffbeatError):
    """Settings that cannot work (exit 2)."""


class DataDirectoryLocked(OffbeatError):
    """Another engine holds the data directory (exit 5)."""


class StoreRefused(OffbeatError):
    """The database is newer, foreign, damaged or out of reach (exit 1). Nothing was changed."""


class StoreBusy(StoreRefused):
    """Another program holds the database (exit 1)."""


class NoServer(OffbeatError):
    """No engine answers at the address that a client was given (exit 3)."""


_COUNTED: Mapping[str, str] = {
    "paused": "the schedule was paused",
    "catch_up": "it was missed in downtime, and skipped as catch_up says",
    "pruned": "it was pruned from history",
    "deleted": "it failed, and was deleted",
}


def first_cause(error: BaseException) -> BaseException:
    """The cause inside a task group's wrapping."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
