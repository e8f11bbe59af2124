"""Crontabs as schedules, and a report of everything that is not the same afterwards.

crond's daylight-saving rule is ours, and so is its reading of the five fields, so the times carry
over as they are. Commands do not: the engine calls URLs and runs nothing. A plain curl or wget call
becomes the request that it makes; any other command, also a call that no schedule may hold, is
posted to `target` as

    {"command": …, "user": …, "stdin": …, "environment": {…}}

(the last three only where the crontab says so), for a receiver that runs it; without a `target` it
is refused with the reason. Every line ends as a schedule or as a refusal, and what a crontab can
say and a schedule cannot (MAILTO, followed redirects, the user of a webhook) is a note.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.core.document import read_schedule
from engine.core.errors import Fault, Invalid
from engine.core.model import DEFAULT_TENANT
from engine.core.target_document import BODY_KINDS
from engine.core.timetable import check_timezone
from engine.imports.crontab_lines import Job, Setting, Unread, read_lines
from engine.imports.crontab_times import check_times, time_doubts
from engine.imports.curl import read_curl
from engine.imports.naming import name_jobs
from engine.imports.report import Import, Imported, Remark, merge, reason_of
from engine.imports.shell import NotPlain, Unclosed, check_closed, read_words
from engine.imports.web_call import TIMEOUT_SECONDS_MAX, WebCall, request_of
from engine.imports.wget import read_wget

FILE_BYTES_MAX = 1_048_576
"""A crontab: people type them, and crond itself refuses long ones (cronie: 1,000 jobs)."""

# What a schedule says otherwise, or not at all.
DELAYS = frozenset({"RANDOM_DELAY", "START_HOURS_RANGE", "DELAY", "PERSISTENT", "BATCH"})
MAIL = frozenset({"MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"})
_NOT_ENVIRONMENT = DELAYS | MAIL | {"CRON_TZ"}
_PROGRAMS = {"curl": read_curl, "wget": read_wget}


def read_crontab(
    content: bytes,
    *,
    label: str,
    system: bool,
    timezone: str,
    target: str | None,
    earlier: Iterable[Mapping[str, Any]] = (),
) -> Import:
    """Read a crontab.

    `label`: becomes the label `crontab` of every schedule, so that they can be found again.
    `system`: lines have a user column. `timezone`: where no CRON_TZ is set. `target`: who runs
    commands; None refuses them. `earlier`: the schedules of earlier imports, whose names are kept.
    Raises Invalid for a zone that does not exist.
    """
    check_timezone(timezone)
    if len(content) > FILE_BYTES_MAX:
        raise Invalid(
            Fault("", f"{len(content):,} bytes; a crontab has {FILE_BYTES_MAX:,} at most")
        )
    drafts: list[_Draft] = []
    refused: list[tuple[int, str]] = []
    notes: list[tuple[int, str]] = []
    for line in read_lines(content, system=system):
        match line:
            case Unread():
                refused.append((line.line, line.reason))
            case Setting():
                notes += ((line.line, text) for text in _fate(line))
            case Job():
                notes += ((line.line, text) for text in _doubts(line))
                try:
                    draft = _draft(line, timezone, target)
                except (NotPlain, Invalid) as error:
                    refused.append((line.line, reason_of(error)))
                else:
                    drafts.append(draft)
                    notes += ((line.line, text) for text in draft.notes)
    return Import(
        schedules=_named(drafts, label, earlier),
        refused=merge(refused),
        notes=merge(notes) + _about_all(drafts, timezone),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A schedule that has no name yet. `identity` and its time are what it will be named by."""

    job: Job
    identity: tuple[str, ...]
    document: Mapping[str, Any]
    jitter_seconds: int
    notes: tuple[str, ...]


def _draft(job: Job, timezone: str, target: str | None) -> _Draft:
    if job.user is not None and not _USER.fullmatch(job.user):
        raise NotPlain(f"{job.user} is no user, and crond never ran this; is it a user's crontab?")
    zone = job.variables.get("CRON_TZ") or timezone
    check_times(job.cron, timezone=zone)
    _check_whole(job)
    identity: tuple[str, ...]
    notes: tuple[str, ...]
    try:
        call = _web_call(job)
        destination = request_of(call)
    except (NotPlain, Invalid) as reason:
        if target is None:
            raise NotPlain(_why_not(job, reason)) from None
        identity = (job.user or "", "command", job.stdin or "", job.command)
        destination = _command_target(job, target)
        notes = (_CUT,) if _is_cut(job, reason) else ()
    else:
        identity = (job.user or "", call.method, call.url)
        notes = call.notes + _user_note(job) + _input_note(job, call)
    document = {"cron": job.cron, "timezone": zone, "target": destination}
    checked = read_schedule(document, tenant=DEFAULT_TENANT, name="imported")
    return _Draft(
        job=job,
        identity=identity,
        document=document,
        jitter_seconds=checked.definition.jitter_seconds,
        notes=notes,
    )


def _check_whole(job: Job) -> None:
    if _OPTION.match(job.command):
        raise NotPlain(
            f"{job.command.split()[0]} is no command but an option of BSD's; take it off"
        )
    if (len(job.command) - len(job.command.rstrip("\\"))) % 2:
        raise NotPlain("crond joins no lines at a \\; write the command on one")
    try:
        check_closed(job.command)
    except Unclosed as error:
        if job.stdin is None:
            raise
        raise NotPlain(f"crond ends the command at the unescaped %: {error}; write \\%") from None


# OpenBSD's and FreeBSD's crontab(5): no mail on success, no log, one at a time.
_OPTION = re.compile(r"-[nqs]+(?:\s|$)")


def _web_call(job: Job) -> WebCall:
    words = read_words(job.command)
    program = words[0].rpartition("/")[2] if words else ""
    if program not in _PROGRAMS:
        raise NotPlain(f"it runs {program or 'nothing'}")
    return _PROGRAMS[program](words[1:], job.stdin)


def _why_not(job: Job, reason: NotPlain | Invalid) -> str:
    why = "not a web call"
    if called := re.search(r"(?<![\w.-])(?:curl|wget)(?![\w.-])", job.command):
        may = " that a schedule may hold" if isinstance(reason, Invalid) else ""
        plain = "" if may else "plain "
        why = f"not a {plain}{called[0]} call{may}, since {reason_of(reason)}"
    cut = f"; {_CUT}" if _is_cut(job, reason) else ""
    return f"{why}; --target URL makes it a POST of the command{cut}"


def _command_target(job: Job, url: str) -> dict[str, Any]:
    body: dict[str, Any] = {"command": job.command}
    if job.user is not None:
        body["user"] = job.user
    if job.stdin is not None:
        body["stdin"] = job.stdin
    if environment := {n: v for n, v in job.variables.items() if n not in _NOT_ENVIRONMENT}:
        body["environment"] = environment
    return {"url": url, "method": "POST", "json": body, "timeout_seconds": TIMEOUT_SECONDS_MAX}


def _doubts(job: Job) -> Iterator[str]:
    """What a crontab of another kind looks like when it is read as this one."""
    first = job.command.partition(" ")[0]
    if first == "root" and job.user is None:
        yield "root is no command; is this a system crontab?"
    if _TIME.fullmatch(first):
        yield f"{first} is no command; crond reads five fields, and none of seconds or years"
    yield from time_doubts(job.cron)
    if job.user is not None and "://" in first:
        yield f"an address is no command, and {job.user} is read as a user; is it a user's crontab?"


# As useradd(8) takes them, and FreeBSD's user:group/class.
_USER = re.compile(r"\w[\w.:/-]*\$?")
_TIME = re.compile(r"[0-9*?][0-9*?/,-]*")


def _user_note(job: Job) -> tuple[str, ...]:
    return (f"the user {job.user} does not matter to a webhook",) if job.user else ()


def _input_note(job: Job, call: WebCall) -> tuple[str, ...]:
    if not (job.stdin or "").strip() or _web_call(replace(job, stdin=None)) != call:
        return ()
    return (_CUT,)


def _fate(setting: Setting) -> Iterator[str]:
    """What a variable meant that it does not mean any more."""
    if setting.name in MAIL:
        if setting.value:
            yield f"{setting.name}: nobody is mailed; see offbeat runs --state failed"
    elif setting.name == "CRON_TZ":
        yield "CRON_TZ holds for the jobs below it, as in cronie; Debian's cron ignores it"
    elif setting.name in DELAYS:
        yield f"{setting.name} is not taken over; see jitter_seconds and catch_up"
    else:
        yield f"{setting.name} goes along as environment with commands; webhooks have none"
    if setting.name == "TZ":
        yield "TZ does not move the times, as in cron; CRON_TZ would"


def _named(
    drafts: Sequence[_Draft], label: str, earlier: Iterable[Mapping[str, Any]]
) -> tuple[Imported, ...]:
    jobs = [(draft.identity, _mark(draft.document)) for draft in drafts]
    names = name_jobs(jobs, {document["name"]: _mark(document) for document in earlier})
    return tuple(
        Imported(
            line=draft.job.line,
            document={"name": name, "labels": {"crontab": label}, **draft.document},
        )
        for name, draft in zip(names, drafts, strict=True)
    )


def _mark(document: Mapping[str, Any]) -> tuple[str, str]:
    target = document["target"]
    body = [target.get(kind) for kind in BODY_KINDS]
    return f"{document.get('cron')} {document.get('timezone')}", json.dumps(body, sort_keys=True)


def _about_all(drafts: Sequence[_Draft], timezone: str) -> tuple[Remark, ...]:
    if not drafts:
        return ()
    texts = ["what fails is tried again (retry) and what was missed is made up once (catch_up)"]
    if any(not draft.job.variables.get("CRON_TZ") for draft in drafts):
        texts.insert(0, f"times are read in {timezone}")
    if any(draft.jitter_seconds for draft in drafts):
        texts.append("jobs on the hour spread over up to 60 s; jitter_seconds 0 makes one exact")
    return tuple(Remark(lines=(), text=text) for text in texts)


def _is_cut(job: Job, reason: NotPlain | Invalid) -> bool:
    """Whether crond's % may be why an address is none."""
    faults = reason.faults if isinstance(reason, Invalid) else ()
    return job.stdin is not None and any(fault.pointer == "/target/url" for fault in faults)


_CUT = "crond ends the command at the unescaped %; a sign that is meant is written \\%"
