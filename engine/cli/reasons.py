"""Why an occurrence is when it is: the zone's clocks, the hash behind the offset, the bounds."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from zoneinfo import ZoneInfo

from engine.core.identity import jitter_offset_ms, parse_instant
from engine.core.model import CronTrigger, Definition
from engine.core.timetable import compile_trigger


def about_offset(definition: Definition) -> str:
    """The arithmetic of SPEC §2, each step with its number."""
    jitter, source = definition.jitter_seconds, definition.jitter_source
    if jitter == 0:
        return f"0 s: jitter_seconds is 0 ({source})"
    digest = sha256(definition.schedule_id.encode()).digest()
    seconds, phase_ms = divmod(definition.offset_ms, 1000)
    steps = [f"sha256(id)[0:8] = 0x{digest[:8].hex()}, mod {jitter} = {seconds} s"]
    if definition.offset_ms == jitter_offset_ms(definition.schedule_id, jitter):
        steps.append(f"[8:12] = 0x{digest[8:12].hex()}, mod 1000 = {phase_ms} ms")
    return f"{seconds}.{phase_ms:03} s of {jitter} s ({source}): {'; '.join(steps)}"


def about_clocks(trigger: CronTrigger, scheduled_for_ms: int) -> Iterator[str]:
    """What daylight saving has to do with this occurrence; nothing on most days."""
    zone = ZoneInfo(trigger.timezone)
    wall = datetime.fromtimestamp(scheduled_for_ms // 1000, zone)
    natural = compile_trigger(replace(trigger, dst_gap="skip"))
    if natural.until(scheduled_for_ms) != scheduled_for_ms:
        before = datetime.fromtimestamp(scheduled_for_ms // 1000 - 1, zone) + timedelta(seconds=1)
        yield (
            f"clocks go from {before:%H:%M} to {wall:%H:%M} on {wall:%d %B %Y}: the planned time"
            " does not exist that day, so the run is where the gap ends (dst_gap: shift)"
        )
    other = wall.replace(fold=1 - wall.fold)
    if other.utcoffset() != wall.utcoffset():
        which = "second" if wall.fold else "first"
        yield (
            f"{wall:%H:%M} happens twice on {wall:%d %B %Y}; this is the {which} time"
            f" (dst_fold: {trigger.dst_fold})"
        )


def about_bounds(document: dict[str, Any], scheduled_for_ms: int) -> Iterator[str]:
    """What keeps this occurrence from running, as far as the schedule itself says."""
    if scheduled_for_ms <= parse_instant(document["created_at"]):
        yield f"not owed: the schedule was made at {document['created_at']}"
    start_at, end_at = document.get("start_at"), document.get("end_at")
    if start_at is not None and scheduled_for_ms < parse_instant(start_at):
        yield f"not owed: before start_at, {start_at}"
    if end_at is not None and scheduled_for_ms > parse_instant(end_at):
        yield f"not owed: after end_at, {end_at}"
    until = document.get("paused_until")
    resting = until is None or scheduled_for_ms <= parse_instant(until)
    if document.get("paused") and resting:
        why = f": {document['pause_reason']}" if document.get("pause_reason") else ""
        yield f"the schedule is paused{f' until {until}' if until else ''}{why}"
