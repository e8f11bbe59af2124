"""What crond reads in a line."""

import pytest

from engine.imports.crontab_lines import Job, Setting, Unread, read_lines


def only(text: str, *, system: bool = False) -> Job:
    [line] = read_lines(text.encode(), system=system)
    assert isinstance(line, Job)
    return line


def test_a_job_is_five_fields_and_the_rest_of_the_line():
    job = only("  */5\t1  * * mon   php -f  cron.php  ")
    assert (job.line, job.cron, job.user, job.command) == (
        1,
        "*/5 1 * * mon",
        None,
        "php -f  cron.php",
    )


def test_a_system_crontab_has_a_user_between():
    job = only("17 *\t* * *\troot\tcd / && run-parts /etc/cron.hourly", system=True)
    assert (job.cron, job.user) == ("17 * * * *", "root")
    assert job.command == "cd / && run-parts /etc/cron.hourly"


def test_a_nickname_stands_for_the_five_fields():
    assert only("@daily backup").cron == "@daily"
    assert only("@daily root backup", system=True).user == "root"


def test_the_dash_that_silences_the_log_is_not_part_of_the_minute():
    assert only("-*/15 * * * * root test", system=True).cron == "*/15 * * * *"


def test_comments_blank_lines_crlf_a_byte_order_mark_and_a_missing_last_end_do_not_matter():
    text = "\ufeff# a comment\r\n\r\n   # another\r\n1 2 3 4 5 a\r\n6 7 8 9 0 b"
    jobs = list(read_lines(text.encode(), system=False))
    assert [(job.line, job.command) for job in jobs if isinstance(job, Job)] == [(4, "a"), (5, "b")]
    assert len(jobs) == 2


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("MAILTO=root", "MAILTO", "root"),
        ("PATH = /bin:/usr/bin ", "PATH", "/bin:/usr/bin"),
        ("MAILTO=", "MAILTO", ""),
        ('MAILTO=""', "MAILTO", ""),
        ('A="it\'s"', "A", "it's"),
        ('A=say "it"', "A", 'say "it"'),
        ("\"MY NAME\" = 'x'", "MY NAME", "x"),
        ("A = b = c", "A", "b = c"),
    ],
)
def test_a_variable_is_a_name_an_equal_sign_and_a_value(line: str, name: str, value: str):
    assert list(read_lines(line.encode(), system=False)) == [
        Setting(line=1, name=name, value=value)
    ]


def test_a_job_sees_the_variables_above_it_and_not_those_below():
    lines = list(read_lines(b"A=1\n* * * * * x\nA=2\nB=3\n* * * * * y\n", system=False))
    jobs = [line for line in lines if isinstance(line, Job)]
    assert [dict(job.variables) for job in jobs] == [{"A": "1"}, {"A": "2", "B": "3"}]


@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        ("date", "date", None),
        (r"date +\%F", "date +%F", None),
        ("mail joe%Hello Joe,%%Bye", "mail joe", "Hello Joe,\n\nBye\n"),
        ("cat %", "cat", ""),
        ("cat %a%", "cat", "a\n"),
        (r"cat%50\% off", "cat", "50% off\n"),
        (r"echo 'a%b'", "echo 'a", "b'\n"),
        (r"printf a\\%b", r"printf a\\", "b\n"),
        (r"printf a\\\%b", r"printf a\\%b", None),
        (r"grep \d", r"grep \d", None),
    ],
)
def test_the_first_bare_percent_ends_the_command_whatever_the_quotes(
    text: str, command: str, stdin: str | None
):
    job = only(f"0 5 * * * {text}")
    assert (job.command, job.stdin) == (command, stdin)


@pytest.mark.parametrize(
    ("line", "system", "reason"),
    [
        (
            b"0 5 * *",
            False,
            "neither a variable (NAME=value) nor a job (five fields and a command)",
        ),
        (b"0 5 * * *", False, "no command after the times"),
        (b"@daily", False, "no command after the times"),
        (b"0 5 * * * root", True, "no command after the user"),
        (b"0 5 * * * caf\xe9", False, "not UTF-8"),
        (b"0 5 * * * a\0b", False, "holds a NUL character"),
        (b"A=\0b", False, "holds a NUL character"),
        ("0 5 * *\u00a0* a".encode(), False, "no command after the times"),
        (b"-", False, "neither a variable (NAME=value) nor a job (five fields and a command)"),
    ],
)
def test_what_is_neither_is_reported_with_its_line(line: bytes, system: bool, reason: str):
    assert list(read_lines(b"\n" + line, system=system)) == [Unread(line=2, reason=reason)]
