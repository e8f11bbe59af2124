"""An engine with keys: the page asks for one, keeps it in its tab, and shows what that may see."""

import json
from collections.abc import Iterator
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import running_engine, screen_of
from tests.end_to_end.processes import Engine, until

ADMIN_KEY = "obk_admin_" + "0123456789abcdef" * 4


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("keys")
    key_file, settings = folder / "admin.key", folder / "offbeat.toml"
    key_file.write_text(ADMIN_KEY)
    key_file.chmod(0o600)
    opened = '[egress]\nallow = ["127.0.0.1/32"]\n'
    settings.write_text(f'[auth]\nadmin_key_file = "{key_file}"\n{opened}')
    with running_engine("--config", str(settings)) as engine:
        yield engine


def reading_key(engine: Engine) -> str:
    body = json.dumps({"tenant": "default", "scope": "read"}).encode()
    headers = {"Authorization": f"Bearer {ADMIN_KEY}", "Content-Type": "application/json"}
    with urlopen(Request(f"{engine.url}/v1/keys", body, headers)) as answer:
        return json.load(answer)["key"]


def test_a_key_is_asked_for_kept_in_its_tab_and_sent_with_every_question(
    browser: Browser, keyed: Engine
):
    with screen_of(browser, keyed) as screen:
        page = screen.page
        page.goto(keyed.url)
        page.get_by_role("heading", name="This engine has keys").wait_for()
        page.get_by_label("API key").fill("obk_wrong_" + "0" * 64)
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("The engine does not know that key").wait_for()
        page.get_by_label("API key").fill(ADMIN_KEY)
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("heading", level=1, name="Herd").wait_for()
        page.get_by_text("live", exact=True).wait_for()
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        page.goto(f"{keyed.url}/#/system")
        page.get_by_role("button", name="Forget the key").click()
        page.get_by_role("heading", name="This engine has keys").wait_for()
        assert page.evaluate("sessionStorage.length") == 0


def test_a_key_that_may_read_sees_the_forecast_without_the_nodes_figures(
    browser: Browser, keyed: Engine
):
    with screen_of(browser, keyed) as screen:
        page = screen.page
        page.add_init_script(f"sessionStorage['offbeat-key'] = '{reading_key(keyed)}'")
        screen.show("", "Herd")
        page.get_by_text("it needs an admin key").wait_for()
        page.get_by_text("Next hour:").wait_for()
        page.get_by_text("live, read only").wait_for()
        screen.show("system", "System")
        page.get_by_text("they need an admin key").wait_for()
        screen.show("schedules", "Schedules")
        expect(page.get_by_role("link", name="New schedule")).to_have_count(0)


def test_a_key_that_may_read_is_offered_nothing_that_it_cannot_do(
    browser: Browser, keyed: Engine, receiver: str
):
    keyed.key = ADMIN_KEY
    keyed.put("refused", {"every": 86_400, "target": {"url": f"{receiver}/refused"}})
    run = keyed.ask("POST", "/v1/schedules/refused:trigger", {}).document["id"]
    until(lambda: keyed.ask("GET", f"/v1/runs/{run}").document["ended_at"], "it has failed")
    with screen_of(browser, keyed) as screen:
        page = screen.page
        page.add_init_script(f"sessionStorage['offbeat-key'] = '{reading_key(keyed)}'")
        for address, heading in (("new", "New"), ("schedules/refused/edit", "Edit refused")):
            screen.show(address, heading)
            page.get_by_text("takes a key of scope write").wait_for()
            assert page.locator("main :is(form, button)").count() == 0
        for address in ("failed", "flows", "schedules/refused", f"runs/{quote(run, safe='')}"):
            screen.show(address, "")
            page.locator("main table, main summary").first.wait_for()
            buttons = page.locator("main button").all_inner_texts()
            assert set(buttons) <= {"Copy as curl"}, address
    keyed.ask("DELETE", "/v1/schedules/refused")


def test_a_key_that_is_revoked_is_asked_for_again(browser: Browser, keyed: Engine):
    key = reading_key(keyed)
    with screen_of(browser, keyed) as screen:
        page = screen.page
        page.add_init_script(f"sessionStorage['offbeat-key'] = '{key}'")
        screen.show("flows", "Flows")
        address = f"{keyed.url}/v1/keys/{key.split('_')[1]}"
        headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
        urlopen(Request(address, headers=headers, method="DELETE")).close()
        page.get_by_text("The engine does not know that key").wait_for()
        assert all("401" in text for text in screen.said)  # Of what was under way.
        screen.said.clear()
