"""CronJob manifests as schedules: what is taken over, what is refused, what is said of the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.core.document import read_schedule
from engine.core.yaml_text import parse_documents
from engine.imports.kubernetes import read_manifests
from engine.imports.report import Import

FIXTURES = Path(__file__).parent / "fixtures" / "kubernetes"
CASES = Path(__file__).parents[1] / "cases" / "cases.jsonl"
RUNNER = "http://127.0.0.1:9000/run"


def read(text: str, *, target: str | None = RUNNER) -> Import:
    return read_manifests(text, timezone="UTC", target=target)


def cron_job(spec: str, pod: str = "{containers: [{image: a, command: [x]}]}") -> str:
    return (
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n"
        f"spec: {{schedule: '5 * * * *', {spec}, jobTemplate: {{spec: {{template: "
        f"{{spec: {pod}}}}}}}}}\n"
    )


def one(text: str, *, target: str | None = RUNNER) -> dict[str, Any]:
    result = read(text, target=target)
    assert result.refused == ()
    [imported] = result.schedules
    return dict(imported.document)


def refusal(text: str, *, target: str | None = RUNNER) -> str:
    result = read(text, target=target)
    assert result.schedules == ()
    [remark] = result.refused
    return remark.text


def notes(text: str) -> str:
    return "\n".join(note.text for note in read(text).notes)


def test_case_c18():
    [case] = [
        case for case in map(json.loads, CASES.read_text().splitlines()) if case["id"] == "C18"
    ]
    result = read(case["input"]["yaml"])
    first, second = (each.document for each in result.schedules)
    assert first | {"labels": {}, "target": {}} == {
        "name": "n1.a",
        "labels": {},
        "cron": "0 2 * * *",
        "timezone": "Etc/UTC",
        "paused": True,
        "pause_reason": "suspend: true in its manifest",
        "overlap": "skip",
        "catch_up_window_seconds": 10,
        "target": {},
        "retry": {"max_attempts": 7, "min_backoff_seconds": 10, "max_backoff_seconds": 360},
    }
    assert (second["name"], second["cron"], second["timezone"]) == ("n2.a", "@hourly", "UTC")
    assert [each.line for each in result.schedules] == [4, 8]
    [bad] = result.refused
    assert bad.lines == (16,)
    assert bad.text.startswith("line 21: not YAML: ")
    assert bad.text.endswith('wants quotes: "*/5 * * * *"')
    assert ((12,), "x: ConfigMap is ignored") in [(note.lines, note.text) for note in result.notes]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("schedule: null", "it has no schedule"),
        ("schedule: 5", "schedule is 5 and no text; put it in quotes"),
        ("schedule: true", "schedule is True and no text"),
        ("schedule: '5 * * * *', timeZone: 5", "timeZone is 5 and no text"),
        ("schedule: '5 * * * *', timeZone: NO", "timeZone is NO and no text"),
        ("suspend: yes", "suspend is yes; write true or false"),
        ("startingDeadlineSeconds: 010", "startingDeadlineSeconds is 010 and no whole number"),
        ("schedule: '5 * * * *', timeZone: Mars/Base", "Mars/Base"),
        ("schedule: '5 * * * *', timeZone: ''", "'' is not an IANA time zone"),
        ("schedule: '0 5 * * * *'", "it has 6 fields, and Kubernetes reads five"),
        ("schedule: 'H * * * *'", "H"),
        (
            "schedule: '5 * * * 7'",
            "weekday 7: Kubernetes has 0 to 6 and never ran this; Sunday is 0",
        ),
        ("schedule: '5 * * * 1-7/2'", "weekday 1-7/2: Kubernetes has 0 to 6"),
        (
            "schedule: '5 * * * sat-sun'",
            "Kubernetes begins a week with Sunday and never ran this; w",
        ),
        ("schedule: '5 * * * sat-sun'", "; write sat,sun"),
        ("schedule: '5 * * * 5-Sun'", "; write 5-sat,sun"),
        ("schedule: '@Daily'", "Kubernetes knows @daily in small letters alone"),
        ("schedule: '@reboot'", "@reboot is no time"),
        ("schedule: '5 * * * *', timeZone: Local", "'Local' is not an IANA time zone"),
        ("schedule: '0 0 L * *'", "Kubernetes knows no L, W and #"),
        ("schedule: '@every soon'", "has no duration like 1h30m"),
        ("schedule: '@every 1ms'", "is not between a second and a year"),
        ("schedule: 'TZ=UTC 5 * * * *', timeZone: UTC", "Kubernetes refuses that"),
        ("suspend: 1", "suspend is 1; write true or false"),
        ("concurrencyPolicy: Never", "there are Allow, Forbid and Replace"),
        ("startingDeadlineSeconds: -1", "startingDeadlineSeconds is -1 and no whole number"),
        ("jobTemplate: x", "jobTemplate is no object"),
    ],
)
def test_what_is_no_cron_job_of_kubernetes_is_refused_with_its_name(spec: str, says: str):
    text = f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
    if "schedule:" not in spec:
        text = text.replace("spec: {", "spec: {schedule: '5 * * * *', ")
    assert says in refusal(text)


@pytest.mark.parametrize(
    ("schedule", "document"),
    [
        ("0 2 * * ?", {"cron": "0 2 * * *", "timezone": "UTC"}),
        ("0 0 */2 * 1", {"cron": "0 0 1-31/2 * 1", "timezone": "UTC"}),
        ("0 0 15 * */3", {"cron": "0 0 15 * 0-6/3", "timezone": "UTC"}),
        ("0 0 1,* * 1", {"cron": "0 0 * * 1", "timezone": "UTC"}),
        ("0 0 */2 * *", {"cron": "0 0 */2 * *", "timezone": "UTC"}),
        ("5-5 0-23/61 * * */7", {"cron": "5-5 0-23/61 * * */7"}),
        ("0 0 * JAN sun-FRI", {"cron": "0 0 * JAN sun-FRI"}),
        ("0 0 */1 * 1", {"cron": "0 0 * * 1", "timezone": "UTC"}),
        ("CRON_TZ=Asia/Tokyo 5 4 * * *", {"cron": "5 4 * * *", "timezone": "Asia/Tokyo"}),
        ("@daily", {"cron": "@daily", "timezone": "UTC"}),
        ("@every 1h30m", {"every": 5_400}),
        ("@every 1.5s", {"every": 1}),
    ],
)
def test_times_are_what_kubernetes_reads_and_not_what_crond_would(schedule: str, document: dict):
    imported = one(cron_job("x: 1").replace("5 * * * *", schedule))
    assert {name: imported.get(name) for name in document} == document


def test_policies_are_taken_over_and_what_they_meant_is_said():
    text = cron_job("concurrencyPolicy: Replace, startingDeadlineSeconds: 3, suspend: false")
    assert one(text)["overlap"] == "buffer_one"
    assert one(text)["catch_up_window_seconds"] == 10
    assert "paused" not in one(text)
    assert one(cron_job("concurrencyPolicy: ''")).get("overlap") is None
    assert "Replace: what is under way is not stopped" in notes(text)
    assert "made up within 10 s" in notes(text)
    assert "answer when the work is done" in notes(cron_job("concurrencyPolicy: Forbid"))
    assert "what is due meanwhile is skipped" in notes(cron_job("concurrencyPolicy: Forbid"))
    assert "no timeZone: read in UTC" in notes(cron_job("suspend: false"))
    assert "dst_gap, dst_fold" in notes(cron_job("timeZone: Europe/Berlin"))


def test_a_container_becomes_a_post_for_whoever_runs_it():
    pod = (
        "{containers: [{image: 'a:1', command: [run], args: [--fast], env: [{name: A, value: b},"
        " {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}]}, {image: side}],"
        " initContainers: [{image: c}]}"
    )
    text = cron_job("x: 1", pod)
    assert one(text)["target"] == {
        "url": RUNNER,
        "method": "POST",
        "json": {
            "image": "a:1",
            "command": ["run"],
            "args": ["--fast"],
            "environment": {"A": "b"},
        },
        "timeout_seconds": 300,
    }
    for said in ("2 containers: the first", "initContainers are left out", "Secrets and fields"):
        assert said in notes(text)
    assert refusal(text, target=None) == (
        "a: no web call, since it runs run; --target URL posts the command"
    )


@pytest.mark.parametrize(
    "command",
    [
        "command: [curl, -fsS, -X, POST, 'http://web/tick']",
        "args: [/usr/bin/curl, -X, POST, 'http://web/tick']",
        "command: [/bin/sh, -c, 'curl -X POST http://web/tick >/dev/null']",
    ],
)
def test_a_container_that_calls_a_url_becomes_the_call(command: str):
    text = cron_job("x: 1", f"{{containers: [{{image: curl, {command}}}]}}")
    target = one(text, target=None)["target"]
    assert (target["method"], target["url"]) == ("POST", "http://web/tick")


def test_a_call_that_no_schedule_may_hold_is_posted_like_any_container():
    command = "command: [curl, -H, 'Host: shop.example', 'http://web/tick']"
    text = cron_job("x: 1", f"{{containers: [{{{command}}}]}}")
    assert one(text)["target"]["url"] == RUNNER
    assert one(text)["target"]["timeout_seconds"] == 300
    said = "a: no web call that a schedule may hold, since Host: the engine or HTTP itself sets"
    assert refusal(text, target=None).startswith(said)
    assert refusal(text, target=None).endswith("; --target URL posts the command")


def test_limits_of_the_job_become_limits_of_its_attempts():
    text = cron_job("x: 1").replace(
        "{spec: {template", "{spec: {backoffLimit: 2, activeDeadlineSeconds: 60, template", 1
    )
    waits = {"min_backoff_seconds": 10, "max_backoff_seconds": 360}
    assert one(text)["retry"] == {"max_attempts": 3, **waits}
    assert one(text)["target"]["timeout_seconds"] == 60
    assert "activeDeadlineSeconds 60: of each attempt, not of all together" in notes(text)
    long = text.replace(
        "Limit: 2, activeDeadlineSeconds: 60", "Limit: 20, activeDeadlineSeconds: 301"
    )
    assert one(long)["target"]["timeout_seconds"] == 300
    assert one(long)["retry"] == {"max_attempts": 20, **waits}
    assert "an attempt waits 300 s at most for its answer" in notes(long)
    assert "backoffLimit 20: 20 attempts at most" in notes(long)


def test_a_call_keeps_its_own_limit_where_it_is_the_shorter():
    pod = "{containers: [{image: a, command: [curl, -m, '30', 'http://web/tick']}]}"
    text = cron_job("x: 1", pod)
    assert one(text, target=None)["target"]["timeout_seconds"] == 30
    hurried = text.replace("{spec: {template", "{spec: {activeDeadlineSeconds: 10, template", 1)
    assert one(hurried, target=None)["target"]["timeout_seconds"] == 10
    patient = text.replace("'30'", "'900'")
    assert one(patient, target=None)["target"]["timeout_seconds"] == 300
    assert "an attempt waits 300 s at most for its answer" in notes(patient)


@pytest.mark.parametrize(
    "image", ["curlimages/curl:8.10.1", "alpine/curl", "byrnedo/alpine-curl@sha256:ab", "curl"]
)
def test_an_image_of_curl_runs_curl_on_its_arguments(image: str):
    pod = f"{{containers: [{{image: '{image}', args: [-X, POST, 'http://web/tick']}}]}}"
    target = one(cron_job("x: 1", pod), target=None)["target"]
    assert (target["method"], target["url"]) == ("POST", "http://web/tick")
    other = pod.replace(image, f"{image}-proxy" if ":" not in image else "curl/proxy")
    assert "since it runs -X" in refusal(cron_job("x: 1", other), target=None)


def test_variables_with_a_value_stand_in_the_call_and_secrets_make_it_none():
    pod = (
        "{containers: [{image: curl, env: [{name: HOST, value: web}, {name: TOKEN, valueFrom:"
        " {secretKeyRef: {name: s, key: k}}}], args: ['http://$(HOST)/$$(HOST)/$(OTHER)']}]}"
    )
    target = one(cron_job("x: 1", pod), target=None)["target"]
    assert target["url"] == "http://web/$(HOST)/$(OTHER)"
    secret = cron_job("x: 1", pod.replace("$(OTHER)", "$(TOKEN)"))
    said = "a: no web call, since the value of TOKEN is not in the manifest"
    assert refusal(secret, target=None).startswith(said)
    assert one(secret)["target"]["json"]["args"] == ["http://$(HOST)/$$(HOST)/$(TOKEN)"]


def test_a_script_is_a_call_when_it_has_one_line_that_runs():
    script = "# the nightly\\ncurl -s \\\\\\n  -X POST http://web/tick # now\\n"
    pod = f'{{containers: [{{image: a, command: [sh, -c], args: ["{script}"]}}]}}'
    target = one(cron_job("x: 1", pod), target=None)["target"]
    assert (target["method"], target["url"]) == ("POST", "http://web/tick")
    twice = pod.replace("# now", "# now\\ncurl http://web/tock")
    assert "a line break joins it to another" in refusal(cron_job("x: 1", twice), target=None)


def test_what_yaml_leaves_open_matters_only_where_it_is_read():
    pod = (
        "{volumes: [{name: v, configMap: {name: c, defaultMode: 0755}}],"
        " containers: [{image: a, command: [x], env: [{name: A, value: on}]}]}"
    )
    text = cron_job("x: 1", pod)
    assert one(text)["target"]["json"] == {"image": "a", "command": ["x"]}
    assert "Secrets and fields" in notes(text)


def test_one_name_is_one_schedule_and_other_versions_are_refused():
    twice = f"{cron_job('x: 1')}---\n{cron_job('x: 1')}"
    result = read(twice)
    assert len(result.schedules) == 1
    assert [remark.text for remark in result.refused] == ["a: a is there already, from line 1"]
    assert "apiVersion is batch/v2alpha1" in refusal(cron_job("x: 1").replace("v1", "v2alpha1"))
    assert "kind is missing" in refusal("- 1\n")
    named_later = cron_job("x: 1").replace("name: a", "generateName: a-")
    assert "generateName names another at each apply" in refusal(named_later)
    assert "its items are no list" in refusal("kind: List\nitems: 1\n")


def test_what_a_cluster_adds_to_a_manifest_and_what_else_a_file_holds_is_no_matter():
    cluster = (
        "{name: a, namespace: n, creationTimestamp: '2026-11-01T10:00:00Z', managedFields: [{time:"
        " '2026-11-01T10:00:00Z', fieldsV1: {'f:spec': {.: {}, 'k:{\"name\":\"x\"}': {}}}}]}"
    )
    job = cron_job("suspend: false").replace("{name: a}", cluster)
    config = "---\nkind: ConfigMap\ndata: {9000: default/web, on: x, mode: 0755}\n"
    result = read(f"{job}status: {{lastScheduleTime: 2026-11-30T04:30:00Z}}\n{config}")
    assert [each.document["name"] for each in result.schedules] == ["n.a"]
    assert result.refused == ()


def test_a_list_of_cron_jobs_says_once_what_all_its_items_are():
    item = "- metadata: {name: %s}\n  spec: {schedule: '5 * * * *'}\n"
    listed = "apiVersion: batch/v1\nkind: CronJobList\nitems:\n" + item % "a" + item % "b"
    result = read(listed)
    assert [(each.line, each.document["name"]) for each in result.schedules] == [(4, "a"), (6, "b")]
    assert "apiVersion is batch/v2" in refusal(listed.replace("v1", "v2").rpartition("-")[0])
    assert "kind is missing" in refusal(f"kind: List\nitems:\n{item % 'a'}")


def test_a_directive_belongs_to_the_document_behind_it():
    result = read(f"# jobs\n%YAML 1.2\n# of ours\n---\n{cron_job('x: 1')}")
    assert ([each.line for each in result.schedules], result.refused) == ([2], ())


def test_a_template_is_said_to_be_one():
    result = read(cron_job("x: 1").replace("name: a", "name: {{ .Values.name }}"))
    assert [note.text for note in result.notes if "helm template" in note.text]
    assert result.schedules == ()


def test_cron_jobs_of_well_known_charts_are_taken_over():
    text = (FIXTURES / "charts.yaml").read_text()
    result = read(text)
    assert (len(result.schedules), result.refused) == (text.count("kind: CronJob"), ())
    documents = {each.document["name"]: each.document for each in result.schedules}
    for document in documents.values():
        read_schedule(document, tenant="default")
    assert documents["nextcloud-cron"]["target"]["url"] == "http://nextcloud.default.svc/cron.php"
    assert documents["mastodon-media-remove"]["target"]["json"] == {
        "image": "tootsuite/mastodon:v4.2",
        "command": ["bin/tootctl", "media", "remove"],
        "environment": {"PORT": "3000"},
    }
    cleaner = documents["jaeger-es-index-cleaner"]["target"]["json"]
    assert cleaner["args"] == ["7", "http://elasticsearch:9200"]
    assert documents["sentry-sentry-cleanup"]["target"]["timeout_seconds"] == 100
    assert documents["airflow-cleanup"]["retry"]["max_attempts"] == 2
    rest = {"target": {}, "labels": {}, "retry": {}}
    assert documents["data.postgresql-pgdumpall"] | rest == {
        "name": "data.postgresql-pgdumpall",
        "cron": "@daily",
        "timezone": "Europe/Berlin",
        "overlap": "allow",
        "catch_up_window_seconds": 600,
        **rest,
    }


def test_what_charts_mean_and_schedules_do_not_is_noted_with_the_line_of_each():
    text = (FIXTURES / "charts.yaml").read_text()
    names = [line.split()[1] for line in text.splitlines() if line.startswith("  name: ")]
    begins = dict(zip((line for line, _ in parse_documents(text)), [None, *names], strict=True))
    said = {
        note.text.partition(":")[0]: {begins[line] for line in note.lines}
        for note in read(text).notes
    }
    assert said == {
        "no timeZone": {*names} - {"postgresql-pgdumpall"},
        "Forbid": {
            "descheduler-cronjob",
            "nextcloud-cron",
            "jaeger-es-index-cleaner",
            "airflow-cleanup",
            "kyverno-cleanup-admission-reports",
        },
        "redirects are not followed": {"nextcloud-cron"},
        "history is kept by the engine's own settings ([history] days, runs)": {
            "nextcloud-cron",
            "jaeger-es-index-cleaner",
            "sentry-sentry-cleanup",
            "kyverno-cleanup-admission-reports",
            "postgresql-pgdumpall",
        },
        "environment from ConfigMaps, Secrets and fields is left to whoever runs the command": {
            "mastodon-media-remove",
            "postgresql-pgdumpall",
        },
        "priorityClassName is left to whoever runs the command": {"descheduler-cronjob"},
        "no backoffLimit, so 6": {*names} - {"airflow-cleanup"},
        "backoffLimit 1": {"airflow-cleanup"},
        "activeDeadlineSeconds 100": {"sentry-sentry-cleanup"},
        "startingDeadlineSeconds": {"postgresql-pgdumpall"},
        "where clocks change, Kubernetes leaves out what the gap swallows and repeats what comes"
        " twice; here either runs once (dst_gap, dst_fold)": {"postgresql-pgdumpall"},
        "jobs on the hour spread over up to 60 s; jitter_seconds 0 makes one exact": {*names}
        - {"jaeger-es-index-cleaner"},
    }
