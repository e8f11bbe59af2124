"""What a page says while the engine does not answer, and where an address leads nowhere."""

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import screen_of
from tests.end_to_end.processes import Engine


def test_an_open_screen_says_that_the_engine_went_silent_and_since_when(
    browser: Browser, engine: Engine, theme: str
):
    with screen_of(browser, engine, theme) as screen:
        page = screen.show("system", "System")
        alert = page.locator(".silent")
        page.get_by_text("live", exact=True).wait_for()
        expect(alert).to_be_empty()
        screen.page.route("**/*", lambda route: route.abort())
        alert.get_by_text("The engine does not answer since").wait_for()
        expect(alert).to_contain_text("UTC; what is shown is from then.")
        assert screen.serious_faults() == []
        page.evaluate("location.hash = '#/flows'")
        page.get_by_role("heading", level=1, name="No answer").wait_for()
        expect(alert).to_be_empty()  # The screen says it itself.
        page.go_back()
        screen.page.unroute("**/*")
        page.get_by_role("heading", level=1, name="System").wait_for()
        expect(alert).to_be_empty()
        assert all("ERR_FAILED" in text for text in screen.said)
        screen.said.clear()


def test_what_an_open_screen_shows_is_renewed_when_the_engine_is_back(
    browser: Browser, engine: Engine, receiver: str
):
    target = {"url": f"{receiver}/good/meanwhile"}
    engine.put("meanwhile", {"every": 86_400, "target": target})
    with screen_of(browser, engine) as screen:
        page = screen.show("schedules/meanwhile", "meanwhile")
        screen.page.route("**/v1/**", lambda route: route.abort())
        page.get_by_text("The engine does not answer since").wait_for()
        with page.expect_event("requestfailed", lambda request: "/meanwhile" in request.url):
            engine.ask("POST", "/v1/schedules/meanwhile:trigger", {})
        screen.page.unroute("**/v1/**")
        page.get_by_role("table", name="Runs, newest first").get_by_text("manual").wait_for()
        expect(page.locator(".silent")).to_be_empty()
        assert all("ERR_FAILED" in text for text in screen.said)
        screen.said.clear()
    engine.ask("DELETE", "/v1/schedules/meanwhile")


@pytest.mark.parametrize("address", ["wat", "schedules/%E0%A4%A", "flows/too/deep"])
def test_an_address_that_means_no_screen_is_said_to_be_none(
    browser: Browser, engine: Engine, address: str
):
    with screen_of(browser, engine) as screen:
        page = screen.show(address, "There is no such page")
        page.locator("main").get_by_role("link", name="schedules").click()
        page.get_by_role("heading", level=1, name="Schedules").wait_for()


@pytest.mark.parametrize("address", ["schedules/nobody", "runs/nobody"])
def test_what_is_not_there_is_asked_for_once(browser: Browser, engine: Engine, address: str):
    with screen_of(browser, engine) as screen:
        page = screen.show(address, "Not there")
        page.get_by_text("A schedule is gone when it is deleted").wait_for()
        page.locator("main").get_by_role("link", name="schedules").wait_for()
        assert ["404" in text for text in screen.said] == [True]  # The browser's own note.
        screen.said.clear()
