"""Names that stay."""

import pytest

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
    [name] = name_jobs([(("", "command", text), "")])
    assert name.rpartition("-")[0] == words
    assert len(name.rpartition("-")[2]) == 8


def test_the_same_command_of_another_user_has_another_name():
    first, second = name_jobs([(("alice", "x"), "0 5 * * *"), (("bob", "x"), "0 5 * * *")])
    assert first != second


def test_equal_jobs_are_numbered_by_their_times_and_not_by_their_lines():
    morning, evening = (("x",), "0 8 * * *"), (("x",), "30 9 * * *")
    first, second = name_jobs([morning, evening])
    assert second == f"{first}-2"
    assert name_jobs([evening, morning]) == [second, first]
