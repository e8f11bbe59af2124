"""What a page hears of the engine, and what it does while it hears nothing."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

from playwright.sync_api import Browser, expect

from engine.web.dashboard import read_dashboard
from tests.dashboard.conftest import Held, running_engine, screen_of
from tests.end_to_end.processes import Engine, until

STREAM = "**/v1/events"
DOWN = "every 5 s: the stream is down"
NEXT_SECOND = f"""import("/static/{read_dashboard().digest}/live.js")
    .then(({{ on }}) => new Promise((heard) => on("herd", heard)))"""
"""The page has heard of another second."""


@contextmanager
def stopped(engine: Engine) -> Iterator[None]:
    """Its connections stay, and nothing comes over them."""
    assert engine.process is not None
    engine.process.send_signal(signal.SIGSTOP)
    yield
    engine.process.send_signal(signal.SIGCONT)


def newest_event(engine: Engine) -> str:
    with urlopen(f"{engine.url}/v1/events?types=runs") as stream:
        return next(line[4:-1].decode() for line in stream if line.startswith(b"id: "))


def test_a_stream_that_says_nothing_for_forty_seconds_is_down(browser: Browser):
    with running_engine() as engine, screen_of(browser, engine) as screen:
        screen.page.clock.install()
        page = screen.show("schedules", "Schedules")
        live = page.get_by_text("live", exact=True)
        live.wait_for()
        with stopped(engine):
            page.clock.pause_at(page.evaluate("Date.now() / 1_000 + 1"))
            page.clock.fast_forward(30_000)
            expect(live).to_be_visible()
            page.clock.fast_forward(11_000)
            page.get_by_text(DOWN).wait_for()
        page.clock.resume()
        live.wait_for()


def test_a_stream_that_goes_on_is_live_however_long(browser: Browser, engine: Engine):
    with screen_of(browser, engine) as screen:
        screen.page.clock.install()
        page = screen.show("schedules", "Schedules")
        live = page.get_by_text("live", exact=True)
        live.wait_for()
        page.clock.pause_at(page.evaluate("Date.now() / 1_000 + 1"))
        for _ in range(3):
            page.clock.fast_forward(30_000)
            page.evaluate(NEXT_SECOND)
            expect(live).to_be_visible()


def test_a_stream_that_does_not_begin_within_forty_seconds_is_down(
    browser: Browser, engine: Engine
):
    with screen_of(browser, engine) as screen:
        screen.page.clock.install()
        held = Held(screen.page, STREAM)
        page = screen.show("schedules", "Schedules")
        assert held[0]
        page.clock.pause_at(page.evaluate("Date.now() / 1_000 + 1"))
        page.clock.fast_forward(41_000)
        page.get_by_text(DOWN).wait_for()


def test_what_happens_while_the_stream_is_away_is_heard_when_it_is_back(
    browser: Browser, engine: Engine, receiver: str
):
    engine.put("between", {"every": 86_400, "target": {"url": f"{receiver}/good/between"}})
    with screen_of(browser, engine) as screen:
        held = Held(screen.page, STREAM)
        page = screen.show("schedules/between", "between")
        # It hears where the stream is, and that is all: the answer ends.
        body = f"id: {newest_event(engine)}\n\n"
        held[0].fulfill(body=body, content_type="text/event-stream")
        again = held[1]
        run = engine.ask("POST", "/v1/schedules/between:trigger", {}).document["id"]
        until(lambda: engine.ask("GET", f"/v1/runs/{run}").document["ended_at"], "it has run")
        again.continue_()
        runs = page.get_by_role("table", name="Runs, newest first")
        runs.get_by_text("manual").wait_for(timeout=3_000)
    engine.ask("DELETE", "/v1/schedules/between")
