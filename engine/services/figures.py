"""What the engine counts, as Prometheus reads it (SPEC §9).

The hot path adds to plain numbers; a collector turns them into samples when somebody scrapes. An
observation costs a tenth of a `Histogram.observe` of the client library, and each engine has its
own registry, so two engines in one process do not mix.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

DELAY_BOUNDS_S: tuple[float, ...] = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0),
    *(10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0),
)
"""From a timer's grain to an hour; 2 and 15 are the service level's limits."""

COMMIT_BOUNDS_S: tuple[float, ...] = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.0,
    5.0,
)
COUNT_BOUNDS: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)

TOP_OF_HOUR_MS = 60_000
"""Runs of the first minute of an hour are the :00 herd's."""


class Distribution:
    """A histogram: counts by upper bound, and the sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, as Prometheus wants them."""
        cumulative, result = 0, []
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            cumulative += count
            result.append((bound, float(cumulative)))
        return result


class Figures:
    """All of the engine's numbers. Gauges are functions, asked at each scrape.

    `gauges`: name to (text, value). `labelled`: name to (text, label, values by that label).
    """

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self.delay: dict[tuple[str, str], Distribution] = {}
        self.lateness: dict[tuple[str, str], Distribution] = {}
        self.commit_seconds = Distribution(COMMIT_BOUNDS_S)
        self.batch_changes = Distribution(COUNT_BOUNDS)
        self.loop_lag_seconds = Distribution(COMMIT_BOUNDS_S)
        self.token_wait_seconds = Distribution(DELAY_BOUNDS_S)
        self.planned_rows = 0
        self.clock_jumps = 0
        self.rows_skipped = 0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self.labelled: dict[str, tuple[str, str, Callable[[], Mapping[str, float]]]] = {}

    def first_attempt(
        self, trigger: str, *, scheduled_for_ms: int, fire_after_ms: int, started_at_ms: int
    ) -> None:
        """Count a run's first attempt: its delay (with jitter) and its lateness (without)."""
        top = scheduled_for_ms % 3_600_000 < TOP_OF_HOUR_MS
        labels = ("top_of_hour" if top else "other", trigger)
        if labels not in self.delay:
            self.delay[labels] = Distribution(DELAY_BOUNDS_S)
            self.lateness[labels] = Distribution(DELAY_BOUNDS_S)
        self.delay[labels].add((started_at_ms - scheduled_for_ms) / 1_000)
        self.lateness[labels].add((started_at_ms - fire_after_ms) / 1_000)

    def skip(self) -> None:
        """Count a row that this version cannot read."""
        self.rows_skipped += 1

    def commit(self, seconds: float, changes: int) -> None:
        """Count one commit of the journal."""
        self.commit_seconds.add(seconds)
        self.batch_changes.add(changes)

    def registry(self) -> CollectorRegistry:
        """A registry that shows these figures."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        """The samples; prometheus_client calls this."""
        yield _counter("scheduler_runs", "Runs that ended.", "disposition", self.runs)
        yield _counter("scheduler_attempts", "Attempts that ended.", "outcome", self.attempts)
        yield _by_window(
            "scheduler_fire_delay_seconds", "First attempt - scheduled_for.", self.delay
        )
        yield _by_window(
            "scheduler_fire_lateness_seconds", "First attempt - fire_after.", self.lateness
        )
        yield _histogram(
            "scheduler_journal_commit_seconds", "Duration of a commit.", self.commit_seconds
        )
        yield _histogram("scheduler_journal_batch_rows", "Changes in a commit.", self.batch_changes)
        yield _histogram(
            "scheduler_token_wait_seconds",
            "How long due runs waited for tokens.",
            self.token_wait_seconds,
        )
        yield _histogram(
            "scheduler_loop_lag_seconds", "How late the event loop woke up.", self.loop_lag_seconds
        )
        for name, text, value in (
            ("scheduler_planned_rows", "Runs written ahead of time.", self.planned_rows),
            ("scheduler_clock_jumps", "Steps of the calendar over 1 s.", self.clock_jumps),
            ("scheduler_rows_skipped", "Rows that this version cannot read.", self.rows_skipped),
        ):
            yield CounterMetricFamily(name, text, value=value)
        for name, (text, read) in self.gauges.items():
            yield GaugeMetricFamily(name, text, value=read())
        for name, (text, label, read_all) in self.labelled.items():
            yield _gauges(name, text, label, read_all())


def _counter(name: str, text: str, label: str, counts: Counter[str]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def _histogram(name: str, text: str, values: Distribution) -> Metric:
    family = HistogramMetricFamily(name, text)
    family.add_metric([], buckets=values.buckets(), sum_value=values.total)
    return family


def _by_window(name: str, text: str, values: dict[tuple[str, str], Distribution]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=["window", "trigger"])
    for labels, distribution in sorted(values.items()):
        family.add_metric(
            list(labels), buckets=distribution.buckets(), sum_value=distribution.total
        )
    return family
