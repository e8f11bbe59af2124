"""The concurrency limit, against a model: Little's law, a queue, a loop that can be late."""

from dataclasses import dataclass

import pytest

from engine.core.scaling import LAG_MS_HIGH, LAG_MS_LOW, LIMIT_MIN, Load, Scaling

LOOK_SECONDS = 0.5


@dataclass
class Model:
    """Runs arrive at `demand` a second and each takes `latency` seconds of a slot."""

    scaling: Scaling
    demand: float
    latency: float
    lag_ms: float = 0
    waiting: float = 0
    served: float = 0

    def run(self, seconds: float) -> list[int]:
        """The limit after each look."""
        return [self._look() for _ in range(round(seconds / LOOK_SECONDS))]

    def _look(self) -> int:
        able = self.scaling.limit / self.latency * LOOK_SECONDS
        self.waiting += self.demand * LOOK_SECONDS
        ended = min(able, self.waiting)
        self.waiting -= ended
        self.served = ended / LOOK_SECONDS
        return self.scaling.see(
            Load(
                seconds=LOOK_SECONDS,
                waits=self.waiting > 0,
                under_way=round(self.served * self.latency),
                ended=round(ended),
                lag_ms=self.lag_ms,
            )
        )


def test_it_grows_until_slow_receivers_are_served_as_fast_as_runs_come() -> None:
    model = Model(Scaling(4_000), demand=1_000, latency=1.0)
    limits = model.run(60)
    assert limits[:4] == [512, 768, 1_152, 1_728]
    assert model.served == 1_000
    assert model.waiting == 0


def test_fast_receivers_get_no_more_however_many_wait() -> None:
    model = Model(Scaling(4_000), demand=20_000, latency=0.05)
    assert set(model.run(60)) == {LIMIT_MIN}
    assert model.waiting > 0


def test_receivers_that_never_answer_do_not_keep_it_small() -> None:
    scaling = Scaling(2_000)
    for _ in range(5):
        load = Load(seconds=0.5, waits=True, under_way=scaling.limit, ended=0, lag_ms=0)
        scaling.see(load)
    assert scaling.limit == 2_000


def test_slots_that_have_just_become_full_say_nothing_of_receivers_yet() -> None:
    scaling = Scaling(2_000)
    full = Load(seconds=0.5, waits=True, under_way=512, ended=0, lag_ms=0)
    idle = Load(seconds=0.5, waits=False, under_way=0, ended=512, lag_ms=0)
    assert [scaling.see(load) for load in (full, idle, full, idle)] == [512] * 4
    assert [scaling.see(load) for load in (full, full)] == [512, 768]


def test_runs_that_wait_for_something_else_do_not_make_it_grow() -> None:
    scaling = Scaling(2_000)
    load = Load(seconds=0.5, waits=False, under_way=512, ended=0, lag_ms=0)
    assert {scaling.see(load) for _ in range(100)} == {512}


@pytest.mark.parametrize(
    ("demand", "latency"), [(1_000, 1.0), (600, 2.0), (3_000, 0.3), (100, 1.0)]
)
def test_under_a_constant_load_it_settles_and_moves_no_more(demand: float, latency: float) -> None:
    model = Model(Scaling(5_000), demand=demand, latency=latency)
    model.run(240)
    assert len(set(model.run(600))) == 1
    assert model.served == pytest.approx(demand)


@pytest.mark.parametrize(("ceiling", "least"), [(900, LIMIT_MIN), (10, 10)])
def test_it_never_leaves_its_bounds(ceiling: int, least: int) -> None:
    model = Model(Scaling(ceiling), demand=500, latency=10.0)
    assert max(model.run(60)) == ceiling
    model.lag_ms = 500
    assert min(model.run(60)) == least


def test_a_late_loop_shrinks_it_and_one_without_time_to_spare_keeps_it() -> None:
    model = Model(Scaling(4_000), demand=1_000, latency=1.0)
    model.run(3)
    grown = model.scaling.limit
    model.lag_ms = LAG_MS_HIGH
    assert model.run(1) == [grown * 3 // 4, grown * 3 // 4 * 3 // 4]
    model.lag_ms, model.demand = LAG_MS_LOW + 1, 4_000
    assert len(set(model.run(10))) == 1
    model.lag_ms = LAG_MS_LOW
    assert model.run(0.5) == [model.scaling.limit] != [grown]


def test_what_is_not_used_for_a_minute_is_given_up() -> None:
    model = Model(Scaling(4_000), demand=1_000, latency=1.0)
    model.run(240)
    settled = model.scaling.limit
    model.demand = 10
    assert set(model.run(59)) == {settled}
    assert model.run(30)[-1] == LIMIT_MIN
