"""Who fires most in a span: tenants, hosts, timetables.

Only what is owed counts, as in the forecast's curves; who owes nothing in the span is not named.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.core.forecast_words import label
from engine.core.herd_document import Span
from engine.core.population import Crowd, Dues, Sampled

TOP_MAX = 10
"""Tenants, hosts and timetables named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """Runs in the span by name, most first. Tenants and hosts come from a sample of schedules."""

    tenants: Sequence[tuple[str, int]]
    hosts: Sequence[tuple[str, int]]
    timetables: Sequence[tuple[str, int]]


def top(crowds: Sequence[Crowd], sample: Sequence[Sampled], span: Span) -> Top:
    owed: dict[Dues, int] = {}
    timetables: Counter[str] = Counter()
    tenants: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    for crowd in crowds:
        if crowd.dues not in owed:
            owed[crowd.dues] = crowd.count(span.from_s, span.to_s)
        timetables[label(crowd.trigger)] += crowd.schedules * owed[crowd.dues]
    known = [each for each in sample if each.dues in owed]  # The others were written meanwhile.
    for each in known:
        runs = each.schedules * owed[each.dues]
        tenants[each.tenant] += runs
        host = urlsplit(each.url).netloc.rpartition("@")[2]
        hosts[host or each.url] += runs  # A handler is its own host.
    seen = sum(each.schedules for each in known) or 1
    total = sum(crowd.schedules for crowd in crowds)
    return Top(
        tenants=[(name, runs * total // seen) for name, runs in _most(tenants)],
        hosts=[(name, runs * total // seen) for name, runs in _most(hosts)],
        timetables=_most(timetables),
    )


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    return (+counts).most_common(TOP_MAX)
