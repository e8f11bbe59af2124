"""What becomes of a due run while another run of its schedule is active (SPEC §4, §8)."""

import pytest

from engine.core.admission import Admission, admit_beside, waits_in_line
from engine.core.model import CatchUp, Overlap


@pytest.mark.parametrize(
    ("trigger", "catch_up", "waits"),
    [
        ("schedule", "latest", False),
        ("schedule", "all", False),
        ("catch_up", "latest", False),
        ("catch_up", "all", True),
        ("manual", "latest", True),
        ("backfill", "skip", True),
    ],
)
def test_runs_that_were_asked_for_wait_in_line(
    trigger: str, catch_up: CatchUp, waits: bool
) -> None:
    assert waits_in_line(trigger, catch_up) is waits


@pytest.mark.parametrize(
    ("overlap", "trigger", "admission"),
    [
        ("allow", "schedule", Admission.CLAIM),
        ("allow", "manual", Admission.CLAIM),
        ("skip", "schedule", Admission.OVERLAP),
        ("skip", "catch_up", Admission.OVERLAP),
        ("skip", "manual", Admission.WAIT),
        ("skip", "backfill", Admission.WAIT),
        ("buffer_one", "schedule", Admission.WAIT),
        ("buffer_one", "manual", Admission.WAIT),
    ],
)
def test_beside_an_active_run_the_policy_decides(
    overlap: Overlap, trigger: str, admission: Admission
) -> None:
    assert admit_beside(overlap, trigger, "latest") is admission
