"""A flow's limits are set in a dialog, which says at its fields what is wrong."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.conftest import Screen, screen_of
from tests.end_to_end.processes import Engine


@pytest.fixture
def limited(empty_engine: Engine) -> Iterator[Engine]:
    """An engine with one flow."""
    target = {"url": "http://127.0.0.1:9/"}
    empty_engine.put("flowing", {"every": 86_400, "flow_key": "narrow", "target": target})
    yield empty_engine
    empty_engine.ask("DELETE", "/v1/schedules/flowing")


def limits_in(screen: Screen) -> Page:
    page = screen.show("flows", "Flows")
    page.get_by_role("row", name="narrow").get_by_role("button", name="Limits").click()
    return page


def test_a_flows_limits_are_set(browser: Browser, limited: Engine):
    with screen_of(browser, limited) as screen:
        page = limits_in(screen)
        page.get_by_label("Rate, attempts a second").fill("50")
        page.get_by_role("button", name="Set").click()
        page.get_by_role("row", name="narrow").get_by_text("50 /s").wait_for()
    assert limited.ask("GET", "/v1/flows/narrow").document["rate"] == 50


def test_a_limit_that_is_refused_is_told_at_its_field(browser: Browser, limited: Engine):
    before = limited.ask("GET", "/v1/flows/narrow").document
    with screen_of(browser, limited) as screen:
        page = limits_in(screen)
        page.get_by_label("Rate, attempts a second").fill("soon")
        page.get_by_label("Attempts under way at most").fill("0")
        page.get_by_role("button", name="Set").click()
        page.get_by_text("Not set: Rate, attempts a second, Attempts under way at most.").wait_for()
        for name in ("rate", "parallelism"):
            fault = page.locator(f"[data-field={name}] .fault")
            expect(fault).not_to_be_empty()
            expect(fault).not_to_contain_text("/")
        expect(page.get_by_label("Rate, attempts a second")).to_be_focused()
        assert screen.serious_faults() == []
        assert all("422" in text for text in screen.said)  # The browser's own note.
        screen.said.clear()
    assert limited.ask("GET", "/v1/flows/narrow").document == before
