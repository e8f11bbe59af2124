"""A schedule as a JSON document (SPEC §4): read with every fault named, written back, patched.

Reading and writing are inverse: `read_schedule(write_schedule(s, now))` gives the definition of `s`
and its pause, and a document that came from the API can be sent back as it is. Of what the engine
adds, `id` and `tenant` say whose document it is: where they are another's it is refused, so that
nothing is stored under a name that it does not have. The rest (`next`, `revision`, ...) follows
from what is stored and is ignored; null means absent everywhere.

Two members are shown resolved and still know where they came from. `jitter_seconds` always holds
when it is read; `jitter_source: default` beside it says that a number equal to the default was not
chosen, so that it follows the trigger later on. And a Content-Type that follows from the kind of
body is not shown at all.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from engine.core.errors import Fault, Invalid
from engine.core.fields import Fields
from engine.core.identity import format_instant, jitter_offset_ms, schedule_id
from engine.core.model import (
    AtTrigger,
    CronTrigger,
    Definition,
    Draft,
    JitterSource,
    Pause,
    Schedule,
)
from engine.core.owed import owing
from engine.core.policy_document import (
    read_labels,
    read_pause,
    read_retry,
    write_retry,
)
from engine.core.schedule_members import (
    CATCH_UP,
    CATCH_UP_WINDOW_SECONDS,
    DEADLINE_SECONDS,
    DELETE_AFTER_COMPLETION,
    END_AT,
    FLOW_KEY,
    JITTER_SECONDS,
    MAX_RUNS,
    NAME_RULE,
    OVERLAP,
    PAUSE_AFTER_FAILURES,
    PRIORITY,
    SCHEDULE,
    START_AT,
    is_name,
)
from engine.core.target_document import BODY_KINDS, read_target, write_target
from engine.core.timetable import default_jitter
from engine.core.trigger_document import (
    COMPANIONS,
    SHARED_CRONS_MAX,
    TRIGGER_FIELDS,
    read_trigger,
    write_trigger,
)


def read_schedule(
    document: object,
    *,
    tenant: str,
    name: str | None = None,
    subsecond: bool = True,
    inproc: bool = False,
) -> Draft:
    """The draft that `document` describes. Raises Invalid with every fault.

    `name`: what the address says; None when the document must name itself. `subsecond`: the
    setting `jitter.subsecond`. `inproc`: the target may be a handler in the engine's process.
    """
    faults: list[Fault] = []
    known, ignored = SCHEDULE.names, SCHEDULE.ignored
    fields = Fields(document, pointer="", known=known, ignored=ignored, faults=faults)
    name = _read_name(fields, name)
    identity = schedule_id(tenant, name)
    if fields.sound("name"):
        _check_whose(fields, tenant=tenant, identity=identity)
    trigger = read_trigger(fields, identity, faults)
    deadline_seconds = fields.integer(DEADLINE_SECONDS)
    default = 0 if trigger is None else _default_jitter(trigger, deadline_seconds)
    jitter_seconds, jitter_source = _read_jitter(fields, default)
    definition = Definition(
        tenant=tenant,
        name=name,
        schedule_id=identity,
        trigger=trigger or AtTrigger(at_ms=0),
        target=read_target(fields.raw("target"), faults, inproc=inproc),
        labels=read_labels(fields, faults),
        start_at_ms=fields.instant(START_AT),
        end_at_ms=fields.instant(END_AT),
        max_runs=fields.integer(MAX_RUNS),
        jitter_seconds=jitter_seconds,
        jitter_source=jitter_source,
        offset_ms=jitter_offset_ms(identity, jitter_seconds, subsecond=subsecond),
        deadline_seconds=deadline_seconds,
        overlap=fields.choice(OVERLAP),
        catch_up=fields.choice(CATCH_UP),
        catch_up_window_seconds=fields.integer(CATCH_UP_WINDOW_SECONDS),
        retry=read_retry(fields.raw("retry"), faults),
        flow_key=fields.text(FLOW_KEY),
        priority=fields.integer(PRIORITY),
        delete_after_completion=fields.flag(DELETE_AFTER_COMPLETION),
        pause_after_failures=fields.integer(PAUSE_AFTER_FAILURES),
    )
    paused, pause = read_pause(fields)
    _check_together(fields, definition, triggered=trigger is not None)
    if faults:
        raise Invalid(*faults)
    return Draft(definition=definition, paused=paused, pause=pause)


def write_schedule(schedule: Schedule, now_ms: int) -> dict[str, Any]:
    """The document that the API answers with; `next` is the first run that fires after `now_ms`."""
    definition = schedule.definition
    added: dict[str, Any] = {"id": definition.schedule_id, "tenant": definition.tenant}
    document = added | write_definition(definition, schedule.pause)
    if isinstance(definition.trigger, CronTrigger):
        document["cron_resolved"] = definition.trigger.resolved
    return document | {
        "jitter_seconds": definition.jitter_seconds,
        "jitter_source": definition.jitter_source,
        "offset_ms": definition.offset_ms,
        "next": _next(schedule, now_ms),
        "revision": schedule.revision,
        "created_at": format_instant(schedule.created_at_ms),
        "updated_at": format_instant(schedule.updated_at_ms),
        "owed_after": format_instant(schedule.owed_after_ms),
    }


def write_definition(definition: Definition, pause: Pause | None) -> dict[str, Any]:
    """What a tenant writes, every member of it; null where there is nothing to say."""
    chosen = definition.jitter_source == "explicit"
    return {
        "name": definition.name,
        "labels": dict(definition.labels),
        **write_trigger(definition.trigger),
        "start_at": _instant(definition.start_at_ms),
        "end_at": _instant(definition.end_at_ms),
        "max_runs": definition.max_runs,
        "jitter_seconds": definition.jitter_seconds if chosen else None,
        "deadline_seconds": definition.deadline_seconds,
        "overlap": definition.overlap,
        "catch_up": definition.catch_up,
        "catch_up_window_seconds": definition.catch_up_window_seconds,
        "paused": pause is not None,
        "pause_reason": None if pause is None else pause.reason,
        "paused_until": None if pause is None else _instant(pause.until_ms),
        "target": write_target(definition.target),
        "retry": write_retry(definition.retry),
        "flow_key": definition.flow_key,
        "priority": definition.priority,
        "delete_after_completion": definition.delete_after_completion,
        "pause_after_failures": definition.pause_after_failures,
    }


def patch_schedule(schedule: Schedule, patch: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored with `patch` merged in (RFC 7396), for `read_schedule` to read.

    Beyond the RFC: a patch that names another trigger or another kind of body replaces the one
    that was there, companions included, and one that ends a pause drops its reason and its end.
    So nobody has to send null for what the patch makes meaningless.
    """
    document = write_definition(schedule.definition, schedule.pause)
    if "paused" in patch and patch["paused"] is not True:
        document |= {"pause_reason": None, "paused_until": None}
    _drop_replaced(document, patch, {*COMPANIONS}, TRIGGER_FIELDS)
    target = patch.get("target")
    if isinstance(target, dict):
        _drop_replaced(document["target"], target, {*BODY_KINDS}, {*BODY_KINDS})
    return merge_patch(document, patch)


def merge_patch(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7396: members of `patch` replace, objects are merged, null removes."""
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            old = merged.get(name)
            merged[name] = merge_patch(old if isinstance(old, dict) else {}, value)
        else:
            merged[name] = value
    return merged


def _read_name(fields: Fields, name: str | None) -> str:
    written = fields.raw("name")
    if name is not None and written is not None and written != name:
        fields.refuse("name", f'write "{name}", as in the address, or leave it out')
    if name is None:
        name = written
    if type(name) is str and is_name(name):
        return name
    fields.refuse("name", NAME_RULE)
    return ""


def _check_whose(fields: Fields, **own: str) -> None:
    for member, value in (("tenant", own["tenant"]), ("id", own["identity"])):
        if fields.raw(member) not in (None, value):
            fields.refuse(member, f'write "{value}", which it would be stored as, or leave it out')


def _read_jitter(fields: Fields, default: int) -> tuple[int, JitterSource]:
    jitter = fields.integer(JITTER_SECONDS)
    if jitter is None or (jitter == default and fields.raw("jitter_source") == "default"):
        return default, "default"
    return jitter, "explicit"


def _check_together(fields: Fields, definition: Definition, *, triggered: bool) -> None:
    start, end, deadline = definition.start_at_ms, definition.end_at_ms, definition.deadline_seconds
    if start is not None and end is not None and end < start:
        fields.refuse("end_at", "write an end that is not before start_at")
    if deadline is not None and definition.jitter_seconds > deadline:
        fields.refuse("jitter_seconds", f"the deadline of {deadline} seconds must hold the jitter")
    if not triggered:
        return
    if isinstance(definition.trigger, AtTrigger):
        at = definition.trigger.at_ms
        if (start is not None and at < start) or (end is not None and at > end):
            fields.refuse("at", "write an instant from start_at to end_at, or leave those out")
    elif definition.delete_after_completion and not fields.given(("end_at", "max_runs")):
        fields.refuse("delete_after_completion", "it never completes; write end_at or max_runs")


def _next(schedule: Schedule, now_ms: int) -> dict[str, str] | None:
    if schedule.pause is not None:
        if schedule.pause.until_ms is None:
            return None
        now_ms = max(now_ms, schedule.pause.until_ms + schedule.definition.offset_ms)
    # fire_after > now is scheduled_for > now - offset: what is on its way counts as next.
    occurrence = owing(schedule).next(now_ms - schedule.definition.offset_ms)
    if occurrence is None:
        return None
    return {
        "scheduled_for": format_instant(occurrence.scheduled_for_ms),
        "fire_after": format_instant(occurrence.fire_after_ms),
    }


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)


def _drop_replaced(
    document: dict[str, Any], patch: Mapping[str, Any], kinds: set[str], members: Iterable[str]
) -> None:
    named = {kind for kind in kinds if patch.get(kind) is not None}
    if named and named.isdisjoint(document):
        for member in members:
            document.pop(member, None)


_default_jitter = lru_cache(maxsize=SHARED_CRONS_MAX)(default_jitter)
