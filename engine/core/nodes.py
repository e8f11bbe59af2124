"""How many nodes like this one the work needs (SPEC §8, `scheduler_desired_nodes`).

Two answers, and the larger one counts. *Feed-forward*: the forecast knows the coming hour's runs,
and so the least rate that keeps the service level over it; nodes can be there before the herd.
*Feedback*: what waits already, whatever made it, should leave within the service level. What waits
for a receiver (a paused flow, an open breaker) is no reason for nodes and is not to be counted.
"""

from math import ceil

from engine.core.amplification import SLO_SECONDS


def desired_nodes(*, rate_needed: int, backlog: int, rate: int) -> int:
    """At least 1. Rates in attempts a second; `rate` is one node's, `backlog` in runs."""
    return max(1, ceil(rate_needed / rate), ceil(backlog / (rate * SLO_SECONDS)))
