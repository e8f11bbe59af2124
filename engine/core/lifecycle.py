"""The life of a run: one table of moves (SPEC §5).

The engine moves a run only by `next_state`; `scripts/diagram` draws docs/lifecycle.md from this
table and a CHECK in the schema repeats its states. What is not in the table cannot happen. Why a
run ended is a column, `reason`, and not a state.
"""

from collections.abc import Mapping
from enum import StrEnum

from engine.core.model import State


class Event(StrEnum):
    """What moves a run on."""

    CLAIM = "claim"  # It is due, has a token and a slot; its attempt is being journaled.
    SUCCEED = "succeed"  # The attempt got a 2xx.
    RETRY = "retry"  # The attempt's outcome can pass, and what was granted is not used up.
    GIVE_UP = "give_up"  # The outcome is final, or attempts, age or deadline are used up.
    RECOVER = "recover"  # Found attempting at start-up: the attempt was cut off by a crash.
    SKIP = "skip"  # A policy says not to run it: overlap, superseded, paused, catch_up.
    EXPIRE = "expire"  # The deadline went by before an attempt could start.
    CANCEL = "cancel"  # Deleted, cancelled, or its instant vanished by an edit.
    REPLAY = "replay"  # Somebody asks for an ended run again: same key, same bytes.


# A cancelled run whose attempt is under way stays `attempting` until that attempt ends, so that
# its outcome is journaled; the move from there is made then.
TRANSITIONS: Mapping[tuple[State, Event], State] = {
    (State.PLANNED, Event.CLAIM): State.ATTEMPTING,
    (State.PLANNED, Event.SKIP): State.SKIPPED,
    (State.PLANNED, Event.EXPIRE): State.FAILED,
    (State.PLANNED, Event.CANCEL): State.CANCELLED,
    (State.ATTEMPTING, Event.SUCCEED): State.SUCCEEDED,
    (State.ATTEMPTING, Event.RETRY): State.RETRY_WAIT,
    (State.ATTEMPTING, Event.GIVE_UP): State.FAILED,
    (State.ATTEMPTING, Event.RECOVER): State.RETRY_WAIT,
    (State.ATTEMPTING, Event.CANCEL): State.CANCELLED,
    (State.RETRY_WAIT, Event.CLAIM): State.ATTEMPTING,
    (State.RETRY_WAIT, Event.EXPIRE): State.FAILED,
    (State.RETRY_WAIT, Event.CANCEL): State.CANCELLED,
    (State.SUCCEEDED, Event.REPLAY): State.RETRY_WAIT,
    (State.FAILED, Event.REPLAY): State.RETRY_WAIT,
}

UNFINISHED = frozenset({State.PLANNED, State.ATTEMPTING, State.RETRY_WAIT})
"""States that the engine still has work with: what start-up reads back."""

TERMINAL = frozenset(State) - UNFINISHED
"""States in which a run has its one disposition; only a replay leads out."""


def next_state(state: State, event: Event) -> State | None:
    """Where `event` takes a run that is in `state`; None: it does not happen there."""
    return TRANSITIONS.get((state, event))
