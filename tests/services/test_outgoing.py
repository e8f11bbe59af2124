"""The bytes of a request, and what cannot become one."""

import pytest

from engine import __version__
from engine.services.outgoing import read_route, request_bytes

AGENT = f"User-Agent: offbeat/{__version__}\r\n"


def sent(method="POST", url="http://h/", headers=(), body=b""):
    return request_bytes(read_route(method, url), headers, body)


@pytest.mark.parametrize(
    ("url", "target", "host", "origin"),
    [
        ("http://h", "/", "h", "http://h"),
        ("http://h?x=1", "/?x=1", "h", "http://h"),
        ("http://h:80/", "/", "h", "http://h"),
        ("https://h:443/", "/", "h", "https://h"),
        ("https://h:80/", "/", "h:80", "https://h:80"),
        ("http://[::1]:81/", "/", "[::1]:81", "http://[::1]:81"),
        ("http://h/a%2Fb/../%61?z=%61&y=a+b&e=%E9&i[]=1", None, "h", "http://h"),
    ],
)
def test_url_goes_out_as_written(url, target, host, origin):
    route = read_route("GET", url)
    target = target or url.removeprefix("http://h")
    assert route.start == f"GET {target} HTTP/1.1\r\nHost: {host}"
    assert route.origin == origin


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_method_that_means_a_body_says_when_there_is_none(method):
    assert (
        sent(method)
        == f"{method} / HTTP/1.1\r\nHost: h\r\n{AGENT}Content-Length: 0\r\n\r\n".encode()
    )


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
def test_other_methods_give_a_length_only_to_a_body(method):
    assert sent(method) == f"{method} / HTTP/1.1\r\nHost: h\r\n{AGENT}\r\n".encode()
    assert sent(method, body=b"x").endswith(b"Content-Length: 1\r\n\r\nx")


def test_tenants_user_agent_takes_the_place_of_ours():
    request = sent("GET", headers=[("uSER-aGENT", "mine")])
    assert request == b"GET / HTTP/1.1\r\nHost: h\r\nuSER-aGENT: mine\r\n\r\n"


@pytest.mark.parametrize(
    "header",
    [
        ("X-A", "a\r\nX-B: b"),
        ("X-A", "a\n"),
        ("X-A", "a\rb"),
        ("X-A", "a\0"),
        ("X-A\r\nX-B", "b"),
        ("X-A", "\udc80"),
        ("Host", "evil"),
        ("content-length", "1"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close"),
        ("Transfer-Encoding ", "chunked"),
        ("X: y", "z"),
        ("X Y", "z"),
        ("", "z"),
    ],
)
def test_header_that_would_change_the_message_is_refused(header):
    with pytest.raises(ValueError, match=r"header|encode"):
        sent(headers=[header])


def test_header_is_never_sent_twice():
    with pytest.raises(ValueError, match="header idempotency-key would be sent twice"):
        sent(headers=[("Idempotency-Key", "ours"), ("X", "y"), ("idempotency-key", "theirs")])


@pytest.mark.parametrize(
    "url",
    [
        *("http://u:secret@h/", "http://secret@h/", "ftp://h/secret", "http:///secret", "secret"),
        *("http://h:99999/secret", "http://h:x/secret", "http://[::1/secret", "//h/secret"),
        *("http://h/sec ret", "http://h/\r\nsecret: 1", "http://h/sécret"),
    ],
)
def test_url_that_is_not_in_wire_form_is_refused_and_not_quoted(url):
    with pytest.raises(ValueError, match="URL") as caught:
        read_route("POST", url)
    assert "ret" not in str(caught.value)


def test_method_with_a_blank_is_refused():
    with pytest.raises(ValueError, match="method"):
        read_route("GET / HTTP/1.1\r\nX:", "http://h/")
