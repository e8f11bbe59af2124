"""`offbeat explain`: when a schedule fires, or fired, and why then.

Times are computed here, from the schedule's document alone, by the code that the engine runs; the
engine is asked for the document and for what became of the run.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from engine.cli.client import Client, run_path, schedule_path
from engine.cli.delay_bars import waterfall
from engine.cli.offered_names import meant, schedule_names
from engine.cli.options import Server, example, identifier, instant, output, server
from engine.cli.output import local_time, show_json, show_sentence, talk
from engine.cli.reasons import about_bounds, about_clocks, about_offset
from engine.cli.schedules import when_of
from engine.core.document import read_schedule
from engine.core.errors import NotFound
from engine.core.identity import format_instant, idempotency_key, parse_instant
from engine.core.model import CronTrigger, Definition
from engine.core.timetable import TIMETABLE_END_MS, compile_trigger

_Found = dict[str, Any] | str
"""A run, or why there is none."""

MANUAL = "a manual run: asked for at this instant, without jitter"


@click.command(
    "explain",
    epilog=example(
        "offbeat explain nightly-report",
        "offbeat explain nightly-report --at 2027-03-28T01:00:00Z",
    ),
)
@click.argument("name", type=identifier, shell_complete=schedule_names)
@click.option(
    "--at", "at_ms", type=instant, help="The occurrence then, or the one before (default: next)."
)
@server
@output
def command(*, name: str, at_ms: int | None, server: Server, form: str) -> None:
    """Say when the schedule NAME will fire, or did, and why then. A run's id will do as well."""
    with Client(server) as client:
        if "@" in name and at_ms is None:  # As no name of a schedule has.
            run = client.get(run_path(name))
            name, at_ms = run["schedule_name"], parse_instant(run["scheduled_for"])
        with meant(client, name):
            document = client.get(schedule_path(name))
        planned_ms, found = _occurrence(client, document, at_ms)
    explanation = _explain(document, planned_ms, found)
    if form == "json":
        show_json(explanation)
    else:
        _show(explanation)


def _occurrence(
    client: Client, document: dict[str, Any], at_ms: int | None
) -> tuple[int | None, _Found]:
    """Which occurrence is meant, and its run. A manual run is asked for by its own instant."""
    if at_ms is not None and isinstance(run := _run(client, document, at_ms), dict):
        return at_ms, run
    trigger = _definition(document).trigger
    timetable = compile_trigger(trigger)
    if at_ms is not None:
        if at_ms >= TIMETABLE_END_MS and isinstance(trigger, CronTrigger):
            talk("cron timetables end with the year 9998; the last occurrence is explained")
        planned_ms = timetable.until(at_ms) or timetable.after(at_ms)
    elif document["next"] is not None:
        planned_ms = parse_instant(document["next"]["scheduled_for"])
    else:
        # Nothing is to come, so what was last is meant.
        runs = client.get("/v1/runs", schedule=document["id"], limit=1)["data"]
        planned_ms = parse_instant(runs[0]["scheduled_for"]) if runs else None
    return planned_ms, "" if planned_ms is None else _run(client, document, planned_ms)


def _run(client: Client, document: dict[str, Any], planned_ms: int) -> _Found:
    try:
        run: dict[str, Any] = client.get(run_path(f"{document['id']}@{format_instant(planned_ms)}"))
    except NotFound as error:
        return str(error)
    return run


def _definition(document: dict[str, Any]) -> Definition:
    tenant, name = document["tenant"], document["name"]
    draft = read_schedule(document, tenant=tenant, name=name, inproc=True)
    # Whether the engine adds the sub-second phase shows in the offset alone.
    return replace(draft.definition, offset_ms=document["offset_ms"])


def _explain(document: dict[str, Any], planned_ms: int | None, found: _Found) -> dict[str, Any]:
    definition = _definition(document)
    explanation = {
        "name": definition.name,
        "id": definition.schedule_id,
        "trigger": _trigger(document),
        "offset": about_offset(definition),
        "offset_ms": definition.offset_ms,
    }
    if planned_ms is None:
        return explanation | {"occurrence": None, "notes": ["it will not fire any more"]}
    timetable = compile_trigger(definition.trigger)
    run = found if isinstance(found, dict) else None
    planned = run is None or run["trigger"] != "manual"
    notes = list(_notes(document, definition, planned_ms, found)) if planned else [MANUAL]
    occurrence = {
        "scheduled_for": format_instant(planned_ms),
        "fire_after": format_instant(planned_ms + (definition.offset_ms if planned else 0)),
        "idempotency_key": idempotency_key(definition.schedule_id, planned_ms),
        "local": local_time(planned_ms, document.get("timezone", "UTC")),
        "before": _instant(timetable.until(planned_ms - 1)),
        "after": _instant(timetable.after(planned_ms)),
    }
    return explanation | {"occurrence": occurrence, "notes": notes, "run": run}


def _trigger(document: dict[str, Any]) -> str:
    parts = [when_of(document)]
    if document.get("cron_resolved") not in (None, document.get("cron")):
        parts.append(f"that is {document['cron_resolved']}")
    if "dst_gap" in document:
        parts.append(f"dst_gap {document['dst_gap']}, dst_fold {document['dst_fold']}")
    return ", ".join(parts)


def _notes(
    document: dict[str, Any],
    definition: Definition,
    planned_ms: int,
    found: _Found,
) -> Iterator[str]:
    if isinstance(definition.trigger, CronTrigger):
        yield from about_clocks(definition.trigger, planned_ms)
    if isinstance(found, str):
        yield from about_bounds(document, planned_ms)
        yield found


def _instant(ms: int | None) -> str | None:
    return None if ms is None else format_instant(ms)


def _show(explanation: dict[str, Any]) -> None:
    lines = [
        ("schedule", f"{explanation['name']} ({explanation['id']})"),
        ("trigger", explanation["trigger"]),
        ("offset", explanation["offset"]),
    ]
    if occurrence := explanation["occurrence"]:
        lines += [
            ("scheduled_for", f"{occurrence['scheduled_for']} = {occurrence['local']}"),
            ("fire_after", occurrence["fire_after"]),
            ("key", occurrence["idempotency_key"]),
            ("before, after", f"{occurrence['before'] or '-'}, {occurrence['after'] or '-'}"),
        ]
    lines += (("note", note) for note in explanation["notes"])
    for label, text in (*lines, *_run_lines(explanation.get("run"))):
        show_sentence(text, label=f"{label:<15}")


def _run_lines(run: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if run is None:
        return
    reason = f" ({run['reason']})" if run["reason"] else ""
    again = f", next attempt at {run['next_attempt_at']}" if run["next_attempt_at"] else ""
    yield "run", f"{run['state']}{reason}, by {run['trigger']}{again}"
    for attempt in run["attempts"]:
        status = attempt.get("status") or attempt.get("error") or ""
        outcome = attempt["outcome"] or "under way"
        yield f"attempt {attempt['number']}", f"{attempt['started_at']} {outcome} {status}".rstrip()
    if run["attribution"]:
        yield from waterfall(run["attribution"])
