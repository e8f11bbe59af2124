"""`offbeat export` of everything that a schedule can say, applied on an engine that has nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from engine.cli.client import Client, schedule_path
from engine.cli.options import Server
from tests.cli.conftest import Offbeat, running

TEXT = 'naïve "quotes"\\ and\ttabs\nlines\r\n\x7f 🕐 { } # = %'
HOOK = {"url": "http://h.example:8080/hook?a=%20&b=c"}
JSON = {"on": ["no", 1e22, -0.5, 7, True, {}], "ключ": "значение", "": "empty"}

SCHEDULES: dict[str, dict[str, Any]] = {
    "cron.hashed": {
        "cron": "H H(2-5) * * 1-5",
        "timezone": "Europe/Berlin",
        "dst_gap": "skip",
        "dst_fold": "both",
    },
    "cron-six": {"cron": "15,45 */7 * * * *", "timezone": "Asia/Kolkata"},
    "cron-word": {"cron": "@daily", "deadline_seconds": 30},
    "jitter-none": {"cron": "0 * * * *", "jitter_seconds": 0},
    "jitter-as-default": {"cron": "0 * * * *", "jitter_seconds": 60},
    "jitter-default": {"cron": "0 * * * *"},
    "jitter-most": {"every": 86_400, "phase": 61, "jitter_seconds": 900},
    "at-instant": {"at": "2100-01-01T00:00:00.123Z", "delete_after_completion": True},
    "at-local": {"at": "2100-07-01T12:30:00", "timezone": "Europe/Berlin"},
    "bounded": {
        "every": 7,
        "start_at": "2099-01-01T00:00:00Z",
        "end_at": "2099-02-01T00:00:00.5Z",
        "max_runs": 3,
    },
    "policies": {
        "cron": "5 4 * * SUN#2",
        "overlap": "buffer_one",
        "catch_up": "all",
        "catch_up_window_seconds": 7_200,
        "retry": {"max_attempts": 3, "jitter": "decorrelated", "max_age_seconds": 3_600},
        "flow_key": "billing:eu-1",
        "priority": 0,
        "pause_after_failures": 5,
    },
    "resting": {
        "every": 60,
        "paused": True,
        "pause_reason": "Umzug – größer",
        "paused_until": "2100-01-01T00:00:00Z",
    },
    "labelled": {"every": 60, "labels": {"team.example/name": "a_b.c", "empty": "", "no": "010"}},
    "text": {"every": 60, "target": {**HOOK, "body": TEXT, "timeout_seconds": 300}},
    "json": {"every": 60, "target": {**HOOK, "method": "PUT", "json": JSON}},
    "bytes": {"every": 60, "target": {**HOOK, "body_base64": "AP/+gA=="}},
    "headers": {
        "every": 60,
        "target": {
            **HOOK,
            "body": "<a/>",
            "headers": {"Content-Type": "text/xml", "X-A": '"b" #c'},
        },
    },
    **{name: {"every": 60} for name in ("no", "010", "1e3", "0x1F", "2026-01-01", "true", "NULL")},
}
for document in SCHEDULES.values():
    document.setdefault("target", HOOK)

OWN = ("revision", "created_at", "updated_at", "owed_after", "next")
"""What says when this engine learnt of a schedule, and what comes next when it is asked."""

File = Callable[[str, str], str]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def seen(address: str) -> dict[str, tuple[dict[str, Any], Any]]:
    """Of each schedule: what the API says, and its occurrences in a time to come."""
    span = {"from": "2099-01-01T00:00:00Z", "to": "2099-02-02T00:00:00Z", "limit": 50}
    with Client(Server(url=address, key=None)) as client:
        return {
            row["name"]: (
                {member: value for member, value in row.items() if member not in OWN},
                client.get(schedule_path(row["name"], "/occurrences"), **span),
            )
            for row in client.rows("/v1/schedules")
        }


@pytest.mark.parametrize("form", ["json", "toml", "yaml"])
def test_an_export_makes_the_same_schedules_where_nothing_is(
    form: str, offbeat: Offbeat, server: str, file: File
):
    there = ("--server", server)
    assert (
        offbeat("apply", file("all.json", json.dumps({"schedules": SCHEDULES})), *there).code == 0
    )
    exported = offbeat("export", "-o", form, *there)
    assert (exported.code, exported.err) == (0, "")
    schedules = seen(server)
    assert schedules.keys() == SCHEDULES.keys()
    with TemporaryDirectory() as directory, running(directory) as fresh:
        here = ("--server", fresh)
        path = file(f"exported.{form}", exported.out)
        assert offbeat("apply", path, *here).err == f"{len(SCHEDULES)} created\n"
        assert seen(fresh) == schedules
        assert offbeat("export", "-o", form, *here).out == exported.out
        assert offbeat("diff", path, *here).code == 0


def test_a_credential_is_not_exported_and_its_mask_is_no_credential(offbeat: Offbeat, file: File):
    target = {**HOOK, "headers": {"Authorization": "Bearer s3cret"}}
    original = file(
        "secret.json", json.dumps({"schedules": {"a": {"every": 60, "target": target}}})
    )
    with TemporaryDirectory() as directory, running(directory) as address:
        there = ("--server", address)
        offbeat("apply", original, *there)
        for form in ("json", "toml", "yaml"):
            exported = offbeat("export", "-o", form, *there)
            assert "s3cret" not in exported.out
            assert exported.err == "credentials are masked; another engine needs their values: a\n"
            path = file(f"masked.{form}", exported.out)
            assert offbeat("apply", path, *there).err == "1 unchanged\n"
        offbeat("schedules", "delete", "a", *there)
        refused = offbeat("apply", path, *there)
        assert (refused.code, "a: target/headers/Authorization: " in refused.err) == (2, True)


def test_of_many_whose_credentials_are_masked_the_first_are_named(offbeat: Offbeat, tmp_path: Path):
    target = {"url": "http://h.example/", "headers": {"Authorization": "Bearer t"}}
    many = {f"a{number}": {"every": 3_600, "target": target} for number in range(8)}
    (tmp_path / "many.json").write_text(json.dumps({"schedules": many}))
    with TemporaryDirectory() as place, running(place) as address:
        assert offbeat("apply", str(tmp_path / "many.json"), "--server", address).code == 0
        exported = offbeat("export", "--server", address)
    assert len(json.loads(exported.out)["schedules"]) == 8
    assert exported.err == (
        "credentials are masked; another engine needs their values: a0, a1, a2, a3, a4 and 3 more\n"
    )
