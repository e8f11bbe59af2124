"""Edits: what a change of a schedule does to the runs that are already in sight (SPEC §6).

An edit takes effect at once. The planner, however, has written rows up to its watermark, and
occurrences between `scheduled_for` and `fire_after` belong to the schedule as it was. So the
transaction that stores an edit also settles, by arithmetic on the old and the new schedule:

* an occurrence whose nominal time has come (`scheduled_for <= now`) fires once, at its old time,
  whatever became of its schedule; the planner may not have come so far yet;
* a future one that both owe is moved to its new time in place;
* one that only the old schedule owed is cancelled;
* one that only the new schedule owes is planned, if the planner has already passed its time.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.model import Occurrence
from engine.core.owed import Owing

SETTLED_MAX = 100_000
"""Occurrences one edit may plan: a day of seconds, after the clock went back by a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Rows to insert, rows to move (their new times), and instants whose rows are cancelled."""

    insert: tuple[Occurrence, ...]
    move: tuple[Occurrence, ...]
    cancel: tuple[int, ...]


def settle(
    old: Owing | None,
    new: Owing | None,
    planned: Iterable[Occurrence],
    *,
    now_ms: int,
    settled_ms: int,
    horizon_ms: int,
) -> Settlement:
    """What to do with the runs in sight when `old` becomes `new`.

    `old` None: there was nothing, or it was paused; `new` None: it is paused or deleted now.
    `planned` are the schedule's rows that were planned and never attempted. By `fire_after`: up to
    `settled_ms` the past is planned or judged; `horizon_ms` is how far the planner has come.
    """
    rows = {row.scheduled_for_ms: row for row in planned}
    begun = _begun(old, new, min(settled_ms, now_ms), now_ms)
    insert = [row for row in begun if row.scheduled_for_ms not in rows]
    if new is None:
        return Settlement(insert=tuple(insert), move=(), cancel=())
    future = [row for row in rows.values() if row.scheduled_for_ms > now_ms]
    after_ms = now_ms
    if old is None or old.owed_after_ms != new.owed_after_ms:
        after_ms = min(now_ms, new.owed_after_ms)  # A one-shot just past is owed from its birth.
    insert += [
        new.fires(instant)
        for instant in new.between(after_ms, horizon_ms - new.offset_ms, SETTLED_MAX)
        if instant not in rows
    ]
    stay = [row for row in future if new.owes(row.scheduled_for_ms)]
    return Settlement(
        insert=tuple(insert),
        move=tuple(moved for row in stay if (moved := new.fires(row.scheduled_for_ms)) != row),
        cancel=tuple(row.scheduled_for_ms for row in future if row not in stay),
    )


def _begun(old: Owing | None, new: Owing | None, settled_ms: int, now_ms: int) -> list[Occurrence]:
    """Occurrences past their nominal time that only the old schedule would fire at their time."""
    if old is None:
        return []
    begun = old.between(settled_ms - old.offset_ms, now_ms, SETTLED_MAX)
    unchanged = new is not None and new.offset_ms == old.offset_ms
    return [
        old.fires(instant) for instant in begun if not (unchanged and new and new.owes(instant))
    ]
