"""What the figures of a window mean, in one of eight words, and what to do (SPEC §9).

The question behind the words: would spreading help? An *alignment* is runs that come together and
need not, so jitter helps. *Volume* is more work than the bucket can start in time, however it is
spread: one herd too large for any jitter, or herds that recur faster than they leave. The others
say that neither is the matter, or what made the load in the first place.

They are asked in the order of what excuses what. A bucket that could have granted more while runs
waited acquits planner and bucket, whatever made the load: *downstream*. Then shocks, since a herd
of retries or of catch-up is no fault of the timetable. Then silence, then the herd itself.

The thresholds are set on synthetic draws (tests/core/test_verdict.py), not on anyone's production.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from engine.core.amplification import (
    SLO_SECONDS,
    StageFigures,
    is_significant,
    jitter_needed_seconds,
    volume,
)
from engine.core.curves import SPREAD_SECONDS, Figures
from engine.core.forecast_words import per_second
from engine.core.recurrence import Period

AMPLIFIED = 1.5
"""Times the noise floor: a spread by hash stays within 1.1, two herds of one instant reach 2."""

HERD_SECONDS = 0.5
"""What the bucket starts within it delays nobody by more, and is no herd."""

ALIGNED = 0.5
"""Of the runs: when half of them come together, whether in one second or at one phase."""

SHOCK_SHARE = 0.2
"""Of the attempts: receivers in order leave a few percent to be retried."""

HELD_SHARE = 0.5
"""Of the seconds: what lasts for half of a window is its rule and not its accident."""

DOWNSTREAM_SECONDS_MIN = 3
"""Seconds of waiting with less started than the bucket grants: fewer are a slow commit."""

JITTER_SECONDS_MAX = 900
"""The widest jitter that a schedule may have (SPEC §4)."""

_CALENDAR_WORDS = {
    3_600: "on the hour",
    1_800: "on the half hour",
    900: "on the quarter hour",
    60: "on the minute",
    30: "on the half minute",
}


class VerdictName(StrEnum):
    """The value of `scheduler_herd_verdict{verdict}`."""

    QUIET = "quiet"
    NORMAL = "normal"
    FLATTENED = "flattened"
    ALIGNMENT = "alignment"
    VOLUME = "volume"
    RETRY_STORM = "retry_storm"
    CATCH_UP = "catch_up"
    DOWNSTREAM = "downstream"


_NO_REASON = {VerdictName.QUIET, VerdictName.NORMAL, VerdictName.DOWNSTREAM}
"""What says nothing of why runs wait that a breaker would not say better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The word, for an alignment its period, a sentence of figures and one of advice."""

    name: VerdictName
    period_seconds: int | None = None
    sentence: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shut:
    """Due runs behind breakers that are not closed: how many, in how many flows.

    The flow with most of them is named, with its tenant where there are others.
    """

    runs: int
    flows: int
    key: str
    tenant: str | None


def behind(shut: Shut, verdict: Verdict) -> Verdict:
    """What is to be said where runs wait behind a breaker, unless there is a herd or a shock."""
    if verdict.name not in _NO_REASON:
        return verdict
    runs = "1 due run waits" if shut.runs == 1 else f"{shut.runs:,} due runs wait"
    whose = f" of tenant {shut.tenant}" if shut.tenant else ""
    where = f"the breaker of flow {shut.key}{whose}"
    if shut.flows > 1:
        where = f"the breakers of {shut.flows:,} flows, most of them of {shut.key}{whose}"
    sentence = f"{runs} behind {where}."
    advice = "Mend that receiver: a probe finds out when it is back, and then the runs are spread."
    if verdict.name == VerdictName.DOWNSTREAM:
        sentence, advice = f"{sentence} {verdict.sentence}", f"{advice} {verdict.advice}"
    return Verdict(name=VerdictName.DOWNSTREAM, sentence=sentence, advice=advice)


def so_far(verdict: Verdict) -> Verdict:
    """What is to be said of a herd before it is over: its window grows, and its figures with it."""
    sentence = f"So far, {verdict.sentence[0].lower()}{verdict.sentence[1:]}"
    return replace(verdict, sentence=sentence)


def judge(figures: Figures, *, rate: int, burst: int) -> Verdict:
    """The verdict over a window. `rate` and `burst` are the bucket's; a burst disturbs nobody."""
    if _is_downstream(figures):
        return _downstream(figures)
    shock = max(figures.retries, figures.catch_ups)
    if shock > burst and shock >= SHOCK_SHARE * figures.attempts:
        return _retry_storm(figures) if shock == figures.retries else _catch_up(figures)
    if max(figures.demand.busiest, figures.planned.busiest, figures.served.busiest) <= burst:
        return _quiet(burst)
    return _herd(figures, rate, burst)


def _herd(figures: Figures, rate: int, burst: int) -> Verdict:
    """Herd or not, and whether spreading would help."""
    herd_min = max(burst, int(rate * HERD_SECONDS))
    is_herd = _stands_out(figures.demand, herd_min)
    if is_herd and figures.sustained > rate:
        return _recurring(figures, rate)
    is_aligned = is_herd and _is_aligned(figures, rate, herd_min)
    needed = jitter_needed_seconds(figures.runs, rate=rate)
    if volume(figures.runs, rate=rate, jitter_seconds=figures.jitter_seconds) > 1:
        # What has its jitter already and still is too much is not told to take more and more.
        helpful = JITTER_SECONDS_MAX if is_aligned else SPREAD_SECONDS
        is_short = needed > helpful
        return _volume(figures, rate) if is_short else _alignment(figures, needed)
    if is_aligned:
        return _alignment(figures, needed)
    if is_herd:
        whole = _keeps_whole_seconds(figures.planned, burst)
        return _whole_seconds(figures.planned) if whole else _flattened(figures)
    if figures.held_seconds >= HELD_SHARE * figures.observed_seconds:
        return _volume(figures, rate)
    return _normal(figures)


def _is_aligned(figures: Figures, rate: int, herd_min: int) -> bool:
    """Whether the planned runs still come together, by more than the bucket can follow or by half.

    A spread that is uneven below that, each timetable with a jitter of its own, delays nobody.
    """
    busiest = figures.planned.busiest
    together = busiest > rate or busiest >= ALIGNED * figures.demand.busiest
    return together and _stands_out(figures.planned, herd_min)


def _stands_out(stage: StageFigures, herd_min: int) -> bool:
    """Whether the busiest second is a herd's, and not by chance."""
    return stage.busiest > herd_min and stage.amplification > AMPLIFIED * stage.noise_floor


def _is_downstream(figures: Figures) -> bool:
    idle = figures.idle_seconds
    return idle >= DOWNSTREAM_SECONDS_MIN and idle >= HELD_SHARE * figures.held_seconds


def _keeps_whole_seconds(planned: StageFigures, burst: int) -> bool:
    strength = planned.alignment[1]
    return (
        planned.busiest_hundredth > burst
        and strength >= ALIGNED
        and is_significant(strength, planned.runs)
    )


def _quiet(burst: int) -> Verdict:
    return Verdict(
        name=VerdictName.QUIET,
        sentence=f"No second had more than {burst:,} runs, which leave in one burst.",
        advice="Nothing to do.",
    )


def _normal(figures: Figures) -> Verdict:
    return Verdict(
        name=VerdictName.NORMAL,
        sentence=f"{figures.planned.runs:,} runs in {figures.seconds} s, no herd among them: the "
        f"busiest second has {figures.planned.busiest:,}.",
        advice="Nothing to do.",
    )


def _flattened(figures: Figures) -> Verdict:
    planned = figures.planned
    return Verdict(
        name=VerdictName.FLATTENED,
        sentence=f"{figures.demand.busiest:,} runs share one second and were planned at no more "
        f"than {planned.busiest:,} a second, {planned.amplification:.2f} times the mean; a perfect "
        f"spread has {planned.noise_floor:.2f}.",
        advice="Nothing to do: the jitter works.",
    )


def _whole_seconds(planned: StageFigures) -> Verdict:
    return Verdict(
        name=VerdictName.ALIGNMENT,
        period_seconds=1,
        sentence=f"Runs keep to whole seconds: a hundredth of a second has up to "
        f"{planned.busiest_hundredth:,} of them.",
        advice="Set jitter.subsecond = true, or give the schedules jitter.",
    )


def _alignment(figures: Figures, needed_seconds: float) -> Verdict:
    planned, period = figures.planned, figures.period
    jitter = max(SPREAD_SECONDS, round(needed_seconds + 0.5) if needed_seconds else 0)
    return Verdict(
        name=VerdictName.ALIGNMENT,
        period_seconds=period.seconds if period else None,
        sentence=f"The busiest second has {planned.busiest:,} of {planned.runs:,} runs, "
        f"{planned.amplification:.1f} times the mean{_gathering(period)}.",
        advice=f"Give these timetables jitter_seconds = {min(jitter, JITTER_SECONDS_MAX)}.",
    )


def _gathering(period: Period | None) -> str:
    if period is None:
        return ""
    if period.was_seen:
        return f"; they gather every {period.seconds:,} s"
    return f"; they meet {_CALENDAR_WORDS[period.seconds]}"


def _volume(figures: Figures, rate: int) -> Verdict:
    span = max(1, figures.jitter_seconds)
    needed_rate = max(-(-figures.runs // (figures.jitter_seconds + SLO_SECONDS)), rate + 1)
    return Verdict(
        name=VerdictName.VOLUME,
        sentence=f"{figures.runs:,} runs in {span} s are more than {rate:,} a second can start "
        f"within {SLO_SECONDS} s; runs waited in {figures.held_seconds} of "
        f"{figures.observed_seconds} s.",
        advice=f"Raise the rate to {needed_rate:,} or more, or run less often: spreading over the "
        "same time cannot help.",
    )


def _recurring(figures: Figures, rate: int) -> Verdict:
    return Verdict(
        name=VerdictName.VOLUME,
        sentence=f"{figures.demand.busiest:,} runs share one second, and their like comes again: "
        f"{per_second(figures.sustained)} a second in the mean, where {rate:,} may start; runs "
        f"waited in {figures.held_seconds} of {figures.observed_seconds} s.",
        advice=f"Raise the rate above {per_second(figures.sustained)}, or run less often: until "
        "then the backlog grows, whatever the jitter.",
    )


def _retry_storm(figures: Figures) -> Verdict:
    return Verdict(
        name=VerdictName.RETRY_STORM,
        sentence=f"{figures.retries:,} of {figures.attempts:,} attempts were retries.",
        advice="Look at the receivers that failed; the retries are spread and will pass. Full "
        "jitter and a longer backoff make the next storm smaller.",
    )


def _catch_up(figures: Figures) -> Verdict:
    return Verdict(
        name=VerdictName.CATCH_UP,
        sentence=f"{figures.catch_ups:,} of {figures.attempts:,} attempts catch up on runs missed "
        "while the engine was away.",
        advice="Nothing to do: they are spread and leave room for fresh runs. For less of it set "
        "catch_up = skip, or a shorter catch_up_window_seconds.",
    )


def _downstream(figures: Figures) -> Verdict:
    return Verdict(
        name=VerdictName.DOWNSTREAM,
        sentence=f"Due runs waited in {figures.held_seconds} of {figures.observed_seconds} s, in "
        f"{figures.idle_seconds} of them with the bucket unused: slots, receivers or flows bind.",
        advice="Look for slow receivers, and for flows that are limited, paused or broken; else "
        "raise concurrency. Neither jitter nor a higher rate helps.",
    )
