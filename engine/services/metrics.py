"""The metrics: the catalogue of their names and texts, and where each value comes from (SPEC §9).

A collector: nothing here runs until somebody scrapes. The texts are what an operator reads beside
a graph, so each says what is counted and how to take it. No label grows with the schedules.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from engine.clock import Clock
from engine.services.figures import Distribution, Figures
from engine.services.loader import LOOKAHEAD_MS

COUNTERS = {
    "scheduler_runs": "Runs that ended, by how: their last state, and for a skip the reason.",
    "scheduler_attempts": "HTTP requests that ended, by outcome; retries are counted, too.",
    "scheduler_planned_rows": "Runs written to the journal ahead of their time.",
    "scheduler_clock_jumps": "Steps of the calendar by more than 1 s against the monotonic clock: "
    "somebody set it, or the machine was suspended.",
    "scheduler_rows_skipped": "Rows of the journal that this version cannot read and passed over.",
    "scheduler_event_streams_dropped": "Clients of /v1/events that were let go because they did "
    "not read what was sent to them.",
}

HISTOGRAMS = {
    "scheduler_fire_delay_seconds": "First attempt minus scheduled_for. Jitter is part of it, by "
    "design; lateness is what was not intended. window: top_of_hour for scheduled_for in the "
    "first minute of an hour.",
    "scheduler_fire_lateness_seconds": "First attempt minus fire_after: the service level. "
    'Objective for trigger="schedule": p99 within 2 s, within 15 s for window="top_of_hour".',
    "scheduler_token_wait_seconds": "For each attempt, how long its run was due while nothing but "
    "a token of the global bucket (--rate) was missing; 0 when there was one.",
    "scheduler_journal_commit_seconds": "From closing a batch to its commit on disk.",
    "scheduler_journal_batch_rows": "Rows written by one commit.",
    "scheduler_loop_lag_seconds": "How late the event loop woke up from a sleep of 100 ms; "
    "everything else is late by as much.",
}

GAUGES = {
    "scheduler_backlog_runs": "Runs held in memory that are due and wait. Of a backlog beyond "
    "50,000 the rest waits in the journal.",
    "scheduler_oldest_due_age_seconds": "How long the oldest of the backlog has been due, blocked "
    "ones (paused flow, open breaker) included; 0 when nothing waits.",
    "scheduler_breakers_open": "Flows whose receiver failed so often that only probes go out.",
    "scheduler_tokens": "Whole tokens in the global bucket; 0 while the rate is what limits.",
    "scheduler_inflight": "Attempts under way, from their claim in the journal to the answer.",
    "scheduler_concurrency_limit": "Attempts that may be under way at once: grows up to "
    "--concurrency while slow receivers keep runs waiting for nothing else, and shrinks when the "
    "event loop is late.",
    "scheduler_desired_nodes": "Engines like this one that the work needs: for the coming hour's "
    "runs within the service level, by the forecast of every quarter of an hour, or for starting "
    "the backlog within 15 s, whichever is more. 1 is enough.",
    "scheduler_wheel_timers": "Runs held in memory, due or due soon.",
    "scheduler_planner_lag_seconds": "How far planning is behind the instant 5 s from now. Up to "
    "3.5 s is normal, since it goes by steps and spares the disk while there is nothing to plan; "
    "above 5 s runs are late because of it.",
    "scheduler_event_streams": "Clients of /v1/events that listen now.",
    "scheduler_ready": "1 when the engine can do its work, as /readyz says; else 0.",
    "scheduler_journal_writable": "1 when the last commit succeeded; 0 while the disk refuses.",
}

BY_STAGE = {
    "scheduler_amplification_ratio": "Runs in the busiest second over the mean second, of the herd "
    "under way or else the last minute; stage demand by scheduled_for, planned by fire_after, "
    "served by attempt.",
    "scheduler_alignment_ratio": "How far runs keep to one phase of a period of a minute or less: "
    "1 all at one phase, 0 evenly spread; over the hour to the end of that window, for a period of "
    "1 s over its first minute.",
}

VERDICT = "scheduler_herd_verdict"
VERDICT_TEXT = (
    "1 for what is going on now, 0 for the rest. alignment: jitter would help; volume: it cannot, "
    "capacity is short; downstream: receivers or flow limits hold runs back."
)


Labels = TypeVar("Labels", bound=tuple[str, ...])


class Queue(Protocol):
    """The runs in memory."""

    def __len__(self) -> int: ...

    @property
    def ready(self) -> int: ...

    @property
    def oldest_due_ms(self) -> int | None: ...

    @property
    def breakers_open(self) -> int: ...


class Sender(Protocol):
    """What is under way, and what may be."""

    @property
    def tokens(self) -> int: ...

    @property
    def inflight(self) -> int: ...

    @property
    def limit(self) -> int: ...


class Plan(Protocol):
    """How far runs are planned."""

    @property
    def watermark_ms(self) -> int: ...


class Nodes(Protocol):
    """How many engines the work needs."""

    @property
    def desired(self) -> int: ...


class Streams(Protocol):
    """Who listens to events."""

    @property
    def open_streams(self) -> int: ...


class Sights(Protocol):
    """What the monitor sees now: ratios by stage, and 1 for one of the verdicts."""

    def amplifications(self) -> Mapping[str, float]: ...

    def alignments(self) -> Mapping[str, float]: ...

    def verdicts(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metrics:
    """A collector of prometheus_client over one engine."""

    clock: Clock
    figures: Figures
    queue: Queue
    sender: Sender
    plan: Plan
    sights: Sights
    nodes: Nodes
    streams: Streams
    is_ready: Callable[[], bool]
    is_writable: Callable[[], bool]

    def collect(self) -> Iterator[Metric]:
        """The samples; prometheus_client calls this at each scrape."""
        figures = self.figures
        yield _counter("scheduler_runs", "disposition", figures.runs)
        yield _counter("scheduler_attempts", "outcome", figures.attempts)
        for name, count in (
            ("scheduler_planned_rows", figures.planned_rows),
            ("scheduler_clock_jumps", figures.clock_jumps),
            ("scheduler_rows_skipped", figures.rows_skipped),
            ("scheduler_event_streams_dropped", figures.streams_dropped),
        ):
            yield CounterMetricFamily(name, COUNTERS[name], value=count)
        yield from self._histograms()
        for name, value in self._levels().items():
            yield GaugeMetricFamily(name, GAUGES[name], value=value)
        for name, ratios in (
            ("scheduler_amplification_ratio", self.sights.amplifications()),
            ("scheduler_alignment_ratio", self.sights.alignments()),
        ):
            yield _gauges(name, BY_STAGE[name], "stage", ratios)
        yield _gauges(VERDICT, VERDICT_TEXT, "verdict", self.sights.verdicts())

    def _histograms(self) -> Iterator[Metric]:
        figures = self.figures
        by_window = ("window", "trigger")
        yield _histogram("scheduler_fire_delay_seconds", by_window, figures.delay)
        yield _histogram("scheduler_fire_lateness_seconds", by_window, figures.lateness)
        for name, values in (
            ("scheduler_token_wait_seconds", figures.token_wait_seconds),
            ("scheduler_journal_commit_seconds", figures.commit_seconds),
            ("scheduler_journal_batch_rows", figures.batch_rows),
            ("scheduler_loop_lag_seconds", figures.loop_lag_seconds),
        ):
            yield _histogram(name, (), {(): values})

    def _levels(self) -> Mapping[str, float]:
        now_ms = self.clock.now_ms()
        oldest_ms = self.queue.oldest_due_ms
        age_ms = 0 if oldest_ms is None else max(0, now_ms - oldest_ms)
        lag_ms = max(0, now_ms + LOOKAHEAD_MS - self.plan.watermark_ms)
        return {
            "scheduler_backlog_runs": self.queue.ready,
            "scheduler_oldest_due_age_seconds": age_ms / 1_000,
            "scheduler_breakers_open": self.queue.breakers_open,
            "scheduler_tokens": self.sender.tokens,
            "scheduler_inflight": self.sender.inflight,
            "scheduler_concurrency_limit": self.sender.limit,
            "scheduler_desired_nodes": self.nodes.desired,
            "scheduler_wheel_timers": len(self.queue),
            "scheduler_planner_lag_seconds": lag_ms / 1_000,
            "scheduler_event_streams": self.streams.open_streams,
            "scheduler_ready": self.is_ready(),
            "scheduler_journal_writable": self.is_writable(),
        }


def _counter(name: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, COUNTERS[name], labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _histogram(name: str, labels: Sequence[str], values: Mapping[Labels, Distribution]) -> Metric:
    family = HistogramMetricFamily(name, HISTOGRAMS[name], labels=labels)
    for label_values, distribution in values.items():
        family.add_metric(
            label_values, buckets=_buckets(distribution), sum_value=distribution.total
        )
    return family


def _buckets(distribution: Distribution) -> list[tuple[str, float]]:
    """Cumulative counts by upper bound, as Prometheus wants them."""
    cumulative, result = 0, []
    bounds = (*map(str, map(float, distribution.bounds)), "+Inf")
    for bound, count in zip(bounds, distribution.counts, strict=True):
        cumulative += count
        result.append((bound, float(cumulative)))
    return result
