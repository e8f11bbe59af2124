"""Revisions: what a change may ask of the one that is there (RFC 9110 §13, `If-Match`).

What is written has a revision that counts from 1 and grows with each change. A condition is one of
them, several of which one must be current, or one of the three below; it is judged in the
transaction that makes the change.
"""

from engine.core.errors import PreconditionFailed

Condition = int | frozenset[int] | None
"""What a change asks; None asks for nothing."""

NOTHING = 0
"""It must not be there: `If-None-Match: *`."""

ANYTHING = -1
"""It must be there, whatever its revision: `If-Match: *`."""

NEVER = -2
"""A tag that no revision ever had: nothing is right."""


def check_revision(if_match: Condition, current: int | None) -> None:
    """Raise `PreconditionFailed` unless the condition holds.

    `current`: 0 when it is not there, None when it is and nobody can read which it is.
    """
    asked = if_match if isinstance(if_match, frozenset) else {if_match}
    if None in asked or current in asked or (ANYTHING in asked and current != NOTHING):
        return
    if current == NOTHING:
        raise PreconditionFailed("it is not there: send the request without If-Match", None)
    if NOTHING in asked:
        raise PreconditionFailed("it is there already", current)
    shown = "" if current is None else f"; the current revision is {current}: read it again"
    raise PreconditionFailed(f"If-Match names another revision{shown}", current)
