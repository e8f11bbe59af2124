"""The page goes by the engine's clock and readiness, whatever the browser's clock says."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.dashboard.conftest import running_engine, screen_of
from tests.end_to_end.processes import Engine, until

THEN = "2035-06-01T11:40:00Z"
"""Years ahead of every browser that runs this."""

SOON = re.compile(r"in (1[5-9]|20) min")
NOON = {"cron": "0 12 * * *", "jitter_seconds": 0, "target": {"url": "http://127.0.0.1:9/"}}


@pytest.fixture(scope="module")
def ahead() -> Iterator[Engine]:
    """An engine on a day of 2035, twenty minutes before two schedules are due at once."""
    with running_engine("--clock-start", THEN) as engine:
        engine.put("noon", NOON)
        engine.put("noon-too", NOON)
        yield engine


def test_the_first_screen_is_of_the_engines_next_hour(browser: Browser, ahead: Engine):
    with screen_of(browser, ahead) as screen:
        page = screen.show("", "Herd")
        expect(page.get_by_text("12:00:00 UTC")).to_be_visible()
        expect(page.get_by_text("2 runs at one second")).to_contain_text(SOON)
        page.get_by_role("slider", name="Jitter").press("End")
        page.get_by_text("2 schedules would change").wait_for()


def test_how_far_instants_are_is_told_by_the_engines_clock(browser: Browser, ahead: Engine):
    with screen_of(browser, ahead) as screen:
        cells = screen.show("schedules/noon", "noon").locator("time.far")
        expect(cells.first).to_have_text(SOON)
        page = screen.show("schedules", "Schedules")
        expect(page.get_by_role("row", name="noon-too")).to_contain_text(SOON)


def test_the_newest_run_is_found_though_it_lies_ahead_of_the_browser(
    browser: Browser, ahead: Engine
):
    run = ahead.ask("POST", "/v1/schedules/noon:trigger", {}).document["id"]
    until(lambda: ahead.ask("GET", f"/v1/runs/{run}").document["attempts"], "it was tried")
    with screen_of(browser, ahead) as screen:
        # Without the stream, whose events say how each run ends.
        screen.page.route("**/v1/events", lambda route: route.abort())
        page = screen.show("schedules", "Schedules")
        expect(page.get_by_role("row", name="noon POST")).to_contain_text("retry wait")
        screen.page.unroute("**/v1/events")
        page.get_by_text("live", exact=True).wait_for()  # Nothing more is said of the stream.
        assert all("ERR_FAILED" in text for text in screen.said)
        screen.said.clear()


def test_the_two_clocks_are_compared_as_they_are(browser: Browser, ahead: Engine, engine: Engine):
    with screen_of(browser, ahead) as screen:
        page = screen.show("system", "System")
        clock = page.locator("section", has=page.get_by_role("heading", name="Clock"))
        expect(clock).to_contain_text("2035-06-01 11:4")
        expect(clock).to_contain_text("ahead of this browser")
    with screen_of(browser, engine) as screen:
        page = screen.show("system", "System")
        page.get_by_text("agrees with this browser").wait_for()


def test_a_question_that_is_refused_is_told_with_its_reason(browser: Browser, ahead: Engine):
    def ask_about_yesterday(route: Route) -> None:
        place = urlsplit(route.request.url)
        route.continue_(url=f"{place.scheme}://{place.netloc}{place.path}?to=2035-05-31T00:00:00Z")

    with screen_of(browser, ahead) as screen:
        screen.page.route("**/v1/herd/forecast*", ask_about_yesterday)
        page = screen.show("", "This did not work")
        expect(page.locator("main .lead")).to_contain_text("to: write an instant after 2035-06-01")
        assert all("422" in text for text in screen.said)  # The browser's own note.
        screen.said.clear()


def test_an_engine_that_sends_nothing_says_so_and_later_what_it_does_not_owe(
    browser: Browser, tmp_path: Path
):
    engine = Engine(tmp_path / "data", tmp_path / "log")
    engine.start("--clock-start", THEN)
    engine.put("noon", NOON)
    engine.kill()
    engine.spawn()  # By the machine's clock, years behind its own journal.
    until(lambda: engine.events("clock_behind_journal"), "the engine has seen its clock")
    until(lambda: engine.events("listening"), "the engine answers")
    with screen_of(browser, engine) as screen:
        page = screen.show("", "Herd")
        expect(page.locator("header .ready")).to_contain_text("not ready: clock: the clock is")
        said = "Runs are not sent as planned. clock: the clock is"
        expect(page.locator("main")).to_contain_text(said)
        expect(page.get_by_text("Next hour, once it is ready:")).to_be_visible()
        expect(page.get_by_text("Now: quiet")).to_have_count(0)
        assert screen.serious_faults() == []
        page.get_by_role("link", name="System", exact=True).last.click()
        page.get_by_role("table", name="Checks").get_by_text("--accept-clock").wait_for()
    engine.kill()
    engine.start("--accept-clock")
    with screen_of(browser, engine) as screen:
        page = screen.show("schedules/noon", "noon")
        expect(page.locator("header .ready")).to_be_empty()
        expect(page.get_by_text("Its rules begin at 2035-06-01 11:40")).to_be_visible()
        rows = page.get_by_role("table", name="Next occurrences").locator("tbody tr")
        expect(rows.filter(has_text="not owed")).to_have_count(10)
    engine.kill()
