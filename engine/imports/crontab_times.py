"""The times of a crontab: the grammar is crond's own, less what no crond ever ran.

The engine reads more than crond (calendar forms), and crond knows its nicknames in small letters
alone. A line that crond refused is no job that somebody misses; what is imported of it would be a
new one. Of two forms it depends on the crond, so they are taken over and doubted. `fri-sun` ends
with Sunday to cronie alone. `n/m` goes from n to the field's end to some; Debian's cron and cronie
refuse it, and old ones read n alone.

Sources: `get_range` and `get_number` of cronie, Debian's cron and FreeBSD's; crontab(5) of each
"""

import re
from collections.abc import Iterator

from engine.core.cron_fields import read_fields
from engine.core.cron_text import NICKNAMES
from engine.core.timetable import read_cron
from engine.imports.shell import NotPlain


def check_times(cron: str, *, timezone: str) -> None:
    """Raises Invalid for what is no expression, NotPlain for what crond does not read or keep."""
    if cron == "@reboot":
        raise NotPlain("@reboot is no instant; start it with the machine")
    if _INTERVAL.fullmatch(cron):
        raise NotPlain(f"{cron} is an interval; put a schedule with every, in seconds")
    # Without an id, so that an H is refused: it means nothing in a crontab.
    date = read_fields(read_cron(cron, schedule_id=None, timezone=timezone).resolved).date
    if date.day_forms or date.weekday_forms or "?" in cron:
        raise NotPlain(
            "crond knows no L, W, # or ? and never ran this; if it is meant, put a schedule with it"
        )
    if cron.startswith("@") and cron not in NICKNAMES:
        raise NotPlain(f"crond knows {cron.lower()} in small letters alone")


def time_doubts(cron: str) -> Iterator[str]:
    """What one crond reads and another does not."""
    if _STEPPED.search(cron):
        yield "n/m is read as from n to the end, by m; many a crond refuses it, or reads n alone"
    if _TO_SUNDAY.search(cron):
        yield "a range to sun ends the week, as in cronie; to other cronds sun is 0, before all"


# FreeBSD's @every_minute and @600; Go's @every.
_INTERVAL = re.compile(r"@(?:every.*|[0-9]+)")
_TO_SUNDAY = re.compile(r"(?<!sun)(?<!0)-sun(?![^\s/,])", re.IGNORECASE)
_STEPPED = re.compile(r"(?:^|[\s,])\w+/")
