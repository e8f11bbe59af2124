"""What kept a run from its claim: the share of its wait that each cause explains (SPEC §9).

A run is due by the calendar, while flows and the bucket keep the monotonic clock. The two are tied
together where the run was taken from the queue: it waited until then, for so many milliseconds.
"""

from dataclasses import dataclass

from engine.core.flow import Flow
from engine.core.spells import Spells
from engine.store import HeldRun

Wait = tuple[int, int, int, int, int]
"""The first five of a `Timing`: waited; of that held, at a limit, without a token, committing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """Runs taken from the queue together: when, by both clocks, and how long their claim took."""

    at_ms: int
    monotonic_ms: int
    commit_ms: int


class Waits:
    """Knows when the bucket held runs back; flows know of themselves."""

    def __init__(self, began_ms: int) -> None:
        """`began_ms`: the calendar's instant when the engine started; before, nothing could go."""
        self._began_ms = began_ms
        self._dry = Spells()

    def see(self, now_ms: int, *, is_dry: bool) -> int:
        """Note whether a run lacks nothing but a token; for how many ms one has lacked it.

        `now_ms` is on the monotonic clock.
        """
        lasted_ms = self._dry.lasting_ms(now_ms)
        if is_dry:
            self._dry.begin(now_ms)
        else:
            self._dry.end(now_ms)
        return lasted_ms

    def of(self, run: HeldRun, flow: Flow, taking: Taking, started_ms: int) -> Wait:
        """What a run waited for until its attempt started, `started_ms` by the calendar."""
        free_ms = max(run.due_ms, self._began_ms)
        if run.held_until_ms:
            free_ms = max(free_ms, run.held_until_ms)
        to_ms = taking.monotonic_ms
        from_ms = to_ms - (taking.at_ms - free_ms)
        return (
            max(0, started_ms - run.due_ms),
            free_ms - run.due_ms + flow.shut.within(from_ms, to_ms),
            flow.at_limit.within(from_ms, to_ms),
            self._dry.within(from_ms, to_ms),
            taking.commit_ms,
        )
