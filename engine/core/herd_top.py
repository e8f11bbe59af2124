"""Who fires most in a span: tenants, hosts, timetables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.core.forecast_words import label
from engine.core.herd_document import Span
from engine.core.population import Crowd, Sampled
from engine.core.timetable import compile_trigger

TOP_MAX = 10
"""Tenants, hosts and timetables named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """Runs in the span by name, most first. Tenants and hosts come from a sample of schedules."""

    tenants: Sequence[tuple[str, int]]
    hosts: Sequence[tuple[str, int]]
    timetables: Sequence[tuple[str, int]]


def top(crowds: Sequence[Crowd], sample: Sequence[Sampled], span: Span) -> Top:
    after_ms, until_ms = span.from_s * 1000 - 1, span.to_s * 1000 - 1
    occurrences: dict[int, int] = {}
    timetables: Counter[str] = Counter()
    tenants: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    for crowd in crowds:
        if crowd.timetable_id not in occurrences:
            count = compile_trigger(crowd.trigger).count(after_ms, until_ms)
            occurrences[crowd.timetable_id] = count
        timetables[label(crowd.trigger)] += crowd.schedules * occurrences[crowd.timetable_id]
    for each in sample:
        runs = each.schedules * occurrences.get(each.timetable_id, 0)
        tenants[each.tenant] += runs
        host = urlsplit(each.url).netloc.rpartition("@")[2]
        hosts[host or each.url] += runs  # A handler is its own host.
    seen = sum(each.schedules for each in sample) or 1
    total = sum(crowd.schedules for crowd in crowds)
    return Top(
        tenants=[(name, runs * total // seen) for name, runs in tenants.most_common(TOP_MAX)],
        hosts=[(name, runs * total // seen) for name, runs in hosts.most_common(TOP_MAX)],
        timetables=timetables.most_common(TOP_MAX),
    )
