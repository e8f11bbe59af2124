"""How much of a wait a spell explains: exactly, as long as its corners are kept."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.core.spells import CORNERS_MAX, Spells


def spells(*corners: int) -> Spells:
    """Begun at the first, ended at the second, and so on."""
    found = Spells()
    for place, at_ms in enumerate(corners):
        (found.end if place % 2 else found.begin)(at_ms)
    return found


def test_without_a_spell_nothing_is_explained() -> None:
    assert Spells().within(0, 1_000) == 0


def test_a_wait_has_the_parts_of_spells_that_fall_into_it() -> None:
    found = spells(100, 200, 300, 400)
    assert found.within(0, 500) == 200
    assert found.within(150, 350) == 100
    assert found.within(200, 300) == 0
    assert found.within(120, 180) == 60
    assert found.within(400, 900) == 0


def test_a_spell_that_lasts_counts_until_the_end_of_the_wait() -> None:
    assert spells(100).within(40, 160) == 60
    assert spells(100).within(130, 160) == 30


def test_a_spell_is_as_old_as_its_beginning() -> None:
    found = spells(100, 200, 300)
    assert found.lasting_ms(450) == 150
    found.end(500)
    assert found.lasting_ms(510) == 0


def test_to_begin_or_end_twice_changes_nothing() -> None:
    found = spells(100)
    found.begin(150)
    found.end(200)
    found.end(250)
    assert found.within(0, 300) == 100


def test_a_wait_that_ends_before_it_begins_has_nothing() -> None:
    assert spells(100).within(300, 200) == 0


def test_of_many_spells_the_latest_are_exact_and_the_whole_is_right() -> None:
    corners = [at_ms for k in range(10_000) for at_ms in (10 * k, 10 * k + 3)]
    found = spells(*corners)
    assert found.within(0, 100_000) == 30_000
    assert found.within(99_900, 100_000) == 30
    assert found.within(99_983, 99_990) == 0
    assert abs(found.within(50_000, 100_000) - 15_000) <= 3
    assert len(found._at_ms) <= CORNERS_MAX


@given(
    st.lists(st.integers(0, 10_000), max_size=200).map(sorted),
    st.lists(st.integers(-100, 11_000), min_size=3, max_size=3).map(sorted),
)
def test_parts_are_never_negative_nor_longer_than_the_wait_and_add_up(
    corners: list[int], cuts: list[int]
) -> None:
    found = spells(*corners)
    first, second = (found.within(low, high) for low, high in pairwise(cuts))
    assert 0 <= first <= cuts[1] - cuts[0]
    assert 0 <= second <= cuts[2] - cuts[1]
    assert first + second == found.within(cuts[0], cuts[2])
