"""Fields: what each form stands for, what is refused and why, and `H`."""

import json
from pathlib import Path

import pytest

from engine.core.cron_fields import CronFields, read_fields, resolve
from engine.core.errors import Invalid

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "offbeat-v1.json").read_text())
SCHEDULE_ID = VECTORS["schedule_id"][0]["schedule_id"]

FORMS = [
    ("minute", "5", [5]),
    ("minute", "05", [5]),
    ("minute", "5-5", [5]),
    ("minute", "5-5/7", [5]),
    ("minute", "50-59/4", [50, 54, 58]),
    ("minute", "50/4", [50, 54, 58]),
    ("minute", "*/25", [0, 25, 50]),
    ("minute", "?/25", [0, 25, 50]),
    ("minute", "*/90", [0]),
    ("minute", "7,3,3-4", [3, 4, 7]),
    ("hour", "*/9", [0, 9, 18]),
    ("hour", "20/2", [20, 22]),
    ("day", "*/10", [1, 11, 21, 31]),
    ("day", "?", list(range(1, 32))),
    ("month", "*/5", [1, 6, 11]),
    ("month", "JAN,mar-May", [1, 3, 4, 5]),
    ("month", "oct/1", [10, 11, 12]),
    ("weekday", "*", [0, 1, 2, 3, 4, 5, 6]),
    ("weekday", "?", [0, 1, 2, 3, 4, 5, 6]),
    ("weekday", "7", [0]),
    ("weekday", "0,7", [0]),
    ("weekday", "5-7", [0, 5, 6]),
    ("weekday", "6-7", [0, 6]),
    ("weekday", "0-7", [0, 1, 2, 3, 4, 5, 6]),
    ("weekday", "Mon-FRI", [1, 2, 3, 4, 5]),
    ("weekday", "Sat-SUN", [0, 6]),
    ("weekday", "1-sun/2", [0, 1, 3, 5]),
    ("weekday", "sun-sun", [0]),
    ("weekday", "*/2", [0, 2, 4, 6]),
    ("weekday", "*/7", [0]),
    ("weekday", "1/2", [0, 1, 3, 5]),  # 1, 3, 5, 7.
    ("weekday", "5/1", [0, 5, 6]),
]
PLACES = {"minute": 0, "hour": 1, "day": 2, "month": 3, "weekday": 4}

REFUSED = [
    ("minute", "60", "60 is not in 0 to 59"),
    ("minute", "-5", "write 0 to 59, a range a-b or a step a-b/n"),
    ("minute", "+5", "write 0 to 59"),
    ("minute", "1.5", "write 0 to 59"),
    ("minute", "*/0", "a step is a whole number of at least 1"),
    ("minute", "*/x", "a step is a whole number of at least 1"),
    ("minute", "*/-5", "write 0 to 59"),
    ("minute", "1-2-3", "write 0 to 59"),
    ("minute", "*-5", "write 0 to 59"),
    ("minute", "**", "write 0 to 59"),
    ("minute", "1,,2", "is empty; leave out the comma"),
    ("minute", ",1", "is empty"),
    ("minute", "1,", "is empty"),
    ("minute", "50-10", "50 is after 10; write 50-59,0-10"),
    ("minute", "R", "a random time would differ from node to node; write H or H(a-b)"),
    ("minute", "R(0-30)", "write H or H(a-b)"),
    ("minute", "0~30", "write H or H(a-b)"),
    ("minute", "H", "it is resolved by the schedule's id"),
    ("minute", "jan", "write 0 to 59"),
    ("hour", "24", "24 is not in 0 to 23"),
    ("hour", "22-2", "22 is after 2; write 22-23,0-2"),
    ("day", "0", "0 is not in 1 to 31"),
    ("day", "32W", "32 is not in 1 to 31"),
    ("day", "L-3", "write L (last day) as a day, 5L (last Friday) as a weekday"),
    ("day", "1-L", "write L (last day) as a day"),
    ("day", "5L", "as a weekday"),
    ("day", "W15", "write 15W or LW"),
    ("day", "1-5W", "write 15W or LW"),
    ("day", "WL", "write 1 to 31"),
    ("day", "1#2", "as a weekday"),
    ("month", "13", "13 is not in 1 to 12"),
    ("month", "0", "0 is not in 1 to 12"),
    ("month", "january", "write 1 to 12, jan to dec, a range a-b or a step a-b/n"),
    ("month", "L", "as a day"),
    ("weekday", "8", "8 is not in 0 to 7"),
    ("weekday", "monday", "write 0 to 7, sun to sat"),
    ("weekday", "fri-mon", "5 is after 1; write 5-7,0-1"),
    ("weekday", "6-0", "Sunday ends a week as 7; write 6-7"),
    ("weekday", "sat-sun#1", "write 1#2 (second Monday)"),
    ("weekday", "L", "5L (last Friday) as a weekday"),
    ("weekday", "L5", "5L (last Friday) as a weekday"),
    ("weekday", "8L", "8 is not in 0 to 7"),
    ("weekday", "LW", "as a day"),
    ("weekday", "1#6", "at most #5"),
    ("weekday", "1#0", "at most #5"),
    ("weekday", "1-5#2", "write 1#2 (second Monday)"),
    ("weekday", "*#1", "write 1#2 (second Monday)"),
    ("weekday", "1#1,1#2,1#3,1#4,1#5", "at most 4 of L, W and #"),
]


def expression(field: str, text: str) -> str:
    texts = ["0", "0", "*", "*", "*"]
    texts[PLACES[field]] = text
    return " ".join(texts)


def numbers(fields: CronFields, field: str) -> tuple[int, ...]:
    return getattr(fields.time if field in {"minute", "hour"} else fields.date, f"{field}s")


@pytest.mark.parametrize(("field", "text", "expected"), FORMS)
def test_a_form_stands_for_its_numbers(field, text, expected):
    assert list(numbers(read_fields(expression(field, text)), field)) == expected


@pytest.mark.parametrize(("field", "text", "says"), REFUSED)
def test_a_doubtful_item_is_refused_with_what_to_write(field, text, says):
    with pytest.raises(Invalid) as refused:
        read_fields(expression(field, text))
    assert {fault.pointer for fault in refused.value.faults} == {"/cron"}
    assert field in refused.value.faults[0].detail
    assert says in refused.value.faults[0].detail


def test_every_wrong_item_is_reported():
    with pytest.raises(Invalid) as refused:
        read_fields("61 5,25 * 13 *")
    assert [fault.detail for fault in refused.value.faults] == [
        "minute '61': 61 is not in 0 to 59",
        "hour '25': 25 is not in 0 to 23",
        "month '13': 13 is not in 1 to 12",
    ]


def test_the_seconds_come_first_and_are_0_when_left_out():
    assert read_fields("15,45 0 9 * * *").time.seconds == (15, 45)
    assert read_fields("0 9 * * *").time.seconds == (0,)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("0 9 * * *", True),
        ("0 0-23 * * *", True),
        ("*/10 0 9 * * *", True),  # The seconds field does not count.
        ("0 1,* * * *", True),  # Nor does a star that is not first.
        ("0 * * * *", False),
        ("0 */2 * * *", False),
        ("*/15 2 * * *", False),
        ("? 2 * * *", False),
        ("@hourly", False),
        ("@daily", True),
    ],
)
def test_an_expression_is_fixed_unless_its_minute_or_hour_begins_with_a_star(text, fixed):
    assert read_fields(text).fixed is fixed


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("0 0 * * 1", True),
        ("0 0 */2 * 1", True),
        ("0 0 ? * 1", True),
        ("0 0 1 * */2", True),
        ("0 0 1 * 1", False),
        ("0 0 1,* * 1", False),
        ("0 0 1-31 * 1", False),
    ],
)
def test_both_day_fields_must_match_when_either_begins_with_a_star(text, both):
    assert read_fields(text).date.both is both


@pytest.mark.parametrize("vector", VECTORS["hashed_field"])
def test_h_is_the_vectors_value(vector):
    fields = ["second", "minute", "hour", "day", "month", "weekday"]
    text = " ".join("H" if field == vector["field"] else "*" for field in fields)
    resolved = text.replace("H", str(vector["value"]))
    assert resolve(text, vector["schedule_id"]) == resolved


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("H H * * *", "39 15 * * *"),
        ("h(0-9) * * * *", "9 * * * *"),
        ("H/15 * * * *", "9-59/15 * * * *"),
        ("H/90 * * * *", "39-59/90 * * * *"),
        ("H(30-59)/10 * * * *", "39-59/10 * * * *"),
        ("0 H(9-17)/4 * * H(mon-fri)", "0 12-17/4 * * 3"),
        ("0 0 H H *", "0 0 20 6 *"),
        ("0 0 H/10 * *", "0 0 4-28/10 * *"),
        ("H 0,H * * *", "39 0,15 * * *"),
        ("16 H * * * *", "16 39 * * * *"),
        ("@hourly", "0 * * * *"),
        (" 0  9 * * mon ", "0 9 * * mon"),
    ],
)
def test_h_is_resolved_for_one_schedule_once_and_for_all(text, resolved):
    assert resolve(text, SCHEDULE_ID) == resolved
    read_fields(resolved)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("H(50-10) * * * *", "minute 'H(50-10)': 50 is after 10"),
        ("H(0-60) * * * *", "60 is not in 0 to 59"),
        ("H/0 * * * *", "a step is a whole number of at least 1"),
        ("H(5) * * * *", "write H, H(a-b) or H/n"),
        ("H-5 * * * *", "write H, H(a-b) or H/n"),
    ],
)
def test_an_h_that_cannot_be_resolved_is_refused(text, says):
    with pytest.raises(Invalid) as refused:
        read_fields(resolve(text, SCHEDULE_ID))
    assert says in refused.value.faults[0].detail
