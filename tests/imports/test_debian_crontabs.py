"""Crontabs that nobody here wrote: those that Debian's packages install, each line by hand."""

import re
from collections.abc import Iterator
from pathlib import Path

from engine.core.document import read_schedule
from engine.core.identity import format_instant, parse_instant
from engine.core.timetable import compile_trigger
from engine.imports.crontab import read_crontab
from engine.imports.report import Import

FIXTURES = Path(__file__).parent / "fixtures"
RUNNER = "http://127.0.0.1:9000/run"

# Package, user, time, its first instant after Monday, 30 November 2026, 12:03, and the command's
# end, worked out by hand.
DEBIAN = [
    line.split(maxsplit=4)
    for line in """
e2fsprogs       root        30_3_*_*_0    12-06T03:30 e2scrub_all_cron
e2fsprogs       root        10_3_*_*_*    12-01T03:10 e2scrub_all -A -r
anacron         root        30_7-23_*_*_* 11-30T12:30 anacron start >/dev/null; fi
leafnode        news        8_*_*_*_*     11-30T12:08 do-fetch-news; fi
roundcube-core  www-data    0_5_*_*_*     12-01T05:00 cleandb.sh >/dev/null
roundcube-core  www-data    5,35_*_*_*_*  11-30T12:05 gc.sh
mdadm           root        57_0_*_*_0    12-06T00:57 --idle --quiet; fi
cron-apt        root        0_4_*_*_*     12-01T04:00 /usr/sbin/cron-apt
ntpsec          root        25_6_*_*_*    12-01T06:25 rotate-stats ; fi
clamav-unofficial-sigs clamav 45_*_*_*_*  11-30T12:45 clamav-unofficial-sigs
inn2            news        15_4_*_*_*    12-01T04:15 lowmark delayrm
inn2            news        2_3_*_*_*     12-01T03:02 incoming.conf "flush cache"
inn2            news        10_*_*_*_*    11-30T12:10 rnews -U
backupninja     root        0_*_*_*_*     11-30T13:00 backupninja; fi
cacti           www-data    */5_*_*_*_*   11-30T12:05 >> /var/log/cacti/poller-error.log
cricket         cricket     */5_*_*_*_*   11-30T12:05 collect-subtrees ALL
munin           munin       */5_*_*_*_*   11-30T12:05 munin-cron; fi
munin           munin       14_10_*_*_*   12-01T10:14 --contact old-nagios; fi
munin           munin       27_03_*_*_*   12-01T03:27 -type d -empty -delete; fi
munin           www-data    32_03_*_*_*   12-01T03:32 -type d -empty -delete; fi
awstats         www-data    */10_*_*_*_*  11-30T12:10 update.sh
awstats         www-data    10_03_*_*_*   12-01T03:10 buildstatic.sh
certbot         root        0_*/12_*_*_*  12-01T00:00 certbot -q renew --no-random-sleep-on-renew
tiger           root        0_*_*_*_*     11-30T13:00 nice -n$NICETIGER /usr/sbin/tigercron -q ; }
mailman3        list        0_8_*_*_*     12-01T08:00 mailman notify; fi
mailman3        list        0_12_*_*_*    12-01T12:00 digests --periodic; fi
dma             root        */5_*_*_*_*   11-30T12:05 dma -q
atop            root        0_0_*_*_*     12-01T00:00 atop.daily&
logcheck        logcheck    2_*_*_*_*     11-30T13:02 nice -n10 /usr/sbin/logcheck; fi
munin-node      root        */5_*_*_*_*   11-30T12:05 apt update 7200 12 >/dev/null; fi
sa-exim         Debian-exim 33_*_*_*_*    11-30T12:33 greylistclean
amavisd-new     amavis      18_*/3_*_*_*  11-30T12:18 amavisd-new-cronjob sa-sync
amavisd-new     amavis      24_1_*_*_*    12-01T01:24 amavisd-new-cronjob sa-clean
php-common      root        09,39_*_*_*_* 11-30T12:09 sessionclean; fi
sysstat         root        5-55/10_*_*_*_* 11-30T12:05 debian-sa1 1 1
sysstat         root        59_23_*_*_*   11-30T23:59 debian-sa1 60 2
ganeti          root        */5_*_*_*_*   11-30T12:05 ganeti-watcher
ganeti          gnt-masterd 45_1_*_*_*    12-01T01:45 ganeti-cleaner master
ganeti          root        45_2_*_*_*    12-01T02:45 ganeti-cleaner node
mlmmj           root        0_*/2_*_*_*   11-30T14:00 -d /var/spool/mlmmj
sanoid          root        */15_*_*_*_*  11-30T12:15 TZ=UTC /usr/sbin/sanoid --cron --quiet; fi
""".strip().splitlines()
]


def read(content: bytes, label: str, *, target: str | None = RUNNER) -> Import:
    return read_crontab(content, label=label, system=True, timezone="UTC", target=target)


def debian_packages() -> Iterator[tuple[str, Import]]:
    """What a crontab of each package becomes, by the name of the package."""
    _, *parts = re.split(r"^# (?=\S+ \S+$)", (FIXTURES / "debian_cron_d").read_text(), flags=re.M)
    for part in parts:
        package, _, crontab = part.partition(" ")
        _, _, lines = crontab.partition("\n")
        yield package, read(lines.encode(), package)


def test_the_crontabs_that_debian_packages_install_are_taken_over_line_by_line():
    expected = [
        (*row[:2], row[2].replace("_", " "), f"2026-{row[3]}:00Z", row[4]) for row in DEBIAN
    ]
    after_ms = parse_instant("2026-11-30T12:03:00Z")
    rows = []
    for package, result in debian_packages():
        for each in result.schedules:
            definition = read_schedule(each.document, tenant="default").definition
            sent = each.document["target"]["json"]
            first = compile_trigger(definition.trigger).after(after_ms)
            assert first is not None
            when = (each.document["cron"], format_instant(first))
            rows.append((package, sent["user"], *when, sent["command"]))
    assert [row[:4] for row in rows] == [row[:4] for row in expected]
    for row, (*_, end) in zip(rows, expected, strict=True):
        assert row[4].endswith(end)


def test_what_debian_crontabs_say_beside_their_jobs_is_said():
    packages = dict(debian_packages())
    assert len(packages) == 28
    refused = {
        name: [(each.lines, each.text) for each in result.refused]
        for name, result in packages.items()
        if result.refused
    }
    assert refused == {
        "logcheck": [((3,), "@reboot is no instant; start it with the machine")],
        "ganeti": [((2,), "@reboot is no instant; start it with the machine")],
    }
    [tiger] = packages["tiger"].schedules
    assert tiger.document["target"]["json"]["environment"] == {
        "DEFAULT": "/etc/default/tiger",
        "NICETIGER": "10",
    }
    [mdadm] = packages["mdadm"].schedules
    assert "[ $(date +%d) -le 7 ]" in mdadm.document["target"]["json"]["command"]
    mailing = {"cacti", "cricket", "munin", "munin-node", "awstats", "logcheck"}
    said = {n for n, r in packages.items() if any("MAILTO" in note.text for note in r.notes)}
    assert said == mailing


def test_debians_own_crontab_is_taken_over_with_its_user_and_environment():
    content = (FIXTURES / "debian_etc_crontab").read_bytes()
    result = read(content, "crontab")
    assert [each.document["cron"] for each in result.schedules] == [
        "17 * * * *",
        "25 6 * * *",
        "47 6 * * 7",
        "52 6 1 * *",
    ]
    weekly = result.schedules[2].document["target"]["json"]
    assert weekly == {
        "command": "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }",
        "user": "root",
        "environment": {
            "SHELL": "/bin/sh",
            "PATH": "/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin",
        },
    }
    without = read(content, "crontab", target=None)
    assert (without.schedules, sum(len(remark.lines) for remark in without.refused)) == ((), 4)
