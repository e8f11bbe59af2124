"""Whatever tenants and receivers write is shown as it was written, and nothing of it runs."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.dashboard.conftest import Screen, running_engine, screen_of
from tests.dashboard.payloads import PAYLOADS
from tests.end_to_end.processes import Engine, until

MADE = "main :is(script, img, svg, iframe, video, object, embed, style, math, base)"
"""What no screen has of its own."""


def fields_of(payload: str, receiver: str) -> dict[str, dict[str, object]]:
    """A change for each field that a tenant fills with text of its own."""
    target = {"url": f"{receiver}/{quote(payload, safe='')}", "method": "POST"}
    return {
        "url": {"target": target},
        "json": {"target": {"json": {payload: [payload]}}},
        "body": {"target": {"body": payload}},
        "header": {"target": {"headers": {"X-Note": payload}}},
        "label": {"labels": {"note": payload}},
        "flow": {"flow_key": payload},
        "pause": {"paused": True, "pause_reason": payload},
    }


@pytest.fixture(scope="module")
def written(receiver: str) -> Iterator[Engine]:
    """An engine with a schedule for each payload in every field that takes it, and a failed run."""
    taken = dict.fromkeys(fields_of("", receiver), 0)
    with running_engine() as engine:
        for number, payload in enumerate(PAYLOADS):
            path = f"/v1/schedules/p{number:02}"
            blank = {"cron": "0 0 1 1 *", "target": {"url": f"{receiver}/"}}
            assert engine.ask("PUT", path, blank).status == 201
            fields = fields_of(payload, receiver)
            pause = fields.pop("pause")
            for name, change in fields.items():
                taken[name] += engine.ask("PATCH", path, change).status == 200
            assert engine.ask("POST", f"{path}:trigger", {}).status == 202
            garbage = {"url": f"{receiver}/broken/{quote(payload, safe='')}", "body": payload}
            broken = {"cron": "0 0 1 1 *", "target": garbage, "retry": {"max_attempts": 1}}
            assert engine.ask("PUT", f"/v1/schedules/q{number:02}", broken).status == 201
            assert engine.ask("POST", f"/v1/schedules/q{number:02}:trigger", {}).status == 202
            taken["pause"] += engine.ask("PATCH", path, pause).status == 200
        # Labels and flow keys have a grammar that lets none of them in.
        assert taken == {name: 0 if name in ("label", "flow") else len(PAYLOADS) for name in taken}
        until(lambda: len(failed(engine)) == 2 * len(PAYLOADS), "every run has failed")
        yield engine


def failed(engine: Engine) -> list[str]:
    answer = engine.ask("GET", "/v1/runs?state=failed&limit=100")
    return [run["id"] for run in answer.document["data"]]


def test_no_stored_text_runs_on_any_screen(browser: Browser, written: Engine):
    with screen_of(browser, written) as screen:
        for address in ("", "schedules", "failed", "flows", "system"):
            look(screen, address)
        screen.show("schedules", "Schedules").get_by_text("Next page").click()
        screen.page.get_by_text("p25", exact=True).wait_for()
        for number in range(len(PAYLOADS)):
            look(screen, f"schedules/p{number:02}")
            screen.page.get_by_text(PAYLOADS[number]).first.wait_for()
        for run in failed(written):
            look(screen, f"runs/{quote(run, safe='')}")
        for number in range(0, len(PAYLOADS), 4):
            look(screen, f"schedules/p{number:02}/edit")


def test_no_text_in_the_address_runs(browser: Browser, written: Engine):
    with screen_of(browser, written) as screen:
        for payload in PAYLOADS[::4]:
            for kind in ("schedules", "runs"):
                look(screen, f"{kind}/{quote(payload, safe='')}")
        # The browser itself notes that an answer was a 404; nothing else may be said.
        assert all("404" in text for text in screen.said)
        screen.said.clear()


def test_a_broken_answer_is_told_in_its_own_words(browser: Browser, written: Engine):
    with screen_of(browser, written) as screen:
        screen.show("failed", "Failed runs").get_by_text("protocol error").first.wait_for()


def look(screen: Screen, address: str) -> None:
    """Show a screen: no element comes of the text, and no link leads out."""
    page = screen.show(address, "")
    assert page.locator(MADE).count() == 0, address
    links = page.locator("main a")
    assert links.count() == page.locator("main a:is([href^='#/'], [href=docs])").count(), address
