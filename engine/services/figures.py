"""What the engine counts while it works; `services.metrics` shows it to Prometheus.

The hot path adds to plain numbers: an observation costs a tenth of a `Histogram.observe` of the
client library, and each engine counts for itself, so two engines in one process do not mix.
"""

from bisect import bisect_left
from collections import Counter
from typing import get_args, get_type_hints

from engine.core.model import Outcome, RunTrigger, State

LATENESS_BOUNDS_S: tuple[float, ...] = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    *(10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0),
)
"""From a timer's grain to an hour. 2 s and 15 s are the service level's limits (SPEC §8), so how
many runs kept it can be read off without interpolation; 60 s and 900 s are the usual and the
widest jitter."""

STALL_BOUNDS_S: tuple[float, ...] = (
    *(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
)
"""For commits and the loop's lag: from twice the clock's grain to where callers are told no."""

ROW_BOUNDS: tuple[float, ...] = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536)
"""From one outcome to the planner's largest slice."""

TOP_OF_HOUR_MS = 60_000
"""Runs of the first minute of an hour are the :00 herd's."""

WINDOWS = ("top_of_hour", "other")

DISPOSITIONS = (
    *("succeeded", "failed", "cancelled"),
    *("skipped_overlap", "skipped_superseded", "skipped_paused", "skipped_catch_up"),
)
"""How a run can end: its last state, and for a skip the reason (SPEC §5)."""

OUTCOMES: tuple[str, ...] = get_args(get_type_hints(Outcome)["name"])


class Distribution:
    """A histogram: counts by upper bound, and the sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float, times: int = 1) -> None:
        """Observe a value, `times` over."""
        self.counts[bisect_left(self.bounds, value)] += times
        self.total += value * times


class Figures:
    """All of the engine's counts. Those with labels begin at 0 for each value that can occur."""

    def __init__(self) -> None:
        self.runs = Counter(dict.fromkeys(DISPOSITIONS, 0))
        self.attempts = Counter(dict.fromkeys(OUTCOMES, 0))
        self.delay = _by_window_and_trigger()
        self.lateness = _by_window_and_trigger()
        self.commit_seconds = Distribution(STALL_BOUNDS_S)
        self.batch_rows = Distribution(ROW_BOUNDS)
        self.loop_lag_seconds = Distribution(STALL_BOUNDS_S)
        self.token_wait_seconds = Distribution(LATENESS_BOUNDS_S)
        self.planned_rows = 0
        self.clock_jumps = 0
        self.rows_skipped = 0
        self.streams_dropped = 0

    def first_attempt(
        self, trigger: str, *, scheduled_for_ms: int, fire_after_ms: int, started_at_ms: int
    ) -> None:
        """Count a run's first attempt: its delay (with jitter) and its lateness (without)."""
        labels = (WINDOWS[scheduled_for_ms % 3_600_000 >= TOP_OF_HOUR_MS], trigger)
        self.delay[labels].add((started_at_ms - scheduled_for_ms) / 1_000)
        self.lateness[labels].add((started_at_ms - fire_after_ms) / 1_000)

    def end(self, state: State, reason: str | None) -> None:
        """Count a run that ended."""
        skipped = state == State.SKIPPED
        self.runs[f"{state}_{reason}" if skipped else str(state)] += 1

    def cancel(self, runs: int) -> None:
        """Count runs that were cancelled."""
        self.runs["cancelled"] += runs

    def skip(self) -> None:
        """Count a row that this version cannot read."""
        self.rows_skipped += 1

    def commit(self, seconds: float, rows: int) -> None:
        """Count one commit of the journal."""
        self.commit_seconds.add(seconds)
        self.batch_rows.add(rows)


def _by_window_and_trigger() -> dict[tuple[str, str], Distribution]:
    return {
        (window, str(trigger)): Distribution(LATENESS_BOUNDS_S)
        for window in WINDOWS
        for trigger in RunTrigger
    }
