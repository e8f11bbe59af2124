"""What the first screen says of herds, and of runs that are none."""

import re

from playwright.sync_api import Browser, Route, expect

from engine.core.identity import format_instant, parse_instant
from tests.dashboard.conftest import Held, running_engine, screen_of
from tests.end_to_end.processes import Engine

TARGET = {"url": "http://127.0.0.1:9/"}


def test_runs_without_a_herd_are_said_to_be_that(browser: Browser):
    with running_engine() as engine:
        engine.put("once-an-hour", {"every": 3_600, "target": TARGET, "jitter_seconds": 0})
        with screen_of(browser, engine) as screen:
            page = screen.show("", "Herd")
            expect(page.get_by_text("1 run falls due within the hour")).to_contain_text("no herd")
            expect(page.locator(".figures")).to_contain_text("in the next hour1 run")
        engine.put("each-second", {"every": 1, "target": TARGET})
        engine.ask("DELETE", "/v1/schedules/once-an-hour")
        with screen_of(browser, engine) as screen:
            page = screen.show("", "Herd")
            expect(page.get_by_text("runs fall due within the hour")).to_contain_text("no herd")


def test_the_timetables_that_a_verdict_is_about_are_named(browser: Browser, engine: Engine):
    def align(route: Route) -> None:
        answer = route.fetch()
        document = answer.json()
        document["verdict"] = {
            "name": "alignment",
            "period_seconds": 3_600,
            "timetables": [{"timetable": "0 * * * * (UTC)", "runs": 903}],
            "sentence": "The busiest second has 903 of 903 runs.",
            "advice": "Give these timetables jitter_seconds = 60.",
        }
        route.fulfill(response=answer, json=document)

    with screen_of(browser, engine) as screen:
        screen.page.route("**/v1/herd/monitor*", align)
        page = screen.show("", "Herd")
        expect(page.locator(".verdict.warn")).to_contain_text("0 * * * * (UTC)903 runs")


def test_the_figure_of_the_busiest_second_is_the_one_that_the_verdict_names(
    browser: Browser, engine: Engine
):
    def crowd(route: Route) -> None:
        answer = route.fetch()
        document = answer.json()
        stages = document["window"]["stages"]
        stages["planned"]["amplification"], stages["served"]["amplification"] = 14.0, 1.1
        document["verdict"]["sentence"] = "The busiest second is 14.0 times the mean."
        route.fulfill(response=answer, json=document)

    with screen_of(browser, engine) as screen:
        screen.page.route("**/v1/herd/monitor*", crowd)
        page = screen.show("", "Herd")
        tile = page.locator(".figures > div").filter(has_text="the mean")
        expect(tile).to_have_text("busiest second now, as planned; 1.1 × as sent14 × the mean")


def test_a_late_answer_about_a_jitter_that_was_slid_past_is_not_shown(
    browser: Browser, engine: Engine
):
    def answer(route: Route, schedules: int) -> None:
        found = route.fetch()
        document = found.json() | {"selected_schedules": schedules}
        route.fulfill(response=found, json=document)

    with screen_of(browser, engine) as screen:
        page = screen.show("", "Herd")
        held = Held(page, "**/v1/herd/what-if")
        slider = page.get_by_role("slider", name="Jitter")
        slider.press("ArrowRight")
        slid_past = held[0]
        slider.press("ArrowRight")
        answer(held[1], 222)
        page.get_by_text("222 schedules would change").wait_for()
        with page.expect_response("**/v1/herd/what-if") as late:
            answer(slid_past, 111)
        late.value.finished()
        page.evaluate("new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)))")
        expect(page.get_by_text("222 schedules would change")).to_be_visible()
        expect(page.get_by_text("0 to 2 min")).to_be_visible()


def test_a_page_that_is_opened_within_a_herd_tells_the_size_of_all_of_it(
    browser: Browser, engine: Engine
):
    def begin(route: Route) -> None:
        answer = route.fetch()
        document = answer.json()
        instant = format_instant(parse_instant(document["from"]) - 10_000)
        document["under_way"] = [{"instant": instant, "runs": 12_345}]
        route.fulfill(response=answer, json=document)

    with screen_of(browser, engine) as screen:
        screen.page.route("**/v1/herd/forecast*", begin)
        page = screen.show("", "Herd")
        expect(page.get_by_text("12,345 runs at one second")).to_contain_text("s ago")
        chart = page.get_by_role("img", name="Around the busiest second")
        expect(chart).to_have_accessible_name(re.compile("12,345 runs asked for"))
