"""Times that crond runs, those that it never ran, and those of which it depends on the crond."""

import pytest

from engine.core.errors import Invalid
from engine.imports.crontab_times import check_times, time_doubts
from engine.imports.shell import NotPlain


@pytest.mark.parametrize(
    "cron",
    [
        "0 9 * jul wed",
        "0 5 * * sun-sat",
        "0 5 * * sun-sun",
        "0 5 * * 0-Sun",
        "0 5 * * fri,sun",
        "0 5 * * 0,7",
        "0 5 * * mon-7",
        "5-5 0-23/99 */2 * Mon",
        "*/5 1-9/2 * * *",
        "@midnight",
    ],
)
def test_what_every_crond_runs_is_taken_over_without_a_word(cron: str):
    check_times(cron, timezone="UTC")
    assert list(time_doubts(cron)) == []


@pytest.mark.parametrize(
    ("cron", "reason"),
    [
        ("@reboot", "@reboot is no instant; start it with the machine"),
        ("@every", "@every is an interval; put a schedule with every, in seconds"),
        ("@every_minute", "@every_minute is an interval"),
        ("@600", "@600 is an interval"),
        ("@Daily", "crond knows @daily in small letters alone"),
        ("0 9 * * 1#2", "crond knows no L, W, # or ?"),
        ("0 9 * * 5L", "crond knows no L, W, # or ?"),
        ("0 9 15W * *", "crond knows no L, W, # or ?"),
        ("0 9 L * *", "crond knows no L, W, # or ?"),
        ("0 9 ? * 1", "crond knows no L, W, # or ?"),
    ],
)
def test_what_crond_never_ran_is_refused(cron: str, reason: str):
    with pytest.raises(NotPlain) as refused:
        check_times(cron, timezone="UTC")
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize("cron", ["~ 5 * * *", "0~30 5 * * *", "H 5 * * *", "0 5 * * Sunday"])
def test_what_is_no_expression_is_invalid(cron: str):
    with pytest.raises(Invalid):
        check_times(cron, timezone="UTC")


@pytest.mark.parametrize("cron", ["5/15 * * * *", "0 5 * * 1,mon/2", "1-3,5/7 * * * *"])
def test_a_step_behind_one_number_is_read_and_doubted(cron: str):
    check_times(cron, timezone="UTC")
    [doubt] = time_doubts(cron)
    assert doubt.startswith("n/m is read as from n to the end, by m; many a crond refuses it")


@pytest.mark.parametrize("cron", ["0 5 * * sat-sun", "0 5 * * 1,5-Sun"])
def test_a_range_to_sunday_by_name_is_read_as_in_cronie_and_doubted(cron: str):
    check_times(cron, timezone="UTC")
    [doubt] = time_doubts(cron)
    assert doubt.startswith("a range to sun ends the week, as in cronie; to other cronds")
