"""Files against a real engine: export, diff, and what apply prunes."""

import json
import re
import subprocess
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from engine.cli.client import Client
from tests.cli.conftest import Offbeat, Result, running

TARGET = 'target = { url = "http://127.0.0.1:9/hook" }'
SCHEDULES = f"""
[schedules.nightly]
cron = "H 2 * * *"
timezone = "Europe/Berlin"
labels = {{ env = "prod" }}
{TARGET}

[schedules."every.hour"]
cron = "0 * * * *"
retry = {{ max_attempts = 3 }}
target = {{ url = "http://127.0.0.1:9/hook", json = {{ a = ["on", 1e22, "ü"] }} }}

[schedules.resting]
every = 3600
paused = true
pause_reason = "moving"
{TARGET}
"""

Put = Callable[..., Result]


@pytest.fixture
def asking(offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch) -> Offbeat:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    for name in [row["name"] for row in json.loads(offbeat("schedules", "-o", "json").out)]:
        offbeat("schedules", "delete", name)
    return offbeat


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str, name: str = "schedules.toml") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def seen(answers: str) -> list[tuple[object, ...]]:
    members = ("id", "name", "offset_ms", "cron_resolved", "next", "target", "labels", "paused")
    return [tuple(row.get(member) for member in members) for row in json.loads(answers)]


@pytest.mark.parametrize("form", ["json", "toml", "yaml"])
def test_what_is_exported_makes_the_same_schedules_on_a_fresh_engine(form, asking, file):
    assert asking("apply", file(SCHEDULES)).code == 0
    exported = asking("export", "-o", form)
    assert exported.err == ""
    with TemporaryDirectory() as directory, running(directory) as fresh:
        there = ("--server", fresh)
        path = file(exported.out, f"all.{form}")
        assert asking("apply", path, *there).err == "3 created\n"
        schedules = seen(asking("schedules", "-o", "json").out)
        assert seen(asking("schedules", "-o", "json", *there).out) == schedules
        assert asking("export", "-o", form, *there).out == exported.out
        for name in ("nightly", "every.hour"):
            explained = ("explain", name, "--at", "2027-03-28T12:00:00Z", "-o", "json")
            occurrence = json.loads(asking(*explained).out)["occurrence"]
            assert json.loads(asking(*explained, *there).out)["occurrence"] == occurrence


def test_an_export_is_what_was_chosen_and_says_what_it_cannot_hold(asking, file):
    asking("apply", file(f"[schedules.a]\nevery = 60\n{TARGET}\n"))
    assert asking("export", "-o", "toml").out == (
        '[schedules.a]\nevery = 60\ntarget = { url = "http://127.0.0.1:9/hook" }\n'
    )
    assert asking("export", "--selector", "env=none", "-o", "yaml").out == "schedules: {}\n"
    asking(
        "apply",
        file(
            '{"schedules": {"n": {"every": 9, "target": {"url": "http://127.0.0.1:9/",'
            ' "json": [null]}}}}',
            "n.json",
        ),
    )
    refused = asking("export", "-o", "toml")
    assert (refused.code, refused.out) == (2, "")
    assert "n: target: TOML has no null" in refused.err


def test_the_rehearsal_of_the_page_about_herds_takes_schedules_with_credentials(asking, file):
    page = (Path(__file__).parents[2] / "docs" / "how-to-herds.md").read_text()
    (command,) = re.findall(r"offbeat export -o toml \| (sed .*?) > rehearsal/all", page, re.DOTALL)
    headers = '{ Authorization = "Bearer a", X-Api-Key = "b", Accept = "text/plain" }'
    target = f'target = {{ url = "https://h.example/hook", headers = {headers} }}'
    asking("apply", file(f"[schedules.a]\nevery = 60\n{target}\n"))
    exported = asking("export", "-o", "toml").out
    done = subprocess.run(
        command, shell=True, input=exported, capture_output=True, text=True, check=True
    )
    with TemporaryDirectory() as directory, running(directory) as fresh:
        there = ("--server", fresh)
        assert asking("apply", file(exported), *there).code == 2
        assert asking("apply", file(done.stdout), *there).err == "1 created\n"
        target = json.loads(asking("schedules", "get", "a", *there).out)["target"]
    assert (target["url"], target["headers"]["Accept"]) == (
        "http://127.0.0.1:9000/hook",
        "text/plain",
    )


def test_apply_reads_an_export_from_its_input(asking, monkeypatch):
    text = b'{"schedules": {"a": {"every": 60, "target": {"url": "http://127.0.0.1:9/"}}}}'
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text)))
    assert asking("apply", "-").err == "1 created\n"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"schedules: {}\n")))
    assert asking("apply", "-").err.startswith("offbeat: -: not JSON, as standard input is: ")


def test_diff_shows_what_apply_would_change_and_exits_with_6(asking, file):
    assert asking("diff", file(SCHEDULES)).code == 6
    asking("apply", file(SCHEDULES))
    equal = asking("diff", file(SCHEDULES.replace("paused = true\npause_reason", "#")))
    assert (equal.code, equal.out, equal.err) == (0, "", "0 differ, 3 are equal\n")
    edited = SCHEDULES.replace("max_attempts = 3", "max_attempts = 4").replace("nightly", "daily")
    differs = asking("diff", file(edited))
    assert (differs.code, differs.err) == (6, "2 differ, 1 are equal\n")
    assert differs.out == "+ daily\n~ every.hour\n    retry/max_attempts: 3 -> 4\n"
    assert json.loads(asking("diff", file(edited), "-o", "json").out) == [
        {"name": "daily", "status": "created"},
        {
            "name": "every.hour",
            "status": "updated",
            "changes": [{"pointer": "/retry/max_attempts", "from": 3, "to": 4}],
        },
    ]
    assert asking("diff", file("[schedules.a]\nevery = 0\n")).code == 2
    assert [row[1] for row in seen(asking("schedules", "-o", "json").out)] == [
        "every.hour",
        "nightly",
        "resting",
    ]


def test_a_refusal_says_the_line_of_its_schedule(asking, file):
    path = file(f"[schedules.a]\nevery = 60\n{TARGET}\n[schedules.b]\nevry = 60\n{TARGET}\n")
    for command in ("apply", "diff"):
        refused = asking(command, path)
        assert refused.code == 2
        assert f'{path}:4: b: evry: unknown field; did you mean "every"?; ' in refused.err


def test_a_refusal_of_a_long_name_says_it_whole(asking, file):
    name = "n" * 100
    refused = asking("apply", file(f"[schedules.{name}]\nevery = 0\n{TARGET}\n"))
    assert (refused.code, refused.out.splitlines()[1]) == (2, f"{name}  error")
    assert f"schedules.toml:1: {name}: every: " in refused.err


def test_a_name_with_dots_that_toml_takes_apart_is_named_whole(asking, file):
    refused = asking("apply", file(f"[schedules.team.job]\nevery = 60\n{TARGET}\n"))
    assert (refused.code, refused.out) == (2, "")
    assert """a name with dots wants quotes, or is no name: [schedules."team.job"]""" in refused.err


def test_prune_deletes_what_the_set_lost_and_nothing_else(asking, file):
    both = file(f"[schedules.a]\nevery = 60\n{TARGET}\n[schedules.b]\nevery = 60\n{TARGET}\n")
    only_a = file(f"[schedules.a]\nevery = 60\n{TARGET}\n", "a.toml")
    asking("apply", file(f"[schedules.by-hand]\nevery = 60\n{TARGET}\n", "hand.toml"))
    assert asking("apply", both, "--set", "web").err == "2 created\n"
    assert asking("apply", only_a, "--set", "web").err == "1 unchanged\n"
    shown = asking("diff", only_a, "--set", "web", "--prune")
    assert (shown.code, shown.out) == (6, "- b\n")
    tried = asking("apply", only_a, "--set", "web", "--prune", "--dry-run")
    assert tried.out.splitlines() == [
        "schedule  would be",
        "a         unchanged",
        "b         deleted",
    ]
    assert tried.err == "1 unchanged, 1 deleted; nothing was stored: this was a dry run\n"
    assert asking("schedules", "get", "b").code == 0
    done = asking("apply", only_a, "--set", "web", "--prune")
    assert (done.code, done.err) == (0, "1 unchanged, 1 deleted\n")
    left = [row[1] for row in seen(asking("schedules", "-o", "json").out)]
    assert left == ["a", "by-hand"]


def test_a_schedule_of_a_set_that_is_put_without_it_stays_in_it(asking, file):
    both = f"[schedules.a]\nevery = 60\n{TARGET}\n[schedules.b]\nevery = 60\n{TARGET}\n"
    asking("apply", file(both), "--set", "web")
    alone = file(f"[schedules.a]\nevery = 90\n{TARGET}\n", "a.toml")
    stays = "a is of the set web, which stays so: the set's own files may put it back\n"
    shown = asking("diff", alone)
    assert (shown.code, shown.out) == (6, "~ a\n    every: 60 -> 90\n")
    assert shown.err == f"{stays}1 differ, 0 are equal\n"
    assert asking("apply", alone).err == f"{stays}1 updated\n"
    exported = asking("export", "-o", "toml").out
    assert asking("apply", file(exported)).err == "2 unchanged\n"
    done = asking("apply", file(both, "set.toml"), "--set", "web", "--prune")
    assert done.err == "1 updated, 1 unchanged\n"
    two = asking("apply", file(both.replace("60", "30")))
    assert two.err.startswith("2 schedules are of the set web, which stays so: ")
    stolen = asking("apply", file(exported.replace('"web"', '"ops"')))
    assert (stolen.code, "a belongs to the set web" in stolen.err) == (5, True)


def test_prune_never_deletes_by_surprise(asking, file):
    one = file(f"[schedules.a]\nevery = 60\n{TARGET}\n")
    asking("apply", one, "--set", "web")
    without = asking("apply", one, "--prune")
    assert (without.code, "name it with --set" in without.err) == (2, True)
    empty = asking("apply", file("[schedules]\n", "none.toml"), "--set", "web", "--prune")
    assert (empty.code, "would lose all of its 1: is the path right?" in empty.err) == (2, True)
    other = asking("apply", one, "--set", "ops")
    assert (other.code, "a belongs to the set web" in other.err) == (5, True)
    bad = file(f"[schedules.b]\nevery = 0\n{TARGET}\n", "bad.toml")
    refused = asking("apply", bad, "--set", "web", "--prune")
    assert (refused.code, "nothing is deleted while some are refused" in refused.err) == (2, True)
    assert asking("schedules", "get", "a").code == 0
    assert asking("apply", one, "--set", "no way").code == 2


def test_prune_leaves_alone_what_changed_while_apply_was_looking(asking, file, monkeypatch):
    both = f"[schedules.a]\nevery = 60\n{TARGET}\n[schedules.b]\nevery = 60\n{TARGET}\n"
    only_a = file(f"[schedules.a]\nevery = 60\n{TARGET}\n", "a.toml")
    asking("apply", file(both), "--set", "web")
    put = Client.batch

    def put_beside_somebody(client: Client, *arguments: Any, **options: Any) -> Any:
        client.call("PATCH", "/v1/schedules/b", body={"every": 90})
        return put(client, *arguments, **options)

    monkeypatch.setattr(Client, "batch", put_beside_somebody)
    done = asking("apply", only_a, "--set", "web", "--prune")
    assert (done.code, "1 unchanged, 1 refused" in done.err) == (2, True)
    assert "b: " in done.err
    assert json.loads(asking("schedules", "get", "b", "-o", "json").out)["every"] == 90


def test_run_applies_a_directory_before_it_listens(offbeat: Offbeat, tmp_path: Path):
    (tmp_path / "a.toml").write_text(f"[schedules.a]\nevery = 60\n{TARGET}\n")
    with TemporaryDirectory() as place, running(place, "--schedules", str(tmp_path)) as address:
        [schedule] = json.loads(offbeat("schedules", "-o", "json", "--server", address).out)
    assert (schedule["name"], schedule["labels"]) == ("a", {"offbeat/set": "schedules-directory"})
