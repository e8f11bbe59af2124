"""What is put on the engine: an experiment, and the schedules that follow from it.

Every trigger here is "each P seconds since the epoch, with this phase", written as the cron line
that a person would write. So what is owed is division (`Wanted.owed`), and a mistake in the
engine's reading of cron cannot be shared by the checker.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from loadtest.arithmetic import offset_ms, schedule_id

Scenario = Literal["herd", "steady", "recovery", "shock", "fleet"]
Variant = Literal["none", "jitter", "whole-second"]
Mode = Literal["real", "virtual"]

NOON_MS = 1_799_755_200_000
"""2027-01-12T12:00:00Z, the :00 of every experiment. A fixed calendar, so that a seed repeats."""

MIDNIGHT_MS = NOON_MS - 12 * 3_600_000
"""Where a fleet's day begins."""

SCHEDULES_MAX = 2_000_000
SECONDS_MAX = 7 * 86_400
"""Bounds of an experiment: what a workstation's memory and an afternoon hold."""

OUTAGE_SECONDS = {"recovery": 30, "shock": 60}
"""Of the scenarios that have one, when nobody says how long."""

REALISTIC_MIX = "1m=10,5m=20,15m=15,1h=35,1d=20"
"""Of a fleet, in percent by period."""

BODY = '{"note": "' + "x" * 188 + '"}'
"""200 bytes, the size of a usual webhook."""

GRACE_SECONDS = 60
"""For the tail of a run without failures."""

RETRIES_SECONDS = 700
"""For the eight attempts of the default policy: their longest waits add up to 635 s."""

ATTEMPTS_MAX, TIMEOUT_MS, PARALLELISM = 8, 15_000, 20
"""What a schedule and a flow get when nobody says otherwise (SPEC §4 and §8)."""

FRESH_SHARE = 10
"""In `recovery`, one schedule in so many runs each minute: does catch-up get in its way?"""

_DAY_S = 86_400
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": _DAY_S}
_CRON_PERIODS = (60, 300, 900, 3_600, _DAY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One run of the instrument. `seconds`: the window in which occurrences are counted."""

    scenario: Scenario
    mode: Mode
    schedules: int
    jitter_seconds: int
    rate: int
    burst: int
    concurrency: int
    receivers: int
    delay_ms: int
    fail_rate: float
    seed: str
    seconds: int
    outage_seconds: int = 0
    disk_ms: float = 0.0
    mix: str = REALISTIC_MIX
    variant: Variant = "jitter"

    @property
    def from_ms(self) -> int:
        """The first instant of the window."""
        return MIDNIGHT_MS if self.scenario == "fleet" else NOON_MS

    @property
    def until_ms(self) -> int:
        """The end of the window, not part of it."""
        return self.from_ms + self.seconds * 1_000

    @property
    def jitter(self) -> int:
        """Seconds of jitter of this variant."""
        return 0 if self.variant == "none" else self.jitter_seconds

    @property
    def subsecond(self) -> bool:
        return self.variant != "whole-second"

    @property
    def in_time(self) -> bool:
        """Whether receivers answer before the target's timeout ends the attempt."""
        return self.delay_ms < TIMEOUT_MS

    @property
    def attempt_ms(self) -> int:
        """How long an attempt lasts, the network left out."""
        return min(self.delay_ms, TIMEOUT_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A schedule of the workload; `index` is its place in it and the end of its name."""

    index: int
    name: str
    period_s: int
    phase_s: int
    jitter_seconds: int
    receiver: int

    def document(self, urls: list[str]) -> dict[str, Any]:
        """What is sent to the API."""
        return {
            "name": self.name,
            **self._trigger(),
            "jitter_seconds": self.jitter_seconds,
            "target": {
                "url": urls[self.receiver],
                "headers": {"Content-Type": "application/json"},
                "body": BODY,
            },
        }

    def offset_ms(self, *, subsecond: bool) -> int:
        return offset_ms(schedule_id(self.name), self.jitter_seconds, subsecond=subsecond)

    def owed(self, from_ms: int, until_ms: int) -> range:
        """Every `scheduled_for` in the half-open span."""
        period_ms, phase_ms = self.period_s * 1_000, self.phase_s * 1_000
        first_ms = phase_ms - (phase_ms - from_ms) // period_ms * period_ms
        return range(first_ms, until_ms, period_ms)

    def _trigger(self) -> dict[str, Any]:
        if self.period_s not in _CRON_PERIODS:
            return {"every": self.period_s, "phase": self.phase_s}
        minute, hour = self.phase_s // 60 % 60, self.phase_s // 3_600
        if self.period_s == _DAY_S:
            return {"cron": f"{minute} {hour} * * *"}
        if self.period_s == 3_600:
            return {"cron": f"{minute} * * * *"}
        return {"cron": f"*/{self.period_s // 60} * * * *"}


def schedules(experiment: Experiment) -> Iterator[Wanted]:
    """The workload, in the order in which it is put."""
    for index in range(experiment.schedules):
        period_s, phase_s = _rhythm(experiment, index)
        yield Wanted(
            index=index,
            name=name_of(experiment.seed, index),
            period_s=period_s,
            phase_s=phase_s,
            jitter_seconds=_jitter(experiment, period_s),
            receiver=index % experiment.receivers,
        )


def count_owed(experiment: Experiment) -> int:
    """How many occurrences the window holds."""
    span = experiment.from_ms, experiment.until_ms
    return sum(len(wanted.owed(*span)) for wanted in schedules(experiment))


def patience_ms(experiment: Experiment) -> int:
    """How long after the window its last run may end before watching does.

    Jitter, twice what bucket and receivers take for a herd of everything, an outage with the
    catch-up after it, and a grace for retries.
    """
    e = experiment
    grace_ms = GRACE_SECONDS * 1_000
    if e.fail_rate or e.scenario == "shock" or not e.in_time:
        grace_ms = RETRIES_SECONDS * 1_000 + ATTEMPTS_MAX * e.attempt_ms
    seconds = e.jitter + 2 * e.schedules // e.rate + 3 * e.outage_seconds
    return 1_000 * seconds + 2 * _answering_ms(e) + grace_ms


def name_of(seed: str, index: int) -> str:
    """The name of the schedule at this place."""
    return f"{seed}-{index:07}"


def index_of(name: str) -> int:
    """The place in the workload of the schedule of this name; -1 for a name that is not ours."""
    _, dash, digits = name.rpartition("-")
    return int(digits) if dash and len(digits) == 7 and digits.isdecimal() else -1


def read_mix(text: str) -> list[tuple[int, int]]:
    """Pairs of (period in seconds, percent) of `1h=20,1d=80`. Raises ValueError."""
    pairs = []
    for part in text.split(","):
        period, equals, percent = part.strip().partition("=")
        seconds = int(period[:-1]) * _UNITS.get(period[-1:], 0) if period[:-1].isdecimal() else 0
        if not equals or not percent.isdecimal() or seconds not in _CRON_PERIODS:
            raise ValueError(f"{part!r} is not PERIOD=PERCENT with a period of 1m, 5m, 15m, 1h, 1d")
        pairs.append((seconds, int(percent)))
    if sum(percent for _, percent in pairs) != 100:
        raise ValueError(f"the percentages of {text!r} do not add up to 100")
    return pairs


def _answering_ms(e: Experiment) -> int:
    """What receivers take to answer everything, as many at a time as their flows may ask.

    Nothing, when none answers in time: a breaker soon stands before each, and no wait would do.
    """
    if not e.delay_ms or not e.in_time:
        return 0
    return count_owed(e) * e.delay_ms // min(e.concurrency, PARALLELISM * e.receivers)


def _rhythm(experiment: Experiment, index: int) -> tuple[int, int]:
    """Period and phase in seconds of one schedule."""
    match experiment.scenario:
        case "herd" | "shock":
            return 3_600, 0
        case "steady":
            return 30, index % 30  # Thirty even streams: no herd, so that a pulse would show.
        case "recovery":
            return (60, 0) if index % FRESH_SHARE == 0 else (3_600, 0)
        case "fleet":
            period_s = _period_of(experiment.mix, index)
            # People write :00, whatever the hour: the daily ones are on 24 full hours.
            return period_s, index // 100 % 24 * 3_600 if period_s == _DAY_S else 0


def _jitter(experiment: Experiment, period_s: int) -> int:
    """What was asked for; where periods differ, a tenth of the period at most (SPEC §2)."""
    if experiment.scenario in ("herd", "shock"):
        return experiment.jitter
    return min(experiment.jitter, period_s // 10)


def _period_of(mix: str, index: int) -> int:
    place = index * 61 % 100  # Coprime to 100: any stretch of the workload holds the whole mix.
    for period_s, percent in read_mix(mix):
        if place < percent:
            return period_s
        place -= percent
    raise AssertionError("percentages add up to 100")
