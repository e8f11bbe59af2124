"""Spreading a backlog again after a shock: over how long, and when each of its runs (SPEC §8).

What piled up behind a closed door, or while nobody was there, is a herd of its own: its runs have
lost the instants that kept them apart. They get new ones, drawn from key, attempt and epoch, so
that the same shock has the same instants, and a run that is spread twice does not land beside the
same neighbours again.
"""

from engine.core.amplification import SLO_SECONDS
from engine.core.identity import unit_u53
from engine.core.missed import spread_ms

OVERDUE_MS = SLO_SECONDS * 1_000
"""A run that has waited for longer when the engine returns is backlog, and is spread again. What is
less late can still meet the service level: after a quick restart it goes at once."""


def window_ms(backlog: int, rate: int, *, beside: int, bucket_rate: int) -> int:
    """Over how long one flow's `backlog` is spread, at half of `rate` a second.

    The bucket is everybody's: with `beside` runs of other flows spread at the same time, all of
    them together take half of it.
    """
    return max(spread_ms(backlog, rate), spread_ms(backlog + beside, bucket_rate))


def due_again_ms(
    key: str, attempt: int, epoch: int, *, now_ms: int, window_ms: int, ends_ms: int | None
) -> int:
    """When a run of the backlog is due again; `ends_ms`: its deadline, None without one.

    A deadline is worth more than an even spread: its run is due within half of what is left of it.
    """
    if ends_ms is not None:
        window_ms = min(window_ms, max(0, ends_ms - now_ms) // 2)
    return now_ms + 1 + (window_ms * unit_u53(key, attempt, str(epoch)) >> 53)
