"""What the charts of the herd show: the page's own module, asked about lines of known herds."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Browser

from engine.core.identity import format_instant
from engine.web.dashboard import read_dashboard
from tests.dashboard.conftest import screen_of
from tests.end_to_end.processes import Engine

TOP = 1_796_040_000
"""2026-11-30T12:00:00Z, the herd's instant."""

PAST, AHEAD = 900, 3_600
LEAD = 5
NAMES = ("demand", "planned", "served")

Ask = Callable[..., Any]
Line = dict[str, Any]


@pytest.fixture(scope="module")
def ask(browser: Browser, empty_engine: Engine) -> Iterator[Ask]:
    """The value of an expression about the module, `curves`, and what else is given by name."""
    module = f"/static/{read_dashboard().digest}/herd_curves.js"
    with screen_of(browser, empty_engine) as screen:
        page = screen.show("new", "New schedule")
        yield lambda expression, **given: page.evaluate(
            f"({{{', '.join(given)}}}) => import('{module}').then((curves) => ({expression}))",
            given,
        )


def line_of(offsets: list[int], *, beside: int = 0) -> Line:
    """A herd at TOP whose runs are planned, and sent, so many seconds later each; a line as
    `joined` gives it a minute before. `beside`: runs a second of all else."""
    demand, planned = ([beside] * (PAST + AHEAD) for _ in range(2))
    first = TOP + 60 - PAST
    demand[TOP - first] += len(offsets)
    for offset in offsets:
        planned[TOP + offset - first] += 1
    return {
        **{"from": first, "now": TOP - 60},
        **{"demand": demand, "planned": planned, "served": [*planned]},
    }


def at(line: Line, curve: str, second: int) -> int:
    return line[curve][second - line["from"]]


def monitor_of(now: int, **curves: Mapping[int, int]) -> dict[str, Any]:
    """What the monitor says as a second begins; each curve by second."""
    first = now - AHEAD
    by_second = {
        name: [curves.get(name, {}).get(first + place, 0) for place in range(AHEAD)]
        for name in NAMES
    }
    hour = {"from": format_instant(first * 1_000), "by_second": by_second}
    return {"at": format_instant(now * 1_000), "hour": hour}


def forecast_of(
    begun: int, demand: Mapping[int, int], under_way: Mapping[int, int], *, waiting: int = 0
) -> Line:
    """A forecast of an hour in which the herds of `demand` ask for runs."""
    curves = {name: {"peak": [0] * AHEAD} for name in NAMES}
    for second, runs in demand.items():
        curves["demand"]["peak"][second - begun] = runs
    herds = [{"instant": format_instant(at * 1_000), "runs": n} for at, n in under_way.items()]
    begin = format_instant(begun * 1_000)
    return {"from": begin, "curves": curves, "under_way": herds, "backlog": [waiting] * AHEAD}


def span(ask: Ask, line: Line) -> tuple[int, int]:
    """The first and the last second of the herd's chart, from its instant."""
    seconds = ask(f"curves.closeUp(line, null, {TOP})[0]", line=line)
    return seconds[0] - TOP, seconds[-1] - TOP


@pytest.mark.parametrize("beside", [0, 1])
def test_a_small_herd_is_looked_at_until_its_last_run_however_thin_they_come(ask: Ask, beside: int):
    thin = [1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 50, 50, 53, 57, 59]
    assert span(ask, line_of(thin, beside=beside)) == (-LEAD, 75)
    # After longer than a herd needs to be gone, while some of it are owed.
    assert span(ask, line_of([0, 3, 40, 41], beside=beside)) == (-LEAD, 54)


@pytest.mark.parametrize("beside", [0, 50])
def test_a_large_herd_is_looked_at_until_it_has_left_what_comes_beside(ask: Ask, beside: int):
    herd = [number % 60 for number in range(10_000)]
    assert span(ask, line_of(herd, beside=beside)) == (-LEAD, 75)


def test_a_herd_has_left_after_fifteen_seconds_of_hardly_anything(ask: Ask):
    # 100 a second for 30 s, and as many once more after a pause; they ask for their own seconds.
    herd = [number % 30 for number in range(3_000)]
    found = {}
    for pause in (14, 15):
        line = line_of(herd)
        for curve in NAMES:
            line[curve][TOP + 29 + pause - line["from"]] = 100
        found[pause] = span(ask, line)
    assert found == {14: (-LEAD, 56), 15: (-LEAD, 39)}


def test_a_large_herd_that_is_counted_short_has_left_when_it_is_sent(ask: Ask):
    # 60 a second may leave of 6,000; what was sent in one of the seconds is not known. Each minute
    # brings 200 more.
    line = line_of([number % 60 for number in range(6_000)])
    for second in range(99):
        line["served"][TOP + second - line["from"]] = 60
    for second in range(120, 600, 60):
        line["demand"][TOP + second - line["from"]] = 200
        for after in range(5):
            line["served"][TOP + second + after - line["from"]] = 40
    assert span(ask, line) == (-LEAD, 122)


def test_a_herd_that_leaves_at_once_is_looked_at_for_twenty_seconds(ask: Ask):
    assert span(ask, line_of([0] * 500)) == (-LEAD, 19)


def test_a_second_that_happens_takes_nothing_from_what_was_foretold_of_a_herd(ask: Ask):
    figures = {"at": format_instant((TOP + 1) * 1_000), "demand": 6_548, "planned": 9, "served": 8}
    herd = [number % 60 for number in range(10_000)]
    line = ask("(curves.happened(line, figures), line)", line=line_of(herd), figures=figures)
    assert [at(line, curve, TOP) for curve in NAMES] == [10_000, 9, 8]
    assert line["now"] == TOP + 1


@pytest.mark.parametrize(
    ("begun", "demand", "under_way"),
    [(TOP - 10, {TOP: 10_000}, {}), (TOP + 15, {}, {TOP: 10_000})],
    ids=["asked before it", "asked within it"],
)
def test_a_herd_under_way_has_all_of_its_runs_whenever_the_forecast_was_asked(
    ask: Ask, begun: int, demand: dict[int, int], under_way: dict[int, int]
):
    monitor = monitor_of(TOP + 20, demand={TOP: 4_170, TOP - 60: 7}, planned={TOP + 3: 167})
    forecast = forecast_of(begun, demand, under_way)
    line = ask("curves.joined({monitor, forecast})", monitor=monitor, forecast=forecast)
    assert (at(line, "demand", TOP), at(line, "demand", TOP - 60)) == (10_000, 7)
    assert (at(line, "planned", TOP + 3), at(line, "served", TOP + 3)) == (167, 0)
    assert (line["from"], line["now"]) == (TOP + 20 - PAST, TOP + 20)


def test_who_may_not_see_what_happened_sees_the_hour_that_comes(ask: Ask):
    forecast = forecast_of(TOP + 20, {TOP + 100: 5}, {TOP: 10_000})
    line = ask("curves.joined({monitor: null, forecast})", forecast=forecast)
    assert (line["from"], line["now"], len(line["demand"])) == (TOP + 20, TOP + 20, AHEAD)
    assert (sum(line["demand"]), at(line, "demand", TOP + 100)) == (5, 5)


def test_a_herd_that_came_is_looked_at_for_ninety_seconds_and_then_the_next_one(ask: Ask):
    line = line_of([0] * 500)
    after = {"at": TOP + 1_800, "runs": 400}
    line["demand"][after["at"] - line["from"]] = after["runs"]
    looked_at = {}
    for since in (-1, 0, 90, 91):
        line["now"] = TOP + since
        shown = {"at": TOP, "runs": 300}  # As large as it seemed before.
        looked_at[since] = ask("curves.herdInstant(line, shown, null)", line=line, shown=shown)
    herd = {"at": TOP, "runs": 500}
    assert looked_at == {-1: herd, 0: herd, 90: herd, 91: after}
    line["now"] = TOP + 90
    assert ask("curves.herdInstant(line, null, null)", line=line) == herd
    what_if = {"from": format_instant(line["now"] * 1_000)}
    assert ask("curves.herdInstant(line, null, then)", line=line, then=what_if) == after


@pytest.mark.parametrize(
    ("waiting", "at_second", "served"),
    [(0, TOP + 20, (170, 160)), (3, TOP + 20, (40, 290)), (0, TOP + 21, (40, 0))],
    ids=["nobody waits", "some wait", "asked a second ago"],
)
def test_what_is_due_before_a_forecast_begins_is_sent_before_it(
    ask: Ask, waiting: int, at_second: int, served: tuple[int, int]
):
    # Of the second before, 40 were sent when it was asked, and 130 are foretold beside the 160.
    monitor = monitor_of(at_second, served={TOP + 19: 40})
    forecast = forecast_of(TOP + 20, {}, {}, waiting=waiting)
    forecast["curves"]["planned"]["peak"][0] = 160
    forecast["curves"]["served"]["peak"][0] = 290
    line = ask("curves.joined({monitor, forecast})", monitor=monitor, forecast=forecast)
    assert (at(line, "served", TOP + 19), at(line, "served", TOP + 20)) == served
