"""Every field of a CronJob ends in a schedule or in a sentence: the table, field by field.

The fields are those of the API reference (batch/v1: CronJobSpec, JobSpec; v1: PodSpec, Container),
written down here and not taken from the code.
"""

from typing import Any

import pytest

from engine.core.document import read_schedule
from engine.imports.kubernetes import read_manifests
from engine.imports.report import Import

RUNNER = "http://127.0.0.1:9000/run"


def read(spec: str = "timeZone: UTC", job: str = "", pod: str = "", container: str = "") -> Import:
    containers = f"{{image: a, command: [x], {container}}}"
    text = (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n"
        f"spec: {{schedule: '5 * * * *', {spec}, jobTemplate: {{spec: {{{job},"
        f" template: {{spec: {{{pod}, containers: [{containers}]}}}}}}}}}}\n"
    )
    return read_manifests(
        text.replace("{, ", "{").replace(", ,", ","), timezone="UTC", target=RUNNER
    )


def document(result: Import) -> dict[str, Any]:
    assert result.refused == ()
    [imported] = result.schedules
    read_schedule(imported.document, tenant="default")
    return dict(imported.document)


def said(result: Import) -> set[str]:
    return {note.text for note in result.notes}


PLAIN = said(read())
KEPT = "history is kept by the engine's own settings ([history] days, runs)"
INDEXES = "Jobs of several indexes: one request is made, and it has no index"


def test_a_cron_job_that_says_nothing_is_told_what_is_tried_again():
    assert document(read())["retry"] == {
        "max_attempts": 7,
        "min_backoff_seconds": 10,
        "max_backoff_seconds": 360,
    }
    sentence = (
        "no backoffLimit, so 6: 7 attempts at most, the second within 10 s, each later one within"
        " twice as long up to 360 s; an answer of 4xx is final"
    )
    assert {sentence} == PLAIN


@pytest.mark.parametrize(
    ("field", "member", "value"),
    [
        ("timeZone: Asia/Tokyo", "timezone", "Asia/Tokyo"),
        ("suspend: true", "paused", True),
        ("suspend: true", "pause_reason", "suspend: true in its manifest"),
        ("concurrencyPolicy: Forbid", "overlap", "skip"),
        ("startingDeadlineSeconds: 9", "catch_up_window_seconds", 10),
        ("startingDeadlineSeconds: 9999999", "catch_up_window_seconds", 2_678_400),
    ],
)
def test_a_field_of_a_cron_job_becomes_a_member(field: str, member: str, value: object):
    assert document(read(field))[member] == value


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("successfulJobsHistoryLimit: 3", KEPT),
        ("failedJobsHistoryLimit: 1", KEPT),
        ("concurencyPolicy: Forbid", "concurencyPolicy is no field of spec, and Kubernetes does"),
        ("backoffLimit: 3", "backoffLimit is no field of spec, and Kubernetes does not read it"),
    ],
)
def test_a_field_of_a_cron_job_that_no_schedule_has_is_said(field: str, sentence: str):
    [note] = said(read(f"timeZone: UTC, {field}")) - PLAIN
    assert note.startswith(sentence)


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("parallelism: 2", "parallelism and completions: one request is made"),
        ("completions: 3", "parallelism and completions: one request is made"),
        ("completionMode: Indexed", INDEXES),
        ("backoffLimitPerIndex: 1", INDEXES),
        ("maxFailedIndexes: 1", INDEXES),
        ("successPolicy: {rules: []}", INDEXES),
        (
            "podFailurePolicy: {rules: []}",
            "podFailurePolicy is left out: what is final is an answer",
        ),
        (
            "podReplacementPolicy: Failed",
            "podReplacementPolicy is left out: attempts of a run never",
        ),
        ("ttlSecondsAfterFinished: 100", KEPT),
        ("managedBy: kueue.x-k8s.io/multikueue", "managedBy is left out: another controller ran"),
        ("manualSelector: true", "selector is left out: the cluster makes its own"),
        ("selector: {}", "selector is left out: the cluster makes its own"),
        ("activeDeadlineSeconds: 60", "activeDeadlineSeconds 60: of each attempt, not of all"),
        ("suspended: true", "suspended is no field of jobTemplate.spec, and Kubernetes does not"),
    ],
)
def test_a_field_of_its_jobs_that_no_schedule_has_is_said(field: str, sentence: str):
    [note] = said(read(job=field)) - PLAIN
    assert note.startswith(sentence)


@pytest.mark.parametrize(
    ("limit", "attempts", "sentence"),
    [
        (0, 1, "backoffLimit 0: one attempt"),
        (4, 5, "backoffLimit 4: 5 attempts at most, the second within 10 s, each later one within"),
        (25, 20, "backoffLimit 25: 20 attempts at most"),
    ],
)
def test_how_often_a_job_is_tried_again_is_taken_over(limit: int, attempts: int, sentence: str):
    result = read(job=f"backoffLimit: {limit}")
    assert document(result)["retry"]["max_attempts"] == attempts
    [note] = said(result)
    assert note.startswith(sentence)


@pytest.mark.parametrize("field", ["suspend: true", "parallelism: 0", "completions: 0"])
def test_a_cron_job_whose_jobs_do_nothing_is_imported_paused_and_said_to_be(field: str):
    result = read(job=field)
    assert document(result)["paused"] is True
    assert document(result)["pause_reason"] == f"jobTemplate.spec.{field} in its manifest"
    assert said(result) - PLAIN == {
        f"jobTemplate.spec.{field}: its Jobs did nothing by themselves, so it is paused"
    }
    assert "paused" not in document(read(job=field.replace("true", "false").replace("0", "1")))


@pytest.mark.parametrize(
    ("pod", "container", "sentence"),
    [
        ("restartPolicy: Always", "", "restartPolicy of a Job is Never or OnFailure; Kubernetes"),
        ("initContainers: [{image: b}]", "", "initContainers are left out"),
        ("volumes: []", "resources: {}", "resources, volumes are left to whoever runs the command"),
        ("", "workingDir: /srv", "workingDir is left to whoever runs the command"),
        ("", "envFrom: [{}]", "environment from ConfigMaps, Secrets and fields is left to whoever"),
    ],
)
def test_what_pods_say_of_running_containers_is_left_to_a_runner(
    pod: str, container: str, sentence: str
):
    [note] = said(read(pod=pod, container=container)) - PLAIN
    assert note.startswith(sentence)


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_both_policies_of_restarting_are_tries_again(policy: str):
    assert said(read(pod=f"restartPolicy: {policy}")) == PLAIN


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("suspend: 'true'", "a: suspend is 'true'; write true or false"),
        ("completions: -1", "a: completions is -1 and no whole number"),
        ("backoffLimit: 1.5", "a: backoffLimit is 1.5 and no whole number"),
        ("backoffLimit: 010", "a: backoffLimit is 010 and no whole number"),
    ],
)
def test_a_field_of_another_type_is_refused_as_kubernetes_does(field: str, reason: str):
    [refusal] = read(job=field).refused
    assert refusal.text == reason


def test_a_zone_in_the_schedule_is_taken_over_and_said_to_be_of_the_past():
    text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: %s}\n"
    result = read_manifests(text % "TZ=UTC 5 4 * * *", timezone="Asia/Tokyo", target=RUNNER)
    assert document(result)["timezone"] == "UTC"
    assert (
        "a zone in schedule: Kubernetes takes it in timeZone alone since 1.29; it is taken over"
        in said(result)
    )


def test_labels_that_a_schedule_does_not_take_are_named():
    text = (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a, labels: {app: x, version: 1.0,"
        " on: y}}\nspec: {schedule: '5 * * * *', timeZone: UTC}\n"
    )
    result = read_manifests(text, timezone="UTC", target=RUNNER)
    assert document(result)["labels"] == {"app": "x", "on": "y"}
    assert "labels that a schedule does not take (32 at most): version" in said(result)
