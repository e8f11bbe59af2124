"""`/v1/schedules:preview`: when a schedule would fire, before there is one."""

from engine.core.identity import schedule_id

TARGET = {"url": "http://h.example/"}


def test_a_preview_is_of_what_would_be_stored_and_stores_nothing(api):
    document = {"name": "hourly", "cron": "0 * * * *", "target": TARGET}
    previewed = api.request("POST", "/v1/schedules:preview", json=document)
    assert previewed.status == 200
    assert api.get("/v1/schedules").json["data"] == []
    stored = api.put("hourly", document).json
    occurrences = api.get("/v1/schedules/hourly/occurrences?limit=10").json["data"]
    assert previewed.json["occurrences"] == occurrences
    of_storing = {"revision", "created_at", "updated_at"}
    assert {k: v for k, v in previewed.json["schedule"].items() if k not in of_storing} == {
        k: v for k, v in stored.items() if k not in of_storing
    }
    assert stored["id"] == schedule_id("default", "hourly")


def test_a_preview_ends_where_the_schedule_does(api):
    document = {"every": 60, "max_runs": 3, "target": TARGET}
    occurrences = api.request("POST", "/v1/schedules:preview", json=document).json["occurrences"]
    assert [found["scheduled_for"] for found in occurrences] == [
        "2026-11-30T12:01:00Z",
        "2026-11-30T12:02:00Z",
        "2026-11-30T12:03:00Z",
    ]


def test_what_could_not_be_stored_is_previewed_as_that(api):
    document = {"name": "late", "cron": "61 * * * *", "target": {}}
    answer = api.request("POST", "/v1/schedules:preview", json=document)
    refused = api.put("late", document)
    assert (answer.status, refused.status) == (200, 422)
    assert {error["pointer"] for error in answer.json["errors"]} == {"/cron", "/target/url"}
    assert answer.json == {
        "schedule": None,
        "occurrences": [],
        "errors": refused.problem["errors"],
    }


def test_a_preview_that_is_no_json_is_malformed(api):
    headers = {"Content-Type": "application/json"}
    answer = api.request("POST", "/v1/schedules:preview", data=b"{", headers=headers)
    assert answer.status == 400
