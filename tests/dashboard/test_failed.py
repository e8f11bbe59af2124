"""Failed runs are sent again by groups: those that are asked for, and no others of their host."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import running_engine, screen_of
from tests.end_to_end.processes import Engine, until


@pytest.fixture(scope="module")
def refused(receiver: str) -> Iterator[Engine]:
    """An engine with two failed runs of one host: it refused one, and broke off the other."""
    with running_engine() as engine:
        for name in ("lost", "broken/no-http"):
            target = {"url": f"{receiver}/{name}"}
            document = {"every": 86_400, "target": target, "retry": {"max_attempts": 1}}
            path = f"/v1/schedules/{name.partition('/')[0]}"
            assert engine.ask("PUT", path, document).status == 201
            assert engine.ask("POST", f"{path}:trigger", {}).status == 202
        until(lambda: len(failures(engine)) == 2, "both have failed")
        yield engine


def failures(engine: Engine) -> list[dict[str, object]]:
    return engine.ask("GET", "/v1/failures").document["data"]


def test_a_group_is_replayed_without_the_others_of_its_host(browser: Browser, refused: Engine):
    assert len({group["host"] for group in failures(refused)}) == 1
    with screen_of(browser, refused) as screen:
        page = screen.show("failed", "Failed runs")
        group = page.locator(".panel").filter(has_text="HTTP 422")
        expect(page.get_by_role("button", name="Replay these")).to_have_count(2)
        group.get_by_role("button", name="Replay these").click()
        page.get_by_role("heading", name="Replay 1 failed run?").wait_for()
        page.get_by_role("dialog").get_by_role("button", name="Replay").click()
        page.get_by_text("1 run on the way").wait_for()
    until(lambda: attempts_of(refused, "lost") == 2, "what was asked for is sent again")
    assert attempts_of(refused, "broken") == 1


def attempts_of(engine: Engine, schedule: str) -> int:
    [run] = engine.ask("GET", f"/v1/runs?schedule={schedule}").document["data"]
    return run["attempt_count"]
