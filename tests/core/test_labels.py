"""Labels and selectors: Kubernetes' grammar, and what a requirement leaves."""

import pytest

from engine.core.labels import (
    Requirement,
    ScheduleFilter,
    as_value,
    is_key,
    is_value,
    read_selector,
)


@pytest.mark.parametrize(
    "key", ["env", "a", "A.b_c-9", "example.com/team", "x" * 63, f"{'d' * 60}.{'d' * 60}/x"]
)
def test_a_key_is_a_name_with_a_dns_name_before_it_at_will(key):
    assert is_key(key)


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/a", "a/", "a/b/c", "-a", "a-", "a b", "x" * 64, "é", "a\n"),
        *("A.com/x", "a..b/x", f"{'.'.join(['d' * 60] * 5)}/x"),
    ],
)
def test_what_is_no_key_is_refused(key):
    assert not is_key(key)


def test_a_value_may_be_empty_and_begins_and_ends_with_a_letter_or_digit():
    assert all(map(is_value, ["", "a", "v1.2_3-x", "x" * 63]))
    assert not any(map(is_value, ["-", "a.", "a b", "x" * 64, "é", "a\n", None, 5, True]))


@pytest.mark.parametrize(
    ("text", "value"),
    [("crontab", "crontab"), ("my jobs (old).txt", "my-jobs--old-.txt"), ("~", ""), ("é" * 99, "")],
)
def test_any_text_has_a_value_that_comes_close(text, value):
    assert as_value(text) == value
    assert is_value(value)


def test_a_selector_is_requirements_with_commas_between_them():
    assert read_selector("env=prod,team!=x, has ,!gone,a.b/c==") == (
        Requirement("env", "prod"),
        Requirement("team", "x", wanted=False),
        Requirement("has"),
        Requirement("gone", wanted=False),
        Requirement("a.b/c", ""),
    )
    assert read_selector("env == prod") == (Requirement("env", "prod"),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "env=prod"),
        ("env=prod,", "env=prod"),
        ("!env=prod", "env=prod"),
        ("env in (a, b)", "env=prod"),
        ("env===x", "env: write a text"),
        ("=x", "env=prod"),
        ("-env=x", "-env is no label's key: write a key"),
        ("env=é", "env: write a text"),
        ("a" * 1_025, "1,024"),
    ],
)
def test_what_is_no_selector_says_what_to_write(text, says):
    with pytest.raises(ValueError, match=says):
        read_selector(text)


@pytest.mark.parametrize(
    ("selector", "labels", "holds"),
    [
        ("env=prod", {"env": "prod"}, True),
        ("env=prod", {"env": "test"}, False),
        ("env=prod", {}, False),
        ("env!=prod", {"env": "prod"}, False),
        ("env!=prod", {"env": "test"}, True),
        ("env!=prod", {}, True),
        ("env", {"env": ""}, True),
        ("env", {}, False),
        ("!env", {"env": ""}, False),
        ("!env", {}, True),
        ("env=", {"env": ""}, True),
        ("env=", {}, False),
        ("env=prod,team=a", {"env": "prod"}, False),
    ],
)
def test_a_requirement_leaves_what_it_says(selector, labels, holds):
    selection = ScheduleFilter(requirements=read_selector(selector))
    assert selection.holds(labels, is_paused=False) is holds


def test_the_search_begins_with_a_value_if_there_is_one():
    selection = ScheduleFilter(requirements=read_selector("!a,b!=c,d,e=f"))
    assert selection.lead() == Requirement("e", "f")
    assert ScheduleFilter(requirements=read_selector("!a,b!=c,d")).lead() == Requirement("d")
    assert ScheduleFilter(requirements=read_selector("!a,b!=c")).lead() is None
