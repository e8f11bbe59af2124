"""Every screen, as somebody walks through it: in both themes, empty and with 10,000 schedules."""

import re
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import screen_of
from tests.end_to_end.processes import Engine, until

RUN = "runs/"
"""The newest run of a schedule, whose id is the engine's to say."""

SCREENS = [
    ("", "Herd"),
    ("schedules", "Schedules"),
    ("schedules/report-00042", "report-00042"),
    ("schedules/report-00042/edit", "Edit report-00042"),
    (RUN, "Run of"),
    ("new", "New schedule"),
    ("failed", "Failed runs"),
    ("flows", "Flows"),
    ("system", "System"),
]
LISTS = [(address, heading) for address, heading in SCREENS if "/" not in address]
TOO_WIDE = """
() => [...document.querySelectorAll("nav, .scroll, .panel")]
  .filter((place) => place.scrollWidth > place.clientWidth)
  .map((place) => place.ariaLabel ?? place.textContent.slice(0, 40))
"""


def screens_of(engine: Engine) -> list[tuple[str, str]]:
    [run] = engine.ask("GET", "/v1/runs?schedule=report-00042&limit=1").document["data"]
    address = f"runs/{quote(run['id'], safe='')}"
    return [(address if place == RUN else place, heading) for place, heading in SCREENS]


@pytest.mark.parametrize("width", [1280, 400])
def test_every_screen_can_be_seen_and_heard_and_says_nothing_in_the_console(
    browser: Browser, engine: Engine, theme: str, width: int
):
    with screen_of(browser, engine, theme, viewport={"width": width, "height": 800}) as screen:
        for address, heading in screens_of(engine):
            page = screen.show(address, heading)
            assert screen.serious_faults() == [], address
            assert page.evaluate("document.documentElement.scrollWidth") == width, address
            assert page.evaluate(TOO_WIDE) == [], address


def test_an_empty_engine_says_what_to_do(browser: Browser, empty_engine: Engine, theme: str):
    with screen_of(browser, empty_engine, theme) as screen:
        for address, heading in LISTS:
            screen.show(address, heading)
            assert screen.serious_faults() == [], address
        screen.show("", "Herd").get_by_role("link", name="Make the first schedule").wait_for()
        page = screen.show("schedules", "Schedules")
        page.get_by_role("link", name="Make the first one").click()
        page.get_by_role("heading", name="New schedule").wait_for()


def test_a_list_of_ten_thousand_is_loaded_a_page_at_a_time(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        page = screen.show("schedules", "Schedules")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(25)
        page.get_by_role("button", name="Next page").click()
        page.get_by_text("report-00025", exact=True).wait_for()
        page.get_by_label("Name begins with").fill("report-0999")
        expect(rows).to_have_count(10)
        page.get_by_label("Labels").fill("team=team-3")
        expect(rows).to_have_count(2)
        page.get_by_label("State").select_option("Paused")
        page.get_by_text("Nothing matches").wait_for()


def test_a_list_keeps_its_page_and_its_filter_on_reload_and_back(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        page = screen.show("schedules", "Schedules")
        page.get_by_text(re.compile(r"^1 to 25 of 10,\d{3} schedules$")).wait_for()
        page.get_by_label("Name begins with").fill("report-09")
        page.get_by_label("Labels").fill("team=team-3")
        page.get_by_text("1 to 25 of those that match, of 10,").wait_for()
        page.get_by_role("button", name="Next page").click()
        page.get_by_text("26 to 50 of those that match").wait_for()
        first = page.locator("tbody a").first.inner_text()
        page.reload()
        page.get_by_text("26 to 50 of those that match").wait_for()
        expect(page.locator("tbody a").first).to_have_text(first)
        expect(page.get_by_label("Name begins with")).to_have_value("report-09")
        page.locator("tbody a").first.click()
        page.get_by_role("heading", level=1, name=first).wait_for()
        page.go_back()
        page.get_by_text("26 to 50 of those that match").wait_for()
        page.go_back()
        page.get_by_text("1 to 25 of those that match").wait_for()
        expect(page.get_by_label("Labels")).to_have_value("team=team-3")


def test_a_page_that_the_filter_left_empty_is_not_the_end(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        # The only one without the label stands behind ten thousand, as many as a page looks at.
        engine.put("zz-last", {"every": 86_400, "target": {"url": "http://127.0.0.1:9/"}})
        page = screen.show("schedules", "Schedules")
        page.get_by_label("Labels").fill("!team")
        page.get_by_role("link", name="zz-last").wait_for()
        engine.ask("DELETE", "/v1/schedules/zz-last")


def test_a_schedule_is_made_changed_paused_triggered_and_deleted(
    browser: Browser, engine: Engine, receiver: str
):
    with screen_of(browser, engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("Name", exact=True).fill("nightly")
        page.get_by_label("Cron expression").fill("30 2 * * *")
        page.get_by_label("URL").fill(f"{receiver}/good/nightly")
        page.get_by_text("every day at 02:30").wait_for()
        expect(
            page.get_by_role("table", name="Next occurrences").locator("tbody tr")
        ).to_have_count(10)
        page.get_by_role("button", name="Create").click()
        page.get_by_role("heading", level=1, name="nightly").wait_for()

        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Jitter, in seconds").fill("30")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("within 30 s (as the schedule asks)").wait_for()

        page.get_by_role("button", name="Trigger now").click()
        page.get_by_role("link", name=re.compile("look at it")).wait_for()
        page.get_by_role("table", name="Runs, newest first").get_by_text("succeeded").wait_for()

        page.get_by_role("button", name="Pause").click()
        page.get_by_text("Paused. What falls in the pause is skipped").wait_for()
        page.get_by_role("button", name="Resume").click()
        page.get_by_text("Resumed.").wait_for()

        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.get_by_role("heading", level=1, name="Schedules").wait_for()
        assert engine.ask("GET", "/v1/schedules/nightly").status == 404


def test_failed_runs_are_grouped_and_replayed_alone_or_together(
    browser: Browser, engine: Engine, receiver: str
):
    for name in ("lost-1", "lost-2"):
        document = {"cron": "0 0 1 1 *", "target": {"url": f"{receiver}/lost", "body": "it's"}}
        engine.ask("PUT", f"/v1/schedules/{name}", document)
        engine.ask("POST", f"/v1/schedules/{name}:trigger", {})
    with screen_of(browser, engine, permissions=["clipboard-write", "clipboard-read"]) as screen:
        page = screen.show("failed", "Failed runs")
        page.get_by_text("HTTP 422", exact=True).wait_for()
        page.get_by_role("link", name="lost-2").wait_for()
        page.get_by_role("button", name="Replay these").click()
        page.get_by_role("heading", name="Replay 2 failed runs?").wait_for()
        page.get_by_role("dialog").get_by_role("button", name="Replay").click()
        page.get_by_text("2 runs on the way").wait_for()

        page.get_by_role("link", name="lost-1").click()
        page.get_by_role("table", name="Runs, newest first").get_by_role("link").first.click()
        page.get_by_role("heading", name=re.compile("^Where .* went$")).wait_for()
        page.get_by_role("button", name="Copy as curl").click()
        page.get_by_text("Copied.").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert f"curl -X 'POST' '{receiver}/lost'" in copied
        assert screen.serious_faults() == []


def test_another_jitter_is_planned_and_nothing_is_saved(browser: Browser, engine: Engine):
    before = engine.ask("GET", "/v1/schedules/report-00042").document
    with screen_of(browser, engine) as screen:
        page = screen.show("", "Herd")
        page.get_by_role("slider", name="Jitter").focus()
        page.keyboard.press("End")
        page.get_by_text("0 to 15 min").wait_for()
        page.get_by_text("schedules would change").wait_for()
        page.get_by_role("button", name="As it is").click()
        expect(page.get_by_text("schedules would change")).to_have_count(0)
    assert engine.ask("GET", "/v1/schedules/report-00042").document == before


def test_a_fault_is_shown_at_its_field(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("Cron expression").fill("61 * * * *")
        invalid = page.locator("#cron[aria-invalid]")
        invalid.wait_for()


@pytest.mark.parametrize("width", [1280, 400])
def test_the_keyboard_reaches_the_content_first(browser: Browser, engine: Engine, width: int):
    with screen_of(browser, engine, viewport={"width": width, "height": 800}) as screen:
        page = screen.show("schedules", "Schedules")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "New schedule"


def test_a_stream_that_drops_is_said_and_made_up_for(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        screen.page.route("**/v1/events", lambda route: route.abort())
        page = screen.show("schedules/report-00007", "report-00007")
        page.get_by_text("every 5 s: the stream is down").wait_for()
        engine.ask("POST", "/v1/schedules/report-00007:trigger", {})
        page.get_by_role("table", name="Runs, newest first").get_by_text("manual").wait_for()
        screen.page.unroute("**/v1/events")
        page.get_by_text("live", exact=True).wait_for()
        assert all("ERR_FAILED" in text for text in screen.said)
        screen.said.clear()


def test_a_run_shows_what_it_sent_and_not_what_its_schedule_has_now(
    browser: Browser, engine: Engine, receiver: str
):
    document = {"every": 86_400, "target": {"url": f"{receiver}/good/then"}}
    engine.ask("PUT", "/v1/schedules/moved", document)
    run = engine.ask("POST", "/v1/schedules/moved:trigger", {}).document["id"]
    until(
        lambda: engine.ask("GET", f"/v1/runs/{run}").document["state"] == "succeeded", "it is sent"
    )
    engine.ask("PATCH", "/v1/schedules/moved", {"target": {"url": f"{receiver}/good/now"}})
    with screen_of(browser, engine) as screen:
        page = screen.show(f"runs/{quote(run, safe='')}", "Run of")
        page.get_by_text(f"POST {receiver}/good/then").wait_for()
        expect(page.get_by_text("/good/now")).to_have_count(0)


def test_a_schedule_of_every_second_has_a_last_result(
    browser: Browser, engine: Engine, receiver: str
):
    document = {"every": 1, "target": {"url": f"{receiver}/good/second"}}
    engine.ask("PUT", "/v1/schedules/every-second", document)
    succeeded = "/v1/schedules/every-second/runs?state=succeeded"
    until(lambda: engine.ask("GET", succeeded).document["data"], "it has run")
    with screen_of(browser, engine) as screen:
        # Without the stream, whose events say how each run ends.
        screen.page.route("**/v1/events", lambda route: route.abort())
        page = screen.show("schedules", "Schedules")
        page.get_by_label("Name begins with").fill("every-second")
        row = page.get_by_role("row", name="every-second")
        row.get_by_text("succeeded").wait_for(timeout=3_000)
        screen.page.unroute("**/v1/events")
        page.get_by_text("live", exact=True).wait_for()  # Nothing more is said of the stream.
        assert all("ERR_FAILED" in text for text in screen.said)
        screen.said.clear()
    engine.ask("DELETE", "/v1/schedules/every-second")


def test_runs_that_wait_are_shown_and_the_others_are_a_page_further(
    browser: Browser, engine: Engine, receiver: str
):
    target = {"url": f"{receiver}/good/waiting"}
    engine.put("waiting", {"every": 86_400, "flow_key": "held", "target": target})
    run = engine.ask("POST", "/v1/schedules/waiting:trigger", {}).document["id"]
    until(lambda: engine.ask("GET", f"/v1/runs/{run}").document["ended_at"], "it has run")
    assert engine.ask("PUT", "/v1/flows/held", {"paused": True}).status == 200
    for _ in range(25):
        engine.ask("POST", "/v1/schedules/waiting:trigger", {})
    with screen_of(browser, engine) as screen:
        page = screen.show("schedules/waiting", "waiting")
        rows = page.get_by_role("table", name="Runs, newest first").locator("tbody tr")
        expect(rows.filter(has_text="planned")).to_have_count(25)
        page.get_by_role("button", name="Next page").click()
        expect(rows.filter(has_text="succeeded")).to_have_count(1)
    engine.ask("DELETE", "/v1/schedules/waiting")


def test_who_is_slower_is_asked_before_anothers_change_is_lost(
    browser: Browser, engine: Engine, receiver: str
):
    # Two numbers that JavaScript has not: what is not edited must stay to the digit.
    body = '{"id": 12345678901234567890, "share": 1.0}'
    document = f'{{"every": 86400, "target": {{"url": "{receiver}/good/two", "json": {body}}}}}'
    request = Request(f"{engine.url}/v1/schedules/two", document.encode(), method="PUT")
    request.add_header("Content-Type", "application/json")
    urlopen(request).close()
    with screen_of(browser, engine) as screen:
        page = screen.show("schedules/two/edit", "Edit two")
        engine.ask("PATCH", "/v1/schedules/two", {"labels": {"by": "another"}})
        page.get_by_label("Attempts at most").fill("3")
        page.get_by_role("button", name="Save").click()
        page.get_by_text("It was changed meanwhile").wait_for()
        assert engine.ask("GET", "/v1/schedules/two").document["retry"]["max_attempts"] == 8
        page.get_by_role("button", name="Save mine over it").click()
        page.get_by_role("heading", level=1, name="two", exact=True).wait_for()
        assert all("412" in text for text in screen.said)  # The browser's own note.
        screen.said.clear()
    with urlopen(f"{engine.url}/v1/schedules/two") as answer:
        stored = answer.read().decode()
    assert '"json":{"id":12345678901234567890,"share":1.0}' in stored
    assert '"max_attempts":3' in stored


def test_a_dialog_is_closed_by_escape_and_the_slider_moved_by_keys(
    browser: Browser, engine: Engine
):
    with screen_of(browser, engine, reduced_motion="reduce") as screen:
        page = screen.show("schedules/report-00003", "report-00003")
        page.get_by_role("button", name="Delete").press("Enter")
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert engine.ask("GET", "/v1/schedules/report-00003").status == 200
        slider = screen.show("", "Herd").get_by_role("slider", name="Jitter")
        slider.press("ArrowRight")
        page.get_by_text("0 to 1 min 30 s").wait_for()


def test_a_dialog_does_not_outlive_the_screen_that_it_asks_about(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        screen.show("flows", "Flows")
        page = screen.show("schedules/report-00003", "report-00003")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").wait_for()
        page.go_back()
        page.get_by_role("heading", level=1, name="Flows").wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert engine.ask("GET", "/v1/schedules/report-00003").status == 200


def test_an_engine_that_does_not_answer_is_said_and_its_return_is_seen(
    browser: Browser, engine: Engine
):
    with screen_of(browser, engine) as screen:
        screen.show("flows", "Flows")
        screen.page.route("**/v1/**", lambda route: route.abort())
        page = screen.show("schedules", "No answer")
        page.get_by_text("The engine does not answer").wait_for()
        screen.page.unroute("**/v1/**")
        page.get_by_role("heading", level=1, name="Schedules").wait_for()
        assert all("ERR_FAILED" in text for text in screen.said)
        screen.said.clear()


def test_the_settings_in_force_are_shown(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        page = screen.show("system", "System")
        row = page.get_by_role("table", name="Settings in force").get_by_role("row")
        expect(row.filter(has_text="delivery.rate")).to_contain_text("1,000default")
        expect(row.filter(has_text="engine.listen")).to_contain_text("set")
