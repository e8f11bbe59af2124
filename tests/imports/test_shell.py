"""What counts as one plain command."""

import pytest

from engine.imports.shell import NotPlain, Unclosed, check_closed, read_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("curl -s https://h.example/", ["curl", "-s", "https://h.example/"]),
        ("curl https://h.example/r?d=a%20b#top", ["curl", "https://h.example/r?d=a%20b#top"]),
        ('curl \'a b\' "c \\" d" e\\ f', ["curl", "a b", 'c " d', "e f"]),
        ("curl -H 'X: $HOME' -d ''", ["curl", "-H", "X: $HOME", "-d", ""]),
        ("curl a'b'\"c\"d", ["curl", "abcd"]),
        ("curl 'a'#b", ["curl", "a#b"]),
        ('curl "a\\nb"', ["curl", "a\\nb"]),
        ("curl u > /dev/null 2>&1", ["curl", "u"]),
        ("curl u >/dev/null 2>/dev/null </dev/null &", ["curl", "u"]),
        ("curl u &>/dev/null;", ["curl", "u"]),
        ("curl u # nightly, don't touch", ["curl", "u"]),
        ("curl price=5$ u", ["curl", "price=5$", "u"]),
        ("curl u2>/dev/null", ["curl", "u2"]),
        ("\n# first\n\ncurl u # nightly\n\n", ["curl", "u"]),
        ("curl \\\n  -s \\\n  u\n", ["curl", "-s", "u"]),
        ("curl http://h.ex\\\nample", ["curl", "http://h.example"]),
        ("curl \"a\\\nb\" 'a\\\nb'", ["curl", "ab", "a\\\nb"]),
        ('curl "a\\\\\nb"', ["curl", "a\\\nb"]),
        ("", []),
    ],
)
def test_a_plain_command_is_its_words(command: str, words: list[str]):
    assert read_words(command) == words


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("curl u | logger", "'|' joins"),
        ("curl u || true", "'||' joins"),
        ("cd /srv && curl u", "'&&' joins"),
        ("curl u; curl v", "';' joins"),
        ("curl u\ncurl v", "a line break joins"),
        ("curl u # nightly\ncurl v", "a line break joins"),
        ("curl http://h.example/?a=1&b=2", "'&' joins"),
        ("(curl u)", "'(' joins"),
        ("curl $URL", "'$'"),
        ('curl "${URL}"', "'$'"),
        ("curl `cat url`", "'`'"),
        ("curl -d $'a\\tb' u", "'$'"),
        ('curl -d "$(hostname)" u', "'$'"),
        ("curl u > /srv/www/data.json", "output goes to /srv/www/data.json"),
        ("curl u >> /var/log/cron.log 2>&1", "output goes to /var/log/cron.log"),
        ("curl u &>> log", "output goes to log"),
        ("curl -d @- u < body.json", "input comes from body.json"),
        ("curl -d @- u <<< text", "input comes from text"),
        ("curl u >", "output goes to nowhere"),
    ],
)
def test_what_only_a_shell_can_do_is_refused_with_the_reason(command: str, reason: str):
    with pytest.raises(NotPlain) as caught:
        read_words(command)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "command",
    ['curl -d "$(date +', "echo 'a", "echo `date +", "tar czf $(date +", 'echo "$(date +"', "a\\"],
)
def test_a_command_cut_inside_a_quotation_or_substitution_is_unclosed(command: str):
    with pytest.raises(Unclosed):
        check_closed(command)


@pytest.mark.parametrize(
    "command",
    [
        'echo "$(date +"X")"',
        "[ -x /a ] && if [ ! -d /b ]; then /a; fi",
        "case $x in a) b;; esac",
        'echo ":)" "(" \')\'',
        "echo it\\'s # don't",
    ],
)
def test_a_complete_command_is_closed(command: str):
    check_closed(command)
