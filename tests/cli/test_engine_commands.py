"""Commands that ask an engine, against a real one."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from engine.core.errors import NO_SCHEDULE
from tests.cli.conftest import Offbeat, Result, running

LOOKS_MAX = 2_000
# Nothing listens there; no run of these tests gets so far.
TARGET = 'target = { url = "http://127.0.0.1:9/hook" }'
NIGHTLY = f"""
[schedules.nightly-report]
cron = "30 2 * * *"
timezone = "Europe/Berlin"
jitter_seconds = 60
{TARGET}
"""


@pytest.fixture
def asking(offbeat: Offbeat, server: str, monkeypatch: pytest.MonkeyPatch) -> Offbeat:
    monkeypatch.setenv("OFFBEAT_SERVER", server)
    return offbeat


@pytest.fixture
def apply(asking: Offbeat, tmp_path: Path) -> Any:
    def put(toml: str, *options: str) -> Result:
        path = tmp_path / "schedules.toml"
        path.write_text(toml)
        return asking("apply", str(path), *options)

    return put


def test_apply_says_what_it_did_and_repeats_without_effect(apply: Any):
    first = apply(f"{NIGHTLY}[schedules.beat]\nevery = 86400\n{TARGET}\n")
    assert (first.code, first.err) == (0, "2 created\n")
    assert first.out.splitlines()[1:] == ["nightly-report  created", "beat            created"]
    again = apply(f"{NIGHTLY}[schedules.beat]\nevery = 43200\n{TARGET}\n")
    assert (again.code, again.err) == (0, "1 updated, 1 unchanged\n")


def test_a_dry_run_of_apply_says_what_it_would_do_and_does_nothing(apply: Any, asking: Offbeat):
    tried = apply(f"[schedules.tried]\nevery = 86400\n{TARGET}\n", "--dry-run")
    said = "1 created; nothing was stored: this was a dry run\n"
    assert (tried.code, tried.err) == (0, said)
    assert asking("schedules", "get", "tried").code == 4


def test_schedules_are_chosen_by_labels_prefix_and_pause(apply: Any, asking: Offbeat):
    def chosen(*options: str) -> list[str]:
        documents = json.loads(asking("schedules", "-o", "json", *options).out)
        return [document["name"] for document in documents]

    daily = f"every = 86400\n{TARGET}"
    apply(
        f'[schedules.pick-a]\n{daily}\nlabels = {{ pick = "a" }}\npaused = true\n'
        f'[schedules.pick-b]\n{daily}\nlabels = {{ pick = "b" }}\n'
    )
    assert chosen("--selector", "pick") == ["pick-a", "pick-b"]
    assert chosen("--selector", "pick!=a,pick") == ["pick-b"]
    assert chosen("--prefix", "pick-", "--paused") == ["pick-a"]
    assert chosen("--prefix", "pick-", "--active") == ["pick-b"]
    refused = asking("schedules", "--selector", "pick in (a)")
    assert refused.code == 2
    assert "env=prod" in refused.err


def test_apply_puts_what_it_can_and_names_every_fault_of_the_rest(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    result = apply(
        f'{NIGHTLY}[schedules.bad]\ncron = "61 * * * *"\ntimezone = "Berlin"\n{TARGET}\n',
        "-o",
        "json",
    )
    assert result.code == 2
    assert [line["status"] for line in json.loads(result.out)] == ["unchanged", "error"]
    fault, total = result.err.splitlines()
    assert ":7: bad: cron: minute '61'" in fault
    assert "timezone: 'Berlin'" in fault
    assert total == "1 unchanged, 1 refused"
    assert asking("schedules", "get", "bad").code == 4


def test_a_file_of_thousands_is_one_request(asking: Offbeat, tmp_path: Path):
    target = {"url": "http://127.0.0.1:9/hook", "body": "x" * 500}
    schedules = {f"many-{n}": {"every": 86_400, "target": target} for n in range(2_500)}
    (tmp_path / "many.json").write_text(json.dumps({"schedules": schedules}))
    assert asking("apply", str(tmp_path / "many.json")).err == "2500 created\n"
    assert asking("schedules").out.count("\nmany-") == 2_500


def test_schedules_are_listed_shown_rested_woken_and_deleted(apply: Any, asking: Offbeat):
    apply(f"{NIGHTLY}[schedules.gone-soon]\nevery = 86400\nphase = 7\n{TARGET}\n")
    listed = asking("schedules").out
    assert "nightly-report  30 2 * * * (Europe/Berlin)  60" in listed
    assert "every 86400 s at +7 s" in listed
    assert json.loads(asking("schedules", "get", "gone-soon").out)["phase"] == 7
    paused = asking("schedules", "pause", "gone-soon", "--until", "2096-02-29T00:00:00Z")
    assert paused.err == "gone-soon rests until 2096-02-29T00:00:00Z\n"
    [row] = [row for row in asking("schedules").out.splitlines() if row.startswith("gone-soon")]
    assert "  paused  " in row
    assert asking("schedules", "resume", "gone-soon").err.startswith("gone-soon fires next at 2")
    assert asking("schedules", "delete", "gone-soon").err == "gone-soon is gone\n"
    gone = asking("schedules", "delete", "gone-soon")
    assert (gone.code, gone.err) == (4, f"offbeat: {NO_SCHEDULE}\n")
    assert "gone-soon" not in [d["name"] for d in json.loads(asking("schedules", "-o", "json").out)]


def test_of_a_name_that_is_almost_right_the_right_one_is_named(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    said = "offbeat: there is no schedule nightly-reprt: did you mean nightly-report?\n"
    for verb in ("get", "pause", "resume", "trigger", "delete"):
        missed = asking("schedules", verb, "nightly-reprt")
        assert (missed.code, missed.out, missed.err) == (4, "", said)
    span = ("--from", "2026-11-01T00:00:00Z", "--to", "2026-11-02T00:00:00Z")
    assert asking("schedules", "backfill", "nightly-reprt", *span).err == said
    assert asking("explain", "nightly-reprt").err == said
    assert asking("runs", "replay", "--failed", "--schedule", "nightly-reprt").err == said
    assert asking("runs", "--schedule", "nightly-reprt").err == said
    assert asking("runs", "--follow", "--schedule", "nightly-reprt").err == said
    nothing_like_it = asking("schedules", "get", "zzz")
    assert (nothing_like_it.code, nothing_like_it.err) == (4, f"offbeat: {NO_SCHEDULE}\n")


def test_a_list_of_nothing_says_so(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    empty = asking("schedules", "--prefix", "none-begins-so")
    assert (empty.code, empty.err, len(empty.out.splitlines())) == (0, "no schedule is so\n", 1)
    assert asking("runs", "--schedule", "nightly-report").err == "no run is so\n"
    assert asking("runs", "--state", "cancelled", "-o", "json").out == "[]\n"


def test_a_run_is_explained_by_its_id(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    run = asking("schedules", "trigger", "nightly-report").out.strip()
    instant = run.partition("@")[2]
    explained = json.loads(asking("explain", run, "-o", "json").out)
    by_instant = json.loads(asking("explain", "nightly-report", "--at", instant, "-o", "json").out)
    for each in (explained, by_instant):  # It is under way.
        del each["run"]
    assert (explained, explained["occurrence"]["scheduled_for"]) == (by_instant, instant)
    missed = asking("explain", f"{run.partition('@')[0]}@2020-01-01T00:00:00Z")
    assert (missed.code, missed.err.startswith("offbeat: there is no such run")) == (4, True)


def test_secrets_are_printed_one_a_line(asking: Offbeat):
    [secret] = asking("secrets").out.splitlines()
    assert secret.startswith("whsec_")
    assert json.loads(asking("secrets", "-o", "json").out) == {"secrets": [secret]}


def test_notices_are_set_shown_and_turned_off(asking: Offbeat):
    assert asking("notices", "show").code == 4
    assert (
        "http://10.9.8.7/alerts"
        in asking("notices", "set", "--target", "http://10.9.8.7/alerts").out
    )
    shown = json.loads(asking("notices", "show", "-o", "json").out)
    assert shown["target"]["url"] == "http://10.9.8.7/alerts"
    assert asking("notices", "set", "--target", "ftp://a.example/").code == 2
    off = asking("notices", "off")
    assert (off.code, off.out, off.err) == (0, "", "nobody is told of failures\n")
    assert asking("notices", "off").code == 4


def test_secrets_rotate_and_the_old_one_is_retired(asking: Offbeat):
    [old] = asking("secrets").out.splitlines()
    assert asking("secrets", "retire").code == 5
    rotated = asking("secrets", "rotate")
    new, second = rotated.out.splitlines()
    assert second == old != new
    assert rotated.err.endswith("then: offbeat secrets retire\n")
    again = asking("secrets", "rotate")
    assert (again.code, again.err.startswith("offbeat: two signing secrets are active")) == (
        5,
        True,
    )
    assert asking("secrets").out.splitlines() == [new, old]
    assert json.loads(asking("secrets", "retire", "-o", "json").out) == {"secrets": [new]}
    assert asking("secrets").out.splitlines() == [new]


def test_an_option_before_rotate_is_refused_and_not_forgotten(asking: Offbeat):
    refused = asking("secrets", "--server", "unix:/nowhere", "rotate")
    assert (refused.code, "write the options after rotate" in refused.err) == (2, True)
    assert len(asking("secrets").out.splitlines()) == 1


def test_a_triggered_run_is_listed_and_explained(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    run_id = asking("schedules", "trigger", "nightly-report").out.strip()
    schedule, _, instant = run_id.partition("@")
    rows = json.loads(asking("runs", "--schedule", "nightly-report", "-o", "json").out)
    assert rows[0]["id"] == run_id
    assert instant in asking("runs", "--limit", "1").out
    assert json.loads(asking("runs", "--state", "skipped", "-o", "json").out) == []
    explained = json.loads(asking("explain", "nightly-report", "--at", instant, "-o", "json").out)
    assert (explained["id"], explained["run"]["id"]) == (schedule, run_id)
    assert explained["occurrence"]["fire_after"] == instant
    assert explained["notes"] == ["a manual run: asked for at this instant, without jitter"]
    assert "by manual" in asking("explain", "nightly-report", "--at", instant).out


def test_an_instant_beyond_the_calendar_is_explained_with_where_it_ends(
    apply: Any, asking: Offbeat
):
    apply(NIGHTLY)
    beyond = asking("explain", "nightly-report", "--at", "9999-12-31T23:59:59Z", "-o", "json")
    assert beyond.err.startswith("cron timetables end with the year 9998")
    assert json.loads(beyond.out)["occurrence"]["scheduled_for"] == "9998-12-31T01:30:00Z"
    assert asking("explain", "nightly-report", "--at", "9998-12-31T23:59:59Z").err == ""


def test_the_past_of_a_schedule_is_counted_and_filled(apply: Any, asking: Offbeat):
    apply(f'[schedules.filled]\nevery = 3600\nstart_at = "2026-01-01T00:00:00Z"\n{TARGET}\n')
    span = ("--from", "2026-02-01T00:00:00Z", "--to", "2026-02-01T05:00:00Z")
    counted = asking("schedules", "backfill", "filled", *span, "--dry-run", "-o", "json")
    assert json.loads(counted.out)["count"] == 5
    [columns, row] = asking("schedules", "backfill", "filled", *span).out.splitlines()
    assert columns.split() == ["count", "first", "last", "spread_until"]
    assert row.split()[:3] == ["5", "2026-02-01T00:00:00Z", "2026-02-01T04:00:00Z"]
    assert asking("schedules", "backfill", "filled", *span).out.split()[4:] == ["0", "-", "-", "-"]
    assert asking("schedules", "backfill", "filled", "--from", "x", "--to", "y").code == 2


def test_explain_shows_when_and_why_then(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    result = asking("explain", "nightly-report", "--at", "2027-03-28T12:00:00Z")
    assert result.code == 0
    lines = dict(line.split(maxsplit=1) for line in result.out.splitlines())
    assert lines["schedule"] == "nightly-report (sch_tq9s2dobvk1gq0sevfcr4j94no)"
    assert lines["trigger"] == "30 2 * * * (Europe/Berlin), dst_gap shift, dst_fold first"
    assert lines["offset"].startswith("45.759 s of 60 s (explicit): sha256(id)[0:8] = 0x1cc0")
    assert lines["scheduled_for"] == "2027-03-28T01:00:00Z = 2027-03-28 03:00:00 +02:00"
    assert lines["fire_after"] == "2027-03-28T01:00:45.759Z"
    assert lines["before,"] == "after  2027-03-27T01:30:00Z, 2027-03-29T00:30:00Z"
    assert "clocks go from 02:00 to 03:00 on 28 March 2027" in result.out


def test_explain_says_of_what_was_never_run_how_many_there_were_and_why(
    offbeat: Offbeat, tmp_path: Path
):
    """The engine sleeps for an hour, and the schedule wants nothing of it."""
    toml = f'[schedules.each-minute]\ncron = "* * * * *"\ncatch_up = "skip"\n{TARGET}\n'
    (tmp_path / "schedules.toml").write_text(toml)
    # Not under tmp_path: a socket's path has 108 bytes at most.
    with TemporaryDirectory() as directory:
        with running(directory, "--clock-start", "2027-01-01T00:00:30Z") as server:
            offbeat("apply", str(tmp_path / "schedules.toml"), "--server", server)
        with running(directory, "--clock-start", "2027-01-01T01:00:30Z") as server:
            asked = ("each-minute", "--at", "2027-01-01T00:30:00Z", "--server", server)
            for _ in range(LOOKS_MAX):
                out = offbeat("explain", *asked).out
                if "decided at" in out:
                    break
    [note] = [line for line in out.splitlines() if "there is no such run" in line]
    assert note.startswith("note           there is no such run: it was missed in downtime")
    assert "(60 in all after 2027-01-01T00:00:" in note


def test_explain_takes_the_next_occurrence_unless_told(apply: Any, asking: Offbeat):
    apply(NIGHTLY)
    document = json.loads(asking("schedules", "get", "nightly-report").out)
    explained = json.loads(asking("explain", "nightly-report", "-o", "json").out)
    assert explained["occurrence"]["scheduled_for"] == document["next"]["scheduled_for"]


def test_explain_says_when_nothing_is_to_come(apply: Any, asking: Offbeat):
    apply(f'[schedules.over]\ncron = "0 0 1 1 *"\nend_at = 2020-01-01T00:00:00Z\n{TARGET}\n')
    explained = json.loads(asking("explain", "over", "-o", "json").out)
    assert (explained["occurrence"], explained["notes"]) == (None, ["it will not fire any more"])
    before = json.loads(asking("explain", "over", "--at", "2021-01-01T00:00:00Z", "-o", "json").out)
    assert "not owed: after end_at, 2020-01-01T00:00:00Z" in before["notes"]


def test_what_does_not_exist_is_exit_code_4(asking: Offbeat):
    assert {asking(*command).code for command in (("explain", "x"), ("schedules", "get", "x"))} == {
        4
    }
    assert asking("schedules", "trigger", "no such/name").code == 4
    assert asking("runs", "--schedule", "sch_nothing").code == 0


@pytest.mark.parametrize(
    "command",
    [
        *(("schedules", verb) for verb in ("get", "pause", "resume", "trigger", "delete")),
        ("schedules", "backfill", "--from", "2026-02-01T00:00:00Z", "--to", "2026-02-02T00:00:00Z"),
        ("explain",),
        ("flows", "limit"),
        ("key", "revoke"),
        ("runs", "--schedule"),
    ],
)
def test_an_empty_name_is_exit_code_2(asking: Offbeat, command: tuple[str, ...]):
    result = asking(*command, "")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "it is empty: write which one is meant" in result.err


def test_a_flow_is_limited_under_its_key_as_written(asking: Offbeat):
    unknown = asking("flows", "limit", "[::1]:8080", "--rate", "7")
    assert (unknown.code, unknown.out) == (2, "")
    assert "no schedule has named this flow" in unknown.err
    limited = asking("flows", "limit", "[::1]:8080", "--rate", "7", "--new")
    assert limited.code == 0
    assert [line.split() for line in limited.out.splitlines()] == [
        ["key", "rate", "parallelism", "in", "flight", "held", "breaker"],
        ["[::1]:8080", "7/s", "20", "0", "0", "closed"],
    ]
    again = asking("flows", "limit", "[::1]:8080", "--rate", "8", "-o", "json")
    assert json.loads(again.out)["rate"] == 8
    refused = asking("flows", "limit", "a/b?c=d", "--rate", "7")
    assert (refused.code, refused.out) == (2, "")
    assert "no schedule can have this flow's key: write letters, digits" in refused.err


def test_an_imported_crontab_is_put_once_and_what_left_it_is_named(asking: Offbeat, tmp_path: Path):
    # C35 of the shared cases, over the API.
    crontab = tmp_path / "mine"
    lines = [f"{minute} 5 * * * curl http://127.0.0.1:9/{minute}" for minute in (1, 2, 3)]

    def put(lines: list[str]) -> list[str]:
        crontab.write_text("\n".join(lines))
        result = asking("import", "crontab", str(crontab), "--tz", "UTC", "--apply")
        assert result.code == 0
        return [line for line in result.err.splitlines() if ": note: " not in line]

    assert put(lines) == ["3 created"]
    assert put(lines) == ["3 unchanged"]
    edited = [lines[0].replace("1 5", "1 6", 1), *lines[1:]]
    assert put(edited) == ["1 updated, 2 unchanged"]
    assert put(edited[::-1]) == ["3 unchanged"]
    total, gone = put(edited[:2])
    assert total == "2 unchanged"
    assert gone.startswith("no longer in mine: offbeat schedules delete 127.0.0.1-9-3-")


def test_lines_of_one_command_keep_their_schedules(asking: Offbeat, tmp_path: Path):
    # C35 again: one line added, changed or moved is one change, whose ever the command is.
    crontab = tmp_path / "sync"
    lines = [f"30 {hour} * * * curl http://127.0.0.1:9/sync" for hour in (9, 8, 7, 6)]

    def put(*lines: str) -> str:
        crontab.write_text("\n".join(lines))
        result = asking("import", "crontab", str(crontab), "--tz", "UTC", "--apply")
        return next(line for line in result.err.splitlines() if ": note: " not in line)

    assert put(lines[0]) == "1 created"
    assert put(lines[0].replace("30 9", "45 9")) == "1 updated"
    assert put(lines[0]) == "1 updated"
    assert put(lines[1], lines[0]) == "1 created, 1 unchanged"
    assert put(*lines) == "2 created, 2 unchanged"
    assert put(*lines[::-1]) == "4 unchanged"
    assert put(*lines[:2], lines[2].replace("30 7", "0 23"), lines[3]) == "1 updated, 3 unchanged"
    assert put(lines[3]) == "1 unchanged"
    crontab = tmp_path / "renamed"
    assert put(lines[3]) == "1 updated"


def test_check_reads_beside_the_running_engine(asking: Offbeat, server: str):
    directory = Path(server.removeprefix("unix:")).parent / "data"
    result = asking("check", "--data-dir", str(directory))
    assert (result.code, result.out) == (0, f"{directory}/offbeat.db is whole\n")
    as_json = json.loads(asking("check", "--data-dir", str(directory), "-o", "json").out)
    assert as_json["faults"] == []


def test_check_names_what_is_wrong(asking: Offbeat, tmp_path: Path):
    (tmp_path / "offbeat.db").write_bytes(b"not a database" * 100)
    result = asking("check", "--data-dir", str(tmp_path))
    assert (result.code, "not an SQLite database" in result.out) == (1, True)


def test_a_second_engine_on_the_directory_is_a_conflict(asking: Offbeat, server: str):
    directory = Path(server.removeprefix("unix:")).parent / "data"
    result = asking("run", "--data-dir", str(directory), "--listen", f"{server}2")
    assert (result.code, result.err.count("\n")) == (5, 1)
    assert "another engine is running" in result.err


def test_audit_compares_what_was_owed_with_what_there_is(asking: Offbeat):
    result = asking("audit", "-o", "json")
    assert result.code == 0
    assert json.loads(result.out)["unaccounted"] == 0
    assert asking("audit").out.split()[:2] == ["schedules", "owed"]


def test_audit_of_an_empty_span_says_what_to_write(asking: Offbeat):
    result = asking("audit", "--from", "2026-11-30T12:00:00Z", "--to", "2026-11-30T12:00:00Z")
    assert result.code == 2
    assert "to: write an instant later than from" in result.err
