"""`:batch`: newline-delimited JSON in and out."""

import json
from contextlib import suppress

from structlog.testing import capture_logs

from engine.core.errors import Unavailable
from engine.web import ndjson

# More results than a connection holds by itself.
MANY_WRONG = b"{\n" * 40_000


def line(name, **members):
    members = {"cron": "0 * * * *", "target": {"url": "http://h/"}} | members
    return json.dumps({"name": name} | members).encode()


def test_each_line_gets_its_result_in_order(api, engine):
    first = api.batch(b"\n".join([line("a"), line("b"), line("c")]))
    assert first.status == 200
    assert first.headers["Content-Type"] == "application/x-ndjson"
    assert first.lines == [
        {"line": 1, "name": "a", "status": "created"},
        {"line": 2, "name": "b", "status": "created"},
        {"line": 3, "name": "c", "status": "created"},
    ]
    engine.clock.ms += 1
    again = api.batch(b"\n".join([line("c"), line("b", jitter_seconds=5), line("d")]) + b"\n")
    assert [entry["status"] for entry in again.lines] == ["unchanged", "updated", "created"]


def test_a_line_that_fails_leaves_the_others_alone(api, engine):
    lines = [
        line("a"),
        b'{"name": "broken", ',
        line("b", cron="x", jitter_seconds=-1),
        line("sch_c"),
        b"[]",
        line("late", cron=None, at="2026-11-30T11:00:00Z"),
        line("d"),
    ]
    answer = api.batch(b"\r\n".join(lines))
    assert answer.status == 200
    assert list(engine.schedules.by_name) == ["a", "d"]
    results = answer.lines
    assert [entry["line"] for entry in results] == [1, 2, 3, 4, 5, 6, 7]
    assert [entry["name"] for entry in results] == ["a", None, "b", "sch_c", None, "late", "d"]
    codes = [entry.get("code") for entry in results]
    assert codes == [None, "malformed", "invalid", "invalid", "invalid", "invalid", None]
    assert [error["pointer"] for error in results[2]["errors"]] == ["/cron", "/jitter_seconds"]
    assert [error["pointer"] for error in results[5]["errors"]] == ["/at"]


def test_blank_lines_are_counted_and_skipped(api):
    answer = api.batch(b"\n\n" + line("a") + b"\n \n" + line("b") + b"\n\n")
    assert [(entry["line"], entry["name"]) for entry in answer.lines] == [(3, "a"), (5, "b")]
    assert api.batch(b"").body == b""


def test_a_line_that_is_too_long_is_skipped_to_its_end(api, engine):
    fits = line("fits").ljust(262_144)
    answer = api.batch(b"\n".join([fits, line("over").ljust(1_000_000), line("after")]))
    assert [entry.get("code") for entry in answer.lines] == [None, "too_large", None]
    assert set(engine.schedules.by_name) == {"fits", "after"}


def test_thousands_of_lines_arrive_in_any_pieces(api, engine):
    body = b"\n".join(line(f"job-{i:04}") for i in range(2_500))

    async def pieces():
        for start in range(0, len(body), 7_919):
            yield body[start : start + 7_919]

    answer = api.batch(pieces())
    assert [entry["name"] for entry in answer.lines] == [f"job-{i:04}" for i in range(2_500)]
    assert {entry["status"] for entry in answer.lines} == {"created"}
    assert len(engine.schedules.by_name) == 2_500


def send_before_reading(api, body):
    head = (
        b"POST /v1/schedules:batch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    return api.send_then_read(head + body)


def test_results_beyond_what_is_held_are_streamed(api, engine, monkeypatch):
    monkeypatch.setattr(ndjson, "UNREAD_BYTES_MAX", 100_000)
    answer = api.batch(MANY_WRONG + line("last"))
    assert len(answer.body) > 5_000_000
    assert answer.lines[-1] == {"line": 40_001, "name": "last", "status": "created"}


def test_results_beyond_what_is_held_that_nobody_reads_end_the_request(api, engine, monkeypatch):
    monkeypatch.setattr(ndjson, "UNREAD_BYTES_MAX", 100_000)
    monkeypatch.setattr(ndjson, "ROOM_SECONDS_MAX", 0.01)
    # The rest is more than a connection holds: the client reads once it has been thrown away.
    rest = b" " * 40_000_000 + b"\n" + line("last")
    answer = send_before_reading(api, MANY_WRONG + rest)
    assert answer.endswith(b"\r\n0\r\n\r\n")
    *_, before, last = [
        json.loads(each) for each in answer.splitlines() if each.startswith(b'{"line"')
    ]
    assert last["line"] == before["line"] + 1 <= 40_000
    assert last["code"] == "limit_reached"
    assert last["limit"] == {"name": "unread_bytes_max", "value": 20_971_520}
    assert "this line and those after it are not stored" in last["detail"]
    assert engine.schedules.by_name == {}


def test_an_answer_that_nobody_reads_is_cut_off_and_no_fault_of_ours(api, monkeypatch):
    monkeypatch.setattr(ndjson, "WRITE_SECONDS_MAX", 0)
    with capture_logs() as logs, suppress(ConnectionError):
        answer = send_before_reading(api, MANY_WRONG)
        assert not answer.endswith(b"\r\n0\r\n\r\n")
    assert logs == []


def test_a_journal_that_takes_nothing_fails_the_lines(api, engine):
    async def refuse(drafts, **_):
        raise Unavailable("the disk is full")

    engine.schedules.put_many = refuse
    answer = api.batch(line("a") + b"\n{\n" + line("b"))
    assert [entry["code"] for entry in answer.lines] == ["unavailable", "malformed", "unavailable"]


def test_a_batch_has_its_media_type(api):
    headers = {"Content-Type": "application/json"}
    answer = api.post("/v1/schedules:batch", data=line("a"), headers=headers)
    assert answer.status == 415
    assert "application/x-ndjson" in answer.problem["detail"]
