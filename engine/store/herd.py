"""What the forecast asks of the journal: schedules by timetable and offset, counted by SQLite.

Every query answers with one text, a line of JSON for each group. A row by itself would wait for
the interpreter's lock, half a millisecond beside a busy event loop, and there are thousands.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from engine.core.expiry import Cohort
from engine.core.flow_limits import SCALE, FlowLimit, limit_of
from engine.core.forecast_audit import Changed
from engine.core.identity import jitter_offset_ms
from engine.core.model import Trigger
from engine.core.population import (
    OFFSET_SECONDS_MAX,
    Crowd,
    Runs,
    Sampled,
    Standing,
    singles,
)
from engine.core.spreading import Deadlines
from engine.core.timetable import compile_trigger
from engine.store.rows import timetable_of, trigger_of
from engine.store.statements import statements
from engine.store.writer import Reader

SQL = statements()

SAMPLE_SCHEDULES_MAX = 10_000
"""Schedules looked at for the top tenants and hosts: a share of 1 % is then known to 0.2 %."""

IDENTITIES_PAGE = 5_000
"""Schedules read at once to compute other offsets: 20 ms of the reader's thread."""

SAMPLE_ATTEMPTS_MAX = 10_000
"""The newest ones, looked at for how long requests take: some 20 ms of the reader's thread."""

LATENCY_REACH_MS = 3_600_000
"""Older attempts say little about how long a request takes now."""

LIMITED_FLOWS_MAX = 16
"""Flows simulated apart, those first whose limit is hardest pressed: a day of one takes 50 ms. Of
more, the answer says how many were taken to have no limit."""

HERDS_UNDER_WAY_MAX = 60
"""Herds that are told whole: a minute's seconds. Each takes a count of the runs that have come."""

CHANGED_NAMED_MAX = 5
"""Names of changed schedules: enough to know who did it."""


class SqliteHerd:
    """`services.forecast.HerdStore`."""

    def __init__(self, reader: Reader, tenant: str | None = None) -> None:
        """`tenant`: whose schedules are counted; None: everybody's."""
        self._reader = reader
        self._tenant = tenant

    def of(self, tenant: str) -> "SqliteHerd":
        return SqliteHerd(self._reader, tenant)

    async def standing(self, *, now_ms: int, start_s: int, end_s: int, rate: int) -> Standing:
        return await self._reader.read(
            lambda db: standing(db, now_ms, start_s, end_s, rate, tenant=self._tenant)
        )

    async def deadlines(
        self, limits: Sequence[FlowLimit], *, start_s: int, end_s: int
    ) -> Deadlines:
        return await self._reader.read(
            lambda db: deadlines(db, limits, start_s, end_s, tenant=self._tenant)
        )

    async def impatient(
        self, limits: Sequence[FlowLimit], *, wait_s: int, start_s: int, end_s: int
    ) -> list[Cohort]:
        return await self._reader.read(
            lambda db: impatient(db, limits, wait_s, start_s, end_s, tenant=self._tenant)
        )

    async def rejitter(
        self,
        crowd: Crowd,
        jitter_seconds: int,
        limits: Sequence[FlowLimit],
        *,
        start_s: int,
        end_s: int,
    ) -> Mapping[int, int]:
        counts: Counter[int] = Counter()
        values = {
            "timetable_id": crowd.timetable_id,
            "flow": crowd.flow_id,
            "tenant": self._tenant,
            "offset": -1,
            "id": 0,
            "limit": IDENTITIES_PAGE,
            **_span(start_s, end_s),
            **_flows(limits),
        }
        while True:
            page = partial(_rows, statement="list_identities", values=dict(values))
            rows = await self._reader.read(page)
            _count_offsets(rows, jitter_seconds, counts)
            if len(rows) < IDENTITIES_PAGE:
                return counts
            values |= {"offset": rows[-1][0], "id": rows[-1][1]}

    async def sample(self, *, start_s: int, end_s: int) -> list[Sampled]:
        return await self._reader.read(lambda db: sample(db, start_s, end_s, tenant=self._tenant))

    async def changed_since(self, ms: int) -> Changed:
        return await self._reader.read(lambda db: changed_since(db, ms))


def standing(
    db: sqlite3.Connection,
    now_ms: int,
    start_s: int,
    end_s: int,
    rate: int,
    *,
    tenant: str | None = None,
) -> Standing:
    """Everything that fires from `start_s` on, the first second that begins after `now_ms`.

    What is due before it, or waits already, is the backlog. A later `start_s` (a span that begins
    far from now) has neither.
    """
    binding = _limits(db, now_ms, rate, tenant)
    limits, unlimited = binding[:LIMITED_FLOWS_MAX], len(binding[LIMITED_FLOWS_MAX:])
    crowds = list(_crowds(db, limits, start_s, end_s, tenant))
    is_next = start_s == now_ms // 1000 + 1
    past = _under_way(db, crowds, limits, now_ms, tenant) if is_next else Runs()
    after_ms = now_ms if is_next else start_s * 1000 - 1
    until_ms = (end_s + OFFSET_SECONDS_MAX) * 1000
    values = {"after": after_ms, "until": until_ms, "tenant": tenant, **_flows(limits)}
    for asked, fires, flow_id, schedules in _rows(db, "count_one_shots", values):
        past[asked, fires, flow_id] += schedules
    backlog = 0
    if is_next:
        counted = "count_backlog" if tenant is None else "count_backlog_of_tenant"
        (backlog, _) = db.execute(SQL[counted], {"now": now_ms, "tenant": tenant}).fetchone()
        backlog += sum(runs for (_, fires, _), runs in past.items() if fires < start_s)
        limits = [_with_backlog(db, limit, past, start_s, now_ms) for limit in limits]
        backlog -= sum(limit.backlog for limit in limits)
    return Standing(
        crowds=tuple(crowds),
        singles=singles(past),
        backlog=backlog,
        limits=tuple(limits),
        unlimited=unlimited,
        under_way=_whole(db, past, now_ms, tenant),
    )


def deadlines(
    db: sqlite3.Connection,
    limits: Sequence[FlowLimit],
    start_s: int,
    end_s: int,
    *,
    tenant: str | None = None,
) -> Deadlines:
    """How many schedules of a kind have which deadline below the largest jitter."""
    found: defaultdict[tuple[int, int | None], dict[int, int]] = defaultdict(dict)
    values = {
        "below": OFFSET_SECONDS_MAX,
        "tenant": tenant,
        **_span(start_s, end_s),
        **_flows(limits),
    }
    for timetable_id, flow_id, seconds, schedules in _rows(db, "count_deadlines", values):
        found[timetable_id, flow_id][seconds] = schedules
    return found


def impatient(
    db: sqlite3.Connection,
    limits: Sequence[FlowLimit],
    wait_s: int,
    start_s: int,
    end_s: int,
    *,
    tenant: str | None = None,
) -> list[Cohort]:
    """Schedules that owe all of a span and whose runs may expire when they wait so long."""
    values = {"wait": wait_s * 1000, "tenant": tenant, **_span(start_s, end_s), **_flows(limits)}
    return [
        Cohort(
            crowd=Crowd(
                timetable_id=timetable_id,
                trigger=trigger_of(spec, None),
                counts=dict(zip(seconds, schedules, strict=True)),
                flow_id=flow_id,
            ),
            deadline_seconds=deadline_seconds,
        )
        for timetable_id, spec, flow_id, deadline_seconds, seconds, schedules in _rows(
            db, "count_impatient", values
        )
        if timetable_of(spec) is not None
    ]


def sample(
    db: sqlite3.Connection, start_s: int, end_s: int, *, tenant: str | None = None
) -> list[Sampled]:
    """Schedules by what they owe of a span, tenant and URL: all of them when they are few."""
    (last,) = db.execute(SQL["last_schedule_id"]).fetchone()
    values = {
        "limit": min(last, SAMPLE_SCHEDULES_MAX),
        "last": last,
        "tenant": tenant,
        **_span(start_s, end_s),
    }
    if not last:
        return []
    sampled = "sample_schedules" if tenant is None else "sample_schedules_of_tenant"
    return [
        Sampled(dues=(timetable_id, after_s, until_s), tenant=owner, url=url, schedules=schedules)
        for timetable_id, after_s, until_s, owner, url, schedules in _rows(db, sampled, values)
    ]


def changed_since(db: sqlite3.Connection, ms: int) -> Changed:
    """Schedules written after an instant, deleted ones too."""
    values = {"since": ms, "limit": CHANGED_NAMED_MAX}
    rows = db.execute(SQL["list_changed_schedules"], values).fetchall()
    return Changed(schedules=rows[0][1] if rows else 0, names=tuple(name for name, _ in rows))


def _limits(db: sqlite3.Connection, now_ms: int, rate: int, tenant: str | None) -> list[FlowLimit]:
    """The limits that can bind: below the engine's own, and below what their schedules can ask. The
    hardest pressed come first."""
    since_ms = now_ms - LATENCY_REACH_MS
    values = {"since": since_ms, "limit": SAMPLE_ATTEMPTS_MAX, "tenant": tenant}
    found: dict[int, FlowLimit] = {}
    for flow_id, owner, key, own_rate, parallelism, paused, latency_ms in _rows(
        db, "list_flow_limits", values
    ):
        limit = limit_of(
            flow_id=flow_id,
            tenant=owner,
            key=key,
            rate=own_rate,
            parallelism=parallelism,
            paused=bool(paused),
            latency_ms=latency_ms,
        )
        if limit and limit.millirate < SCALE * rate:
            found[flow_id] = limit
    if not found:
        return []
    flows = {"flows": orjson.dumps(list(found)).decode()}
    pressed = [
        (schedules / max(1, found[flow_id].millirate), flow_id)
        for flow_id, schedules in _rows(db, "count_schedules_of_flows", flows)
        if found[flow_id].can_bind(schedules)
    ]
    return [found[flow_id] for _, flow_id in sorted(pressed, reverse=True)]


def _with_backlog(
    db: sqlite3.Connection, limit: FlowLimit, past: Runs, start_s: int, now_ms: int
) -> FlowLimit:
    values = {"flow_id": limit.flow_id, "now": now_ms}
    (waiting,) = db.execute(SQL["count_due_of_flow"], values).fetchone()
    due = sum(
        n for (_, fires, flow), n in past.items() if flow == limit.flow_id and fires < start_s
    )
    return replace(limit, backlog=waiting + due)


def _crowds(
    db: sqlite3.Connection,
    limits: Sequence[FlowLimit],
    start_s: int,
    end_s: int,
    tenant: str | None,
) -> Iterator[Crowd]:
    exceptions = _exceptions(db, limits, start_s, end_s, tenant)
    counted = "count_offsets" if tenant is None else "count_offsets_of_tenant"
    for timetable_id, spec, seconds, schedules in _rows(db, counted, {"tenant": tenant}):
        if timetable_of(spec) is None:
            continue  # Another version's; the planner leaves it out, too.
        crowd = Crowd(timetable_id=timetable_id, trigger=trigger_of(spec, None), counts={})
        common = Counter(dict(zip(seconds, schedules, strict=True)))
        for (live, after_s, until_s, flow_id), counts in exceptions.get(timetable_id, {}).items():
            common.subtract(counts)
            if live:
                yield replace(
                    crowd, counts=counts, after_s=after_s, until_s=until_s, flow_id=flow_id
                )
        if counts := {second: count for second, count in common.items() if count > 0}:
            yield replace(crowd, counts=counts)


_Kind = tuple[int, int | None, int | None, int | None]
"""Whether such schedules fire at all, the bounds of what they owe, and their limited flow."""


def _exceptions(
    db: sqlite3.Connection,
    limits: Sequence[FlowLimit],
    start_s: int,
    end_s: int,
    tenant: str | None,
) -> Mapping[int, Mapping[_Kind, Mapping[int, int]]]:
    """Schedules by second of offset: timetable by timetable, kind by kind."""
    found: defaultdict[int, defaultdict[_Kind, dict[int, int]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    values = {"tenant": tenant, **_span(start_s, end_s), **_flows(limits)}
    for timetable_id, second, *kind, count in _rows(db, "list_offset_exceptions", values):
        live, after_s, until_s, flow_id = kind
        found[timetable_id][live, after_s, until_s, flow_id][second] = count
    return found


def _under_way(
    db: sqlite3.Connection,
    crowds: list[Crowd],
    limits: Sequence[FlowLimit],
    now_ms: int,
    tenant: str | None,
) -> Runs:
    found = Runs()
    reaches: dict[int, tuple[Trigger, int]] = {}
    for crowd in crowds:
        _, reach = reaches.get(crowd.timetable_id, (None, 0))
        reaches[crowd.timetable_id] = crowd.trigger, max(reach, *crowd.counts)
    shared = {"now": now_ms, "tenant": tenant, **_flows(limits)}
    for timetable_id, (trigger, reach) in reaches.items():
        after_ms = now_ms - (reach + 1) * 1000
        for instant in compile_trigger(trigger).between(after_ms, now_ms, OFFSET_SECONDS_MAX + 1):
            values = {"timetable_id": timetable_id, "instant": instant, **shared}
            for fires, flow_id, schedules in _rows(db, "count_under_way", values):
                found[instant // 1000, fires, flow_id] += schedules
    return found


def _whole(
    db: sqlite3.Connection, runs: Runs, now_ms: int, tenant: str | None
) -> Mapping[int, int]:
    """The largest herds of which these runs are to come, with those that have come already."""
    found = Counter[int]()
    for (asked, _, _), count in runs.items():
        if asked * 1000 <= now_ms:
            found[asked] += count
    whole = dict(found.most_common(HERDS_UNDER_WAY_MAX))
    for second in whole:
        values = {"second": second * 1000, "now": now_ms, "tenant": tenant}
        whole[second] += db.execute(SQL["count_due_of_second"], values).fetchone()[0]
    return whole


def _count_offsets(
    rows: Iterable[tuple[int, int, str, int | None]], jitter_seconds: int, counts: "Counter[int]"
) -> None:
    for _, _, public_id, deadline in rows:
        seconds = jitter_seconds if deadline is None else min(jitter_seconds, deadline)
        counts[jitter_offset_ms(public_id, seconds) // 1000] += 1


def _span(start_s: int, end_s: int) -> dict[str, int]:
    return {"start": start_s * 1000, "end": end_s * 1000}


def _flows(limits: Iterable[FlowLimit]) -> dict[str, str]:
    return {"flows": orjson.dumps([limit.flow_id for limit in limits]).decode()}


def _rows(db: sqlite3.Connection, statement: str, values: Mapping[str, Any]) -> list[Any]:
    """The lines of a statement's one text, read."""
    (text,) = db.execute(SQL[statement], values).fetchone()
    return [orjson.loads(line) for line in (text or "").splitlines()]
