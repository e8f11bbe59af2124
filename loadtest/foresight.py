"""The engine's own forecast of an experiment, for the report to hold against what happened.

It is made from the workload alone, with the core that the engine's forecasts are made with: the
timetables, the offsets of the very names, the rate and the burst. The bucket is full when the
window begins, since nothing of ours leaves before it.
"""

from collections import Counter, defaultdict

from engine.core.bucket_simulation import Bucket, Passage
from engine.core.model import IntervalTrigger
from engine.core.population import Crowd, Singles, draw
from loadtest.figures import Forecast
from loadtest.workload import Experiment, patience_ms, schedules


def foresee(experiment: Experiment) -> Forecast:
    """Starts in each second of the window and of the time that its runs are waited for."""
    e = experiment
    start_s, until_s = e.from_ms // 1_000, e.until_ms // 1_000
    end_s = until_s + patience_ms(e) // 1_000
    outlook = draw(_crowds(e), Singles(), start_s, end_s)
    passage = Passage(outlook.planned, Bucket(rate=e.rate, burst=e.burst, tokens=e.burst))
    delays = passage.delays(0, end_s - start_s)
    return Forecast(
        from_ms=e.from_ms, served=passage.served, p50_ms=delays.p50_ms, p99_ms=delays.p99_ms
    )


def _crowds(e: Experiment) -> list[Crowd]:
    counts: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for wanted in schedules(e):
        offset_s = wanted.offset_ms(subsecond=e.subsecond) // 1_000
        counts[wanted.period_s, wanted.phase_s][offset_s] += 1
    return [
        Crowd(
            timetable_id=number,
            trigger=IntervalTrigger(every_seconds=period_s, phase_seconds=phase_s),
            counts=offsets,
            until_s=e.until_ms // 1_000 - 1,
        )
        for number, ((period_s, phase_s), offsets) in enumerate(counts.items())
    ]
