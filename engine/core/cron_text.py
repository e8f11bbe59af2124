"""A cron expression as text: its length, its characters, its nickname, how many fields it has."""

import re

from engine.core.errors import Fault, Invalid

TEXT_LENGTH_MAX = 256
"""`cron`: judged before anything is parsed, since the parser shares the event loop."""

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def split_fields(text: str) -> list[str]:
    """The five or six fields' texts, a nickname expanded."""
    if len(text) > TEXT_LENGTH_MAX:
        raise _invalid(f"has {len(text)} characters; write at most {TEXT_LENGTH_MAX}")
    if odd := re.search(r"[^\t -~]", text):
        where = f"U+{ord(odd[0]):04X} at position {odd.start() + 1}"
        raise _invalid(f"holds {where}; write ASCII letters, digits and signs on one line")
    if re.match(r"\s*(CRON_)?TZ\s*=", text, re.ASCII | re.IGNORECASE):
        raise _invalid("names a time zone; leave the prefix out and write the zone as timezone")
    texts = text.split()
    if texts and texts[0].startswith("@"):
        return _expand_nickname(" ".join(texts).lower()).split()
    if len(texts) not in (5, 6):
        raise _invalid(
            f"has {len(texts)} fields; write 5 (minute hour day month weekday) or 6 (seconds first)"
            + ("; for years use start_at and end_at" if len(texts) > 6 else "")
        )
    return texts


def _expand_nickname(text: str) -> str:
    if text == "@reboot":
        raise _invalid("@reboot is no time: a schedule does not start with the engine")
    if text.startswith("@every"):
        raise _invalid("@every is an interval; write every, in seconds, instead of cron")
    if text not in NICKNAMES:
        raise _invalid(f"{text} is not known; write one of {' '.join(NICKNAMES)}")
    return NICKNAMES[text]


def _invalid(detail: str) -> Invalid:
    return Invalid(Fault("/cron", detail))
