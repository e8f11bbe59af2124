"""Every state with every event, written down a second time as a grid; the page drawn from it."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.core.lifecycle import TERMINAL, TRANSITIONS, UNFINISHED, Event, next_state
from engine.core.model import State

ROOT = Path(__file__).parents[2]

GRID = """
         planned     attempting  retry_wait  succeeded   failed      skipped  cancelled
claim    attempting  -           attempting  -           -           -        -
succeed  -           succeeded   -           -           -           -        -
retry    -           retry_wait  -           -           -           -        -
give_up  -           failed      -           -           -           -        -
recover  -           retry_wait  -           -           -           -        -
skip     skipped     -           -           -           -           -        -
expire   failed      -           failed      -           -           -        -
cancel   cancelled   cancelled   cancelled   -           -           -        -
replay   -           -           -           retry_wait  retry_wait  -        -
"""

STATES, *ROWS = [line.split() for line in GRID.strip().splitlines()]
CELLS = [
    (state, row[0], None if cell == "-" else cell)
    for row in ROWS
    for state, cell in zip(STATES, row[1:], strict=True)
]


def test_the_grid_is_the_full_product() -> None:
    assert len(CELLS) == len(State) * len(Event)
    assert {(state, event) for state, event, _ in CELLS} == {(s, e) for s in State for e in Event}


@pytest.mark.parametrize(("state", "event", "reached"), CELLS)
def test_each_event_moves_each_state_as_specified(
    state: str, event: str, reached: str | None
) -> None:
    assert next_state(State(state), Event(event)) == reached


def test_a_terminal_state_is_left_by_a_replay_only() -> None:
    assert {"succeeded", "failed", "skipped", "cancelled"} == TERMINAL
    assert {event for state, event in TRANSITIONS if state in TERMINAL} == {"replay"}


def test_every_unfinished_state_can_reach_success() -> None:
    assert {"planned", "attempting", "retry_wait"} == UNFINISHED
    reach = {State.SUCCEEDED}
    for _ in State:
        reach |= {state for (state, _), reached in TRANSITIONS.items() if reached in reach}
    assert reach >= UNFINISHED


def test_the_page_is_drawn_from_this_table() -> None:
    drawn = subprocess.run(
        [sys.executable, ROOT / "scripts" / "diagram"], check=True, capture_output=True, text=True
    )
    assert drawn.stdout == (ROOT / "docs" / "lifecycle.md").read_text(), (
        "run scripts/diagram > docs/lifecycle.md"
    )
