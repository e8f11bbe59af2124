"""What a forecast comes to, in a sentence, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

from engine.core.flow_limits import SCALE
from engine.core.forecast import Crush, Forecast, jitter_min, rate_min
from engine.core.identity import format_instant
from engine.core.model import AtTrigger, CronTrigger, IntervalTrigger, Trigger
from engine.core.population import OFFSET_SECONDS_MAX

VerdictName = Literal["quiet", "met", "alignment", "volume"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`alignment`: spreading the runs would do. `volume`: no jitter can, the rate is too low."""

    name: VerdictName
    sentence: str
    advice: str


def judge(forecast: Forecast) -> Verdict:
    """The verdict on a forecast as a whole, told by its worst minute."""
    worst, crush = forecast.worst, forecast.crush
    if worst is None:
        return Verdict(name="quiet", sentence="Nothing fires in this span.", advice="Nothing.")
    expiring = _expiring(forecast.expiring)
    if crush is None:
        sentence = (
            f"The objective is met in {_minutes('all', len(forecast.minutes))} begins at "
            f"{format_instant(worst.start_s * 1000)}, where 99 % of {worst.runs:,} "
            f"runs start within {seconds(worst.delays.p99_ms)}; "
            f"{seconds(worst.limit_ms)} is allowed.{expiring}"
        )
        return Verdict(name="met", sentence=sentence, advice="Nothing.")
    sentence = (
        f"The objective is missed in {_minutes(f'{forecast.missed:,}', len(forecast.minutes))} "
        f"begins at {format_instant(worst.start_s * 1000)}: {crush.runs:,} runs "
        f"{_of_flow(crush)}fall due within {crush.due_seconds:,} s, "
        f"{per_second(crush.millirate / SCALE)} a second may leave, and 1 % of the minute's runs "
        f"start later than {seconds(worst.delays.p99_ms)}, "
        f"where {seconds(worst.limit_ms)} is allowed.{expiring}"
    )
    return _remedy(sentence, crush, worst.limit_ms)


def _minutes(some: str, count: int) -> str:
    if count == 1:
        return "the only minute with runs, which"
    return f"{some} of {count:,} minutes with runs; the worst"


def _remedy(sentence: str, crush: Crush, limit_ms: int) -> Verdict:
    """Closed forms, for herds that they fit: near enough for a first step, and told as such. The
    least that does, beside everything else, is a what-if's to find."""
    if crush.recurs:
        return _too_often(sentence, crush)
    runs, millirate = crush.runs * SCALE, crush.millirate
    jitter = max(jitter_min(runs, millirate, limit_ms), crush.due_seconds + 1)
    rate = max(rate_min(crush.runs, crush.due_seconds, limit_ms), millirate // SCALE + 1)
    raised = f"the {crush.limit.cause} of flow {crush.limit.key}" if crush.limit else "the rate"
    enough = f"about {rate:,} a second"
    if crush.limit and crush.limit.cause == "parallelism":
        enough = f"about {-(-rate * SCALE * crush.limit.burst // millirate):,}"
    if jitter <= OFFSET_SECONDS_MAX and not crush.even:
        advice = (
            f"Spread these runs further, or raise {raised}: they come too unevenly for a figure "
            "here, and a what-if tells the least jitter and rate that do."
        )
        return Verdict(name="alignment", sentence=sentence, advice=advice)
    if jitter <= OFFSET_SECONDS_MAX:
        advice = (
            f"Spread these runs over {jitter} s or more (they fall due within "
            f"{crush.due_seconds:,} s now), or raise {raised} to {enough}."
        )
        return Verdict(name="alignment", sentence=sentence, advice=advice)
    advice = (
        f"Raise {raised} to {enough}, or move schedules to other times: even "
        f"{OFFSET_SECONDS_MAX} s of jitter, the most there is, would not do."
    )
    return Verdict(name="volume", sentence=sentence, advice=advice)


def _too_often(sentence: str, crush: Crush) -> Verdict:
    advice = (
        f"Raise the rate above {per_second(crush.sustained)} a second, which is what recurs, or "
        "run less often: until then the backlog grows, whatever the jitter."
    )
    return Verdict(name="volume", sentence=sentence, advice=advice)


def _expiring(runs: int) -> str:
    return f" {runs:,} runs expire before their turn, and are not counted here." if runs else ""


def _of_flow(crush: Crush) -> str:
    return f"of flow {crush.limit.key} " if crush.limit else ""


def label(trigger: Trigger) -> str:
    """A timetable as people write it: `0 * * * * (UTC)`, `every 300 s at +60 s`."""
    match trigger:
        case CronTrigger():
            return f"{trigger.resolved} ({trigger.timezone})"
        case IntervalTrigger():
            phase = f" at +{trigger.phase_seconds} s" if trigger.phase_seconds else ""
            return f"every {trigger.every_seconds} s{phase}"
        case AtTrigger():
            return f"at {format_instant(trigger.at_ms)}"


def per_second(rate: float) -> str:
    """A rate for people: 0.0167, 28.6, 100.3, 1,234. A tenth tells it from the limit it exceeds."""
    return f"{rate:,.1f}".removesuffix(".0") if rate >= 10 else f"{rate:.3g}"


def seconds(ms: int) -> str:
    """A delay for people: 12.3 s."""
    return f"{ms / 1000:,.1f} s"
