"""curl command lines, and the request that each would make."""

from base64 import b64encode

import pytest

from engine.imports.curl import read_curl
from engine.imports.shell import NotPlain, read_words
from engine.imports.web_call import LONG, REDIRECTS, RETRIES, WebCall

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def read(command: str, stdin: str | None = None) -> WebCall:
    return read_curl(read_words(command)[1:], stdin)


def basic(credentials: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


@pytest.mark.parametrize(
    ("command", "method", "url", "headers", "body"),
    [
        ("curl https://h.example/", "GET", "https://h.example/", {}, None),
        ("curl -fsS --compressed https://h.example/#top", "GET", "https://h.example/", {}, None),
        ("curl h.example/cron.php", "GET", "http://h.example/cron.php", {}, None),
        ("curl -XPUT --url http://h.example", "PUT", "http://h.example", {}, None),
        ("curl -I http://h.example", "HEAD", "http://h.example", {}, None),
        ("curl -d a=1 -d b=2 http://h.example", "POST", "http://h.example", FORM, "a=1&b=2"),
        ("curl -sXPOST -d '' http://h.example", "POST", "http://h.example", FORM, ""),
        ("curl --data-raw @me http://h.example", "POST", "http://h.example", FORM, "@me"),
        (
            "curl -H 'content-type: text/xml' -d '<a/>' http://h.example",
            "POST",
            "http://h.example",
            {"content-type": "text/xml"},
            "<a/>",
        ),
        ("curl -G -d q=1 'http://h.example/?p=0'", "GET", "http://h.example/?p=0&q=1", {}, None),
        ("curl -G -d q=1 http://h.example", "GET", "http://h.example?q=1", {}, None),
        (
            "curl --data-urlencode 'q=a b&c' http://h.example",
            "POST",
            "http://h.example",
            FORM,
            "q=a+b%26c",
        ),
        (
            """curl --json '{"a":' --json '1}' http://h.example""",
            "POST",
            "http://h.example",
            {"Accept": "application/json", "Content-Type": "application/json"},
            '{"a":1}',
        ),
        ("curl -u me:s3 http://h.example", "GET", "http://h.example", basic("me:s3"), None),
        ("curl http://me:s%40@h.example/x", "GET", "http://h.example/x", basic("me:s@"), None),
        (
            "curl --oauth2-bearer t -A agent -e ref -b a=b http://h.example",
            "GET",
            "http://h.example",
            {
                "User-Agent": "agent",
                "Referer": "ref",
                "Cookie": "a=b",
                "Authorization": "Bearer t",
            },
            None,
        ),
        (
            "curl -H 'X-Empty;' -H 'Accept:' http://h.example",
            "GET",
            "http://h.example",
            {"X-Empty": ""},
            None,
        ),
        (
            "curl -o /dev/null -w '%{http_code}' http://h.example",
            "GET",
            "http://h.example",
            {},
            None,
        ),
        ("curl -g 'http://h.example/?ids[]=1'", "GET", "http://h.example/?ids[]=1", {}, None),
        ("curl http://[::1]:9000/", "GET", "http://[::1]:9000/", {}, None),
        ("curl [::ffff:127.0.0.1]/a", "GET", "http://[::ffff:127.0.0.1]/a", {}, None),
        ("curl -- http://h.example", "GET", "http://h.example", {}, None),
    ],
)
def test_a_curl_line_is_the_request_it_makes(
    command: str, method: str, url: str, headers: dict[str, str], body: str | None
):
    call = read(command)
    assert (call.method, call.url, call.headers, call.body) == (method, url, headers, body)


def test_standard_input_is_the_body_as_curl_would_send_it():
    assert read("curl --data-binary @- http://h.example", "a\nb\n").body == "a\nb\n"
    assert read("curl -d @- http://h.example", "a=1\n").body == "a=1"
    assert read("curl -d @- http://h.example").body == ""
    with pytest.raises(NotPlain, match="joins the lines"):
        read("curl -d @- http://h.example", "a\nb\n")


@pytest.mark.parametrize(
    ("option", "seconds"), [("", 300), ("-m 60", 60), ("-m2.1", 3), ("-m 900", 300), ("-m 0", 300)]
)
def test_the_longest_wait_is_kept_up_to_what_a_schedule_may_have(option: str, seconds: int):
    assert read(f"curl {option} http://h.example").timeout_seconds == seconds


def test_what_means_something_else_afterwards_is_noted():
    assert read("curl http://h.example").notes == ()
    call = read("curl -L --retry 3 --retry-delay 5 http://h.example")
    assert call.notes == (REDIRECTS, RETRIES)
    assert read("curl -m 300 http://h.example").notes == ()
    assert read("curl -m 301 http://h.example").notes == (LONG,)


def test_headers_that_are_only_shown_change_nothing():
    assert read("curl -D - -o /dev/stderr http://h.example") == read("curl http://h.example")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("curl", "no address"),
        ("curl http://a.example http://b.example", "several addresses"),
        ("curl -k http://h.example", "certificate"),
        ("curl -o page.html http://h.example", "output goes to page.html"),
        ("curl -D head.txt http://h.example", "output goes to head.txt"),
        ("curl -O http://h.example/x", "-O has no counterpart"),
        ("curl -F a=b http://h.example", "-F has no counterpart"),
        ("curl --proxy p http://h.example", "--proxy has no counterpart"),
        ("curl --request=POST http://h.example", "--request=POST has no counterpart"),
        ("curl -u me http://h.example", "ask for a password"),
        ("curl -d @body.json http://h.example", "body is in the file body.json"),
        ("curl --data-urlencode q@file http://h.example", "body is in the file file"),
        ("curl -H @headers http://h.example", "headers are in the file headers"),
        ("curl -H nonsense http://h.example", "not a header"),
        ("curl -H 'A: 1' -H 'a: 2' http://h.example", "header a twice"),
        ("curl -H 'Content-Type:' -d a http://h.example", "without a Content-Type"),
        ("curl -b jar http://h.example", "cookies are in a file"),
        ("curl 'http://h.example/[1-9]'", "expand"),
        ("curl 'http://[::1]/{a,b}'", "expand"),
        ("curl ftp://h.example/", "ftp: is not http"),
        ("curl -m soon http://h.example", "'soon' is not a number of seconds"),
        ("curl -X", "-X has no value"),
        ("curl http://h.example --max-time", "--max-time has no value"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(command: str, reason: str):
    with pytest.raises(NotPlain) as caught:
        read(command)
    assert reason in str(caught.value)
