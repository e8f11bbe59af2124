"""The fields of a CronJob: read by their types, and what becomes of each.

One is taken over, or a sentence says why it is not. The tables hold the fields of CronJobSpec and
JobSpec (batch/v1) and no others. What reads a field that is taken over says itself what is not the
same; of pods and containers, which the engine does not start, what is not posted is left to whoever
runs them.

Sources: kubernetes.io/docs/reference/kubernetes-api/workload-resources/cron-job-v1, …/job-v1
"""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.imports.shell import NotPlain

_HISTORY = "history is kept by the engine's own settings ([history] days, runs)"
_INDEXES = "Jobs of several indexes: one request is made, and it has no index"

CRON_JOB_SPEC: Mapping[str, str | None] = {
    "schedule": None,
    "timeZone": None,
    "suspend": None,
    "concurrencyPolicy": None,
    "startingDeadlineSeconds": None,
    "jobTemplate": None,
    "successfulJobsHistoryLimit": _HISTORY,
    "failedJobsHistoryLimit": _HISTORY,
}
"""Fields of `spec`; None: taken over."""

JOB_SPEC: Mapping[str, str | None] = {
    "template": None,
    "suspend": None,
    "parallelism": None,
    "completions": None,
    "backoffLimit": None,
    "activeDeadlineSeconds": None,
    "ttlSecondsAfterFinished": _HISTORY,
    "completionMode": _INDEXES,
    "backoffLimitPerIndex": _INDEXES,
    "maxFailedIndexes": _INDEXES,
    "successPolicy": _INDEXES,
    "podFailurePolicy": (
        "podFailurePolicy is left out: what is final is an answer of 4xx (but 408, 425 and 429) or"
        " 3xx, and a blocked address"
    ),
    "podReplacementPolicy": "podReplacementPolicy is left out: attempts of a run never overlap",
    "managedBy": "managedBy is left out: another controller ran these Jobs, the engine sends now",
    "selector": "selector is left out: the cluster makes its own",
    "manualSelector": "selector is left out: the cluster makes its own",
}
"""Fields of `jobTemplate.spec`; None: taken over."""

_POSTED = {"name", "image", "imagePullPolicy", "command", "args", "env", "envFrom"}
_POD_SAID = {"containers", "initContainers", "restartPolicy"}


def member(owner: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object in an object; empty when it is not there. Raises NotPlain."""
    value = owner.get(name)
    if value is not None and not isinstance(value, dict):
        raise NotPlain(f"{name} is no object")
    return value or {}


def is_true(owner: Mapping[str, Any], name: str) -> bool:
    """Whether a switch is on; off when it is not there. Raises NotPlain."""
    value = owner.get(name)
    if not isinstance(value, bool | None):
        raise NotPlain(f"{name} is {value!r}; write true or false")
    return value or False


def whole(owner: Mapping[str, Any], name: str) -> int | None:
    """A whole number of at least 0; None when it is not there. Raises NotPlain."""
    value = owner.get(name)
    if value is not None and (type(value) is not int or value < 0):
        raise NotPlain(f"{name} is {value!r} and no whole number")
    return value


def texts(container: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts; empty when it is not there. Raises NotPlain."""
    texts = container.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise NotPlain(f"{name} is no list of texts; put quotes around its items")
    return texts


def field_notes(
    owner: Mapping[str, Any], place: str, fields: Mapping[str, str | None]
) -> Iterator[str]:
    """What is said of the fields that are there, and of those that no CronJob has."""
    for name, value in owner.items():
        if name not in fields:
            yield f"{name} is no field of {place}, and Kubernetes does not read it, either"
        elif value is not None and (note := fields[name]):
            yield note


def runner_notes(pod: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[str]:
    """What a pod says of where and how its container runs."""
    names = [name for name in container if name not in _POSTED]
    names += [name for name in pod if name not in _POD_SAID]
    if names:
        them = "is" if len(names) == 1 else "are"
        yield f"{', '.join(sorted(set(names)))} {them} left to whoever runs the command"
