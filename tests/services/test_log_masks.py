"""What a log does not say, and that it stays on its line."""

import json

import pytest
import structlog

from engine.services.log_lines import log_to_stderr
from engine.services.log_masks import mask_secrets, one_line


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("key obk_abc_SeCr3t0123 used", "key obk_abc_*** used"),
        ("by whsec_AAEC+/w=.", "by whsec_***."),
        ("to http://me:pw@h.example/a", "to http://***@h.example/a"),
        ("to https://h.example/a?token=x&y=1, twice", "to https://h.example/a?*** twice"),
        ("Authorization: Digest a, b", "Authorization: ***"),
        ("sent Bearer abc.def", "sent Bearer ***"),
        ("X-Api-Key: abc", "X-Api-Key: ***"),
        ("a/headers/X: b; Set-Cookie: a=b", "a/headers/X: b; Set-Cookie: ***"),
        ("client_secret=abc", "client_secret=***"),
        ("https://h.example/token=abc", "https://h.example/token=***"),
        (
            "all.toml:1: a/target/headers/Authorization: write its value, sent Bearer abc",
            "all.toml:1: a/target/headers/Authorization: write its value, sent Bearer ***",
        ),
        ("a/target/headers/X-Api-Key: write text", "a/target/headers/X-Api-Key: write text"),
        ("https://h.example/a answered 500", "https://h.example/a answered 500"),
    ],
)
def test_secrets_are_masked_wherever_they_stand(said: str, shown: str):
    event = {"event": said, "errors": [said], "of": {"x": said}, "exception": f"T\n{said}\nE"}
    masked = mask_secrets(None, "info", event)
    assert (masked["event"], masked["errors"], masked["of"]) == (shown, [shown], {"x": shown})
    assert masked["exception"] == f"T\n{shown}\nE"


def test_a_field_of_headers_is_not_shown_at_all():
    event = {"event": "x", "headers": [("X-A", "1")], "key": "kept", "count": 3}
    assert mask_secrets(None, "info", event) == {**event, "headers": "***"}


def test_on_a_terminal_nothing_ends_the_line_or_moves_the_cursor():
    shown = one_line(None, "info", {"event": "a\nb\x1b[2Jc\u2028d\u0085e", "n": 1})
    assert shown == {"event": "a\\u000ab\\u001b[2Jc\\u2028d\\u0085e", "n": 1}


def test_an_event_is_one_line_of_json_that_reads_back(
    capsys: pytest.CaptureFixture[str],
):
    log_to_stderr()
    try:
        structlog.get_logger().warning("a\nb\u2028c", of="x\u0085y\r", secret="s3cret")
    finally:
        structlog.reset_defaults()
    (line,) = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert (event["event"], event["of"]) == ("a\nb\u2028c", "x\u0085y\r")
    assert event["secret"] == "***"
