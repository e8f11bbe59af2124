"""Kubernetes CronJob manifests as schedules, and a report of everything that is not the same.

A file may hold several documents and Lists; what is no CronJob is left out and named. A CronJob
becomes the schedule NAMESPACE.NAME, so that the same manifest is the same schedule again. Each ends
as a schedule or as a refusal. What a CronJob says and a schedule does otherwise is a note (of every
field: `kubernetes_fields`):

    suspend, of either spec     paused
    concurrencyPolicy           overlap: allow, skip (Forbid), buffer_one (Replace)
    startingDeadlineSeconds     catch_up_window_seconds
    backoffLimit, 6 by default  retry.max_attempts, and Kubernetes' own waits
    activeDeadlineSeconds       target.timeout_seconds

Source: kubernetes.io/docs/reference/kubernetes-api/workload-resources/cron-job-v1
"""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.core.document import read_schedule
from engine.core.errors import Invalid, Malformed
from engine.core.labels import LABELS_MAX, is_key, is_value
from engine.core.model import DEFAULT_TENANT
from engine.core.schedule_members import CATCH_UP_WINDOW_SECONDS_MAX, CATCH_UP_WINDOW_SECONDS_MIN
from engine.core.yaml_text import Located, parse_documents
from engine.imports.kubernetes_fields import CRON_JOB_SPEC, field_notes, is_true, member, whole
from engine.imports.kubernetes_jobs import read_work
from engine.imports.kubernetes_times import read_times
from engine.imports.report import Import, Imported, Remark, merge, reason_of
from engine.imports.shell import NotPlain

FILE_BYTES_MAX = 16_777_216
"""A file of CronJobs: all of a large cluster in one List, with what its server adds to each."""

VERSIONS = ("batch/v1", "batch/v1beta1")

_TEMPLATE = "{{ }} is a template: render it first, as with helm template"
_OVERLAPS = {
    None: "allow",
    "": "allow",
    "Allow": "allow",
    "Forbid": "skip",
    "Replace": "buffer_one",
}
_OVERLAP_NOTES = {
    "Forbid": (
        "Forbid: a run is active until it is answered, so answer when the work is done; what is due"
        " meanwhile is skipped, where Kubernetes starts it once that has ended"
    ),
    "Replace": "Replace: what is under way is not stopped; the newest waits until it is answered",
}


def read_manifests(text: str, *, timezone: str, target: str | None) -> Import:
    """Read the documents of a file.

    `timezone`: where a CronJob names none. `target`: who runs containers; None refuses those that
    are no web call. Raises nothing: what is wrong is refused, with the line of its document.
    """
    schedules: dict[str, Imported] = {}
    refused: list[tuple[int, str]] = []
    notes: list[tuple[int, str]] = []
    for begin, value in parse_documents(text):
        for line, item in _items(begin, value):
            try:
                document, said = _read(item, timezone, target)
                _check_new(document["name"], schedules)
            except _NoCronJob as other:
                notes.append((line, str(other)))
            except (NotPlain, Malformed, Invalid) as error:
                refused.append((line, f"{_title(item)}{reason_of(error)}"))
            else:
                schedules[document["name"]] = Imported(line=line, document=document)
                notes += ((line, note) for note in said)
    about_all = (Remark(lines=(), text=_TEMPLATE),) if refused and "{{" in text else ()
    return Import(
        schedules=tuple(schedules.values()),
        refused=merge(refused),
        notes=merge(notes) + about_all,
    )


class _NoCronJob(Exception):
    """What an object is instead."""


def _items(line: int, value: Any) -> Iterator[tuple[int, Any]]:
    """The objects of a document, each with its line."""
    if value is None:
        return
    if isinstance(value, dict) and value.get("kind") in ("List", "CronJobList"):
        items = value.get("items")
        for item in items if isinstance(items, list) else [Malformed("its items are no list")]:
            if isinstance(item, Located) and value["kind"] == "CronJobList":
                # As the API server lists them: what all are is said once.
                item.setdefault("kind", "CronJob")
                item.setdefault("apiVersion", value.get("apiVersion"))
            yield from _items(item.line if isinstance(item, Located) else line, item)
    else:
        yield line, value


def _read(item: Any, timezone: str, target: str | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    if isinstance(item, Malformed):
        raise item
    if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
        raise NotPlain("no Kubernetes object: kind is missing")
    if item["kind"] != "CronJob":
        raise _NoCronJob(f"{_title(item)}{item['kind']} is ignored")
    if item.get("apiVersion") not in VERSIONS:
        raise NotPlain(f"its apiVersion is {item.get('apiVersion')}; {VERSIONS[0]} is read")
    metadata, spec = member(item, "metadata"), member(item, "spec")
    trigger, notes = read_times(spec.get("schedule"), spec.get("timeZone"), timezone=timezone)
    work = read_work(member(member(spec, "jobTemplate"), "spec"), target=target)
    document = {
        "name": _name(metadata),
        "labels": _labels(metadata),
        **trigger,
        **_paused(spec, work.rests),
        **_overlap(spec),
        **_window(spec),
        "target": work.target,
        "retry": work.retry,
    }
    document = {name: value for name, value in document.items() if value != {}}
    checked = read_schedule(document, tenant=DEFAULT_TENANT).definition
    if checked.jitter_seconds:
        notes += ("jobs on the hour spread over up to 60 s; jitter_seconds 0 makes one exact",)
    if work.rests:
        notes += (f"{work.rests}: its Jobs did nothing by themselves, so it is paused",)
    return document, (*notes, *_label_notes(metadata), *_policy_notes(spec), *work.notes)


def _check_new(name: str, schedules: Mapping[str, Imported]) -> None:
    if name in schedules:
        raise NotPlain(f"{name} is there already, from line {schedules[name].line}")


def _name(metadata: Mapping[str, Any]) -> str:
    parts = (metadata.get("namespace"), metadata.get("name"))
    if not all(part is None or isinstance(part, str) for part in parts) or parts[1] is None:
        made_up = "; generateName names another at each apply" if "generateName" in metadata else ""
        raise NotPlain(f"metadata.name or metadata.namespace is no text{made_up}")
    return ".".join(part for part in parts if part)


def _labels(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Its labels, by the same grammar."""
    labels = member(metadata, "labels").items()
    sound = [(key, value) for key, value in labels if is_key(key) and is_value(value)]
    return dict(sound[:LABELS_MAX])


def _label_notes(metadata: Mapping[str, Any]) -> Iterator[str]:
    kept = _labels(metadata)
    if lost := [key for key in member(metadata, "labels") if key not in kept]:
        yield f"labels that a schedule does not take ({LABELS_MAX} at most): {', '.join(lost)}"


def _paused(spec: Mapping[str, Any], rests: str | None) -> dict[str, Any]:
    reason = "suspend: true" if is_true(spec, "suspend") else rests
    return {} if reason is None else {"paused": True, "pause_reason": f"{reason} in its manifest"}


def _overlap(spec: Mapping[str, Any]) -> dict[str, Any]:
    policy = spec.get("concurrencyPolicy")
    if not isinstance(policy, str | None) or policy not in _OVERLAPS:
        raise NotPlain(f"concurrencyPolicy is {policy!r}; there are Allow, Forbid and Replace")
    return {"overlap": _OVERLAPS[policy]} if policy else {}


def _window(spec: Mapping[str, Any]) -> dict[str, Any]:
    seconds = whole(spec, "startingDeadlineSeconds")
    if seconds is None:
        return {}
    bounded = min(max(seconds, CATCH_UP_WINDOW_SECONDS_MIN), CATCH_UP_WINDOW_SECONDS_MAX)
    return {"catch_up_window_seconds": bounded}


def _policy_notes(spec: Mapping[str, Any]) -> Iterator[str]:
    if note := _OVERLAP_NOTES.get(spec.get("concurrencyPolicy") or ""):
        yield note
    if spec.get("startingDeadlineSeconds") is not None:
        seconds = _window(spec)["catch_up_window_seconds"]
        yield (
            f"startingDeadlineSeconds: what downtime made late is made up within {seconds} s; what"
            " waits in a queue is sent however late, unless deadline_seconds says otherwise"
        )
    yield from field_notes(spec, "spec", CRON_JOB_SPEC)


def _title(item: Any) -> str:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(metadata, dict):
        return ""
    parts = (metadata.get("namespace"), metadata.get("name"))
    title = "/".join(str(part) for part in parts if part is not None)
    return f"{title}: " if title else ""
