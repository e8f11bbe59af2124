"""Crontabs as schedules: what is taken over, what is refused, what is said about the rest."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.document import read_schedule
from engine.core.errors import Invalid
from engine.imports.crontab import read_crontab
from engine.imports.crontab_lines import Setting, read_lines
from engine.imports.report import Import

FIXTURES = Path(__file__).parent / "fixtures"
RUNNER = "http://127.0.0.1:9000/run"


def read(
    text: str,
    *,
    target: str | None = None,
    system: bool = False,
) -> Import:
    return read_crontab(
        text.encode(), label="mine", system=system, timezone="Europe/Berlin", target=target
    )


def read_fixture(name: str, *, target: str | None, system: bool) -> Import:
    content = (FIXTURES / name).read_bytes()
    return read_crontab(content, label=name, system=system, timezone="UTC", target=target)


def by_name(result: Import) -> dict[str, Any]:
    return {each.document["name"]: each.document for each in result.schedules}


def refusals(result: Import) -> list[tuple[tuple[int, ...], str]]:
    return [(remark.lines, remark.text) for remark in result.refused]


def test_a_curl_line_becomes_a_webhook():
    [imported] = read("0 5 * * * curl -fsS -X POST -d a=1 https://h.example/r").schedules
    assert imported.line == 1
    assert imported.document == {
        "name": "h.example-r-ad05310c",
        "labels": {"crontab": "mine"},
        "cron": "0 5 * * *",
        "timezone": "Europe/Berlin",
        "target": {
            "url": "https://h.example/r",
            "method": "POST",
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            "body": "a=1",
            "timeout_seconds": 300,
        },
    }


def test_percent_signs_follow_cron_and_not_the_shell():
    # C16 of the shared cases. curl -d would glue the two lines of its input together, so the
    # second line is refused with a reason, which the case allows.
    result = read(
        "0 5 * * * curl -X POST https://h.example/r?d=a\\%20b\n"
        '5 5 * * * curl -d @- https://h.example/s%{"a":1}%{"b":2}\n'
        '6 5 * * * curl --data-binary @- https://h.example/s%{"a":1}%{"b":2}\n'
        '10 5 * * * curl -d "$(date +%F)" https://h.example/t\n'
    )
    first, third = result.schedules
    assert (first.document["cron"], first.document["target"]["url"]) == (
        "0 5 * * *",
        "https://h.example/r?d=a%20b",
    )
    assert third.document["target"]["body"] == '{"a":1}\n{"b":2}\n'
    [(second_line, second), (fourth_line, fourth)] = refusals(result)
    assert (second_line, fourth_line) == ((2,), (4,))
    assert "curl -d @- joins the lines of its input" in second
    assert (
        fourth == "crond ends the command at the unescaped %: a quotation is not closed; write \\%"
    )


@pytest.mark.parametrize(
    ("command", "is_said"),
    [
        ("curl https://h.example/r?d=a%20b", True),
        ("wget -qO- https://h.example/r?d=%2F", True),
        ("curl https://h.example/r%", False),
        ("curl --data-binary @- https://h.example/r%a=1", False),
    ],
)
def test_what_crond_cuts_off_and_no_call_reads_is_said(command: str, is_said: bool):
    result = read(f"0 5 * * * {command}\n")
    [imported] = result.schedules
    assert "%" not in imported.document["target"]["url"]
    said = [note.lines for note in result.notes if "crond ends the command" in note.text]
    assert said == [(1,)] * is_said


def test_a_command_cut_inside_a_quotation_is_refused_even_with_a_target():
    result = read('10 5 * * * tar czf "/b/$(date +%F).tgz" /srv', target=RUNNER)
    assert (result.schedules, refusals(result)[0][0]) == ((), (1,))


def test_any_other_command_is_posted_to_the_target_with_all_that_the_crontab_says():
    result = read(
        "SHELL=/bin/bash\nMAILTO=ops\n0 5 * * *\twww-data\tmail joe%Hello%\n",
        target=RUNNER,
        system=True,
    )
    [imported] = result.schedules
    assert imported.document["target"] == {
        "url": RUNNER,
        "method": "POST",
        "json": {
            "command": "mail joe",
            "user": "www-data",
            "stdin": "Hello\n",
            "environment": {"SHELL": "/bin/bash"},
        },
        "timeout_seconds": 300,
    }


def test_a_plain_command_of_a_user_is_nothing_but_the_command():
    [imported] = read("@daily php -f cron.php", target=RUNNER).schedules
    assert imported.document["cron"] == "@daily"
    assert imported.document["target"]["json"] == {"command": "php -f cron.php"}


def test_an_address_that_crond_cut_is_refused_with_what_cut_it():
    [(_, reason)] = refusals(read("0 5 * * * curl http://h.example:%H/tick\n"))
    assert "since url: write a port" in reason
    assert reason.endswith(
        "; crond ends the command at the unescaped %; a sign that is meant is written \\%"
    )
    [(_, whole)] = refusals(read("0 5 * * * curl http://h.example:/tick\n"))
    assert "crond ends" not in whole
    posted = read("0 5 * * * curl http://h.example:%H/tick\n", target=RUNNER)
    assert any("crond ends" in note.text for note in posted.notes)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ('curl -H "Host: shop.example" http://127.0.0.1/cron.php', "Host: the engine or HTTP"),
        ("curl -X GET -d a=1 http://h.example/", "body: GET carries no body"),
        ("curl -X PURGE http://h.example/", "method: write one of"),
        ('curl "http://h.example/a b"', "url: a URL holds no blanks"),
        ("wget -O- http://h.example/%Y", "url: a % starts two hexadecimal digits"),
    ],
)
def test_a_call_that_no_schedule_may_hold_is_a_command_like_any_other(command: str, reason: str):
    line = f"0 5 * * * {command}".replace("%", "\\%")
    [(_, refused)] = refusals(read(line))
    assert f"call that a schedule may hold, since {reason}" in refused
    assert refused.endswith("; --target URL makes it a POST of the command")
    [imported] = read(line, target=RUNNER).schedules
    target = imported.document["target"]
    assert (target["url"], target["json"]) == (RUNNER, {"command": command})


def test_a_time_that_cannot_be_is_the_reason_whatever_the_command():
    assert refusals(read("0 0 31 2 * backup\n"))[0][1].startswith("cron: never occurs")


def test_without_a_target_a_command_is_refused_with_the_way_out():
    result = read("0 5 * * * backup\n0 6 * * * curl -s https://h.example | logger\n")
    assert refusals(result) == [
        ((1,), "not a web call; --target URL makes it a POST of the command"),
        (
            (2,),
            "not a plain curl call, since '|' joins it to another command;"
            " --target URL makes it a POST of the command",
        ),
    ]


def test_cron_tz_moves_the_jobs_below_it_and_tz_moves_none():
    result = read(
        "0 1 * * * curl http://a.example\nTZ=Asia/Tokyo\n0 2 * * * curl http://b.example\n"
        "CRON_TZ=America/New_York\n0 3 * * * curl http://c.example\n"
        "CRON_TZ=\n0 4 * * * curl http://d.example\n"
        "CRON_TZ=Mars/Olympus\n0 5 * * * curl http://e.example\n"
    )
    zones = [each.document["timezone"] for each in result.schedules]
    assert zones == ["Europe/Berlin", "Europe/Berlin", "America/New_York", "Europe/Berlin"]
    [(lines, reason)] = refusals(result)
    assert lines == (9,)
    assert reason.startswith("timezone: 'Mars/Olympus' is not an IANA time zone")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot a", "@reboot is no instant; start it with the machine"),
        ("61 * * * * a", "cron: minute"),
        ("H 5 * * * a", "cron: "),
        ("0 0 30 2 * a", "cron: never occurs"),
        ("1 5 cron.daily nice run-parts /etc/cron.daily", "cron: "),
        ("@every 5m curl http://h.example/a", "@every is an interval; put a schedule with every"),
        ("0~30 5 * * * a", "cron: minute '0~30': a random time would differ from node to node"),
        ("0 5 * * * -q a", "-q is no command but an option of BSD's; take it off"),
        ("0 5 * * * -ns a", "-ns is no command but an option of BSD's; take it off"),
        ("0 5 * * * a \\", "crond joins no lines at a \\; write the command on one"),
    ],
)
def test_a_line_that_no_schedule_can_say_is_refused_with_its_reason(line: str, reason: str):
    result = read(line, target=RUNNER)
    assert result.schedules == ()
    assert refusals(result)[0][1].startswith(reason)


def test_times_that_crond_does_not_read_are_refused_and_doubtful_ones_noted():
    result = read("0 9 ? * 6 a\n5/15 * * * * a\n0 9 * * 6-7 a\\\\\n", target=RUNNER)
    assert [lines for lines, _ in refusals(result)] == [(1,)]
    assert [each.line for each in result.schedules] == [2, 3]
    assert [note.lines for note in result.notes if note.lines] == [(2,)]


def test_what_changes_its_meaning_is_noted_once_with_every_line():
    result = read(
        "MAILTO=ops\nPATH=/bin\nRANDOM_DELAY=30\nMAILTO=\n"
        "0 5 * * * www-data curl -L http://a.example\n"
        "1 5 * * * www-data wget -qO- http://b.example\n",
        system=True,
    )
    assert [(note.lines, note.text) for note in result.notes] == [
        ((1,), "MAILTO: nobody is mailed; see offbeat runs --state failed"),
        ((2,), "PATH goes along as environment with commands; webhooks have none"),
        ((3,), "RANDOM_DELAY is not taken over; see jitter_seconds and catch_up"),
        ((5, 6), "redirects are not followed: a 3xx answer fails, so give the final address"),
        ((5, 6), "the user www-data does not matter to a webhook"),
        ((), "times are read in Europe/Berlin"),
        ((), "what fails is tried again (retry) and what was missed is made up once (catch_up)"),
        ((), "jobs on the hour spread over up to 60 s; jitter_seconds 0 makes one exact"),
    ]


def test_a_user_column_that_nobody_announced_is_noticed():
    assert read("0 5 * * * root backup").notes[0].text.startswith("root is no command")


@pytest.mark.parametrize(
    ("line", "system", "first"),
    [
        ("0 30 5 * * * backup", False, "* is no command; crond reads five fields"),
        ("0 5 * * 1 2027 backup", False, "2027 is no command; crond reads five fields"),
        ("0 5 * * 1 7z a x y", False, "times are read in"),
        (
            "0 5 * * * curl http://h.example",
            True,
            "an address is no command, and curl is read as a",
        ),
        ("0 5 * * * root curl http://h.example", True, "the user root does not matter"),
    ],
)
def test_a_crontab_of_another_kind_is_noticed(line: str, system: bool, first: str):
    assert read(line, target=RUNNER, system=system).notes[0].text.startswith(first)


def test_a_path_is_no_user():
    result = read("0 5 * * * /usr/bin/curl http://h.example", target=RUNNER, system=True)
    [(lines, reason)] = refusals(result)
    assert (result.schedules, lines) == ((), (1,))
    assert reason.startswith("/usr/bin/curl is no user, and crond never ran this")


def test_the_same_file_again_is_the_same_schedules_and_an_edited_time_changes_one():
    # C35 of the shared cases.
    lines = ["0 5 * * * curl http://a.example", "0 6 * * * backup", "30 7 * * 6 backup"]
    first = by_name(read("\n".join(lines), target=RUNNER))
    assert by_name(read("\n".join(lines), target=RUNNER)) == first
    assert by_name(read("\n".join(reversed(lines)), target=RUNNER)) == first
    edited = by_name(
        read("\n".join(["15 5 * * * curl http://a.example", *lines[1:]]), target=RUNNER)
    )
    assert edited.keys() == first.keys()
    assert sum(edited[name] != first[name] for name in first) == 1


def test_the_same_line_twice_is_two_schedules_as_crond_runs_it_twice():
    assert len(by_name(read("0 5 * * * a\n0 5 * * * a\n", target=RUNNER))) == 2


def test_an_unknown_zone_or_a_file_that_is_no_crontab_is_refused_whole():
    with pytest.raises(Invalid, match="Berlin"):
        read_crontab(b"", label="x", system=False, timezone="Berlin", target=None)
    with pytest.raises(Invalid, match="crontab"):
        read_crontab(b"\n" * 2_000_000, label="x", system=False, timezone="UTC", target=None)


def test_the_lines_that_web_applications_document_become_webhooks_where_they_call_a_page():
    result = read_fixture("web_applications", target=None, system=False)
    calls = [(each.document["cron"], each.document["target"]["url"]) for each in result.schedules]
    assert calls == [
        ("*/15 * * * *", "https://cloud.example.com/cron.php"),
        ("0 * * * *", "http://www.example.com/cron/a-long-key"),
        ("*/20 * * * *", "http://localhost/cron.php"),
        ("*/10 * * * *", "http://moodle.example.com/admin/cron.php?password=opensesame"),
        ("*/15 * * * *", "http://example.org/wp-cron.php?doing_wp_cron"),
        ("*/30 * * * *", "http://example.net/wp-cron.php?doing_wp_cron"),
        ("*/5 * * * *", "https://example.org/wp-cron.php?doing_wp_cron"),
    ]
    assert {each.document["target"]["method"] for each in result.schedules} == {"GET"}
    assert [line for remark in result.refused for line in remark.lines] == [2, 6, 7, 8, 13]
    posted = read_fixture("web_applications", target=RUNNER, system=False)
    assert (len(posted.schedules), posted.refused) == (12, ())


_TIMES = ["0 5 * * * ", "@daily root ", "CRON_TZ = ", "* * * ", "", "61 * * * * root "]
_WORDS = [
    "curl ",
    "wget ",
    "-d ",
    "@- ",
    "-O ",
    "--json ",
    "http://h.example ",
    "A=b",
    "Asia/Tokyo",
]
_MARKS = [
    "%",
    "\\%",
    "'",
    '"',
    "$(",
    ")",
    "`",
    "\\",
    ">",
    "&",
    "2>&1 ",
    "#",
    "\t",
    "\r",
    "\x00",
    "é",
]
_LINES = st.builds(
    lambda times, rest: times + "".join(rest),
    st.sampled_from(_TIMES),
    st.lists(st.sampled_from(_WORDS + _MARKS), max_size=9),
)


@given(lines=st.lists(_LINES, max_size=5), system=st.booleans())
def test_whatever_a_line_holds_it_ends_as_a_schedule_a_variable_or_a_refusal(
    lines: list[str], system: bool
):
    content = "\n".join(lines).encode()
    result = read_crontab(content, label="x", system=system, timezone="UTC", target=RUNNER)
    ends = [each.line for each in result.schedules]
    ends += [line for remark in result.refused for line in remark.lines]
    ends += [s.line for s in read_lines(content, system=system) if isinstance(s, Setting)]
    said = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    assert sorted(ends) == [number for number, line in said if not line.startswith("#")]
    for each in result.schedules:
        read_schedule(each.document, tenant="default")
