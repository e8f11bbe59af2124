"""The dashboard's files as they are served; `tests/dashboard` looks at them in a browser."""

import re
from pathlib import Path

import pytest

from engine import __version__
from engine.web.dashboard import FOLDER, read_dashboard

WEIGHT_MAX = 200 * 1024
"""Of all that the page loads, so that it is there at once (issue 5)."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
BROWSERS_CLOCK = re.compile(r"Date\.now\(|new Date\(\)")
OURS = [path for path in sorted(FOLDER.rglob("*.js")) if path.parent.name != "vendor"]
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|setHTML|createContextualFragment"
    r"|srcdoc|\beval\b|new Function|import\("
)


def test_the_page_weighs_little():
    dashboard = read_dashboard()
    assert len(dashboard.page) + sum(map(len, dashboard.files.values())) <= WEIGHT_MAX


def test_the_page_and_its_files_are_served_to_everybody_under_the_policy(api):
    page = api.get("/")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    found = re.findall(r'(?:src|href)="(static/[^"]+)"', page.body.decode())
    assert len(found) == 5
    for path in found:
        answer = api.get(f"/{path}")
        assert answer.status == 200, path
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "immutable" in answer.headers["Cache-Control"]
    assert page.headers["Content-Security-Policy"] == POLICY


def test_the_page_knows_the_engine_that_sends_what_it_shows(api):
    assert f'data-version="{__version__}"' in api.get("/").body.decode()


def test_the_page_is_asked_for_each_time_and_sent_when_it_changed(api):
    page = api.get("/")
    assert page.headers["Cache-Control"] == "no-cache"
    again = api.get("/", headers={"If-None-Match": page.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path", ["", "index.html", "../dashboard.py", "%2e%2e/dashboard.py", "vendor/uplot.LICENSE"]
)
def test_nothing_but_the_files_is_served(api, path: str):
    assert api.get(f"/static/{read_dashboard().digest}/{path}").status == 404


def test_files_of_another_version_are_not_there(api):
    assert api.get("/static/0000000000000000/app.js").status == 404


@pytest.mark.parametrize("module", OURS, ids=lambda path: path.name)
def test_a_module_makes_no_markup_out_of_text_and_is_short(module: Path):
    text = module.read_text()
    assert MARKUP.findall(text) == []
    assert text.startswith("// "), "open it with what it is for"
    assert text.count("\n") <= 250
    assert max(map(len, text.splitlines())) <= 110


def test_one_module_looks_at_the_browsers_clock_and_all_others_ask_it_for_the_engines():
    assert [path.name for path in OURS if BROWSERS_CLOCK.search(path.read_text())] == [
        "engine_clock.js"
    ]


def test_a_module_imports_files_that_are_there_and_nothing_else():
    imports = [
        (module, path)
        for module in OURS
        for path in re.findall(r'from "([^"]+)";', module.read_text())
    ]
    assert imports
    assert [path for module, path in imports if not (module.parent / path).is_file()] == []
