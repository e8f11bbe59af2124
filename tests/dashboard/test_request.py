"""A run's request is shown as the receiver saw it, and the copied command sends the same."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.dashboard.conftest import running_engine, screen_of
from tests.end_to_end.processes import Engine, Receiver, Request, until

CURL_SECONDS = 20
PER_ATTEMPT = {
    "x-attempt",
    "webhook-timestamp",
    "webhook-signature",
    "x-scheduler-signature",
}
OF_THE_WIRE = {"host", "content-length"}
TARGETS = {
    "json": {"json": {"b": "it's", "10": 1.0, "2": [{}, [], 12345678901234567890, 'ä "\\']}},
    "text": {"body": "one\n'two' @three", "headers": {"Accept": "text/css", "X-Empty": ""}},
    "agent": {"body": "x", "headers": {"user-agent": "mine/1", "content-type": "text/html"}},
    "bytes": {"body_base64": "AP8K", "method": "PUT"},
    "empty": {"method": "POST"},
    "delete": {"method": "DELETE"},
    "get": {"method": "GET"},
    "head": {"method": "HEAD"},
}
"""What is written of each target beside its URL, which ends with its name."""


@pytest.fixture(scope="module")
def sender() -> Iterator[Engine]:
    with running_engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    receiver = Receiver(tmp_path_factory.mktemp("seen"))
    yield receiver
    receiver.kill()


def alike(request: Request) -> tuple[str, str, list[tuple[str, str]], bytes]:
    """What does not differ from attempt to attempt."""
    headers = [(name, value) for name, value in request.headers if name.lower() not in PER_ATTEMPT]
    return request.method, request.path, sorted(headers), request.body


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_shown_and_copied_is_what_the_receiver_saw(
    browser: Browser, sender: Engine, seen: Receiver, tmp_path: Path, name: str
):
    path = f"/a/../{name}"
    target = {"url": f"{seen.url(path)}?ids[1-3]=x", **TARGETS[name]}
    sender.put(name, {"cron": "0 0 1 1 *", "target": target})
    run = sender.ask("POST", f"/v1/schedules/{name}:trigger", {}).document["id"]
    [sent] = until(lambda: seen.requests(path), "the engine sends it")
    allowed = ["clipboard-read", "clipboard-write"]
    with screen_of(browser, sender, permissions=allowed) as screen:
        page = screen.show(f"runs/{quote(run, safe='')}", "Run of")
        shown = page.locator("dt:text-is('Headers') + dd pre").inner_text().splitlines()
        page.get_by_role("button", name="Copy as curl").click()
        page.get_by_text("Copied.").wait_for()
        command = page.evaluate("navigator.clipboard.readText()")
    shell = ["sh", "-c", command]
    subprocess.run(shell, check=True, timeout=CURL_SECONDS, cwd=tmp_path, capture_output=True)
    _, copied = seen.requests(path)
    assert alike(copied) == alike(sent)
    told = [(name, value) for name, value in alike(sent)[2] if name.lower() not in OF_THE_WIRE]
    assert sorted(line.strip() for line in shown) == sorted(
        f"{name}: {value}".strip() for name, value in told
    )
