"""`offbeat import crontab` without an engine."""

import json
from pathlib import Path

import pytest

from engine.cli.imports import local_timezone
from engine.schedule_files import read_files
from tests.cli.conftest import Offbeat

CRONTAB = (
    "MAILTO=ops\n0 5 * * * curl -s https://h.example/r\n@reboot php x.php\n1 6 * * * php x.php\n"
)


@pytest.fixture
def crontab(tmp_path: Path) -> str:
    path = tmp_path / "mine"
    path.write_text(CRONTAB)
    return str(path)


def test_by_default_nothing_is_put_and_every_line_is_accounted_for(offbeat: Offbeat, crontab: str):
    result = offbeat("import", "crontab", crontab, "--tz", "Europe/Berlin")
    assert result.code == 1
    header, row = result.out.splitlines()
    assert header.split() == ["line", "schedule", "cron", "timezone", "what"]
    assert "0 5 * * *  Europe/Berlin  GET https://h.example/r" in row
    said = result.err.splitlines()
    assert f"{crontab}:1: note: MAILTO: nobody is mailed; see offbeat runs --state failed" in said
    assert f"{crontab}:3: @reboot is no instant; start it with the machine" in said
    assert f"{crontab}:4: not a web call; --target URL makes it a POST of the command" in said
    assert said[-1] == "1 schedule; --apply puts it"


def test_a_crontab_without_jobs_is_not_asked_to_be_put(offbeat: Offbeat, tmp_path: Path):
    (tmp_path / "empty").write_text("# nothing yet\n")
    result = offbeat("import", "crontab", str(tmp_path / "empty"))
    assert (result.code, result.err) == (0, "no schedules\n")


def test_as_json_it_is_a_file_for_apply(offbeat: Offbeat, crontab: str, tmp_path: Path):
    target = ("--target", "http://127.0.0.1:9000/run")
    result = offbeat("import", "crontab", crontab, *target, "--dry-run", "-o", "json")
    (tmp_path / "schedules.json").write_text(result.out)
    documents = read_files([tmp_path / "schedules.json"])
    assert [document["cron"] for document in documents] == ["0 5 * * *", "1 6 * * *"]
    assert documents[1]["target"]["json"] == {"command": "php x.php"}
    assert {document["labels"]["crontab"] for document in documents} == {"mine"}


def test_a_crontab_that_is_taken_over_whole_is_exit_code_0(offbeat: Offbeat, tmp_path: Path):
    (tmp_path / "cron").write_text("0 5 * * * root wget -q http://h.example\n")
    result = offbeat("import", "crontab", "--system", str(tmp_path / "cron"), "-o", "json")
    assert result.code == 0
    assert len(json.loads(result.out)["schedules"]) == 1


def test_the_zone_of_this_machine_is_an_iana_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    assert local_timezone() == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "EST5EDT4")
    assert local_timezone() != "EST5EDT4"


MANIFEST = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: a, namespace: n1}
spec:
  schedule: "0 2 * * *"
  jobTemplate:
    spec: {template: {spec: {containers: [{image: i, command: [run, it]}]}}}
---
kind: ConfigMap
---
kind: CronJob
spec: {schedule: * * * * *}
"""


def test_manifests_are_shown_and_every_document_is_accounted_for(offbeat: Offbeat, tmp_path: Path):
    path = tmp_path / "jobs.yaml"
    path.write_text(MANIFEST)
    result = offbeat("import", "kubernetes", str(path), "--target", "http://127.0.0.1:9000/run")
    assert result.code == 1
    assert result.out.splitlines()[1] == "1     n1.a      0 2 * * *  UTC       run it"
    said = result.err.splitlines()
    assert f"{path}:8: note: ConfigMap is ignored" in said
    assert any(line.startswith(f"{path}:10: line 12: not YAML") for line in said)
    assert said[-1] == "1 schedule; --apply puts it"


def test_what_is_suspended_is_marked_in_the_table(offbeat: Offbeat, tmp_path: Path):
    path = tmp_path / "jobs.yaml"
    path.write_text(MANIFEST.partition("---")[0].replace("spec:\n", "spec:\n  suspend: true\n", 1))
    result = offbeat("import", "kubernetes", str(path), "--target", "http://127.0.0.1:9000/run")
    assert result.out.splitlines()[1] == "1     n1.a      0 2 * * * (paused)  UTC       run it"


def test_manifests_as_json_are_a_file_for_apply(offbeat: Offbeat, tmp_path: Path):
    path = tmp_path / "jobs.yaml"
    path.write_text(MANIFEST.partition("---")[0])
    arguments = ("import", "kubernetes", str(path), "--target", "http://127.0.0.1:9000/run")
    result = offbeat(*arguments, "-o", "json")
    assert result.code == 0
    (tmp_path / "schedules.json").write_text(result.out)
    [document] = read_files([tmp_path / "schedules.json"])
    assert document["target"]["json"] == {"image": "i", "command": ["run", "it"]}
    assert "n1.a is in two of the files" in offbeat(*arguments, str(path)).err
