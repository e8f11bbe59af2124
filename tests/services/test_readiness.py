"""What `/readyz` says first."""

from dataclasses import dataclass

import pytest

from engine.services.readiness import checks_of

STALLED = "nothing has been planned for 12 s: see to the load of the machine"


@dataclass(frozen=True, slots=True)
class Plan:
    trouble: str | None

    def stall(self, now_ms: int) -> str | None:
        return STALLED


@dataclass(frozen=True, slots=True)
class Writing:
    trouble: str | None
    is_full: bool


@pytest.mark.parametrize(
    ("clock", "writing", "is_full"),
    [
        (None, "the disk is full", True),
        (None, "another process holds the database", False),
        ("the clock is a day behind", None, False),
    ],
)
def test_what_keeps_the_planner_from_its_work_is_said_before_that_it_does_none(
    clock, writing, is_full
):
    checks = checks_of("running", Plan(clock), Writing(writing, is_full), now_ms=0)
    assert list(filter(None, checks.values())) == [clock or writing, STALLED]
