"""What a CronJob runs, as a request: a container that calls a URL, or one that a receiver runs.

The engine starts no containers. One whose command is a plain curl or wget call becomes the request
that it makes; any other, also a call that no schedule may hold, is posted to `target` as

    {"image": …, "command": […], "args": […], "environment": {…}}

(the members that the manifest has), for a receiver that runs it. An image of curl alone runs curl
when a container names options or an address and no command.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine.core.errors import Invalid
from engine.core.policy_document import ATTEMPTS_MAX
from engine.imports.curl import read_curl
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The members `target` and `retry` of a schedule; `notes`: what is not the same."""

    target: dict[str, Any]
    retry: dict[str, Any]
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
    else:
        notes += call.notes
    seconds, again = _whole(job, "activeDeadlineSeconds"), _whole(job, "backoffLimit")
    most = request.get("timeout_seconds", TIMEOUT_SECONDS_MAX)
    request["timeout_seconds"] = min(max(most if seconds is None else seconds, 1), most)
    retry = {} if again is None else {"max_attempts": min(again + 1, ATTEMPTS_MAX)}
    notes += _limit_notes(seconds, again)
    return Work(target=request, retry=retry, notes=tuple(notes))


def member(owner: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object in an object; empty when it is not there. Raises NotPlain."""
    value = owner.get(name)
    if value is not None and not isinstance(value, dict):
        raise NotPlain(f"{name} is no object")
    return value or {}


def job_containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The containers of a pod."""
    containers = pod.get("containers") or []
    if not isinstance(containers, list) or not all(isinstance(each, dict) for each in containers):
        raise NotPlain("containers is no list of objects")
    return containers


def _words(container: Mapping[str, Any]) -> list[str]:
    """What the container runs."""
    command, args = (
        [_REFERENCE.sub(partial(_expanded, container), word) for word in _texts(container, name)]
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
        "command": _texts(container, "command"),
        "args": _texts(container, "args"),
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
    if (_whole(job, "parallelism") or 1) > 1 or (_whole(job, "completions") or 1) > 1:
        yield "parallelism and completions: one request is made"


def _limit_notes(seconds: int | None, again: int | None) -> Iterator[str]:
    if seconds is not None:
        yield f"activeDeadlineSeconds {seconds}: of each attempt, not of all together"
        if waits_longer(str(seconds)):
            yield LONG
    if again is not None and again >= ATTEMPTS_MAX:
        yield f"backoffLimit {again}: {ATTEMPTS_MAX} attempts are made at most"


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


def _texts(container: Mapping[str, Any], name: str) -> list[str]:
    texts = container.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise NotPlain(f"{name} is no list of texts; put quotes around its items")
    return texts


def _whole(owner: Mapping[str, Any], name: str) -> int | None:
    value = owner.get(name)
    if value is not None and (type(value) is not int or value < 0):
        raise NotPlain(f"{name} is {value!r} and no whole number")
    return value
