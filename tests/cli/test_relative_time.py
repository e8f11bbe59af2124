"""Instants from now."""

import pytest

from engine.cli.relative_time import from_now

NOW = 1_000_000_000_000


@pytest.mark.parametrize(
    ("distance_ms", "text"),
    [
        (0, "now"),
        (999, "now"),
        (-999, "now"),
        (1_000, "in 1 s"),
        (119_999, "in 119 s"),
        (120_000, "in 2 min"),
        (-7_199_999, "119 min ago"),
        (7_200_000, "in 2 h"),
        (-48 * 3_600_000, "2 days ago"),
        (400 * 86_400_000, "in 400 days"),
    ],
)
def test_a_distance_is_said_in_a_unit_that_fits(distance_ms: int, text: str):
    assert from_now(NOW + distance_ms, NOW) == text
