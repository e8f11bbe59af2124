"""Fairness: who is served next, as runs served."""

from collections import Counter

from engine.core.fairness import Class, FairQueue
from engine.core.flow import Flow
from engine.core.model import Outcome

SUCCESS = Outcome(name="success", status=200)
DOWN = Outcome(name="connect_error")


def fill(queue: FairQueue[str], flow: Flow, count: int, rank: Class = Class.FRESH) -> None:
    for index in range(count):
        queue.push(f"{flow.flow_id}-{rank.name}-{index}", index, flow, rank=rank, priority=1)


def flow(number: int, tenant: str = "t", parallelism: int = 10_000) -> Flow:
    return Flow(number, tenant, parallelism=parallelism)


def test_within_a_flow_the_earliest_due_is_first() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    only = flow(1)
    for name, due_ms in (("c", 30), ("a", 10), ("b", 20), ("a2", 10)):
        queue.push(name, due_ms, only, rank=Class.FRESH, priority=1)
    assert [item for item, _ in queue.take(0, 10)] == ["a", "a2", "b", "c"]
    assert len(queue) == 0


def test_tenants_take_turns_however_much_one_has() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    fill(queue, flow(1, "loud"), 1_000)
    fill(queue, flow(2, "quiet"), 3)
    served = [f.tenant for _, f in queue.take(0, 8)]
    assert served == ["loud", "quiet"] * 3 + ["loud", "loud"]


def test_flows_of_a_tenant_take_turns_inside_its_turn() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    for number in (1, 2, 3):
        fill(queue, flow(number, "many"), 100)
    fill(queue, flow(4, "one"), 100)
    served = Counter(f.flow_id for _, f in queue.take(0, 120))
    assert served == {1: 20, 2: 20, 3: 20, 4: 60}


def test_ten_tenants_equally_backlogged_are_served_equally() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    for number in range(10):
        fill(queue, flow(number, f"t{number}"), 1_000)
    shares = Counter(f.tenant for _, f in queue.take(0, 2_000)).values()
    jain = sum(shares) ** 2 / (len(shares) * sum(x * x for x in shares))
    assert jain == 1.0


def test_priority_goes_before_the_turn_of_flows() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    first, second = flow(1), flow(2)
    queue.push("low", 0, first, rank=Class.FRESH, priority=3)
    queue.push("high", 9, second, rank=Class.FRESH, priority=0)
    assert [item for item, _ in queue.take(0, 2)] == ["high", "low"]


def test_classes_have_their_guaranteed_shares() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    only = flow(1)
    for rank in Class:
        fill(queue, only, 1_000, rank)
    served = Counter(item.split("-")[1] for item, _ in queue.take(0, 250))
    # A fifth for retries, a fifth of the other four fifths for catch-up.
    assert served == {"FRESH": 160, "RETRY": 50, "CATCH_UP": 40}


def test_a_class_alone_gets_everything() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    fill(queue, flow(1), 100, Class.CATCH_UP)
    assert len(queue.take(0, 100)) == 100


def test_a_flow_at_its_parallelism_waits_for_an_end_and_holds_up_nobody() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    narrow, wide = flow(1, parallelism=2), flow(2)
    fill(queue, narrow, 5)
    fill(queue, wide, 5)
    served = Counter(f.flow_id for _, f in queue.take(0, 10))
    assert served == {1: 2, 2: 5}
    assert not queue.runnable(0)
    queue.end("x", narrow, SUCCESS, 1)
    assert [f.flow_id for _, f in queue.take(1, 10)] == [1]


def test_a_flow_with_a_rate_goes_on_when_its_tokens_come() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    slow = Flow(1, "t", rate=10)
    fill(queue, slow, 5)
    assert queue.take(0, 5) == []
    assert queue.next_alarm_ms() == 100
    assert len(queue.take(100, 5)) == 1
    assert queue.take(150, 5) == []
    assert len(queue.take(200, 5)) == 1


def test_a_run_that_is_not_started_after_all_costs_its_flow_and_tenant_no_token() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    queue.limit("t", 5, 0)
    slow = Flow(1, "t", rate=10)
    fill(queue, slow, 5)
    assert queue.take(200, 5) == []  # The tenant's token is there, the flow's bucket begins empty.
    for _ in range(4):
        [(item, _)] = queue.take(300, 5)
        queue.end(item, slow, None, 300)
    assert len(queue.take(300, 5)) == 1


def test_a_paused_flow_waits_until_it_is_unblocked() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    paused = Flow(1, "t", paused=True)
    fill(queue, paused, 2)
    assert queue.take(0, 5) == []
    assert queue.next_alarm_ms() is None
    paused.paused = False
    queue.unblock(1)
    assert len(queue.take(0, 5)) == 2


def test_a_noisy_tenant_holds_no_more_than_its_share_while_others_wait() -> None:
    queue: FairQueue[str] = FairQueue(slots=10)
    noisy, other = flow(1, "noisy"), flow(2, "other")
    fill(queue, noisy, 100)
    assert len(queue.take(0, 8)) == 8
    fill(queue, other, 100)
    assert [f.tenant for _, f in queue.take(0, 2)] == ["other", "other"]
    queue.end("x", noisy, SUCCESS, 1)
    assert [f.tenant for _, f in queue.take(1, 1)] == ["other"]


def test_a_stranger_whose_receivers_hang_leaves_an_eighth_of_the_slots_to_whoever_comes() -> None:
    queue: FairQueue[str] = FairQueue(slots=64, strangers=True)
    for number in range(4):
        fill(queue, flow(number, "hanging"), 20)
    assert len(queue.take(0, 64)) == 56
    fill(queue, flow(9, "other"), 20)
    assert [f.tenant for _, f in queue.take(0, 64)] == ["other"] * 7


def test_tenants_that_trust_each_other_may_use_every_slot() -> None:
    queue: FairQueue[str] = FairQueue(slots=64)
    for number in range(4):
        fill(queue, flow(number, "busy"), 20)
    assert len(queue.take(0, 64)) == 64


def test_an_open_breaker_lets_one_probe_through_at_a_time() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    down = flow(1)
    fill(queue, down, 50)
    for _ in range(10):
        queue.take(0, 1)
        queue.end("x", down, DOWN, 0)
    assert queue.take(1, 10) == []
    assert queue.next_alarm_ms() == 5_000
    ((probe, _),) = queue.take(5_000, 10)
    queue.end(probe, down, DOWN, 5_010)
    assert queue.take(15_009, 10) == []
    ((probe, _),) = queue.take(15_010, 10)
    assert queue.end(probe, down, SUCCESS, 15_020)
    assert len(queue.take(15_020, 10)) == 10


def test_another_tenants_failures_at_the_same_host_open_nothing() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    mine, theirs = flow(1, "me"), flow(2, "them")
    fill(queue, theirs, 20)
    for _ in range(10):
        queue.take(0, 1)
        queue.end("x", theirs, DOWN, 0)
    fill(queue, mine, 1)
    assert [f.tenant for _, f in queue.take(1, 10)] == ["me"]


def test_a_run_that_never_started_gives_its_place_back() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    narrow = flow(1, parallelism=1)
    fill(queue, narrow, 2)
    queue.take(0, 2)
    queue.end("x", narrow, None, 0)
    assert len(queue.take(0, 2)) == 1


def test_a_flow_at_its_limit_is_so_from_its_turn_until_a_run_of_it_has_ended() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    narrow = flow(1, parallelism=1)
    fill(queue, narrow, 3)
    [(item, _)] = queue.take(100, 3)
    queue.end(item, narrow, SUCCESS, 140)
    assert narrow.at_limit.within(0, 1_000) == 40
    assert narrow.shut.within(0, 1_000) == 0


def test_a_flow_out_of_tokens_is_at_its_limit_until_the_next_one_is_there() -> None:
    queue: FairQueue[str] = FairQueue(slots=100)
    slow = Flow(1, "t", rate=10)
    fill(queue, slow, 3)
    queue.take(0, 3)  # Its bucket begins empty.
    assert queue.runnable(100)
    assert slow.at_limit.within(0, 1_000) == 100


def test_a_tenants_own_rate_holds_over_all_of_its_flows_and_classes() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    queue.limit("slow", 2, 0)
    for number, rank in enumerate(Class):
        fill(queue, flow(number, "slow"), 10, rank)
    fill(queue, flow(9, "free"), 5)
    assert [f.tenant for _, f in queue.take(0, 100)] == ["free"] * 5
    assert not queue.runnable(0)
    assert (queue.next_alarm_ms(), queue.blocked) == (500, 30)
    started = [at_ms for at_ms in range(0, 5_001, 100) for _ in queue.take(at_ms, 100)]
    assert started == [500 * count for count in range(1, 11)]


def test_a_rate_that_is_lifted_or_raised_holds_at_once() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    queue.limit("slow", 1, 0)
    fill(queue, flow(1, "slow"), 30)
    assert queue.take(0, 100) == []
    queue.limit("slow", 100, 0)
    assert len(queue.take(100, 100)) == 10
    queue.limit("slow", None, 100)
    assert len(queue.take(100, 100)) == 20
    assert queue.next_alarm_ms() is None


def test_a_tenant_without_a_token_keeps_nobody_from_a_guaranteed_share() -> None:
    queue: FairQueue[str] = FairQueue(slots=10_000)
    queue.limit("slow", 1, 0)
    fill(queue, flow(1, "slow"), 50, Class.RETRY)
    fill(queue, flow(2, "free"), 50, Class.FRESH)
    fill(queue, flow(3, "free"), 50, Class.CATCH_UP)
    served = Counter(item.split("-")[1] for item, _ in queue.take(0, 50))
    # Until the first turn of retries nobody knows that theirs cannot be taken.
    assert served == {"FRESH": 41, "CATCH_UP": 9}
