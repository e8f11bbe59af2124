"""Who may hold one of a few places, when some never let go of theirs."""

from engine.core.turns import Turns


def holding(places, *tenants):
    """Turns in which each of `tenants`, one after the other, has taken all that it may."""
    turns, taken = Turns(places), {}
    for tenant in tenants:
        for number in range(2 * places):
            turns.wait(tenant, f"{tenant}{number}")
        taken[tenant] = sum(1 for _ in iter(turns.take, None))
        for number in range(taken[tenant], 2 * places):
            turns.leave(tenant, f"{tenant}{number}")
    return turns, taken


def test_one_tenant_has_half_of_the_places_and_each_further_one_half_of_the_rest():
    _, taken = holding(64, *"abcdefgh")
    assert list(taken.values()) == [32, 16, 8, 4, 2, 1, 1, 0]


def test_who_holds_nothing_finds_a_place_beside_one_that_lets_go_of_none():
    turns, _ = holding(64, "mallory")
    turns.wait("mallory", "more")
    turns.wait("victim", "name")
    assert turns.take() == ("victim", "name")
    assert turns.take() is None


def test_the_names_of_a_tenant_come_in_the_order_in_which_it_asked():
    turns = Turns(64)
    for name in ("c", "a", "b", "a"):
        turns.wait("t", name)
    assert list(iter(turns.take, None)) == [("t", "c"), ("t", "a"), ("t", "b")]


def test_of_those_who_may_the_one_that_holds_least_is_next():
    turns = Turns(8)
    for number in range(4):
        turns.wait("many", f"m{number}")
    assert [turns.take() for _ in range(2)] == [("many", "m0"), ("many", "m1")]
    for number in range(2):
        turns.wait("few", f"f{number}")
    assert list(iter(turns.take, None)) == [("few", "f0"), ("few", "f1"), ("many", "m2")]


def test_a_place_that_is_given_back_is_taken_again():
    turns, _ = holding(2, "t")
    for name in "abc":
        turns.wait("t", name)
        assert turns.take() is None
        turns.give_back("t")
        assert turns.take() == ("t", name)


def test_who_left_the_line_gets_no_turn():
    turns = Turns(8)
    turns.wait("t", "a")
    turns.wait("t", "b")
    turns.leave("t", "a")
    assert turns.take() == ("t", "b")
    assert turns.take() is None
