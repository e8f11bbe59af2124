"""How many nodes the work needs."""

import pytest

from engine.core.nodes import desired_nodes


@pytest.mark.parametrize(
    ("rate_needed", "backlog", "nodes"),
    [
        (0, 0, 1),
        (1_000, 0, 1),
        (1_001, 0, 2),  # The forecast asks.
        (0, 15_000, 1),
        (0, 15_001, 2),  # The backlog asks: 1,000 a second for 15 s.
        (2_500, 20_000, 3),  # The larger answer counts.
        (2_500, 60_000, 4),
    ],
)
def test_the_larger_of_what_is_to_come_and_what_waits(
    rate_needed: int, backlog: int, nodes: int
) -> None:
    assert desired_nodes(rate_needed=rate_needed, backlog=backlog, rate=1_000) == nodes
