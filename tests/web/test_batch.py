"""`:batch`: newline-delimited JSON in and out."""

import json

from engine.core.errors import Unavailable


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


def test_results_beyond_what_is_held_are_streamed(api, engine):
    wrong = b'{"x' + b"y" * 40 + b'":1}'
    answer = api.batch(b"\n".join([wrong] * 12_000 + [line("last")]))
    assert len(answer.body) > 8_388_608
    assert answer.lines[-1] == {"line": 12_001, "name": "last", "status": "created"}


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
