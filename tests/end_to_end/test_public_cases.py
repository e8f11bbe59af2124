"""Public faults over HTTP, on an engine process: what the API takes and what it refuses.

Those of receivers are in `test_slow_targets.py` and `test_hostile_receivers.py` (C43, C44) and in
`test_signatures.py` (C49); names that change their addresses (C50) in `tests/services`.
"""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Barrier, Thread
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.end_to_end.processes import Engine, Receiver, until

CASES = {
    case["id"]: case
    for line in (Path(__file__).parent.parent / "cases" / "cases.jsonl").read_text().splitlines()
    for case in [json.loads(line)]
}
ADMIN_KEY = "obk_operator_" + "0123456789abcdef" * 4
YEARLY = {"cron": "0 0 1 1 *", "target": {"url": "http://h.example/"}}
JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    """A response, read to its end."""

    status: int
    media_type: str
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def send(
    engine: Engine,
    method: str,
    path: str,
    body: bytes | Iterator[bytes] | None = None,
    **headers: str,
) -> Answer:
    """One request as these tests need them: any bytes, any headers, with the operator's key."""
    connection = HTTPConnection(engine.url.removeprefix("http://"), timeout=30)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(
            method,
            path,
            body,
            {**JSON, "Authorization": f"Bearer {ADMIN_KEY}", **given},
            encode_chunked=isinstance(body, Iterator),
        )
        answer = connection.getresponse()
        media_type = answer.headers.get_content_type()
        return Answer(answer.status, media_type, answer.read().decode(), dict(answer.headers))
    finally:
        connection.close()


def refused(answer: Answer) -> bool:
    return 400 <= answer.status < 500 and answer.media_type == "application/problem+json"


def put(engine: Engine, name: str, **document: Any) -> Answer:
    body = json.dumps({**YEARLY, **document}).encode()
    return send(engine, "PUT", f"/v1/schedules/{name}", body)


def listed(engine: Engine) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = send(engine, "GET", "/v1/schedules").json["data"]
    return found


def test_c35_a_post_is_done_once_at_the_same_time_and_after_a_crash(engine: Engine) -> None:
    engine.start()
    body = json.dumps(YEARLY).encode()
    barrier, answers = Barrier(8), list[Answer]()

    def ask() -> None:
        barrier.wait()
        answers.append(send(engine, "POST", "/v1/schedules", body, Idempotency_Key="once"))

    clients = [Thread(target=ask) for _ in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert [answer.status for answer in answers] == [201] * 8
    assert len({answer.text for answer in answers}) == 1
    engine.kill()
    engine.start()
    again = send(engine, "POST", "/v1/schedules", body, Idempotency_Key="once")
    assert again.text == answers[0].text
    other = send(engine, "POST", "/v1/schedules", body + b" ", Idempotency_Key="once")
    assert (other.status, other.json["code"]) == (422, "idempotency_key_taken")
    assert len(listed(engine)) == 1
    engine.stop()


def test_c50_no_spelling_of_an_inner_address_is_reached_by_an_engine_with_keys(
    engine: Engine, receiver: Receiver, directory: Path
) -> None:
    key, settings = directory / "admin.key", directory / "keys.toml"
    key.write_text(ADMIN_KEY)
    key.chmod(0o600)
    settings.write_text(f'[auth]\nadmin_key_file = "{key}"\n')
    engine.start("--config", str(settings))
    urls = [url.replace(":P/", f":{receiver.port}/") for url in CASES["C50"]["input"]["urls"]]
    urls += [f"http://localhost:{receiver.port}/", f"http://127.0.0.1.:{receiver.port}/"]
    accepted = []
    for number, url in enumerate(urls):
        answer = put(engine, f"u{number}", target={"url": url}, retry={"max_attempts": 1})
        if answer.status != 201:
            assert refused(answer), (url, answer)
            assert answer.json["errors"][0]["pointer"] == "/target/url"
            continue
        assert send(engine, "POST", f"/v1/schedules/u{number}:trigger").status == 202
        accepted.append(url)
    # A name is judged by what it stands for when it is called.
    assert all("localhost" in url or "\uff4c" in url for url in accepted), accepted
    assert accepted

    def runs() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = send(engine, "GET", "/v1/runs?state=failed").json["data"]
        return found

    until(lambda: len(runs()) == len(accepted), "each is tried, and fails at once")
    for run in runs():
        whole = send(engine, "GET", f"/v1/runs/{quote(run['id'])}").json
        (attempt,) = whole["attempts"]
        # Whether `localhost.` is a name at all is the machine's affair.
        assert attempt["outcome"] in ("blocked", "dns_error"), whole
        assert attempt["outcome"] == "dns_error" or "egress.allow" in attempt["error"]
    assert receiver.requests() == []
    engine.stop()


def test_c52_what_could_not_be_sent_as_written_is_refused_when_it_is_written(
    engine: Engine,
) -> None:
    engine.start()
    for headers in CASES["C52"]["input"]["headers"]:
        answer = put(engine, "h", target={"url": "http://h.example/", "headers": headers})
        assert answer.status == 422, headers
        assert refused(answer)
        assert answer.json["errors"][0]["pointer"].startswith("/target/headers")
    userinfo, idn, percent, *rest = CASES["C52"]["input"]["urls"]
    for url in (userinfo.partition(" ")[0], *(url.replace(" (a tab)", "") for url in rest)):
        answer = put(engine, "u", target={"url": url.replace("\\t", "\t")})
        assert (answer.status, refused(answer)) == (422, True), url
    assert listed(engine) == []
    stored = put(engine, "u", target={"url": idn}).json["target"]["url"]
    assert stored == "http://xn--bcher-kva.example/%C3%BC"
    assert put(engine, "u", target={"url": percent}).json["target"]["url"] == percent
    engine.stop()


def test_c58_corners_of_json_are_refused_and_nothing_is_stored(engine: Engine) -> None:
    engine.start()
    target = b'"target": {"url": "http://h.example/"'
    texts = [
        b'{"cron": "0 0 * * *", "cron": "* * * * *", ' + target + b"}}",
        *(
            b'{"every": 60, ' + target + b', "timeout_seconds": ' + number + b"}}"
            for number in (b"NaN", b"1e999", b"-Infinity", b"true", b'"60"', b"1.5")
        ),
        *(
            b'{"every": ' + number + b", " + target + b"}}"
            for number in (b"9223372036854775808", b"18446744073709551616", b"1e18", b"true")
        ),
        b'{"every": "60", ' + target + b"}}",
        b'{"every": 60, "name": "\\ud800", ' + target + b"}}",
        b'{"every": 60, "name": "a\\u0000b", ' + target + b"}}",
        b'{"every": 60, "pause_reason": "\\ud800", "paused": true, ' + target + b"}}",
        *(b"[]", b"null", b"1", b'"x"', b""),
        b"[" * 1_025 + b"]" * 1_025,
        b"\xef\xbb\xbf{}",
        b'{"every": 60, "pause_reason": "\xff", ' + target + b"}}",
    ]
    for text in texts:
        for method, path in (("PUT", "/v1/schedules/x"), ("POST", "/v1/schedules")):
            answer = send(engine, method, path, text)
            assert refused(answer), (method, text, answer)
            assert answer.status in (400, 422)
    good = json.dumps(YEARLY).encode()
    for headers in ({"Content_Type": "text/plain"}, {"Content_Encoding": "gzip"}):
        answer = send(engine, "PUT", "/v1/schedules/x", good, **headers)
        assert (answer.status, refused(answer)) == (415, True)
    assert listed(engine) == []
    engine.stop()


def test_c58_a_body_of_100_mb_without_a_length_is_cut_off(engine: Engine) -> None:
    engine.start()
    try:
        answer = send(engine, "PUT", "/v1/schedules/x", (b"x" * 65_536 for _ in range(1_600)))
    except OSError:  # The engine has answered and closed while this was still sending.
        pass
    else:
        assert (answer.status, refused(answer)) == (413, True)
    assert listed(engine) == []
    engine.stop()


def test_c60_one_shots_are_instants_and_fire_once(engine: Engine, receiver: Receiver) -> None:
    engine.start("--clock-start", "2026-11-30T11:59:50Z")

    def one_shot(number: int, at: str, **members: str) -> Answer:
        return put(
            engine,
            f"s{number}",
            cron=None,
            at=at,
            jitter_seconds=0,
            target={"url": receiver.url(f"/s{number}")},
            **members,
        )

    zone = {"timezone": "America/New_York"}
    assert one_shot(0, "2026-11-30T12:05:00", **zone).json["at"] == "2026-11-30T17:05:00Z"
    assert refused(one_shot(1, "2026-11-30T12:05:00"))
    assert refused(one_shot(2, "2026-11-30T11:59:00Z"))
    assert one_shot(3, "2026-11-30T12:00:00.500Z").status == 201
    assert one_shot(4, "2026-11-30T12:00:03Z").status == 201
    assert one_shot(5, "2027-03-14T02:30:00", **zone).json["at"] == "2027-03-14T07:00:00Z"
    assert one_shot(6, "2027-11-07T01:30:00", **zone).json["at"] == "2027-11-07T05:30:00Z"
    until(lambda: len(engine.runs("state=succeeded")) == 2, "both of this minute fire")
    engine.kill()
    engine.start("--clock-start", "2026-11-30T12:01:00Z")
    runs = send(engine, "GET", "/v1/runs").json["data"]
    assert {(run["schedule_name"], run["state"], run["attempt_count"]) for run in runs} == {
        ("s3", "succeeded", 1),
        ("s4", "succeeded", 1),
    }
    assert runs[1]["first_attempt_at"] >= "2026-11-30T12:00:00.500Z"
    assert {each["name"]: each["next"] is None for each in listed(engine)} == {
        **{"s3": True, "s4": True},
        **{"s0": False, "s5": False, "s6": False},
    }
    assert sorted(request.path for request in receiver.requests()) == ["/s3", "/s4"]
    engine.stop()
