"""Delay attribution: where a run's time went, in whole milliseconds that add up (SPEC §9).

The time from `scheduled_for` to the end of the last response is cut at the instants that the run
passed on its way. Each is first brought between the one before and the end; the components are then
the differences of neighbours. So none is negative and their sum is the whole, by construction:
whatever the clock did meanwhile, and whatever is not known.

    scheduled_for . jitter . fire_after . planning . planned . held . due ...
    ... held, queue, bucket, flow, journal . first attempt starts . retry ...
    ... last attempt starts . connect . first_byte . body . last response ends

The wait between due and the first attempt is divided by what kept the run from its claim, in this
order: its schedule's line, its flow's breaker or pause (held), its flow's limits (flow), the bucket
without a token, the commit of its claim (journal). What none of them explains it spent in the
queue: others had their turn, or the engine was busy. Of two causes at once the earlier counts.

What counts as what, where more than one answer would do:

* Everything from the first attempt's start to the last one's is `retry`, whatever a retry waited
  for. So planning, held, queue, bucket, flow and journal are exactly the lateness of the first
  attempt, which is what the service level is about (`OBJECTIVE`).
* A run is attributed up to its last attempt that has ended: one that waits for a retry until then,
  one that expired or was cancelled in between likewise. Without such an attempt there is nothing to
  attribute.
* A catch-up run was planned when the engine returned: the downtime is `planning`, its place in the
  spread `held`. A backfill is the same with a person in place of the downtime. A manual run has no
  jitter and is planned at once.
* An attempt that a crash broke off has no times of its own: its wait is `queue`, and it is `retry`.
* An attempt that never reached the receiver is all `connect`, one without a response `first_byte`.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from engine.core.model import Attempt, Run, Timing

OBJECTIVE = ("planning", "held", "queue", "bucket", "flow", "journal")
"""The components of the first attempt's lateness, `first attempt - fire_after` (SPEC §8)."""


class Attribution(NamedTuple):
    """A run's delay by component, in milliseconds, in the order of its way."""

    jitter: int
    planning: int
    held: int
    queue: int
    bucket: int
    flow: int
    journal: int
    retry: int
    connect: int
    first_byte: int
    body: int


class Leg(NamedTuple):
    """An attempt as far as time is concerned. `timing` None: it was not recorded."""

    started_ms: int
    ended_ms: int
    timing: Timing | None


def attribute(
    *,
    scheduled_for_ms: int,
    fire_after_ms: int,
    planned_at_ms: int | None,
    first: Leg,
    last: Leg,
) -> Attribution:
    """The delay of a run from its first attempt and its last one that ended; often they are one.

    The sum is `last.ended_ms - scheduled_for_ms`, or 0 when the clock went back behind that.
    """
    waits = first.timing or Timing(waited_ms=first.started_ms - fire_after_ms)
    sends = last.timing or Timing(first_byte_ms=last.ended_ms - last.started_ms)
    end_ms = max(scheduled_for_ms, last.ended_ms)
    instants = (
        scheduled_for_ms,
        fire_after_ms,
        planned_at_ms or 0,
        first.started_ms - waits.waited_ms,
        first.started_ms,
        last.started_ms,
        last.started_ms + sends.connect_ms,
        last.started_ms + sends.first_byte_ms,
        end_ms,
    )
    in_order = list(accumulate((min(instant, end_ms) for instant in instants), max))
    jitter, planning, spread, wait, retry, connect, first_byte, body = (
        later - earlier for earlier, later in pairwise(in_order)
    )
    # Planned when it was due already, it was held before that by what is called planning here.
    held_ms = waits.held_ms - (in_order[_DUE] - instants[_DUE])
    held, flow, bucket, journal, queue = _share(
        wait, held_ms, waits.flow_ms, waits.bucket_ms, waits.journal_ms
    )
    return Attribution(
        jitter=jitter,
        planning=planning,
        held=spread + held,
        queue=queue,
        bucket=bucket,
        flow=flow,
        journal=journal,
        retry=retry,
        connect=connect,
        first_byte=first_byte,
        body=body,
    )


def attribute_run(run: Run, attempts: Sequence[Attempt]) -> Attribution | None:
    """The delay of a run with all of its attempts; None while none of them has ended."""
    legs = [Leg(a.started_at_ms, a.ended_at_ms or a.started_at_ms, a.timing) for a in attempts]
    ended = [leg for leg, a in zip(legs, attempts, strict=True) if a.ended_at_ms is not None]
    if not ended:
        return None
    return attribute(
        scheduled_for_ms=run.scheduled_for_ms,
        fire_after_ms=run.fire_after_ms,
        planned_at_ms=run.planned_at_ms,
        first=legs[0],
        last=ended[-1],
    )


_DUE = 3
"""The place of the due instant among those that cut a run's time."""


def _share(total: int, *claims: int) -> list[int]:
    """Each claim as far as what the earlier ones left of `total` goes, and the rest."""
    shares = []
    for claim in claims:
        shares.append(max(0, min(claim, total)))
        total -= shares[-1]
    return [*shares, total]
