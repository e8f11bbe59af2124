"""Who gives up how much history, when all together hold more than there may be."""

import random

import pytest

from engine.core.history_shares import excesses


@pytest.mark.parametrize(
    ("held", "bound", "gives_up"),
    [
        ({}, 10, {}),
        ({"a": 10}, 10, {}),
        ({"a": 3, "b": 7}, 10, {}),
        ({"a": 12}, 10, {"a": 2}),
        ({"loud": 90, "quiet": 20}, 100, {"loud": 10}),
        ({"loud": 900, "quiet": 50}, 100, {"loud": 850}),
        ({"loud": 900, "quiet": 51}, 100, {"loud": 850, "quiet": 1}),
        ({"a": 40, "b": 60, "c": 10}, 90, {"b": 20}),
        ({"a": 50, "b": 60, "c": 10}, 91, {"a": 9, "b": 20}),
        ({"a": 5, "b": 5}, 0, {"a": 5, "b": 5}),
    ],
)
def test_who_holds_more_than_an_equal_share_gives_it_up(
    held: dict[str, int], bound: int, gives_up: dict[str, int]
) -> None:
    assert excesses(held, bound) == gives_up


def test_what_is_left_is_the_bound_and_shared_max_min() -> None:
    """Nobody gives up anything while somebody keeps more than one run beyond what it keeps."""
    generator = random.Random(20_261_130)
    for _ in range(500):
        held = {
            f"t{i}": generator.choice([1, 5, 40, 1_000]) for i in range(generator.randint(1, 9))
        }
        bound = generator.randint(0, 1_500)
        given = excesses(held, bound)
        kept = {tenant: runs - given.get(tenant, 0) for tenant, runs in held.items()}
        assert sum(kept.values()) == min(bound, sum(held.values()))
        for tenant in given:
            assert kept[tenant] >= max(kept.values()) - 1
