"""The lines of a crontab, as crond takes them apart; what they mean is for `crontab` to say.

Vixie's and cronie's grammar (crontab(5), `load_env` and `load_entry`): blanks before a line do not
matter, a variable is NAME = value with quotes around either, a job is five fields or a nickname, a
user in system crontabs, and the rest of the line. An unescaped `%` ends the command, whatever
quotes surround it; what follows is its standard input, line by line. Also read are what other
crons write: CRLF, a last line without an end, and the `-` of SUSE and systemd-cron before the
minute, which only silences a log.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job; `variables` are those set above it. `stdin` None: no unescaped `%`."""

    line: int
    cron: str
    user: str | None
    command: str
    stdin: str | None
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A variable."""

    line: int
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A line that is none of these, and why."""

    line: int
    reason: str


Line = Job | Setting | Unread


def read_lines(content: bytes, *, system: bool) -> Iterator[Line]:
    """The lines that say something, in their order. `system`: jobs have a user column."""
    variables: dict[str, str] = {}
    for number, raw in enumerate(content.split(b"\n"), start=1):
        try:
            text = raw.decode("utf-8").removeprefix("\ufeff").strip(_BLANKS + "\r")
        except UnicodeDecodeError:
            yield Unread(line=number, reason="not UTF-8")
            continue
        if not text or text.startswith("#"):
            continue
        if "\0" in text:
            yield Unread(line=number, reason="holds a NUL character")
        elif match := _SETTING.fullmatch(text):
            setting = Setting(line=number, name=_name(match), value=_unquote(match["value"]))
            variables[setting.name] = setting.value
            yield setting
        else:
            yield _read_job(number, text, system=system, variables=dict(variables))


# Nothing else separates words for cron, no-break spaces least of all.
_BLANKS = " \t"
_SETTING = re.compile(
    r"""(?: "(?P<double>[^"]+)" | '(?P<single>[^']+)' | (?P<bare>[^\s="']+) )
        \s* = \s* (?P<value>.*)""",
    re.VERBOSE,
)


def _name(match: re.Match[str]) -> str:
    return match["double"] or match["single"] or match["bare"]


def _unquote(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _read_job(number: int, text: str, *, system: bool, variables: Mapping[str, str]) -> Line:
    text = text.removeprefix("-")
    times = 1 if text.startswith("@") else 5
    fields = times + 1 if system else times
    words = re.split(f"[{_BLANKS}]+", text, maxsplit=fields)
    if len(words) <= fields:
        return Unread(line=number, reason=_shortage(len(words), times))
    command, stdin = _split_percent(words[fields])
    return Job(
        line=number,
        cron=" ".join(words[:times]),
        user=words[times] if system else None,
        command=command.rstrip(_BLANKS),
        stdin=stdin,
        variables=variables,
    )


def _shortage(words: int, times: int) -> str:
    if words < times:
        return "neither a variable (NAME=value) nor a job (five fields and a command)"
    return "no command after the times" if words == times else "no command after the user"


def _split_percent(text: str) -> tuple[str, str | None]:
    r"""The command and its standard input. `\%` is a percent sign; other backslashes stay."""
    # A NUL cannot be in a job, so it can mark where crond cuts.
    marked = _ESCAPED_OR_PERCENT.sub(lambda match: "\0" if match[0] == "%" else match[0], text)
    command, *lines = (piece.replace("\\%", "%") for piece in marked.split("\0"))
    if not lines:
        return command, None
    stdin = "\n".join(lines)
    return command, stdin if not stdin or stdin.endswith("\n") else f"{stdin}\n"


_ESCAPED_OR_PERCENT = re.compile(r"\\.|%")
