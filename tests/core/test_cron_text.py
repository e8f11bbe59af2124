"""What is refused before any field is looked at."""

import pytest

from engine.core.cron_text import TEXT_LENGTH_MAX, split_fields
from engine.core.errors import Invalid

REFUSED = [
    ("", "has 0 fields; write 5"),
    ("* * * *", "has 4 fields; write 5"),
    ("0 0 * * * * 2027", "has 7 fields; write 5 (minute hour day month weekday) or 6"),
    ("0 0 * * * * 2027", "for years use start_at and end_at"),
    ("@reboot", "@reboot is no time"),
    ("@every 5m", "write every, in seconds"),
    ("@fortnightly", "write one of @yearly @annually @monthly @weekly @daily @midnight @hourly"),
    ("@daily @hourly", "is not known"),
    ("CRON_TZ=Europe/Berlin 0 9 * * *", "write the zone as timezone"),
    ("tz=UTC 0 9 * * *", "write the zone as timezone"),
    ("0 9 * * *\n", "U+000A at position 10"),
    ("0 9\n* * *", "U+000A at position 4"),
    ("0\u00a09 * * *", "U+00A0 at position 2"),
    ("\u0661 9 * * *", "U+0661 at position 1"),  # A digit to str.isdigit(), not to cron.
    ("0 9 * * *\0", "U+0000"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_a_text_that_is_no_expression_is_refused_with_what_to_write(text, says):
    with pytest.raises(Invalid) as refused:
        split_fields(text)
    [fault] = refused.value.faults
    assert fault.pointer == "/cron"
    assert says in fault.detail


def test_the_length_is_judged_before_anything_else():
    longest = "0," * 123 + "00 * * * * "
    assert len(longest) == TEXT_LENGTH_MAX + 1
    assert len(split_fields(longest.strip())) == 5
    with pytest.raises(Invalid, match="has 257 characters; write at most 256"):
        split_fields(longest)


def test_spaces_and_tabs_separate_fields_and_nicknames_have_any_case():
    assert split_fields(" 0\t9  * * 1-5 ") == ["0", "9", "*", "*", "1-5"]
    assert split_fields("@Weekly") == ["0", "0", "*", "*", "0"]
