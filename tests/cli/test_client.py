"""The API client and servers that are no engine."""

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from engine.cli.client import Client, schedule_path
from engine.cli.options import Server
from engine.core.errors import (
    ConfigError,
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


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("127.0.0.1:8420", "write http://HOST:PORT or unix:PATH"),
        ("http://", "write http:// or https:// with a host"),
        ("http://[::1", "write an IPv6 address"),
        ("http://a..b:1", "write a host"),
        ("http://a b:1", "no blanks"),
        ("http://127.0.0.1:99999", "write a port from 1 to 65535"),
        ("http://127.0.0.1:0", "write a port from 1 to 65535"),
        ("http://127.0.0.1:x", "write a port from 1 to 65535"),
        ("http://127.0.0.1:", "write a port from 1 to 65535"),
        ("http://localhost", "write its port, as in http://localhost:8420"),
        ("http://me:secret@127.0.0.1:8420", "no user name or password"),
        ("http://127.0.0.1:8420/v1", "write http://127.0.0.1:8420, without a path"),
        ("http://127.0.0.1:8420?a=1", "without a path"),
        ("unix:", "unix: needs a path, as in unix:/run/offbeat.sock"),
        (f"unix:/{'a' * 107}", "107 bytes at most"),
    ],
)
def test_an_address_that_no_engine_has_is_refused_with_what_to_write(url: str, says: str):
    with pytest.raises(ConfigError, match=r"^--server ") as caught:
        Client(Server(url))
    assert says in str(caught.value)


def test_a_server_that_speaks_no_tls_is_said_with_the_address_to_write(address: str):
    secure = address.replace("http:", "https:")
    with Client(Server(secure)) as client, pytest.raises(ConfigError) as caught:
        client.get("/204")
    assert str(caught.value).endswith(
        f"does not speak TLS, and an engine itself never does; write {address}"
    )


def test_a_certificate_that_nobody_vouches_for_is_said_with_where_to_name_who_does():
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(Path(__file__).parent.parent / "services" / "localhost.pem")
    with HTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.handle_request)
        thread.start()
        url = f"https://localhost:{server.server_port}"
        with Client(Server(url)) as client, pytest.raises(ConfigError, match="SSL_CERT_FILE"):
            client.get("/204")
        thread.join()


def test_a_name_that_resolves_to_nothing_is_no_engine_that_could_be_started():
    with Client(Server("http://nowhere.invalid:8420")) as client, pytest.raises(NoServer) as caught:
        client.get("/")
    assert str(caught.value).startswith("no engine can be reached at http://nowhere.invalid:8420: ")
    assert "start" not in str(caught.value)


def test_names_are_escaped_in_addresses():
    assert schedule_path("a/b c", ":pause") == "/v1/schedules/a%2Fb%20c:pause"
