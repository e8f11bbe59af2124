"""Revisions: what a change may ask of the one that is there (RFC 9110 §13, `If-Match`).

What is written has a revision that counts from 1 and grows with each change. A condition is one of
them, or one of the three below, and it is judged in the transaction that makes the change.
"""

from engine.core.errors import PreconditionFailed

NOTHING = 0
"""It must not be there: `If-None-Match: *`."""

ANYTHING = -1
"""It must be there, whatever its revision: `If-Match: *`."""

NEVER = -2
"""A tag that no revision ever had: nothing is right."""


def check_revision(if_match: int | None, current: int | None) -> None:
    """Raise `PreconditionFailed` unless the condition holds; None asks for nothing.

    `current`: 0 when it is not there, None when it is and nobody can read which it is.
    """
    if if_match in (None, current) or (if_match == ANYTHING and current != NOTHING):
        return
    if current == NOTHING:
        raise PreconditionFailed("it is not there: send the request without If-Match", None)
    if if_match == NOTHING:
        raise PreconditionFailed("it is there already", current)
    shown = "" if current is None else f"; the current revision is {current}: read it again"
    raise PreconditionFailed(f"If-Match names another revision{shown}", current)
