"""What a CronJob runs, as a request: a container that calls a URL, or one that a receiver runs.

The engine starts no containers. One whose command is a plain curl or wget call becomes the request
that it makes; any other, also a call that no schedule may hold, is posted to `target` as

    {"image": …, "command": […], "args": […], "environment": {…}}

(the members that the manifest has), for a receiver that runs it. An image of curl alone runs curl
when a container names options or an address and no command.

What fails is tried again as often as Kubernetes tries: six times where no limit is named, after
10 s, twice as long each time, up to six minutes.

Source: kubernetes.io/docs/concepts/workloads/controllers/job ("Pod backoff failure policy")
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from engine.core.errors import Invalid
from engine.core.policy_document import ATTEMPTS_MAX
from engine.imports.curl import read_curl
from engine.imports.kubernetes_fields import (
    JOB_SPEC,
    field_notes,
    is_true,
    member,
    runner_notes,
    texts,
    whole,
)
from engine.imports.report import reason_of
from engine.imports.shell import NotPlain, read_words
from engine.imports.web_call import (
    LONG,
    TIMEOUT_SECONDS_MAX,
    WebCall,
    request_of,
    waits_longer,
)
from engine.imports.wget import read_wget

_PROGRAMS = {"curl": read_curl, "wget": read_wget}
_SHELLS = ("sh", "bash", "ash", "dash")

BACKOFF_LIMIT = 6
"""What Kubernetes takes where no `backoffLimit` is named."""

BACKOFF_SECONDS = {"min_backoff_seconds": 10, "max_backoff_seconds": 360}
"""Its waits: 10 s, doubling to six minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The members `target` and `retry` of a schedule; `notes`: what is not the same.

    `rests`: why its Jobs do nothing until somebody changes them; None when they run.
    """

    target: dict[str, Any]
    retry: dict[str, Any]
    rests: str | None
    notes: tuple[str, ...]


def read_work(job: Mapping[str, Any], *, target: str | None) -> Work:
    """What `jobTemplate.spec` asks for. `target`: who runs containers; None refuses them.

    Raises NotPlain.
    """
    pod = member(member(job, "template"), "spec")
    containers = job_containers(pod)
    container = containers[0] if containers else {}
    notes = [*_left_out(job, pod, containers)]
    try:
        call = _web_call(_words(container))
        request = request_of(call)
    except (NotPlain, Invalid) as error:
        if target is None:
            raise NotPlain(_why_not(error)) from None
        request = {"url": target, "method": "POST", "json": _body(container)}
        notes += _environment_notes(container)
        notes += runner_notes(pod, container)
    else:
        notes += (*call.notes, *_place_notes(call.url))
    seconds, again = whole(job, "activeDeadlineSeconds"), whole(job, "backoffLimit")
    most = request.get("timeout_seconds", TIMEOUT_SECONDS_MAX)
    request["timeout_seconds"] = min(max(most if seconds is None else seconds, 1), most)
    attempts = min((BACKOFF_LIMIT if again is None else again) + 1, ATTEMPTS_MAX)
    return Work(
        target=request,
        retry={"max_attempts": attempts, **BACKOFF_SECONDS},
        rests=_rests(job),
        notes=(*notes, *_limit_notes(seconds, again, attempts)),
    )


def job_containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The containers of a pod."""
    containers = pod.get("containers") or []
    if not isinstance(containers, list) or not all(isinstance(each, dict) for each in containers):
        raise NotPlain("containers is no list of objects")
    return containers


def _words(container: Mapping[str, Any]) -> list[str]:
    """What the container runs."""
    command, args = (
        [_REFERENCE.sub(partial(_expanded, container), word) for word in texts(container, name)]
        for name in ("command", "args")
    )
    if not command and args and _is_for_curl(args[0]) and _is_curl(container.get("image")):
        return ["curl", *args]
    return command + args


# kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables
_REFERENCE = re.compile(r"\$?\$\(([-._a-zA-Z0-9]+)\)")


def _expanded(container: Mapping[str, Any], reference: re.Match[str]) -> str:
    """What Kubernetes puts in the place of $(NAME): what it does not know stays."""
    text, name = reference[0], reference[1]
    if text.startswith("$$"):
        return text[1:]
    values = {each["name"]: each.get("value") for each in _variables(container)}
    value = values.get(name)
    if isinstance(value, str) and "$(" not in value:
        return value
    if name in values or container.get("envFrom"):
        raise NotPlain(f"the value of {name} is not in the manifest")
    return text


def _is_for_curl(word: str) -> bool:
    return word.startswith("-") or "://" in word


def _is_curl(image: object) -> bool:
    """curlimages/curl:8, alpine/curl, byrnedo/alpine-curl: their entry point is curl."""
    return isinstance(image, str) and bool(_CURL_IMAGE.fullmatch(image))


_CURL_IMAGE = re.compile(r"(?:.*/)?(?:alpine-)?curl(?:[:@][^/]*)?")


def _web_call(words: list[str]) -> WebCall:
    if not words:
        raise NotPlain("the image says what runs")
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-ec"):
        words = read_words(words[2])
    program = words[0].rpartition("/")[2] if words else ""
    if program not in _PROGRAMS:
        raise NotPlain(f"it runs {program or 'nothing'}")
    return _PROGRAMS[program](words[1:], None)


def _place_notes(url: str) -> Iterator[str]:
    """A host that is another one outside of the pod, or none."""
    host = urlsplit(url).hostname or ""
    if host in ("localhost", "127.0.0.1", "::1"):
        yield f"{host} was the pod itself; here it is the engine's machine"
    elif "." not in host and ":" not in host:
        yield f"{host} is a Service of its namespace; elsewhere it is {host}.NAMESPACE.svc"


def _why_not(reason: NotPlain | Invalid) -> str:
    call = "web call that a schedule may hold" if isinstance(reason, Invalid) else "web call"
    return f"no {call}, since {reason_of(reason)}; --target URL posts the command"


def _body(container: Mapping[str, Any]) -> dict[str, Any]:
    plain = {
        each["name"]: each["value"]
        for each in _variables(container)
        if isinstance(each.get("value"), str)
    }
    body = {
        "image": container.get("image"),
        "command": texts(container, "command"),
        "args": texts(container, "args"),
        "environment": plain,
    }
    return {name: value for name, value in body.items() if value}


def _left_out(
    job: Mapping[str, Any], pod: Mapping[str, Any], containers: list[Mapping[str, Any]]
) -> Iterator[str]:
    if not containers:
        yield "no container: the request says nothing of what to run"
    if len(containers) > 1:
        yield f"{len(containers)} containers: the first is taken, the others are left out"
    if pod.get("initContainers"):
        yield "initContainers are left out"
    if (whole(job, "parallelism") or 1) > 1 or (whole(job, "completions") or 1) > 1:
        yield "parallelism and completions: one request is made"
    if pod.get("restartPolicy") not in (None, "Never", "OnFailure"):
        yield "restartPolicy of a Job is Never or OnFailure; Kubernetes never ran this"
    yield from field_notes(job, "jobTemplate.spec", JOB_SPEC)


def _rests(job: Mapping[str, Any]) -> str | None:
    if is_true(job, "suspend"):
        return "jobTemplate.spec.suspend: true"
    for name in ("parallelism", "completions"):
        if whole(job, name) == 0:
            return f"jobTemplate.spec.{name}: 0"
    return None


def _limit_notes(seconds: int | None, again: int | None, attempts: int) -> Iterator[str]:
    if seconds is not None:
        yield f"activeDeadlineSeconds {seconds}: of each attempt, not of all together"
        if waits_longer(str(seconds)):
            yield LONG
    limit = f"no backoffLimit, so {BACKOFF_LIMIT}" if again is None else f"backoffLimit {again}"
    waits = (
        f"{attempts} attempts at most, the second within 10 s, each later one within twice as long"
        " up to 360 s; an answer of 4xx is final"
    )
    yield f"{limit}: {waits if attempts > 1 else 'one attempt'}"


def _environment_notes(container: Mapping[str, Any]) -> Iterator[str]:
    plain = (isinstance(each.get("value"), str) for each in _variables(container))
    if container.get("envFrom") or not all(plain):
        yield "environment from ConfigMaps, Secrets and fields is left to whoever runs the command"


def _variables(container: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    variables = container.get("env") or []
    if not isinstance(variables, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in variables
    ):
        raise NotPlain("env is no list of names with values")
    return variables
