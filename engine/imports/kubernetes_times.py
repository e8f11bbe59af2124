"""The times of a CronJob in our terms: `schedule` and `timeZone` as Kubernetes reads them.

Its parser (robfig/cron v3, ParseStandard) has five fields and descriptors, and differs from crond's
in one rule. Both let day and weekday match together when one of them is a star; but to crond `*/2`
is a star, since it begins with one, and to Kubernetes it is a restriction, as any stepped range is,
while a list with a star in it is a star. Such fields are written as what they mean.
"""

import re
from typing import Any

from engine.core.cron_fields import read_fields
from engine.core.cron_text import NICKNAMES
from engine.core.timetable import read_cron
from engine.core.trigger_document import EVERY_SECONDS_MAX
from engine.imports.shell import NotPlain

_DAY, _WEEKDAY = 2, 4
_RANGES = {_DAY: "1-31", _WEEKDAY: "0-6"}
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.DOTALL)
_EVERY = re.compile(r"@every\s+((?:[0-9]+(?:\.[0-9]+)?(?:ms|us|ns|h|m|s))+)")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|us|ns|h|m|s)")
_SECONDS = {"h": 3_600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def read_times(
    schedule: object, time_zone: object, *, timezone: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The trigger's members, and what means something else. `timezone`: where none is named.

    Raises NotPlain and Invalid.
    """
    if schedule is None:
        raise NotPlain("it has no schedule")
    if not isinstance(schedule, str):
        raise NotPlain(f"schedule is {schedule!r} and no text; put it in quotes")
    if time_zone is not None and not isinstance(time_zone, str):
        raise NotPlain(f"timeZone is {time_zone!r} and no text; put it in quotes")
    text, zone = schedule.strip(), time_zone
    if found := _ZONE.fullmatch(text):
        if zone:
            raise NotPlain("it names a zone in schedule and in timeZone; Kubernetes refuses that")
        zone, text = found[1], found[2]
    asked = (_ZONE_NOTE,) if found else ()
    if text.startswith("@every"):
        return {"every": _every(text)}, (*asked, _EVERY_NOTE)
    read = text if text.startswith("@") else _as_kubernetes_reads(text)
    notes = [*asked]
    if read != text and "?" not in text:
        notes.append(f"{text} is written {read}, as Kubernetes means it")
    read_in = timezone if zone is None else zone
    trigger = read_cron(read, schedule_id=None, timezone=read_in)
    _check_kubernetes_reads(read)
    date = read_fields(trigger.resolved).date
    if date.day_forms or date.weekday_forms:
        raise NotPlain("Kubernetes knows no L, W and # and never ran this")
    if zone is None:
        notes.append(
            f"no timeZone: read in {timezone}, which the controller's may not be; see --tz"
        )
    elif zone not in ("UTC", "Etc/UTC"):
        notes.append(
            "where clocks change, Kubernetes leaves out what the gap swallows and repeats what"
            " comes twice; here either runs once (dst_gap, dst_fold)"
        )
    return {"cron": read, "timezone": read_in}, tuple(notes)


_ZONE_NOTE = (
    "a zone in schedule: Kubernetes takes it in timeZone alone since 1.29; it is taken over"
)
_EVERY_NOTE = "@every counts from 1970, not from when it was made"


def _check_kubernetes_reads(text: str) -> None:
    """What crond reads and Kubernetes does not: so this never ran."""
    if text.startswith("@"):
        if text not in NICKNAMES:
            raise NotPlain(f"Kubernetes knows {text.lower()} in small letters alone")
        return
    for item in text.split()[_WEEKDAY].split(","):
        ends = item.partition("/")[0].lower().split("-")
        if "7" in ends:
            raise NotPlain(f"weekday {item}: Kubernetes has 0 to 6 and never ran this; Sunday is 0")
        if ends[1:] == ["sun"] and ends[0] not in ("0", "sun"):
            rest = "sat" if ends[0] == "sat" else f"{ends[0]}-sat"
            raise NotPlain(
                f"weekday {item}: Kubernetes begins a week with Sunday and never ran this; write"
                f" {rest},sun"
            )


def _every(text: str) -> int:
    found = _EVERY.fullmatch(text)
    if found is None:
        raise NotPlain(f"{text} has no duration like 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(found[1]))
    if not 1 <= int(seconds) <= EVERY_SECONDS_MAX:
        raise NotPlain(f"{text} is not between a second and a year")
    return int(seconds)


def _as_kubernetes_reads(text: str) -> str:
    fields = text.replace("?", "*").split()
    if len(fields) != 5:
        raise NotPlain(f"it has {len(fields)} fields, and Kubernetes reads five")
    stars = {index: _is_star(fields[index]) for index in _RANGES}
    for index, whole in _RANGES.items():
        if stars[index]:
            fields[index] = "*"
        elif not any(stars.values()):
            parts = fields[index].split(",")
            fields[index] = ",".join(re.sub(r"^\*/", f"{whole}/", part) for part in parts)
    return " ".join(fields)


def _is_star(field: str) -> bool:
    return not {"*", "*/1"}.isdisjoint(field.split(","))
