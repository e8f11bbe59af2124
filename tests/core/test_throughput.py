"""What a receiver sustained: the seconds that count, and those that say nothing."""

from engine.core.throughput import SECONDS_KEPT, Throughput


def second(throughput: Throughput, number: int, successes: int, *, pressed: bool = True) -> None:
    """One second of successes, closed by the first success of the next."""
    for _ in range(successes):
        throughput.succeed(number * 1_000)
        if pressed:
            throughput.press()
    throughput.succeed((number + 1) * 1_000)


def pressed_twice() -> Throughput:
    throughput = Throughput()
    second(throughput, -1, 120)
    second(throughput, 1, 120)
    return throughput


def test_nothing_is_known_of_a_receiver_that_was_never_pressed() -> None:
    throughput = Throughput()
    second(throughput, 1, 500, pressed=False)
    assert throughput.sustained is None


def test_the_best_of_two_pressed_seconds_is_what_the_receiver_sustains() -> None:
    throughput = Throughput()
    second(throughput, 1, 1)  # The burst began as it ended.
    assert throughput.sustained is None
    second(throughput, 3, 120)
    assert throughput.sustained == 120


def test_a_quiet_second_changes_nothing_and_a_better_one_counts_unpressed() -> None:
    throughput = pressed_twice()
    second(throughput, 3, 10, pressed=False)
    assert throughput.sustained == 120
    second(throughput, 5, 150, pressed=False)
    assert throughput.sustained == 150


def test_a_second_with_a_failure_never_counts() -> None:
    throughput = pressed_twice()
    throughput.succeed(3_000)
    throughput.fail()
    second(throughput, 3, 200)
    assert throughput.sustained == 120


def test_the_best_of_the_last_pressed_seconds_counts_so_that_a_short_one_lowers_nothing() -> None:
    throughput = pressed_twice()
    for number in range(SECONDS_KEPT - 1):
        second(throughput, 3 + 2 * number, 30)
    assert throughput.sustained == 120
    second(throughput, 99, 40)
    assert throughput.sustained == 40
