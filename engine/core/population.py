"""How many runs each second will ask for: demand by `scheduled_for`, planned by `fire_after`.

A million schedules share a few thousand timetables, so a curve is made from timetables: each has a
histogram of offsets by whole second, and the planned curve is the sum of that histogram laid down
at each of its occurrences. Cron arithmetic is done once per timetable, and what remains is adding:
450,000 occurrences of 60 offsets each are 27 million additions, too many for a loop in Python.

So a histogram is one whole number. Each offset has a lane of 32 bits, and adding two such numbers
adds all of their lanes at once (Lamport, "Multiple byte processing with full-word instructions",
CACM 18(8), 1975). A lane cannot run over while fewer than 2**32 runs fire in one second. Sums are
kept per instant first, since timetables meet at the same instants, then laid into blocks, whose
lanes are read out as the curve. All of it is exact, and the longest step that holds the
interpreter is the sum of two curves, 3 ms for a day: an event loop beside it keeps its
appointments.

Instants here are whole seconds since the epoch: occurrences of cron and interval have no others.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.core.flow_limits import FlowLimit
from engine.core.model import Trigger
from engine.core.timetable import compile_trigger

OFFSET_SECONDS_MAX = 900
"""Offsets are below this (SPEC §4: `jitter_seconds` is 900 at most)."""

HERD_SECONDS = 60
"""Runs that are scheduled for the first minute of an hour are the :00 herd's, as in the metrics."""

LANE_BITS = 32

BLOCK_SECONDS = 512
"""Seconds laid down in one whole number: longer ones cost more an addition, shorter ones overlap
more. 256 to 1,024 are equally good."""


Dues = tuple[int, int | None, int | None]
"""A timetable's id, and the bounds of what is owed of it: after < scheduled_for <= until."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Schedules of one timetable that owe the same occurrences: after < scheduled_for <= until.

    `counts` says how many schedules have each offset, in whole seconds. `flow_id` is that of a flow
    whose limit can bind (`flow_limits`); schedules of all other flows are counted together.
    """

    timetable_id: int
    trigger: Trigger
    counts: Mapping[int, int]
    after_s: int | None = None
    until_s: int | None = None
    flow_id: int | None = None

    @property
    def kind(self) -> tuple[int, int | None]:
        """What deadlines are counted by: the timetable, and the flow where it is a limited one."""
        return self.timetable_id, self.flow_id

    @property
    def is_sharp(self) -> bool:
        """Whether these schedules have no jitter, as far as whole seconds tell: without it there is
        no phase either (SPEC §2), and they are due in the same millisecond."""
        return self.counts.keys() == {0}

    @property
    def schedules(self) -> int:
        return sum(self.counts.values())

    @property
    def dues(self) -> Dues:
        """What decides which occurrences these schedules owe."""
        return self.timetable_id, self.after_s, self.until_s

    @property
    def bounded(self) -> bool:
        """Whether these schedules begin or end at some time."""
        return (self.after_s, self.until_s) != (None, None)

    def occurrences(self, start_s: int, end_s: int, *, limit: int | None = None) -> list[int]:
        """Those with start <= second < end that the crowd owes; the first `limit` of them."""
        after_s, until_s = self._clip(start_s, end_s)
        if after_s >= until_s:
            return []
        timetable = compile_trigger(self.trigger)
        most = until_s - after_s if limit is None else limit
        instants = timetable.between(after_s * 1000, until_s * 1000, most)
        return [ms // 1000 for ms in instants]

    def count(self, start_s: int, end_s: int) -> int:
        """How many those are, without listing them."""
        after_s, until_s = self._clip(start_s, end_s)
        if after_s >= until_s:
            return 0
        return compile_trigger(self.trigger).count(after_s * 1000, until_s * 1000)

    def _clip(self, start_s: int, end_s: int) -> tuple[int, int]:
        """What the crowd's bounds leave of a span, as after < second <= until."""
        after_s = start_s - 1 if self.after_s is None else max(start_s - 1, self.after_s)
        until_s = end_s - 1 if self.until_s is None else min(end_s - 1, self.until_s)
        return after_s, until_s


Runs = Counter[tuple[int, int, int | None]]
"""Runs by the seconds of both of their instants and by limited flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Singles:
    """Runs that no timetable brings, by second: one-shots, and occurrences that are past already.

    `herd` are those planned ones that were scheduled for the first minute of an hour; `planned`
    has the others. `flows` has those of both that are a limited flow's, by flow.
    """

    demand: Mapping[int, int] = field(default_factory=dict)
    planned: Mapping[int, int] = field(default_factory=dict)
    herd: Mapping[int, int] = field(default_factory=dict)
    flows: Mapping[int, Mapping[int, int]] = field(default_factory=dict)


def singles(runs: Runs) -> Singles:
    """Runs by what their curves ask of them."""
    demand, planned, herd = Counter[int](), Counter[int](), Counter[int]()
    flows: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for (asked, fires, flow_id), count in runs.items():
        demand[asked] += count
        (herd if is_herd(asked) else planned)[fires] += count
        if flow_id is not None:
            flows[flow_id][fires] += count
    return Singles(demand=demand, planned=planned, herd=herd, flows=flows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All that will fire, the runs that are due already (but those of `limits`, which have them
    themselves), the limits of flows that can bind, and how many more such flows were left out.

    `under_way`: by second, all runs of the herds that are past and of which some are to come."""

    crowds: tuple[Crowd, ...] = ()
    singles: Singles = Singles()
    backlog: int = 0
    limits: tuple[FlowLimit, ...] = ()
    unlimited: int = 0
    under_way: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Schedules of a sample that owe the same, and have tenant and URL in common."""

    dues: Dues
    tenant: str
    url: str
    schedules: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Runs in each second from `start_s` on. `herd` is the part of `planned` that :00 asked for,
    `sharp` the part that is due when the second begins and not spread over it; `flows` has the
    parts that are limited flows', by flow."""

    start_s: int
    demand: list[int]
    planned: list[int]
    herd: list[int]
    sharp: list[int]
    flows: Mapping[int, list[int]] = field(default_factory=dict)


def draw(crowds: Iterable[Crowd], singles: Singles, start_s: int, end_s: int) -> Outlook:
    """The curves of the seconds start <= second < end."""
    length = end_s - start_s
    demand, sharp = [0] * length, [0] * length
    herd_sums: dict[int, int] = {}
    other_sums: dict[int, int] = {}
    sums, flow_sums, sharp_sums = _sum_by_instant(crowds, start_s, end_s)
    for second, lanes in sums.items():
        demand[second - start_s] = lanes & _LANE
        (herd_sums if is_herd(second) else other_sums)[second - start_s] = lanes >> LANE_BITS
    herd = _lay_out(herd_sums, length)
    planned = _lay_out(other_sums, length)
    _add(demand, start_s, singles.demand)
    _add(planned, start_s, singles.planned)
    _add(herd, start_s, singles.herd)
    _add(sharp, start_s, sharp_sums)
    flows = {flow_id: _lay_out(own, length) for flow_id, own in flow_sums.items()}
    for flow_id, runs in singles.flows.items():
        _add(flows.setdefault(flow_id, [0] * length), start_s, runs)
    return Outlook(
        start_s=start_s,
        demand=demand,
        planned=plus(planned, herd),
        herd=herd,
        sharp=sharp,
        flows=flows,
    )


def pack(counts: Mapping[int, int]) -> int:
    """A histogram of offsets as one whole number, to be added to others."""
    lanes = 0
    for offset, count in counts.items():
        assert 0 <= offset < OFFSET_SECONDS_MAX, "an offset beyond the largest jitter"
        lanes += count << LANE_BITS * offset
    return lanes


def unpack(lanes: int) -> tuple[int, ...]:
    """The runs of each offset, from 0 on, of a sum of histograms."""
    count = -(-lanes.bit_length() // LANE_BITS)
    return struct.unpack(f"<{count}I", lanes.to_bytes(count * LANE_BITS // 8, "little"))


def demand_by_flow(crowds: Iterable[Crowd], start_s: int, end_s: int) -> Mapping[int, list[int]]:
    """The demand of each limited flow alone, by second."""
    demand: defaultdict[int, list[int]] = defaultdict(lambda: [0] * (end_s - start_s))
    for same in _alike(crowd for crowd in crowds if crowd.flow_id is not None):
        instants = same[0].occurrences(start_s, end_s)
        for crowd in same:
            own, schedules = demand[crowd.flow_id or 0], crowd.schedules
            for second in instants:
                own[second - start_s] += schedules
    return demand


def is_herd(second: int) -> bool:
    """Whether an occurrence belongs to the :00 herd."""
    return second % 3600 < HERD_SECONDS


def plus(a: Iterable[int], b: Iterable[int]) -> list[int]:
    """The sum of two curves."""
    # In the interpreter's own loop, where other threads get their turn; `map` would not stop.
    return [x + y for x, y in zip(a, b, strict=True)]


def less(a: Iterable[int], b: Iterable[int]) -> list[int]:
    """What is left of a curve without a part of it."""
    return [x - y for x, y in zip(a, b, strict=True)]


def minus(a: Outlook, b: Outlook) -> Outlook:
    """What is left of `a` without its part `b`."""
    parts = {flow_id: less(a.flows[flow_id], part) for flow_id, part in b.flows.items()}
    return Outlook(
        start_s=a.start_s,
        demand=less(a.demand, b.demand),
        planned=less(a.planned, b.planned),
        herd=less(a.herd, b.herd),
        sharp=less(a.sharp, b.sharp),
        flows={**a.flows, **parts},
    )


_Sums = defaultdict[int, int]
"""Histograms by instant."""


def _sum_by_instant(
    crowds: Iterable[Crowd], start_s: int, end_s: int
) -> tuple[_Sums, dict[int, _Sums], _Sums]:
    """Of all crowds by occurrence, of each limited flow's by place in the span, and the runs of
    crowds without jitter.

    Of the first the lowest lane is the number of schedules, and offset 0 is above it.
    """
    sums, of_flow = _Sums(int), defaultdict[int, _Sums](lambda: _Sums(int))
    sharp = _Sums(int)
    for same in _alike(crowds):
        instants = same[0].occurrences(start_s, end_s)
        lanes = sum(_lanes(crowd.counts) for crowd in same)
        for second in instants:
            sums[second] += lanes
        if at_once := sum(crowd.schedules for crowd in same if crowd.is_sharp):
            for second in instants:
                sharp[second] += at_once
        for crowd in same:
            if crowd.flow_id is not None:
                own, lanes = of_flow[crowd.flow_id], pack(crowd.counts)
                for second in instants:
                    own[second - start_s] += lanes
    return sums, of_flow, sharp


def _alike(crowds: Iterable[Crowd]) -> Iterable[list[Crowd]]:
    """Crowds that owe the same occurrences, together: those are then computed once."""
    alike: defaultdict[object, list[Crowd]] = defaultdict(list)
    for crowd in crowds:
        alike[crowd.trigger, crowd.after_s, crowd.until_s].append(crowd)
    return alike.values()


def _lanes(counts: Mapping[int, int]) -> int:
    return (pack(counts) << LANE_BITS) + sum(counts.values())


def _lay_out(sums: Mapping[int, int], length: int) -> list[int]:
    """The planned curve of histograms by place; what falls behind its end is left out."""
    blocks: defaultdict[int, int] = defaultdict(int)
    for place, lanes in sums.items():
        block, rest = divmod(place, BLOCK_SECONDS)
        blocks[block] += lanes << LANE_BITS * rest
    curve = [0] * length
    for block, lanes in blocks.items():
        begin = block * BLOCK_SECONDS
        for place, count in zip(range(begin, length), unpack(lanes), strict=False):
            curve[place] += count
    return curve


def _add(curve: list[int], start_s: int, runs: Mapping[int, int]) -> None:
    for second, count in runs.items():
        if 0 <= second - start_s < len(curve):
            curve[second - start_s] += count


_LANE = 2**LANE_BITS - 1
