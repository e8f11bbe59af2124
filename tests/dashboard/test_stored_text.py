"""Whatever tenants and receivers write is shown as it was written, and nothing of it runs."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import Screen, running_engine, screen_of
from tests.dashboard.payloads import PAYLOADS
from tests.end_to_end.processes import Engine, until

MADE = "main :is(script, img, svg, iframe, video, object, embed, style, math, base)"
"""What no screen has of its own."""

UNSEEN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)
"""What a page shows by nothing, or by the order of what is beside it."""


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


def test_what_is_unseen_or_turns_a_text_round_is_written_out(
    browser: Browser, empty_engine: Engine, receiver: str
):
    hidden = "pay \u202e001\u2066 to\u200b me\x1b[2J"
    body = f"אבג\tone\r\n{hidden}"
    target = {"url": f"{receiver}/{quote(hidden, safe='')}", "body": body}
    pause = {"paused": True, "pause_reason": hidden.replace("\x1b", "")}
    empty_engine.put("unseen", {"every": 86_400, "target": target})
    run = empty_engine.ask("POST", "/v1/schedules/unseen:trigger", {}).document["id"]
    until(lambda: empty_engine.ask("GET", f"/v1/runs/{run}").document["ended_at"], "it has failed")
    assert empty_engine.ask("PATCH", "/v1/schedules/unseen", pause).status == 200
    shown = r"pay \u202e001\u2066 to\u200b me"
    with screen_of(browser, empty_engine) as screen:
        for address in ("schedules/unseen", f"runs/{quote(run, safe='')}"):
            page = screen.show(address, "")
            # What is sent, and why it rests or what was answered.
            expect(page.get_by_text(shown)).to_have_count(2)
            page.get_by_text("אבג\tone").wait_for()
            assert UNSEEN.search(page.locator("main").inner_text()) is None
            isolated = "[...document.querySelectorAll('main :is(a, bdi, code, small, span, pre)')]"
            how = "of => getComputedStyle(of).unicodeBidi"
            assert page.evaluate(f"{isolated}.map({how}).every((is) => is.startsWith('isolate'))")
    empty_engine.ask("DELETE", "/v1/schedules/unseen")


def look(screen: Screen, address: str) -> None:
    """Show a screen: no element comes of the text, and no link leads out."""
    page = screen.show(address, "")
    assert page.locator(MADE).count() == 0, address
    links = page.locator("main a")
    assert links.count() == page.locator("main a:is([href^='#/'], [href=docs])").count(), address
