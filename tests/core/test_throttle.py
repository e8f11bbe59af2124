"""A throttled rate: halved at once, felt up again, and never in doubt about which."""

from engine.core.throttle import Throttle


def raised(throttle: Throttle, *, from_s: int, until_s: int) -> list[int]:
    """The rate after each second with a success at its begin."""
    rates = []
    for second in range(from_s, until_s):
        throttle.succeed(second * 1_000)
        rates.append(throttle.rate)
    return rates


def test_it_grows_by_a_tenth_a_second_from_half_of_what_was_refused() -> None:
    throttle = Throttle(100, 2_000)
    assert throttle.rate == 50
    assert raised(throttle, from_s=2, until_s=8) == [50, 55, 60, 66, 72, 79]


def test_one_success_is_as_good_as_many() -> None:
    throttle = Throttle(100, 0)
    for at_ms in range(1_000, 2_000, 10):
        throttle.succeed(at_ms)
    assert throttle.rate == 55


def test_answers_to_one_burst_halve_once() -> None:
    throttle = Throttle(100, 0)
    throttle.refuse(100, 999)
    assert throttle.rate == 50
    throttle.refuse(50, 1_000)
    assert throttle.rate == 25


def test_a_refusal_is_heard_however_many_successes_are_beside_it() -> None:
    throttle = Throttle(100, 0)
    throttle.succeed(1_000)
    throttle.refuse(55, 1_001)
    assert throttle.rate == 27
    throttle.succeed(2_000)  # A millisecond less than a second after it.
    assert throttle.rate == 27


def test_after_an_outage_the_rate_doubles_up_to_half_of_what_was_done_before_it() -> None:
    throttle = Throttle(400, 0)
    for second in range(1, 12):
        throttle.refuse(throttle.rate, second * 1_000)
    assert throttle.rate == 1
    rates = raised(throttle, from_s=12, until_s=23)
    assert rates == [2, 4, 8, 16, 32, 64, 128, 200, 220, 242, 266]


def test_a_refusal_on_the_way_up_is_a_new_threshold() -> None:
    throttle = Throttle(400, 0)
    for second in range(1, 12):
        throttle.refuse(throttle.rate, second * 1_000)
    assert raised(throttle, from_s=12, until_s=18)[-1] == 64
    throttle.refuse(64, 18_000)
    assert throttle.rate == 32
    assert raised(throttle, from_s=19, until_s=21) == [35, 38]
