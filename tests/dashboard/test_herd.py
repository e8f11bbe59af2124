"""What the first screen says of herds, and of runs that are none."""

from playwright.sync_api import Browser, Route, expect

from tests.dashboard.conftest import running_engine, screen_of
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
        expect(page.locator(".verdict.warn")).to_contain_text("0 * * * * (UTC), 903 runs")


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
