"""What if: the forecast with other jitter, another rate, more schedules.

Up to `EXACT_SCHEDULES_MAX` schedules get the very offsets that another jitter would give them, and
the answer is exact. For more, for schedules that do not exist yet and for the least jitter, the
expectation is taken (`spreading`), and the answer says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from engine.core.bucket_simulation import Bucket
from engine.core.errors import Fault, Invalid
from engine.core.forecast import Forecast, foresee
from engine.core.forecast_words import label
from engine.core.herd_document import Change, Span
from engine.core.limited_passage import release
from engine.core.model import CronTrigger
from engine.core.population import (
    Crowd,
    Outlook,
    Singles,
    Standing,
    demand_by_flow,
    draw,
    is_herd,
)
from engine.core.spreading import (
    Deadlines,
    Demand,
    demand_of,
    least_jitter,
    least_rate,
    merge,
    spread,
    together,
)
from engine.core.timetable import default_jitter

EXACT_SCHEDULES_MAX = 100_000
"""Hashing this many takes 0.4 s; the noise that the expectation leaves out is then below 3 % of a
second's runs at 60 s of jitter."""

LABELS_SHOWN_MAX = 10

INSTANTS_AT_ONCE = 64
"""What fires each minute has met an hour by then."""

ADDED_TO = CronTrigger(cron="0 * * * *", resolved="0 * * * *")
"""The timetable of schedules that are added without naming one: the herd's own."""

Exactness = Literal["exact", "expected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The forecast as things are, and as they would be.

    `least_jitter_seconds` is for the selected schedules at the rate asked about, and `least_rate`
    for the jitter asked about; None: no jitter, or no selection, does it. Both are for the engine's
    bucket: what a flow's own limit holds back, they cannot mend. How far the jitter is the least,
    `spreading.least_jitter` says.
    """

    now: Forecast
    then: Forecast
    exactness: Exactness
    selected_schedules: int
    least_jitter_seconds: int | None
    least_rate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A what-if with all that its answer is computed from."""

    change: Change
    span: Span
    start_s: int
    standing: Standing
    deadlines: Deadlines
    selected: tuple[Crowd, ...]
    # `selected` with their new offsets; None: too many to compute.
    changed: tuple[Crowd, ...] | None
    bucket: Bucket


def select(crowds: Iterable[Crowd], change: Change, start_s: int, span: Span) -> tuple[Crowd, ...]:
    """The crowds that a change is about; those that begin or end in the span stay as they are."""
    candidates = [crowd for crowd in crowds if not crowd.bounded]
    labels = {label(crowd.trigger) for crowd in candidates}
    unknown = [name for name in change.timetables if name not in labels]
    if unknown:
        known = ", ".join(sorted(labels)[:LABELS_SHOWN_MAX]) or "none: there are no schedules"
        raise Invalid(Fault("/timetables", f"{unknown[0]!r} selects nothing; there are {known}"))
    if change.timetables:
        return tuple(crowd for crowd in candidates if label(crowd.trigger) in change.timetables)
    found = tuple(crowd for crowd in candidates if _meets_hour(crowd, start_s, span.to_s))
    if change.jitter_seconds is not None and not found and not change.add:
        detail = "selects nothing: no schedule falls on :00 in this span; name others in timetables"
        raise Invalid(Fault("/jitter_seconds", detail))
    return found


def answer(question: Question) -> WhatIf:
    """Both forecasts, and the searches for the least that does."""
    change, start_s, end_s = question.change, question.start_s, question.span.to_s
    from_s, bucket, standing = question.span.from_s, question.bucket, question.standing
    chosen = set(map(id, question.selected))
    others = [crowd for crowd in standing.crowds if id(crowd) not in chosen]
    limits, unlimited = standing.limits, standing.unlimited
    rest = draw(others, standing.singles, start_s, end_s)
    selected = draw(question.selected, Singles(), start_s, end_s)
    demand = demand_of(question.selected, question.deadlines, selected.demand, start_s)
    then, exactness = _rejittered(question, selected, demand)
    for crowd, seconds in _added(question):
        added = draw([crowd], Singles(), start_s, end_s)
        more = demand_of([crowd], {}, added.demand, start_s)
        demand = merge(demand, more)
        then = together(then, spread(more, seconds, start_s, end_s))
    then = together(rest, then)

    def bucket_at(rate: int) -> Bucket:
        burst = change.burst or max(1, rate * bucket.burst // bucket.rate)
        return replace(bucket, rate=rate, burst=burst, tokens=min(bucket.tokens, burst))

    def foreseen(outlook: Outlook, bucket: Bucket) -> Forecast:
        return foresee(outlook, bucket, from_s=from_s, limits=limits, unlimited=unlimited)

    # A day's curves take 4 ms to free, and the interpreter is held meanwhile. So each goes as soon
    # as it has been used, and not all of them together when this returns.
    now = foreseen(together(rest, selected), bucket)
    del selected
    changed = bucket_at(change.rate or bucket.rate)
    least_jitter_seconds = (
        least_jitter(release(rest, limits), demand, changed, from_s=from_s) if demand else None
    )
    del demand
    least = least_rate(release(then, limits), bucket_at, from_s=from_s)
    del rest
    return WhatIf(
        now=now,
        then=foreseen(then, changed),
        exactness=exactness,
        selected_schedules=sum(crowd.schedules for crowd in question.selected),
        least_jitter_seconds=least_jitter_seconds,
        least_rate=least,
    )


def _meets_hour(crowd: Crowd, start_s: int, end_s: int) -> bool:
    """Whether an occurrence in the span is a :00 herd's; most crowds tell by their first few."""
    while instants := crowd.occurrences(start_s, end_s, limit=INSTANTS_AT_ONCE):
        if any(map(is_herd, instants)):
            return True
        start_s = instants[-1] + 1
    return False


def _rejittered(question: Question, selected: Outlook, demand: Demand) -> tuple[Outlook, Exactness]:
    """The selected schedules as they would be."""
    start_s, end_s = question.start_s, question.span.to_s
    jitter_seconds = question.change.jitter_seconds
    exactness: Exactness = "expected" if question.change.add else "exact"
    if jitter_seconds is None:
        return selected, exactness
    if question.changed is None:
        return _expected(question, demand, jitter_seconds), "expected"
    return draw(question.changed, Singles(), start_s, end_s), exactness


def _expected(question: Question, demand: Demand, jitter_seconds: int) -> Outlook:
    """The selected schedules spread anew, those of each limited flow by themselves, too."""
    start_s, end_s = question.start_s, question.span.to_s
    flows: dict[int, list[int]] = {}
    for flow_id, drawn in demand_by_flow(question.selected, start_s, end_s).items():
        crowds = [crowd for crowd in question.selected if crowd.flow_id == flow_id]
        part = demand_of(crowds, question.deadlines, drawn, start_s)
        flows[flow_id] = spread(part, jitter_seconds, start_s, end_s).planned
    return replace(spread(demand, jitter_seconds, start_s, end_s), flows=flows)


def _added(question: Question) -> list[tuple[Crowd, int]]:
    """The schedules that are added, with their jitter: shared out among the timetables named."""
    change = question.change
    named = bool(change.timetables)
    triggers = list({crowd.trigger for crowd in question.selected}) if named else [ADDED_TO]
    triggers.sort(key=label)
    found: list[tuple[Crowd, int]] = []
    for number, trigger in enumerate(triggers):
        count = change.add * (number + 1) // len(triggers) - change.add * number // len(triggers)
        if count:
            jitter = change.jitter_seconds
            seconds = default_jitter(trigger, None) if jitter is None else jitter
            found.append((Crowd(timetable_id=0, trigger=trigger, counts={0: count}), seconds))
    return found
