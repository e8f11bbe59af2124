"""A real engine, a receiver that refuses, and a browser that writes down faults."""

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.end_to_end.processes import Engine, until

HERE = Path(__file__).parent
AXE = (HERE / "vendor" / "axe.js").read_text()
SCHEDULES = 10_000
THEMES = ("light", "dark")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
WATCH = """
window.ran = [];
window.refused = [];
window.alert = window.xss = (what) => window.ran.push(String(what));
addEventListener("securitypolicyviolation", (event) => refused.push(event.violatedDirective));
"""
AXE_RUN = """
async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .filter((found) => ["serious", "critical"].includes(found.impact))
  .map((found) => found.id + ": " + found.nodes.map((node) => node.html.slice(0, 200)).join(" | "))
"""


class Echo(BaseHTTPRequestHandler):
    """Refuses for good what is sent to it, with its path as the answer.

    Below `/broken/` the rest of the path stands in the place of an answer's first line.
    """

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = unquote(self.path).encode()
        if self.path.startswith("/broken/"):
            self.wfile.write(answer.removeprefix(b"/broken/") + b"\r\n\r\n")
            self.close_connection = True
            return
        self.send_response(204 if self.path.startswith("/good") else 422)
        if not self.path.startswith("/good"):
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if not self.path.startswith("/good"):
            self.wfile.write(answer)

    def log_message(self, *args: object) -> None:
        """Nothing."""


class Screen:
    """A page of the dashboard, and what went wrong on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.add_init_script(WATCH)

    def show(self, address: str, heading: str) -> Page:
        """Go to a screen and wait until it is whole."""
        self.page.goto(f"{self.url}/#/{address}")
        self.page.locator(f'main[data-shown="#/{address}"]').wait_for()
        self.page.get_by_role("heading", level=1, name=heading).wait_for()
        return self.page

    def serious_faults(self) -> list[str]:
        """What axe finds on what is shown now; the driver brings it, the policy would not."""
        self.page.evaluate(AXE)
        return self.page.evaluate(AXE_RUN)

    def faults(self) -> list[str]:
        """What the console said, what the policy refused, and what ran that should not."""
        return self.said + self.page.evaluate("[...refused, ...ran]")


class Held:
    """Questions of a page that wait until the test answers them, in order."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.routes: list[Route] = []
        page.route(address, self.hold)

    def hold(self, route: Route) -> None:
        self.routes.append(route)

    def __getitem__(self, place: int) -> Route:
        # The driver hears of it while it is asked something itself.
        until(lambda: self.page.evaluate("1") and len(self.routes) > place, "it is asked")
        return self.routes[place]


@pytest.fixture(scope="session")
def receiver() -> Iterator[str]:
    """Where targets can lie: `/good...` answers 204, all else 422."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def running_engine(*flags: str) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder) / "data", Path(folder) / "log")
        engine.start(*flags)
        yield engine
        engine.kill()


@pytest.fixture(scope="session")
def engine(receiver: str) -> Iterator[Engine]:
    """An engine with ten thousand schedules at :00."""
    with running_engine() as engine:
        lines = (
            {
                "name": f"report-{number:05}",
                "cron": "0 * * * *",
                "labels": {"team": f"team-{number % 7}"},
                "target": {"url": f"{receiver}/good/{number}", "json": {"number": number}},
            }
            for number in range(SCHEDULES)
        )
        body = "\n".join(map(json.dumps, lines)).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        with urlopen(Request(f"{engine.url}/v1/schedules:batch", body, headers)) as answer:
            assert answer.read().count(b'"created"') == SCHEDULES
        run = engine.ask("POST", "/v1/schedules/report-00042:trigger", {}).document["id"]
        until(lambda: engine.ask("GET", f"/v1/runs/{run}").document["ended_at"], "it has run")
        yield engine


@pytest.fixture(scope="session")
def empty_engine() -> Iterator[Engine]:
    with running_engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while the driver is there its event loop runs, and others cannot."""
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield running
        running.close()


@pytest.fixture(params=THEMES)
def theme(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def screen_of(
    browser: Browser, engine: Engine, theme: str = "light", **options
) -> Iterator[Screen]:
    """A page in a profile of its own, whose console must have stayed empty."""
    context = browser.new_context(color_scheme=theme, **options)
    context.set_default_timeout(15_000)
    screen = Screen(context.new_page(), engine.url)
    yield screen
    assert screen.faults() == []
    context.close()
