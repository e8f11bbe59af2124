"""The API client and servers that are no engine."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from engine.cli.client import Client, schedule_path
from engine.cli.options import Server
from engine.core.errors import (
    Conflict,
    Fault,
    Invalid,
    NoServer,
    NotFound,
    OffbeatError,
    PreconditionFailed,
    Unavailable,
)

ANSWERS = {
    "/html": (502, "<html>"),
    "/list": (404, "[]"),
    "/409": (409, '{"detail": "taken"}'),
    "/412": (412, '{"detail": "revision 2"}'),
    "/503": (503, '{"detail": "starting"}'),
    "/422": (422, '{"detail": "d", "errors": [{"pointer": "/cron", "detail": "no"}]}'),
    "/query": (422, '{"detail": "d", "errors": [{"parameter": "limit", "detail": "big"}]}'),
    "/400": (400, '{"detail": "not JSON"}'),
    "/404": (404, '{"detail": "no such schedule"}'),
    "/500": (500, '{"detail": "a bug"}'),
    "/204": (204, ""),
    "/rows?limit=1000": (200, '{"data": [1, 2], "next_cursor": "c"}'),
    "/rows?limit=1000&cursor=c": (200, '{"data": [3], "next_cursor": null}'),
    "/rows?limit=3&of=x": (200, '{"data": [1, 2], "next_cursor": "c"}'),
    "/rows?limit=1&cursor=c&of=x": (200, '{"data": [3], "next_cursor": "d"}'),
}


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, text = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Tests are quiet."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "error", "says"),
    [
        ("/404", NotFound, "no such schedule"),
        ("/409", Conflict, "taken"),
        ("/412", PreconditionFailed, "revision 2"),
        ("/503", Unavailable, "starting"),
        ("/400", Invalid, "not JSON"),
        ("/500", OffbeatError, "the server answered 500: a bug"),
        ("/html", OffbeatError, "the server answered 502; is it an Offbeat engine?"),
        ("/list", OffbeatError, "the server answered 404; is it an Offbeat engine?"),
    ],
)
def test_a_problem_is_the_error_it_stands_for(
    path: str, error: type[OffbeatError], says: str, address: str
):
    with Client(Server(address)) as client, pytest.raises(error) as caught:
        client.get(path)
    assert type(caught.value) is error
    assert says in str(caught.value)


def test_the_faults_of_bodies_and_queries_are_kept(address: str):
    with Client(Server(address)) as client:
        with pytest.raises(Invalid) as body:
            client.get("/422")
        with pytest.raises(Invalid) as query:
            client.get("/query")
    assert body.value.faults == (Fault("/cron", "no"),)
    assert query.value.faults == (Fault("limit", "big"),)


def test_an_empty_answer_is_none(address: str):
    with Client(Server(address)) as client:
        assert client.get("/204") is None


def test_a_list_is_followed_to_its_end_or_to_the_limit(address: str):
    with Client(Server(address)) as client:
        assert list(client.rows("/rows")) == [1, 2, 3]
        assert list(client.rows("/rows", limit=3, of="x")) == [1, 2, 3]


def test_a_server_that_is_not_there_is_said_with_the_command_that_starts_one():
    with Client(Server("http://127.0.0.1:1")) as client, pytest.raises(NoServer) as caught:
        client.get("/")
    assert str(caught.value).endswith("start one with: offbeat run --listen 127.0.0.1:1")


def test_names_are_escaped_in_addresses():
    assert schedule_path("a/b c", ":pause") == "/v1/schedules/a%2Fb%20c:pause"
