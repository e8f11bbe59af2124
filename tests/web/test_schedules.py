"""`/v1/schedules` over HTTP: one schedule at a time."""

import pytest

NOW = "2026-11-30T12:00:00Z"
HOURLY = {"cron": "0 * * * *", "target": {"url": "http://h/"}}


def test_a_schedule_is_created_read_and_replaced(api):
    created = api.put("report", HOURLY)
    assert created.status == 201
    assert created.headers["ETag"] == '"1"'
    assert created.json["id"] == "sch_si9ka8a42n538os9a9or3pkki4"
    assert created.json["tenant"] == "default"
    assert created.json["jitter_source"] == "default"
    assert created.json["next"]["scheduled_for"] == "2026-11-30T13:00:00Z"

    assert api.get("/v1/schedules/report").json == created.json

    replaced = api.put("report", HOURLY | {"jitter_seconds": 0})
    assert replaced.status == 200
    assert replaced.headers["ETag"] == '"2"'
    assert replaced.json["offset_ms"] == 0


def test_c35_putting_the_same_again_changes_nothing(api, engine):
    answers = [api.put("report", HOURLY) for _ in range(5)]
    assert [answer.status for answer in answers] == [201, 200, 200, 200, 200]
    assert {answer.json["revision"] for answer in answers} == {1}
    assert list(engine.schedules.by_name) == ["report"]


def test_what_was_read_can_be_put_back(api):
    first = api.put("report", HOURLY | {"paused": True, "pause_reason": "freeze"}).json
    assert api.put("report", first).json == first


def test_a_put_that_does_not_speak_of_pausing_keeps_the_pause(api):
    api.put("report", HOURLY)
    api.post("/v1/schedules/report:pause", json={"reason": "freeze"})
    kept = api.put("report", HOURLY | {"jitter_seconds": 5}).json
    assert (kept["paused"], kept["pause_reason"]) == (True, "freeze")


def test_a_patch_is_merged_and_read_as_a_whole(api):
    api.put("report", HOURLY)
    headers = {"Content-Type": "application/merge-patch+json"}
    patched = api.request(
        "PATCH", "/v1/schedules/report", json={"retry": {"max_attempts": 2}}, headers=headers
    )
    assert patched.status == 200
    assert patched.json["retry"]["max_attempts"] == 2
    refused = api.request("PATCH", "/v1/schedules/report", json={"retry": {"max_attempts": 99}})
    assert list(refused.faults) == ["/retry/max_attempts"]
    assert api.request("PATCH", "/v1/schedules/report", json=[]).status == 422
    assert api.request("PATCH", "/v1/schedules/nothing", json={}).status == 404


def test_a_deleted_schedule_is_gone(api):
    api.put("report", HOURLY)
    assert api.request("DELETE", "/v1/schedules/report").status == 204
    assert api.get("/v1/schedules/report").problem["code"] == "not_found"
    assert api.request("DELETE", "/v1/schedules/report").problem["code"] == "not_found"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_change_may_insist_on_a_revision(api, method):
    api.put("report", HOURLY)
    body = {} if method == "DELETE" else {"json": HOURLY | {"jitter_seconds": 7}}

    def change(tag):
        path = "/v1/schedules/report"
        return api.request(method, path, headers={"If-Match": tag}, **body)

    assert change('"2"').problem["code"] == "precondition_failed"
    assert change('W/"1"').status == 412
    assert change('"one"').status == 412
    assert change('"0"').status == 412
    assert change('"2", W/"1", "x,1"').status == 412
    for broken in ("1", '"1" "1"', '"1",*', '"1', "W/", 'w/"1"', ", ,"):
        assert change(broken).problem["code"] == "malformed"
    assert change('"1"').status in (200, 204)
    assert change('"1"').status in (404, 412)


@pytest.mark.parametrize("tags", ['"x", "1"', '"7","1"', ' , "1" ,', 'W/"1", "2", "1"', '"1", "1"'])
def test_of_several_revisions_one_must_be_the_current_one(api, tags):
    api.put("report", HOURLY)
    other = HOURLY | {"jitter_seconds": 7}
    assert api.put("report", other, headers={"If-Match": tags}).json["revision"] == 2
    assert api.put("report", HOURLY, headers={"If-Match": '"1", "3"'}).problem["revision"] == 2


def test_if_match_may_have_several_lines(api):
    api.put("report", HOURLY)
    head = b"DELETE /v1/schedules/report HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for tags, status in (
        ((b'"7"', b'"8"'), b"412"),
        ((b'"7"', b"*"), b"400"),
        ((b'"1",' * 200, b'"1",' * 60), b"400"),
        ((b'"7"', b'"1"'), b"204"),
    ):
        lines = b"".join(b"If-Match: %b\r\n" % tag for tag in tags)
        assert api.raw(head + lines + b"\r\n").split(b" ")[1] == status


def test_if_match_star_asks_for_something_to_be_there(api):
    star = {"If-Match": "*"}
    assert api.put("report", HOURLY, headers=star).status == 412
    api.put("report", HOURLY)
    assert api.put("report", HOURLY | {"jitter_seconds": 1}, headers=star).status == 200


def test_if_none_match_star_asks_for_nothing_to_be_there(api):
    nothing = {"If-None-Match": "*"}
    assert api.put("report", HOURLY, headers=nothing).status == 201
    stored = api.get("/v1/schedules/report").json
    other = HOURLY | {"jitter_seconds": 1}
    assert api.put("report", other, headers=nothing).problem["code"] == "precondition_failed"
    for method, body in (("PATCH", {"json": other}), ("DELETE", {})):
        path = "/v1/schedules/report"
        assert api.request(method, path, headers=nothing, **body).status == 412
    assert api.get("/v1/schedules/report").json == stored


@pytest.mark.parametrize(
    "headers", [{"If-None-Match": '"1"'}, {"If-None-Match": "*", "If-Match": '"1"'}]
)
def test_a_condition_that_is_not_kept_is_refused_and_not_ignored(api, headers):
    api.put("report", HOURLY)
    answer = api.put("report", HOURLY | {"jitter_seconds": 1}, headers=headers)
    assert (answer.status, answer.problem["code"]) == (400, "malformed")
    assert api.get("/v1/schedules/report").json["revision"] == 1


@pytest.mark.parametrize("member", ["id", "tenant"])
def test_a_document_of_another_schedule_is_not_stored_as_this_one(api, member):
    api.put("report", HOURLY)
    stored = api.get("/v1/schedules/report").json
    assert api.put("report", stored).json["revision"] == 1
    for method in ("PUT", "PATCH"):
        foreign = stored | {member: "another", "priority": 3}
        answer = api.request(method, "/v1/schedules/report", json=foreign)
        assert answer.status == 422
        assert f'write "{stored[member]}"' in answer.faults[f"/{member}"]
    assert api.get("/v1/schedules/report").json == stored


def test_more_faults_than_are_counted_are_said_to_be_more(api):
    strange = {f"field_{number}": 0 for number in range(1_200)}
    answer = api.put("report", strange)
    assert answer.problem["detail"] == "64 things are wrong, or more"
    assert len(answer.problem["errors"]) == 64
    answer = api.put("report", dict(list(strange.items())[:2]) | HOURLY)
    assert answer.problem["detail"] == "2 things are wrong"


def test_lists_are_pages_by_name(api):
    assert api.get("/v1/schedules").json == {"data": [], "next_cursor": None}
    for name in ("c", "a", "e", "b", "d"):
        api.put(name, HOURLY)
    seen, path = [], "/v1/schedules?limit=2"
    while path:
        page = api.get(path).json
        seen.append([schedule["name"] for schedule in page["data"]])
        cursor = page["next_cursor"]
        path = cursor and f"/v1/schedules?limit=2&cursor={cursor}"
    assert seen == [["a", "b"], ["c", "d"], ["e"]]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("limit=" + "9" * 5_000, "limit"),
        ("limt=5", "limt"),
        ("cursor=x", "cursor"),
        ("cursor=W10", "cursor"),
        ("cursor=é", "cursor"),
        ("cursor=" + "a" * 600, "cursor"),
    ],
)
def test_a_query_that_is_not_understood_is_refused(api, query, parameter):
    answer = api.get(f"/v1/schedules?{query}")
    assert answer.status == 422
    assert list(answer.faults) == [parameter]


def test_pausing_says_why_and_until_when(api):
    api.put("report", HOURLY)
    body = {"reason": "freeze", "until": "2026-12-01T00:00:00Z"}
    paused = api.post("/v1/schedules/report:pause", json=body).json
    assert paused["paused"] is True
    assert paused["pause_reason"] == "freeze"
    assert paused["paused_until"] == "2026-12-01T00:00:00Z"
    resumed = api.post("/v1/schedules/report:resume").json
    assert resumed["paused"] is False
    assert resumed["pause_reason"] is None


def test_a_pause_needs_no_body_and_refuses_a_wrong_one(api):
    api.put("report", HOURLY)
    assert api.post("/v1/schedules/report:pause").json["paused"] is True
    wrong = api.post("/v1/schedules/report:pause", json={"reson": "x", "until": 5})
    assert set(wrong.faults) == {"/reson", "/until"}
    assert api.post("/v1/schedules/report:resume", json={"now": True}).status == 422
    assert api.post("/v1/schedules/nothing:pause").status == 404


def test_triggering_plans_a_run_that_can_be_followed(api):
    api.put("report", HOURLY)
    answer = api.post("/v1/schedules/report:trigger")
    assert answer.status == 202
    assert answer.json["trigger"] == "manual"
    assert answer.json["scheduled_for"] == "2026-11-30T12:00:00.001Z"
    assert api.get(answer.headers["Location"]).json["id"] == answer.json["id"]


def test_a_backfill_says_what_it_planned(api, engine):
    api.put("report", HOURLY)
    span = {"from": "2026-11-30T01:00:00+01:00", "to": "2026-11-30T12:00:00Z"}
    answer = api.post("/v1/schedules/report:backfill", json=span)
    assert answer.status == 202
    assert answer.json == {
        "count": 3,
        "first": "2026-11-30T00:00:00Z",
        "last": "2026-11-30T11:59:59Z",
        "spread_until": "2026-11-30T12:00:10Z",
    }
    assert api.post("/v1/schedules/report:backfill", json=span | {"dry_run": True}).status == 200
    assert [dry_run for *_, dry_run in engine.backfills.asked] == [False, True]
    assert api.post("/v1/schedules/nothing:backfill", json=span).status == 404


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ({}, {"/from", "/to"}),
        ({"from": "yesterday", "to": "2026-11-30T12:00:00Z"}, {"/from"}),
        ({"from": "2026-11-30T12:00:00Z", "to": "2026-11-30T12:00:00Z"}, {"/to"}),
        (
            {"from": "2026-11-30T11:00:00Z", "to": "2026-11-30T12:00:00Z", "dry_run": "yes"},
            {"/dry_run"},
        ),
        (
            {"from": "2026-11-30T11:00:00Z", "to": "2026-11-30T12:00:00Z", "until": 1},
            {"/until"},
        ),
    ],
)
def test_a_backfill_without_a_span_is_refused(api, engine, body, faults):
    api.put("report", HOURLY)
    answer = api.post("/v1/schedules/report:backfill", json=body)
    assert (answer.status, set(answer.faults)) == (422, faults)
    assert engine.backfills.asked == []


def test_occurrences_follow_from_the_row(api):
    api.put("report", HOURLY | {"jitter_seconds": 0})
    answer = api.get("/v1/schedules/report/occurrences?limit=2").json
    assert [entry["scheduled_for"] for entry in answer["data"]] == [NOW, "2026-11-30T13:00:00Z"]
    assert answer["data"][0]["fire_after"] == NOW
    assert [entry["owed"] for entry in answer["data"]] == [False, True]
    assert len(answer["data"][0]["idempotency_key"]) == 64
    assert answer["next_cursor"] is None


def test_occurrences_reach_into_the_past_and_stop_before_to(api):
    api.put("report", HOURLY)
    span = "from=2025-01-01T00:00:00Z&to=2025-01-01T03:00:00Z"
    answer = api.get(f"/v1/schedules/report/occurrences?{span}").json
    hours = [entry["scheduled_for"][11:13] for entry in answer["data"]]
    assert hours == ["00", "01", "02"]
    assert not any(entry["owed"] for entry in answer["data"])


def test_occurrences_keep_to_start_and_end(api):
    bounds = {"start_at": "2026-12-01T05:00:00Z", "end_at": "2026-12-01T06:00:00Z"}
    api.put("report", HOURLY | bounds)
    answer = api.get("/v1/schedules/report/occurrences?from=2026-01-01T00:00:00Z").json
    assert [entry["scheduled_for"] for entry in answer["data"]] == list(bounds.values())


def test_the_occurrences_of_a_counted_schedule_are_the_first_ones_it_owes(api):
    api.put("report", HOURLY | {"max_runs": 3})
    answer = api.get("/v1/schedules/report/occurrences?from=2026-11-30T09:00:00Z").json
    hours = [entry["scheduled_for"][11:13] for entry in answer["data"]]
    assert hours == ["13", "14", "15"]  # Made at 12:00:00, which was not owed any more.


def test_a_full_page_of_occurrences_is_ordered_and_without_gaps(api):
    api.put("tick", {"every": 1, "target": {"url": "http://h/"}})
    answer = api.get("/v1/schedules/tick/occurrences?limit=1000&from=2026-11-30T12:00:00Z").json
    assert len(answer["data"]) == 1000
    assert answer["data"][-1]["scheduled_for"] == "2026-11-30T12:16:39Z"
    assert len({entry["idempotency_key"] for entry in answer["data"]}) == 1000


def test_c60_a_one_shot_that_has_passed_is_refused(api):
    answer = api.put("once", {"at": "2026-11-30T11:59:00Z", "target": {"url": "http://h/"}})
    assert list(answer.faults) == ["/at"]
