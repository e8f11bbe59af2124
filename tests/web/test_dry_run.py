"""`:batch?dry_run=true` over the real journal: the same result lines, and nothing stored."""

import json
import sqlite3
from pathlib import Path

from tests.web.keyed import Node, node_on

NDJSON = {"Content-Type": "application/x-ndjson"}


def line(name: str, **members: object) -> str:
    target = {"url": "http://h.example/"}
    return json.dumps({"name": name, "every": 60, "target": target, **members})


def batch(node: Node, *lines: str, query: str = "") -> list[dict]:
    body = "\n".join(lines).encode()
    answer = node.ask("POST", "/v1/schedules:batch" + query, body=body, headers=NDJSON)
    assert answer.status == 200
    return [json.loads(text) for text in answer.text.splitlines()]


def test_a_dry_run_says_what_would_become_of_each_line(tmp_path: Path):
    lines = (
        line("same"),
        line("other", priority=2),
        line("new", labels={"env": "prod"}),
        line("wrong", every=0),
        line("late", every=None, at="2020-01-01T00:00:00Z"),
    )
    with node_on(tmp_path) as node:
        batch(node, line("same"), line("other"))
        before = dump(tmp_path)
        tried = batch(node, *lines, query="?dry_run=true")
        statuses = ["unchanged", "updated", "created", "error", "error"]
        assert [each["status"] for each in tried] == statuses
        assert dump(tmp_path) == before
        assert node.ask("GET", "/v1/schedules/new").status == 404
        assert batch(node, *lines, query="?dry_run=false") == tried
        assert node.ask("GET", "/v1/schedules/new").status == 200


def test_a_dry_run_is_asked_for_by_true_or_false(tmp_path: Path):
    with node_on(tmp_path) as node:
        answer = node.ask("POST", "/v1/schedules:batch?dry_run=1", body=b"", headers=NDJSON)
        assert (answer.status, answer.json["errors"][0]["parameter"]) == (422, "dry_run")


def dump(directory: Path) -> list[tuple]:
    """Every row that a schedule can leave behind."""
    tables = ("schedule", "timetable", "target", "flow", "schedule_label", "tenant", "job_run")
    db = sqlite3.connect(directory / "data" / "offbeat.db")
    rows = [row for table in tables for row in db.execute(f"SELECT * FROM {table}")]
    db.close()
    return rows
