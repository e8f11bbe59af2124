"""A schedule's form has all of its members, loses none, and says at its fields what is wrong."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Page, Route, expect

from engine.core.members import Nested, Shape
from engine.core.schedule_members import SCHEDULE
from tests.dashboard.conftest import screen_of
from tests.end_to_end.processes import Engine

FIELD_OF = {"json": "body", "body_base64": "body", "retry/jitter": "retry_jitter"}
"""Where a member's field has another name; in the others it has the member's own."""

FULL = """{
  "name": "full", "labels": {"team": "billing", "env": ""}, "cron": "30 2 * * *",
  "timezone": "Europe/Berlin", "dst_gap": "skip", "dst_fold": "both",
  "start_at": "2026-01-01T00:00:00Z", "end_at": "2099-01-01T00:00:00Z", "max_runs": 1000,
  "jitter_seconds": 7, "deadline_seconds": 600, "overlap": "buffer_one", "catch_up": "all",
  "catch_up_window_seconds": 900, "paused": true, "pause_reason": "it moves",
  "paused_until": "2098-01-01T00:00:00Z", "flow_key": "slow-ones", "priority": 2,
  "delete_after_completion": true, "pause_after_failures": 9,
  "target": {"url": "http://127.0.0.1:9/a?b", "method": "PUT", "timeout_seconds": 33,
             "headers": {"X-Team": "billing", "Authorization": "Bearer s3cret"}, "json": BODY},
  "retry": {"max_attempts": 3, "min_backoff_seconds": 2, "max_backoff_seconds": 70,
            "multiplier": 3, "jitter": "partial", "max_age_seconds": 1234}
}"""
BODY = '{"b":1,"10":[{"9":1.0,"8":12345678901234567890}],"2":"\\n"}'


def put_text(engine: Engine, name: str, text: str) -> None:
    """Store a document as it is written."""
    headers = {"Content-Type": "application/json"}
    address = f"{engine.url}/v1/schedules/{name}"
    urlopen(Request(address, text.encode(), headers, method="PUT")).close()


def members_of(shape: Shape, within: str = "") -> Iterator[str]:
    for member in shape.members:
        if isinstance(member, Nested):
            yield from members_of(member.shape, f"{member.name}/")
        else:
            yield f"{within}{member.name}"


def field_of(member: str) -> str:
    name = member.rpartition("/")[2]
    return FIELD_OF.get(member) or FIELD_OF.get(name) or name


def kept(engine: Engine, name: str) -> dict[str, Any]:
    """What an edit of a label alone leaves as it is."""
    document = dict(engine.ask("GET", f"/v1/schedules/{name}").document)
    for changed in ("labels", "revision", "updated_at"):
        del document[changed]
    return document


def save_another_label(page: Page) -> None:
    page.get_by_label("Labels").fill("team=web")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("team=web").wait_for()


def test_every_member_of_a_schedule_has_a_field(browser: Browser, empty_engine: Engine):
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        names = page.evaluate("[...document.querySelector('form').elements].map((of) => of.name)")
    assert {field_of(member) for member in members_of(SCHEDULE)} <= set(names)


def test_what_is_not_edited_stays_as_it_was(browser: Browser, empty_engine: Engine):
    put_text(empty_engine, "full", FULL.replace("BODY", BODY))
    before = kept(empty_engine, "full")
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("schedules/full", "full")
        # Members whose names are numbers stand where they were written, here and in the form.
        body = page.locator("dt:text-is('Body') + dd pre")
        shown = '{\n  "b": 1,\n  "10": [\n'
        assert body.inner_text().startswith(shown)
        page = screen.show("schedules/full/edit", "Edit full")
        assert page.locator("#body").input_value().startswith(shown)
        save_another_label(page)
    assert kept(empty_engine, "full") == before
    with urlopen(f"{empty_engine.url}/v1/schedules/full") as answer:
        assert f'"json":{BODY}'.encode() in answer.read()
    empty_engine.ask("DELETE", "/v1/schedules/full")


def test_a_text_that_is_not_edited_keeps_its_line_ends(browser: Browser, empty_engine: Engine):
    target = {"url": "http://127.0.0.1:9/", "body": "one\r\ntwo\rthree\n"}
    empty_engine.put("lines", {"at": "2099-01-01T00:00:00Z", "target": target})
    before = kept(empty_engine, "lines")
    with screen_of(browser, empty_engine) as screen:
        save_another_label(screen.show("schedules/lines/edit", "Edit lines"))
    assert kept(empty_engine, "lines") == before
    empty_engine.ask("DELETE", "/v1/schedules/lines")


def test_the_rarer_rules_are_stored(browser: Browser, empty_engine: Engine):
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("Name", exact=True).fill("rare")
        page.get_by_label("Once").check()
        page.get_by_label("Instant").fill("2099-07-01T09:00:00")
        page.get_by_label("Time zone").fill("Europe/Berlin")
        page.get_by_label("URL").fill("http://127.0.0.1:9/")
        page.get_by_text("More rules").click()
        page.get_by_label("Each wait is longer by").fill("4")
        page.get_by_label("Waits are spread").select_option("decorrelated")
        page.get_by_label("For so long, in seconds").fill("3600")
        page.get_by_label("Delete it when complete").check()
        page.get_by_label("Paused", exact=True).check()
        page.get_by_label("Why").fill("not yet")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("heading", level=1, name="rare").wait_for()
    stored = empty_engine.ask("GET", "/v1/schedules/rare").document
    assert stored["at"] == "2099-07-01T07:00:00Z"
    assert (stored["paused"], stored["pause_reason"]) == (True, "not yet")
    assert stored["delete_after_completion"] is True
    retry = stored["retry"]
    assert (retry["multiplier"], retry["jitter"]) == (4, "decorrelated")
    assert retry["max_age_seconds"] == 3_600
    empty_engine.ask("DELETE", "/v1/schedules/rare")


def test_what_would_be_refused_is_said_at_its_fields_and_not_in_the_console(
    browser: Browser, empty_engine: Engine
):
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("Cron expression").fill("61 * * * *")
        expect(page.locator("[data-field=cron] .fault")).not_to_be_empty()
        page.get_by_text("It would be refused: Cron expression.").wait_for()
        page.get_by_text("More rules").click()
        page.get_by_label("Each wait is longer by").fill("11")
        page.get_by_role("button", name="Create").click()
        refused = "It was not saved: Cron expression, URL, Each wait is longer by."
        page.get_by_text(refused).wait_for()
        expect(page.locator("#cron")).to_be_focused()
        for name in ("url", "multiplier"):
            expect(page.locator(f"[data-field={name}] .fault")).not_to_be_empty()


def test_a_body_that_is_no_json_is_one_fault_among_the_others(
    browser: Browser, empty_engine: Engine
):
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("Cron expression").fill("61 * * * *")
        page.get_by_label("Jitter, in seconds").fill("soon")
        page.get_by_label("URL").fill("ftp://127.0.0.1/")
        page.get_by_label("Body", exact=True).fill("{")
        page.get_by_role("button", name="Create").click()
        refused = "It was not saved: Cron expression, Jitter, in seconds, URL, Body."
        page.get_by_text(refused).wait_for()
        for name, words in (("jitter_seconds", "whole number"), ("body", "this is no JSON")):
            expect(page.locator(f"[data-field={name}] .fault")).to_contain_text(words)
        page.get_by_label("Cron expression").fill("1 * * * *")
        page.get_by_text("It would be refused: Jitter, in seconds, URL, Body.").wait_for()


def test_a_refused_address_is_marked_until_it_is_changed(browser: Browser, empty_engine: Engine):
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("URL").fill("http://169.254.169.254/")
        page.get_by_role("button", name="Create").click()
        page.get_by_text("It was not saved: URL.").wait_for()
        fault = page.locator("[data-field=url] .fault")
        expect(fault).to_contain_text("169.254.169.254")
        expect(page.locator("#url")).to_be_focused()
        page.get_by_label("Attempts at most").fill("3")  # Of another field nothing follows.
        expect(fault).to_contain_text("169.254.169.254")
        page.get_by_label("URL").fill("http://127.0.0.1:9/")
        expect(fault).to_be_empty()
        expect(page.get_by_text("It was not saved")).to_have_count(0)
        # Of what is stored an error is an error, which the browser notes.
        assert all("422" in text for text in screen.said)
        screen.said.clear()


def test_who_presses_twice_makes_one(browser: Browser, empty_engine: Engine):
    label = {"selector": "pressed"}
    address = f"/v1/schedules?{urlencode(label)}"
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        page.get_by_label("URL").fill("http://127.0.0.1:9/")
        page.get_by_label("Labels").fill("pressed=twice")
        page.get_by_role("button", name="Create").dblclick()
        page.get_by_role("heading", level=1, name="schedule-").wait_for()
    [made] = empty_engine.ask("GET", address).document["data"]
    empty_engine.ask("DELETE", f"/v1/schedules/{made['name']}")


def test_an_answer_that_comes_too_late_is_not_shown(browser: Browser, empty_engine: Engine):
    waiting: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if "7 7 7 7 *" in (route.request.post_data or ""):
            waiting.append(route)
        else:
            route.continue_()

    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        page.route("**/v1/schedules:preview", hold_the_first)
        with page.expect_request(lambda request: "7 7 7 7 *" in (request.post_data or "")):
            page.get_by_label("Cron expression").fill("7 7 7 7 *")
        page.get_by_label("Cron expression").fill("30 2 * * *")
        page.get_by_text("every day at 02:30").wait_for()
        with page.expect_response("**/v1/schedules:preview") as late:
            waiting[0].continue_()
        late.value.finished()
        page.evaluate("new Promise((done) => setTimeout(done))")  # What hears it has run.
        assert page.get_by_text("every day at 02:30").is_visible()
