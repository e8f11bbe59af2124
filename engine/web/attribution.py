"""`/v1/herd/attribution`: who ate the objective. And where the time of one run went."""

from typing import TypedDict

from aiohttp import web

from engine.core.attribution import OBJECTIVE, Attribution
from engine.core.delay_shares import Delays
from engine.core.fields import Fields
from engine.core.forecast import HERD_DELAY_LIMIT_MS
from engine.core.identity import format_instant
from engine.core.members import InstantText
from engine.web.json_bodies import json_response
from engine.web.operations import Answer, operation
from engine.web.ports import engine_of
from engine.web.queries import FROM, TO, query_of

SPAN_MS_DEFAULT = 3_600_000
SPAN_MS_MAX = 86_400_000
"""What an attribution spans: a day, as a forecast; there is a herd an hour, and a longer span hides
which one it was."""

SHARE_DIGITS = 4


class _Delays(TypedDict):
    sum_ms: int
    p50_ms: int
    p99_ms: int


class ComponentDocument(_Delays):
    """What one part of the way took; `share` is of `total_ms`, `ate_objective` marks lateness."""

    name: str
    ate_objective: bool
    share: float


class LatenessDocument(_Delays):
    """First attempt - `fire_after`."""


AttributionDocument = TypedDict(
    "AttributionDocument",
    {
        "from": InstantText,
        "to": InstantText,
        "runs": int,
        "complete": bool,
        "objective_ms": int,
        "sentence": str,
        "lateness": LatenessDocument,
        "total_ms": int,
        "components": list[ComponentDocument],
    },
)


@operation(query=(FROM, TO), answers={200: Answer(AttributionDocument)})
async def get_attribution(request: web.Request) -> web.Response:
    """The delays of scheduled runs with `from <= scheduled_for < to`, by default the last hour's.

    The shares are of `total_ms`; `ate_objective` marks the components that make up the lateness.
    """
    engine = engine_of(request)
    with query_of(request) as query:
        from_ms, to_ms = _read_span(query, engine.clock.now_ms())
    shares = await engine.attributions.shares(from_ms, to_ms)
    return json_response(
        {
            "from": format_instant(from_ms),
            "to": format_instant(to_ms),
            "runs": shares.runs,
            "complete": shares.complete,
            "objective_ms": HERD_DELAY_LIMIT_MS,
            "sentence": shares.sentence,
            "lateness": _document(shares.lateness),
            "total_ms": shares.total_ms,
            "components": [
                {
                    "name": name,
                    "ate_objective": name in OBJECTIVE,
                    "share": round(delays.sum_ms / (shares.total_ms or 1), SHARE_DIGITS),
                    **_document(delays),
                }
                for name, delays in shares.components.items()
            ],
        }
    )


def attribution_document(attribution: Attribution | None) -> dict[str, int] | None:
    """Where a run's time went, as the API answers with it."""
    if attribution is None:
        return None
    components = {f"{name}_ms": ms for name, ms in attribution._asdict().items()}
    return {"total_ms": sum(attribution), **components}


def _document(delays: Delays) -> dict[str, int]:
    return {"sum_ms": delays.sum_ms, "p50_ms": delays.p50_ms, "p99_ms": delays.p99_ms}


def _read_span(query: Fields, now_ms: int) -> tuple[int, int]:
    from_ms, to_ms = query.instant(FROM), query.instant(TO)
    if to_ms is None:
        to_ms = now_ms if from_ms is None else min(now_ms, from_ms + SPAN_MS_MAX)
    if from_ms is None:
        from_ms = max(0, to_ms - SPAN_MS_DEFAULT)
    if not query.sound("from", "to"):
        return from_ms, to_ms
    if from_ms >= now_ms:
        query.refuse("from", f"write an instant that is past; it is {format_instant(now_ms)} now")
    elif not from_ms < to_ms <= from_ms + SPAN_MS_MAX:
        query.refuse(
            "to",
            f"write an instant after {format_instant(from_ms)} and not after "
            f"{format_instant(from_ms + SPAN_MS_MAX)}: a span has 24 hours at most",
        )
    return from_ms, to_ms
