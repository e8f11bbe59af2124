"""What the evidence amounts to, as numbers: the content of `figures.json`.

Three curves, as SPEC §9 has them: *demand* by `scheduled_for`, *planned* by `fire_after`, *served*
by what arrived. Over the bins from a herd's first instant to its last planned run,
`amplification` is the busiest bin by the mean, and `noise_floor` what even a perfect random
spread has: the expected maximum of W Poisson counts of mean m is about m + sqrt(2 m ln W).

Delays are of first attempts, and of every owed run: one that never arrived counts with all the
time that it was watched, so that what is lost cannot make a distribution look better.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadtest.arithmetic import text_of
from loadtest.checker import KINDS, Findings, Joined, check
from loadtest.evidence import Evidence
from loadtest.workload import OUTAGE_SECONDS, Experiment

CURVE_BINS_MAX = 1_200
"""Bins of a picture's whole window; a bin of several seconds shows its busiest one."""

HERD_SECONDS_MAX = 1_200
"""Of the picture of the busiest herd, from just before its instant on."""

HERD_LEAD_SECONDS = 5

QUANTILES = (0.5, 0.9, 0.99, 0.999)

SLO_MS = 15_000
"""SPEC §8: p99 of lateness for herds at :00."""

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What was expected of one experiment before it: starts in each second from `from_ms` on."""

    from_ms: int
    served: Sequence[float]
    p50_ms: float
    p99_ms: float


Forecaster = Callable[[Experiment], Forecast]
"""Where a forecast is joined in: called with the experiment alone, never with what happened."""


def figures_of(evidence: Evidence, forecaster: Forecaster | None = None) -> Figures:
    """Everything that is said about one experiment."""
    joined, findings = check(evidence)
    e = evidence.experiment
    served_ms = array("q", sorted(evidence.requests.arrived_ms))
    late = _delays(joined.arrived_ms, joined.fire_after_ms, evidence.ended_ms)
    result: Figures = {
        "variant": e.variant,
        "mode": e.mode,
        "says": _what_it_says(e),
        "experiment": asdict(e),
        "command": command_of(e),
        "totals": _totals(evidence, joined, findings),
        "faults": {kind: findings.counts[kind] for kind in KINDS},
        "examples": dict(findings.examples),
        "lateness_ms": _distribution(_where(late, joined.fresh)),
        "catch_up_lateness_ms": _distribution(_where(late, joined.fresh, wanted=0)),
        "delay_ms": _distribution(
            _delays(joined.arrived_ms, joined.scheduled_for_ms, evidence.ended_ms)
        ),
        "journal_lateness_ms": _distribution(
            _delays(joined.started_ms, joined.fire_after_ms, evidence.ended_ms)
        ),
        "expected_p99_lateness_ms": expected_p99_ms(e),
        "bucket_excess": findings.counts["over_rate"],
        "stages": _stages(e, joined, served_ms),
        "herd": _herd(joined, served_ms),
        "window": _window(e, joined, served_ms),
        "by_second_of_minute": _by_second(joined, late),
        "histogram": _histogram(late),
        "phase": _phase(joined),
        "digest": evidence.digest,
    }
    shown = result["herd"]["served"], result["window"]["served"]
    result["busiest_second_served"] = max(map(max, shown))
    if evidence.outage_ms:
        result["after_outage"] = _after(evidence.outage_ms[1], served_ms)
    if forecaster:
        result["forecast"] = asdict(forecaster(e))
    return result


def command_of(e: Experiment) -> str:
    """The command line that makes this experiment again."""
    flags = {
        "schedules": e.schedules,
        "jitter": e.jitter_seconds,
        "rate": e.rate,
        "burst": e.burst,
        "concurrency": e.concurrency,
        "receivers": e.receivers,
        "delay": e.delay_ms,
        "fail-rate": e.fail_rate,
        "seconds": e.seconds,
        "seed": e.seed,
        "compare": e.variant,
    }
    if e.scenario in OUTAGE_SECONDS:
        flags["outage"] = e.outage_seconds
    if e.scenario == "fleet":
        flags["mix"] = e.mix
    if e.mode == "virtual":
        flags["disk"] = e.disk_ms
    words = " ".join(f"--{name} {value}" for name, value in flags.items())
    return f"python -m loadtest {e.scenario} --{e.mode} {words} --out DIR"


def expected_p99_ms(e: Experiment) -> float | None:
    """The closed form for an aligned herd: 0.99 * max(0, N/R - J); None for anything else."""
    if e.scenario != "herd":
        return None
    return 990.0 * max(0.0, e.schedules / e.rate - e.jitter)


def noise_floor(mean: float, bins: int) -> float:
    """The busiest of `bins` Poisson counts of this mean, by the mean."""
    return 1 + math.sqrt(2 * math.log(bins) / mean) if mean > 0 and bins > 1 else 1.0


def vector_strength(instants_ms: Sequence[int], period_ms: int = 1_000) -> float:
    """How much instants agree on a place within the period: 0 not at all, 1 entirely."""
    counts = Counter(ms % period_ms for ms in instants_ms)
    turns = ((2 * math.pi * place / period_ms, count) for place, count in counts.items())
    x = y = 0.0
    for angle, count in turns:
        x, y = x + count * math.cos(angle), y + count * math.sin(angle)
    return round(math.hypot(x, y) / max(1, len(instants_ms)), 4)


def quantile(ascending: Sequence[int], share: float) -> int:
    """The nearest rank: the least value that `share` of all do not exceed."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


def _what_it_says(e: Experiment) -> str:
    if e.mode == "virtual":
        return "measured policy, not speed: the real code in virtual time, without a network"
    return "measured on this machine: real engine, real sockets, real disk"


def _totals(evidence: Evidence, joined: Joined, findings: Findings) -> Figures:
    arrived = sum(ms >= 0 for ms in joined.arrived_ms)
    requests = evidence.requests.arrived_ms
    return {
        "owed": len(joined.arrived_ms),
        "arrived": arrived,
        "requests": len(requests),
        "given_up": evidence.runs.states()["failed"],
        "waiting": findings.waiting,
        "first_request": text_of(min(requests)) if requests else None,
        "last_request": text_of(max(requests)) if requests else None,
        "load_seconds": round(evidence.load_seconds, 3),
        "loaded_per_second": round(evidence.experiment.schedules / evidence.load_seconds),
        "wall_seconds": round(evidence.wall_seconds, 3),
        "cpu_seconds": evidence.cpu_seconds,
        "clock_grain_ms": evidence.grain_ms,
        "kills": [text_of(ms) for ms in evidence.killed_ms],
    }


def _delays(to_ms: Sequence[int], from_ms: Sequence[int], ended_ms: int) -> "array[int]":
    pairs = zip(to_ms, from_ms, strict=True)
    return array("q", ((to if to >= 0 else ended_ms) - begin for to, begin in pairs))


def _where(values: Sequence[int], flags: Sequence[int], *, wanted: int = 1) -> "array[int]":
    return array("q", (v for v, flag in zip(values, flags, strict=True) if flag == wanted))


def _distribution(values: Sequence[int]) -> Figures | None:
    if not values:
        return None
    ascending = sorted(values)
    return {
        "count": len(ascending),
        "mean": round(sum(ascending) / len(ascending), 3),
        "min": ascending[0],
        **{f"p{share * 100:g}": quantile(ascending, share) for share in QUANTILES},
        "max": ascending[-1],
    }


def _stages(e: Experiment, joined: Joined, served_ms: Sequence[int]) -> Figures:
    """Each stage's busiest bins, over the span of its busiest herd."""
    instant = _busiest_instant(joined)
    herd = [
        fire
        for at, fire in zip(joined.scheduled_for_ms, joined.fire_after_ms, strict=True)
        if at == instant
    ]
    end_ms = max(herd, default=instant) + 1
    span = instant, max(end_ms, instant + max(1, e.jitter) * 1_000)
    served = _within(served_ms, *span)
    return {
        "instant": text_of(instant),
        "runs": len(herd),
        "demand": _bins([instant] * len(herd), span),
        "planned": _bins(herd, span),
        "served": _bins(served, span),
        "alignment": {"planned": vector_strength(herd), "served": vector_strength(served)},
        "volume": round(len(herd) / (e.rate * (e.jitter + SLO_MS / 1_000)), 4),
    }


def _bins(instants_ms: Sequence[int], span: tuple[int, int]) -> Figures:
    """Amplification in bins of 1 s and of 10 ms."""
    return {
        "1s": _amplification(instants_ms, span, 1_000),
        "10ms": _amplification(instants_ms, span, 10),
    }


def _amplification(instants_ms: Sequence[int], span: tuple[int, int], bin_ms: int) -> Figures:
    begin_ms, end_ms = span
    counts = Counter((ms - begin_ms) // bin_ms for ms in instants_ms if begin_ms <= ms < end_ms)
    bins = max(1, math.ceil((end_ms - begin_ms) / bin_ms))
    busiest, mean = max(counts.values(), default=0), sum(counts.values()) / bins
    return {
        "busiest": busiest,
        "mean": round(mean, 4),
        "bins": bins,
        "amplification": round(busiest / mean, 4) if mean else None,
        "noise_floor": round(noise_floor(mean, bins), 4),
    }


def _busiest_instant(joined: Joined) -> int:
    counts = Counter(joined.scheduled_for_ms)
    return min(counts, key=lambda at: (-counts[at], at)) if counts else 0


def _herd(joined: Joined, served_ms: Sequence[int]) -> Figures:
    """The three curves around the busiest herd, second by second."""
    instant = _busiest_instant(joined)
    begin_ms = instant - HERD_LEAD_SECONDS * 1_000
    last_ms = max(
        (
            max(fire, arrived)
            for at, fire, arrived in zip(
                joined.scheduled_for_ms, joined.fire_after_ms, joined.arrived_ms, strict=True
            )
            if at == instant
        ),
        default=instant,
    )
    seconds = min(HERD_SECONDS_MAX, (last_ms - begin_ms) // 1_000 + HERD_LEAD_SECONDS)
    return {"from_ms": begin_ms, **_curves(joined, served_ms, begin_ms, seconds, 1)}


def _window(e: Experiment, joined: Joined, served_ms: Sequence[int]) -> Figures:
    """The three curves over the whole window; a bin shows its busiest second."""
    last_ms = max([e.until_ms, *joined.fire_after_ms, *served_ms[-1:]])
    seconds = max(1, (last_ms - e.from_ms) // 1_000 + 1)
    width = math.ceil(seconds / CURVE_BINS_MAX)
    return {"from_ms": e.from_ms, **_curves(joined, served_ms, e.from_ms, seconds, width)}


def _curves(
    joined: Joined, served_ms: Sequence[int], begin_ms: int, seconds: int, width: int
) -> Figures:
    stages = {
        "demand": joined.scheduled_for_ms,
        "planned": joined.fire_after_ms,
        "served": served_ms,
    }
    return {
        "seconds_per_bin": width,
        **{name: _peaks(ms, begin_ms, seconds, width) for name, ms in stages.items()},
    }


def _peaks(instants_ms: Iterable[int], begin_ms: int, seconds: int, width: int) -> list[int]:
    counts = Counter((ms - begin_ms) // 1_000 for ms in instants_ms)
    return [
        max(counts[second] for second in range(begin, min(begin + width, seconds)))
        for begin in range(0, seconds, width)
    ]


def _by_second(joined: Joined, late: Sequence[int]) -> list[Figures]:
    """Lateness by the second of the minute in which a run was meant to leave."""
    groups: list[list[int]] = [[] for _ in range(60)]
    for fire_ms, ms in zip(joined.fire_after_ms, late, strict=True):
        groups[fire_ms // 1_000 % 60].append(ms)
    return [
        {"second": second, "count": len(group), **_median_and_p99(sorted(group))}
        for second, group in enumerate(groups)
    ]


def _median_and_p99(ascending: Sequence[int]) -> Figures:
    if not ascending:
        return {"p50": None, "p99": None}
    return {"p50": quantile(ascending, 0.5), "p99": quantile(ascending, 0.99)}


def _histogram(late: Sequence[int]) -> list[tuple[int, int]]:
    """Counts by upper bound in ms, six bounds a decade, for a picture on a logarithmic scale."""
    bounds = [round(10 ** (step / 6)) for step in range(37)]
    bounds = sorted(set(bounds))
    counts = Counter(bisect_left(bounds, max(1, ms)) for ms in late)
    return [(bound, counts[place]) for place, bound in enumerate(bounds)]


def _phase(joined: Joined) -> list[int]:
    """Planned runs by 10 ms of their second."""
    counts = Counter(ms % 1_000 // 10 for ms in joined.fire_after_ms)
    return [counts[place] for place in range(100)]


def _after(instant_ms: int, served_ms: Sequence[int]) -> Figures:
    """What followed an outage, from the first request on: who is back is found by asking.

    Its seconds are the calendar's, as everywhere: two grids would give two busiest seconds.
    """
    rest = _within(served_ms, instant_ms, 2**62)
    first_ms, last_ms = (rest[0], rest[-1]) if rest else (instant_ms, instant_ms)
    span = first_ms // 1_000 * 1_000, last_ms + 1
    return {"requests": len(rest), "seconds": (span[1] - span[0]) / 1_000, **_bins(rest, span)}


def _within(ascending: Sequence[int], begin_ms: int, end_ms: int) -> Sequence[int]:
    return ascending[bisect_left(ascending, begin_ms) : bisect_left(ascending, end_ms)]
