"""One shape for every refusal, and a last resort."""

import json

import pytest
from structlog.testing import capture_logs

from engine.core.errors import Conflict, Unavailable

HOURLY = {"cron": "0 * * * *", "target": {"url": "http://h/"}}


def test_a_problem_names_itself(api):
    answer = api.get("/v1/schedules/nothing")
    assert answer.problem == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "code": "not_found",
        "detail": "there is no such schedule",
    }


def test_faults_are_listed_with_pointers(api):
    answer = api.put("report", {"cron": "0 * * * *", "target": {"url": "ftp://h/"}, "x": 1})
    assert answer.status == 422
    assert answer.problem["code"] == "invalid"
    assert set(answer.faults) == {"/x", "/target/url"}


def test_an_address_that_does_not_exist_is_a_problem(api):
    assert api.get("/v2/schedules").problem["code"] == "not_found"
    assert api.get("/v1/schedules/a/b").problem["code"] == "not_found"


def test_a_method_that_does_nothing_names_those_that_do(api):
    answer = api.request("DELETE", "/v1/schedules")
    assert answer.problem["code"] == "method_not_allowed"
    assert answer.headers["Allow"] == "GET, HEAD, POST"
    assert api.post("/v1/schedules/report").headers["Allow"] == "DELETE, GET, HEAD, PATCH, PUT"
    assert api.get("/v1/schedules:batch").headers["Allow"] == "POST"
    assert api.request("TRACE", "/v1/runs").status == 405


def test_expected_errors_have_their_status(api, engine):
    engine.schedules.refusal = Conflict("too many manual runs wait already")
    assert api.put("report", HOURLY).problem["code"] == "conflict"
    engine.schedules.refusal = Unavailable("the disk is full")
    answer = api.put("report", HOURLY)
    assert answer.status == 503
    assert answer.problem["code"] == "unavailable"
    assert answer.headers["Retry-After"] == "1"


def test_a_bug_is_logged_and_tells_the_client_nothing_of_the_inside(api, engine):
    engine.schedules.refusal = RuntimeError("secret state")
    with capture_logs() as logs:
        answer = api.put("report", HOURLY)
    assert answer.status == 500
    assert answer.problem["code"] == "internal"
    assert b"secret" not in answer.body
    [entry] = logs
    assert entry["event"] == "request failed"
    assert (entry["method"], entry["path"]) == ("PUT", "/v1/schedules/report")


def test_a_client_that_goes_away_is_no_failure_of_ours(api):
    head = b"PUT /v1/schedules/report HTTP/1.1\r\nHost: localhost\r\n"
    half = b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    with capture_logs() as logs:
        api.hang_up(head + half)
        assert api.get("/livez").status == 200
    assert logs == []


HEAD = b"PUT /v1/schedules/report HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"\x16\x03\x01\x00\xa5\x01\x00", 400, "malformed"),  # A TLS client says hello.
        (b"s3cret\r\n\r\n", 400, "malformed"),
        (b"GET /s3cret HTTP/9.9\r\n\r\n", 505, "version_not_supported"),
        (b"GET http://[s3cret HTTP/1.1\r\n\r\n", 400, "malformed"),
        (HEAD + b"Authorization: s3cret\x00\r\n\r\n", 400, "malformed"),
        (HEAD + b"Authorization: " + b"s3cret" * 1_500 + b"\r\n\r\n", 431, "headers_too_large"),
        (b"GET /" + b"s3cret" * 1_500 + b" HTTP/1.1\r\n\r\n", 431, "headers_too_large"),
        (HEAD + b"X: 1\r\n" * 300 + b"\r\n", 431, "headers_too_large"),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400, "malformed"),
        (HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "malformed"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\ns3cret\r\n", 400, "malformed"),
    ],
)
def test_bytes_that_are_no_http_are_a_problem_and_a_line_in_the_log(api, data, status, code):
    with capture_logs() as logs:
        head, _, body = api.raw(data).partition(b"\r\n\r\n")
    assert int(head.split(b" ", 2)[1]) == status
    assert b"\r\nContent-Type: application/problem+json\r\n" in head
    assert json.loads(body)["code"] == code
    for entry in logs:
        assert entry["event"] == "request not understood"
        assert "exc_info" not in entry
    assert b"s3cret" not in body
    assert "s3cret" not in str(logs)


def test_an_expectation_that_cannot_be_met_is_a_problem(api):
    answer = api.get("/v1/schedules", headers={"Expect": "a miracle"})
    assert (answer.status, answer.problem["code"]) == (417, "expectation_failed")
