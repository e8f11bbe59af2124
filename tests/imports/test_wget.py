"""wget command lines, and the request that each would make."""

import pytest

from engine.imports.shell import NotPlain, read_words
from engine.imports.web_call import LONG, REDIRECTS, RETRIES, WebCall
from engine.imports.wget import NOT_SAVED, read_wget

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def read(command: str) -> WebCall:
    return read_wget(read_words(command)[1:], None)


@pytest.mark.parametrize(
    ("command", "method", "headers", "body"),
    [
        ("wget -q -O - http://h.example/c", "GET", {}, None),
        ("wget -qO- http://h.example/c", "GET", {}, None),
        ("wget -nvq --output-document=/dev/null http://h.example/c", "GET", {}, None),
        ("wget --spider http://h.example/c", "HEAD", {}, None),
        ("wget --post-data='a=1' http://h.example/c", "POST", FORM, "a=1"),
        ("wget --post-data a=1 http://h.example/c", "POST", FORM, "a=1"),
        ("wget --method=put --body-data=x http://h.example/c", "PUT", FORM, "x"),
        (
            "wget --header='Content-Type: text/plain' --post-data=x http://h.example/c",
            "POST",
            {"Content-Type": "text/plain"},
            "x",
        ),
        (
            "wget -U agent --no-cache h.example/c",
            "GET",
            {"User-Agent": "agent", "Cache-Control": "no-cache", "Pragma": "no-cache"},
            None,
        ),
        (
            "wget --user=me --password=s3 http://h.example/c",
            "GET",
            {"Authorization": "Basic bWU6czM="},
            None,
        ),
    ],
)
def test_a_wget_line_is_the_request_it_makes(
    command: str, method: str, headers: dict[str, str], body: str | None
):
    call = read(command)
    assert (call.method, call.url) == (method, "http://h.example/c")
    assert (call.headers, call.body) == (headers, body)


def test_redirects_are_always_noted_and_retries_and_saving_when_asked_for():
    assert read("wget -O - http://h.example").notes == (REDIRECTS,)
    assert read("wget -T 301 -O - http://h.example").notes == (REDIRECTS, LONG)
    assert read("wget -t 1 http://h.example").notes == (REDIRECTS, RETRIES, NOT_SAVED)


@pytest.mark.parametrize(("option", "seconds"), [("", 300), ("-T 20", 20), ("--timeout=900", 300)])
def test_the_longest_wait_is_kept_up_to_what_a_schedule_may_have(option: str, seconds: int):
    assert read(f"wget {option} http://h.example").timeout_seconds == seconds


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("wget -q", "no address"),
        ("wget -O feed.xml http://h.example", "output goes to feed.xml"),
        ("wget --no-check-certificate http://h.example", "certificate"),
        ("wget -r http://h.example", "-r has no counterpart"),
        ("wget --post-file=x http://h.example", "--post-file has no counterpart"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(command: str, reason: str):
    with pytest.raises(NotPlain) as caught:
        read(command)
    assert reason in str(caught.value)
