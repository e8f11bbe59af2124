"""Other people's web pages cannot use the engine through somebody's browser."""

import asyncio

import pytest

from tests.web.api_client import Api

HOURLY = {"cron": "0 * * * *", "target": {"url": "http://h/"}}


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:8420", "localhost", "LocalHost:1", "[::1]", "[::1]:8420", "127.1.2.3"],
)
def test_local_names_are_answered(api, host):
    assert api.get("/livez", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "localhost.evil.example",
     "evil-localhost", "evil-localhost:8420", "192.0.2.1", "[2001:db8::1]:80", "::1",
     "localhost:80:80", "[localhost]", "[::1", "127.1", ""],
)  # fmt: skip
def test_a_rebound_name_is_refused(api, host):
    answer = api.get("/v1/secrets", headers={"Host": host})
    assert answer.status == 421
    assert answer.problem["code"] == "host_not_allowed"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example/livez", 421),
        ("http://evil.example:8420/livez", 421),
        ("HTTPS://evil.example/livez", 421),
        ("http://127.0.0.1@evil.example/livez", 421),
        ("http://evil.example@127.0.0.1/livez", 421),
        ("http://127.0.0.1.evil.example?/livez", 421),
        ("http://127.0.0.1/livez", 200),
        ("http://localhost:8420/livez", 200),
        ("http://[::1]/livez", 200),
    ],
)
def test_a_target_in_absolute_form_is_judged_by_its_own_host(api, target, status):
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    assert api.raw(head.encode()).startswith(b"HTTP/1.1 %d " % status)


def test_the_host_of_an_absolute_form_is_the_one_that_an_origin_must_be(api):
    head = f"POST http://localhost/v1/schedules HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\n"
    head += f"Origin: http://127.0.0.1:{api.port}\r\nContent-Length: 0\r\n"
    assert b"cross_origin" in api.raw(f"{head}Connection: close\r\n\r\n".encode())


def test_a_request_without_a_host_is_refused(api):
    assert api.raw(b"GET /livez HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.0 421 ")


def test_a_page_of_another_origin_changes_nothing(api, engine):
    api.put("report", HOURLY)
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1"):
        answer = api.post("/v1/schedules/report:trigger", headers={"Origin": origin})
        assert answer.problem["code"] == "cross_origin"
    assert engine.runs.rows == []
    own = {"Origin": f"http://127.0.0.1:{api.port}"}
    assert api.post("/v1/schedules/report:trigger", headers=own).status == 202


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 202), ("none", 202), ("same-site", 403), ("cross-site", 403), ("?", 403)],
)
def test_what_a_browser_says_of_the_pages_site_is_heard(api, site, status):
    api.put("report", HOURLY)
    headers = {"Sec-Fetch-Site": site}
    assert api.post("/v1/schedules/report:trigger", headers=headers).status == status
    assert api.get("/v1/schedules", headers=headers).status == 200


def test_where_others_can_reach_it_an_engine_has_any_name(engine):
    engine.listen = "0.0.0.0:8420"
    with asyncio.Runner() as runner:
        api = Api(engine, runner)
        assert api.get("/livez", headers={"Host": "offbeat.example:8420"}).status == 200
        foreign = {"Host": "offbeat.example", "Origin": "https://evil.example"}
        answer = api.post("/v1/schedules/report:trigger", headers=foreign)
        assert answer.problem["code"] == "cross_origin"
        api.close()
