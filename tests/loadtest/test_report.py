"""The report: self-contained, and never silent about what was measured."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from loadtest.charts import Scale, duration, ticks
from loadtest.figures import Forecast, figures_of
from loadtest.report import write_report
from tests.loadtest.experiments import made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    results = [figures_of(made(variant=variant)) for variant in ("none", "jitter")]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(results, path)
    return path.read_text()


def test_a_virtual_report_says_at_both_ends_that_it_measured_policy(page):
    words = "Measured policy, not speed"
    assert page.count(words) == 2
    assert page.index(words) < page.index("<h1>")
    assert page.rindex(words) > page.rindex("</pre>")


def test_it_loads_nothing_and_runs_nothing(page):
    assert not re.search(r"<script|<link|<img|src=|url\(|@import", page)


def test_variants_stand_side_by_side_with_five_pictures_at_most(page):
    assert page.index("Without jitter") < page.index("With jitter")
    assert page.count('<section class="card">') == 2
    assert page.count("<svg") == 2 * 4


def test_it_gives_the_command_that_makes_it_again(page):
    assert "python -m loadtest herd --virtual --schedules 200" in page
    assert "--seed test --compare none" in page


def test_what_a_tenant_named_is_escaped(tmp_path: Path):
    evidence = made()
    evidence.experiment = replace(evidence.experiment, seed="<b>")
    # The workload's names changed with the seed, so that everything is misplaced: examples show.
    write_report([figures_of(evidence)], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "seed &lt;b&gt;" in text
    assert "seed <b>" not in text
    assert "2027-01-12T12:00:00Z; schedule" in text


def test_a_forecast_is_drawn_and_named(tmp_path: Path):
    evidence = made()
    forecast = Forecast(from_ms=evidence.experiment.from_ms, served=[40.0] * 5, p50_ms=1, p99_ms=2)
    write_report([figures_of(evidence, lambda _: forecast)], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "forecast of served" in text
    assert 'class="forecast line"' in text


def test_headline_table_and_picture_agree_on_the_busiest_second(tmp_path: Path):
    figures = figures_of(made(scenario="shock", outage_seconds=60))
    write_report([figures], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    busiest = max(figures["herd"]["served"])
    assert busiest > figures["stages"]["served"]["1s"]["busiest"], "it comes after the outage"
    assert f"<b>{busiest}</b><span>busiest second served" in text
    assert f"<td>busiest second served</td><td>{busiest}</td>" in text
    assert f"<td>after the outage, busiest second</td><td>{busiest} = " in text


def test_what_still_waits_is_said_beside_the_verdict(tmp_path: Path):
    figures = figures_of(made(delay_ms=60_000, schedules=30))
    write_report([figures], tmp_path / "r.html")
    assert "30 runs had not ended when watching did" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("ms", "words"), [(0, "0 ms"), (999, "999 ms"), (1_500, "1.5 s"), (180_000, "3 min")]
)
def test_durations_are_for_people(ms, words):
    assert duration(ms) == words


def test_ticks_are_round_and_within(page):
    assert ticks(420) == [0, 200, 400]
    assert ticks(1) == [0, 0.5, 1.0]


def test_a_scale_cuts_off_what_is_outside():
    scale = Scale(0, 10, 100, 0)
    assert [scale(value) for value in (-1, 0, 5, 10, 11)] == [100, 100, 50, 0, 0]
