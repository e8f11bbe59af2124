"""Names that stay."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.imports.naming import name_jobs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("https://h.example/cron/run.php?key=1", "h.example-cron-run.php"),
        ("php -f /var/www/nextcloud/cron.php", "php-cron.php"),
        ("test -x /usr/bin/certbot && certbot -q renew", "certbot-renew"),
        ("[ -d /run/systemd/system ] || /usr/share/atop/atop.daily&", "atop.daily"),
        ("cd / && run-parts --report /etc/cron.hourly", "run-parts-cron.hourly"),
        ("sch_mine", "job"),
        ("!!", "job"),
        ("/usr/bin/é", "job"),
    ],
)
def test_a_name_tells_what_runs_and_ends_in_a_digest(text: str, words: str):
    [name] = name_jobs([(("", "command", text), ("", ""))], {})
    assert name.rpartition("-")[0] == words
    assert len(name.rpartition("-")[2]) == 8


def test_the_same_command_of_another_user_has_another_name():
    mark = ("0 5 * * *", "")
    first, second = name_jobs([(("alice", "x"), mark), (("bob", "x"), mark)], {})
    assert first != second


def names(*times: str, earlier: dict[str, str] | None = None) -> list[str]:
    """The names of lines that run one command at these times."""
    marks = {name: (time, "") for name, time in (earlier or {}).items()}
    return name_jobs([(("x",), (time, "")) for time in times], marks)


def test_without_earlier_names_the_order_of_lines_means_nothing():
    morning, evening = names("0 8 * * *", "30 9 * * *")
    assert evening.startswith(f"{morning}-")
    assert names("30 9 * * *", "0 8 * * *") == [evening, morning]


def test_a_second_line_does_not_rename_the_first():
    [only] = names("30 9 * * *")
    first, second = names("0 8 * * *", "30 9 * * *", earlier={only: "30 9 * * *"})
    assert second == only
    assert first != only


def test_a_line_whose_time_changes_keeps_its_name_among_others():
    before = dict(zip(names("a", "b", "c"), "abc", strict=True))
    assert names("a", "d", "c", earlier=before) == list(before)


def test_a_line_that_stands_there_twice_has_two_names():
    first, second, third = names("a", "a", "a")
    assert len({first, second, third}) == 3
    assert names("a", "a", earlier=dict.fromkeys((first, second), "a")) == [first, second]


def test_numbers_that_names_had_before_are_kept():
    [plain] = names("a")
    assert names("b", "a", earlier={plain: "a", f"{plain}-2": "b"}) == [f"{plain}-2", plain]


BODIES = st.lists(st.sampled_from("abcde"), max_size=5)


@given(bodies=BODIES, moved=st.randoms(use_true_random=False))
def test_what_is_sent_tells_lines_of_one_time_apart(bodies: list[str], moved: Random):
    marks = [("0 1 * * *", body) for body in bodies]
    before = dict(zip(name_jobs([(("x",), mark) for mark in marks], {}), marks, strict=True))
    assert name_jobs([(("x",), mark) for mark in marks], before) == list(before)
    after = moved.sample(marks, moved.randint(0, len(marks)))
    now = name_jobs([(("x",), mark) for mark in after], before)
    assert [before[name] for name in now] == after


def test_lines_that_nothing_tells_apart_keep_their_names_in_their_order():
    made = names(*"aaaaaaaa")
    assert names(*"aaaaaaaa", earlier=dict.fromkeys(made, "a")) == made


TIMES = st.lists(st.sampled_from("abcdef"), max_size=6, unique=True)


@given(before=TIMES, after=TIMES)
def test_names_of_lines_that_stay_never_move(before: list[str], after: list[str]):
    earlier = dict(zip(names(*before), before, strict=True))
    now = names(*after, earlier=earlier)
    assert len(set(now)) == len(now)
    for name, time in zip(now, after, strict=True):
        assert earlier.get(name) == time or time not in before
    # What changed is handed on: new names come only where there are more lines than before.
    assert len(set(now) - earlier.keys()) == max(0, len(after) - len(before))
