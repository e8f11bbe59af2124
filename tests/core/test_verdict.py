"""The verdict is the right word for what a window was made to be.

The eight situations are synthetic draws (streams.py): this is policy, not speed, and not a claim
about any real fleet. At least 19 of 20 draws of each must get their word.
"""

from collections.abc import Callable
from random import Random

import pytest

from engine.core.verdict import Verdict, VerdictName, so_far
from tests.core import streams
from tests.core.streams import TOP_MS, Stream

DRAWS = 20
RIGHT_MIN = 19


@pytest.mark.parametrize(
    ("situation", "word"),
    [
        (streams.aligned, VerdictName.ALIGNMENT),
        (streams.flattened, VerdictName.FLATTENED),
        (streams.too_much, VerdictName.VOLUME),
        (streams.retry_storm, VerdictName.RETRY_STORM),
        (streams.catching_up, VerdictName.CATCH_UP),
        (streams.slow_receivers, VerdictName.DOWNSTREAM),
        (streams.quiet_night, VerdictName.QUIET),
        (streams.mixed_fleet, VerdictName.NORMAL),
    ],
)
def test_nineteen_of_twenty_draws_of_a_situation_get_its_word(
    situation: Callable[[Random, str], Verdict], word: VerdictName
) -> None:
    verdicts = [situation(Random(f"{word}-{draw}"), f"{word}-{draw}") for draw in range(DRAWS)]
    right = [verdict for verdict in verdicts if verdict.name == word]
    assert len(right) >= RIGHT_MIN, [v.sentence for v in verdicts if v.name != word]


def test_sixty_thousand_runs_are_spread_as_well_as_chance_can() -> None:
    stream = Stream(rate=2_000, seed="spread")
    stream.herd(60_000, 60)
    figures = stream.curves.herd(TOP_MS, last_ms=stream.last_ms, now_ms=TOP_MS + 75_000)
    planned = figures.planned
    assert (planned.runs, figures.seconds) == (60_000, 60)
    assert planned.noise_floor == pytest.approx(1.0905, abs=0.0001)
    assert planned.amplification <= 1.05 * planned.noise_floor
    assert figures.demand.amplification == 60
    assert stream.judge(figures).name == VerdictName.FLATTENED


def test_whole_second_offsets_are_sixty_small_herds() -> None:
    stream = Stream(rate=2_000, seed="spread")
    stream.herd(60_000, 60, subsecond=False)
    figures = stream.curves.herd(TOP_MS, last_ms=stream.last_ms, now_ms=TOP_MS + 75_000)
    fine = stream.curves.planned.fine.window(TOP_MS, 6_000)
    assert [place for place, runs in enumerate(fine) if runs] == list(range(0, 6_000, 100))
    assert min(fine[::100]) > 850
    assert figures.planned.amplification <= 1.05 * figures.planned.noise_floor
    assert figures.planned.alignment[1] == pytest.approx(1)
    verdict = stream.judge(figures)
    assert (verdict.name, verdict.period_seconds) == (VerdictName.ALIGNMENT, 1)
    assert "jitter.subsecond" in verdict.advice


@pytest.mark.parametrize(
    ("every_seconds", "period"), [(3_600, 3_600), (1_800, 1_800), (900, 900), (60, 60), (30, 30)]
)
def test_an_alignment_names_the_period_that_the_hour_shows(every_seconds: int, period: int) -> None:
    stream = Stream(rate=1_000, seed="period")
    for at_ms in range(TOP_MS - 2 * streams.HOUR_MS, TOP_MS + 60_000, every_seconds * 1_000):
        stream.curves.arrive(at_ms, at_ms, 600)
    figures = stream.curves.herd(TOP_MS, last_ms=TOP_MS, now_ms=TOP_MS + 75_000)
    verdict = stream.judge(figures)
    assert (verdict.name, verdict.period_seconds) == (VerdictName.ALIGNMENT, period)
    assert verdict.advice == "Give these timetables jitter_seconds = 60."


@pytest.mark.parametrize("begun_ms", [TOP_MS - 5_000, TOP_MS - 40_000, TOP_MS - 3_599_000])
@pytest.mark.parametrize("seen_seconds", [14, 75])
def test_a_young_engine_takes_the_period_from_the_instant(begun_ms: int, seen_seconds: int) -> None:
    stream = Stream(rate=1_000, seed="young", begun_ms=begun_ms)
    quarter_ms = TOP_MS + 900_000
    stream.curves.arrive(TOP_MS, TOP_MS, 600)
    early = stream.curves.herd(TOP_MS, last_ms=TOP_MS, now_ms=TOP_MS + 1_000 * seen_seconds)
    verdict = stream.judge(early)
    assert (verdict.name, verdict.period_seconds) == (VerdictName.ALIGNMENT, 3_600)
    assert verdict.sentence.endswith(" times the mean; they meet on the hour.")
    stream.curves.arrive(quarter_ms, quarter_ms, 600)
    later = stream.curves.herd(quarter_ms, last_ms=quarter_ms, now_ms=quarter_ms + 3_000)
    assert stream.judge(later).period_seconds == 900
    assert stream.judge(later).sentence.endswith("; they gather every 900 s.")


def test_what_is_said_so_far_is_one_sentence_still() -> None:
    over = Verdict(name=VerdictName.QUIET, sentence="No run came.", advice="Nothing to do.")
    assert so_far(over).sentence == "So far, no run came."


def test_an_hourly_herd_has_no_period_before_the_hour_shows_it() -> None:
    stream = Stream(rate=1_000, seed="hourly", begun_ms=TOP_MS - 120_000)
    at_17_ms = TOP_MS + 17 * 60_000
    verdicts = []
    for at_ms in (at_17_ms, at_17_ms + streams.HOUR_MS):
        stream.curves.arrive(at_ms, at_ms, 600)
        figures = stream.curves.herd(at_ms, last_ms=at_ms, now_ms=at_ms + 75_000)
        verdicts.append(stream.judge(figures))
    first, second = verdicts
    assert (first.name, first.period_seconds) == (VerdictName.ALIGNMENT, None)
    assert first.sentence == "The busiest second has 600 of 600 runs, 60.0 times the mean."
    assert first.advice == "Give these timetables jitter_seconds = 60."
    assert (second.name, second.period_seconds) == (VerdictName.ALIGNMENT, 3_600)
    assert second.sentence.endswith("; they gather every 3,600 s.")


@pytest.mark.parametrize(
    ("runs", "jitter_seconds", "word", "advice"),
    [
        # 50,000 at once need 35 s of jitter: it helps, whatever the volume is without it.
        (50_000, 0, VerdictName.ALIGNMENT, "jitter_seconds = 60"),
        (100_000, 0, VerdictName.ALIGNMENT, "jitter_seconds = 86"),
        # Beyond 915 s worth of work not even the widest jitter helps.
        (916_000, 0, VerdictName.VOLUME, "Raise the rate to 61,067"),
        (75_001, 60, VerdictName.VOLUME, "Raise the rate to 1,001"),
        (75_000, 60, VerdictName.FLATTENED, "the jitter works"),
    ],
)
def test_volume_is_what_jitter_cannot_help(
    runs: int, jitter_seconds: int, word: VerdictName, advice: str
) -> None:
    stream = Stream(rate=1_000, seed="volume")
    share, rest = divmod(runs, max(1, jitter_seconds))
    for second in range(max(1, jitter_seconds)):
        # Evenly over each second too, or whole seconds would be the finding.
        for part in range(100):
            more = (share * (part + 1)) // 100 - (share * part) // 100
            at_ms = TOP_MS + (second * 1_000 + part * 10 if jitter_seconds else 0)
            stream.curves.arrive(TOP_MS, at_ms, more)
    stream.curves.arrive(TOP_MS, TOP_MS, rest)
    last_ms = TOP_MS + max(0, jitter_seconds * 1_000 - 10)
    figures = stream.curves.herd(TOP_MS, last_ms=last_ms, now_ms=TOP_MS + 75_000)
    verdict = stream.judge(figures)
    assert verdict.name == word, verdict
    assert advice in verdict.advice


@pytest.mark.parametrize(
    ("idle_seconds", "word"),
    [(30, VerdictName.DOWNSTREAM), (29, VerdictName.CATCH_UP)],
)
def test_waiting_beside_an_unused_bucket_is_downstream_whatever_made_the_load(
    idle_seconds: int, word: VerdictName
) -> None:
    stream = Stream(rate=1_000, seed="shocked")
    for second in range(60):
        at_ms = TOP_MS + second * 1_000
        for _ in range(10 if second < idle_seconds else 1_000):
            stream.curves.start(at_ms, trigger="catch_up", attempt=1)
        stream.curves.sample(at_ms + 990, oldest_due_ms=at_ms - 10, rate=stream.rate)
    figures = stream.curves.window(TOP_MS, seconds=60, now_ms=TOP_MS + 60_000)
    assert (figures.held_seconds, figures.idle_seconds) == (60, idle_seconds)
    assert stream.judge(figures).name == word


@pytest.mark.parametrize(
    ("retries", "word"), [(199, VerdictName.NORMAL), (200, VerdictName.RETRY_STORM)]
)
def test_a_fifth_of_the_attempts_makes_a_storm(retries: int, word: VerdictName) -> None:
    stream = Stream(rate=100, seed="storm")
    for number in range(1_000):
        at_ms = TOP_MS + number * 60
        stream.curves.start(at_ms, trigger="schedule", attempt=2 if number < retries else 1)
    figures = stream.curves.window(TOP_MS, seconds=60, now_ms=TOP_MS + 60_000)
    assert stream.judge(figures).name == word


def test_more_than_the_rate_for_long_is_volume_without_any_herd() -> None:
    stream = Stream(rate=100, seed="steady")
    stream.steady(Random("steady"), 120, TOP_MS - 120_000, TOP_MS + 60_000)
    verdict = stream.judge(stream.of_minute())
    assert verdict.name == VerdictName.VOLUME


@pytest.mark.parametrize(
    ("runs", "word"),
    [
        (100, VerdictName.QUIET),
        (101, VerdictName.NORMAL),
        (500, VerdictName.NORMAL),
        (501, VerdictName.ALIGNMENT),
    ],
)
def test_what_leaves_in_half_a_second_is_no_herd(runs: int, word: VerdictName) -> None:
    stream = Stream(rate=1_000, seed="few")
    stream.curves.arrive(TOP_MS, TOP_MS, runs)
    figures = stream.curves.herd(TOP_MS, last_ms=TOP_MS, now_ms=TOP_MS + 75_000)
    assert stream.judge(figures).name == word


@pytest.mark.parametrize(
    ("rate", "word"), [(500, VerdictName.FLATTENED), (300, VerdictName.ALIGNMENT)]
)
def test_an_uneven_spread_matters_when_the_bucket_cannot_follow(
    rate: int, word: VerdictName
) -> None:
    # Three timetables of one instant with jitters of their own: 316 runs a second to begin with.
    stream = Stream(rate=rate, seed="fleet")
    stream.herd(1_000, 6)
    stream.herd(2_000, 30)
    stream.herd(5_000, 60)
    figures = stream.curves.herd(TOP_MS, last_ms=stream.last_ms, now_ms=TOP_MS + 75_000)
    assert figures.planned.amplification > 2 * figures.planned.noise_floor
    assert stream.judge(figures).name == word


@pytest.mark.parametrize("rate", [2, 9, 10, 19, 20, 30, 39, 40])
def test_a_herd_that_the_bucket_alone_holds_back_is_aligned_at_small_rates_too(rate: int) -> None:
    stream = Stream(rate=rate, seed="small")
    stream.herd(10 * rate, 0)
    assert stream.judge(stream.of_herd()).name == VerdictName.ALIGNMENT


@pytest.mark.parametrize("jitter_seconds", [0, 6, 60])
@pytest.mark.parametrize(
    ("runs", "is_too_much"),
    [(2_400, False), (2_401, True), (2_800, True)],
)
def test_herds_that_recur_faster_than_they_leave_are_volume_whatever_their_jitter(
    runs: int, is_too_much: bool, jitter_seconds: int
) -> None:
    stream = Stream(rate=40, seed="minutely", begun_ms=TOP_MS - 30_000)
    stream.herd(runs, jitter_seconds)
    stream.herd(runs, jitter_seconds, at_ms=TOP_MS + 60_000)
    last_ms = TOP_MS + max(0, 1_000 * jitter_seconds - 1)
    figures = stream.curves.herd(TOP_MS, last_ms=last_ms, now_ms=TOP_MS + 75_000)
    verdict = stream.judge(figures)
    assert (verdict.name == VerdictName.VOLUME) == is_too_much, verdict
    assert ("whatever the jitter" in verdict.advice) == is_too_much
