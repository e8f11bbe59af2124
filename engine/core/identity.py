"""Who a run is, when it may fire and how a receiver knows it is ours: offbeat-v1 (SPEC §2, §7).

Everything here is a pure function of what a receiver can know, and this is the only place where
it is computed. A receiver may import or copy this one file: it needs the standard library and
nothing else, so `(schedule, scheduled_for)` gives offset, key and signature without asking the
engine.

One primitive, SHA-256, reduced modulo a range. The bias of `uint64 mod n` is below n / 2**64, far
under what could be measured. Python's `hash()` and `random` differ between processes and play no
part.

Sources: RFC 3339 (instants), RFC 4648 §7 (base32hex), RFC 2104 (HMAC), Standard Webhooks 1.0
(`webhook-id`, `webhook-timestamp`, `webhook-signature`, `whsec_` secrets).
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

SECRET_PREFIX = "whsec_"  # noqa: S105 - the public mark of a secret (Standard Webhooks).

SECRET_BYTES_MIN = 24
"""What Standard Webhooks asks of a secret; the engine's have 32. A shorter one can be guessed, and
that of a variable that nobody set has none at all: with it anybody could sign."""

MAX_INSTANT_MS = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: RFC 3339 writes years with four digits."""

MAX_DEFAULT_JITTER_SECONDS = 60
"""A default must not surprise: a job on the hour still runs within its minute."""

_BASE32HEX = "0123456789abcdefghijklmnopqrstuv"
_BASE32HEX_PAIRS = [first + second for first in _BASE32HEX for second in _BASE32HEX]
_PAIR_SHIFTS = range(120, -1, -10)
# Two digits at a time: a batch makes 100,000 ids, and the codec of base64 takes 5 us for each.

WEBHOOK_TOLERANCE_SECONDS = 300
"""How far a webhook's timestamp may be from the receiver's clock (Standard Webhooks)."""


def schedule_id(tenant: str, name: str) -> str:
    """The id of a tenant's schedule: `sch_` and 26 characters of base32hex, the same for ever."""
    bits = int.from_bytes(_sha256(f"{tenant}\0{name}")[:16]) << 2  # 130: 26 digits of five.
    return "sch_" + "".join([_BASE32HEX_PAIRS[bits >> shift & 1023] for shift in _PAIR_SHIFTS])


def jitter_offset_ms(schedule_id: str, jitter_seconds: int, *, subsecond: bool = True) -> int:
    """Milliseconds from `scheduled_for` to `fire_after`: 0 <= offset < `jitter_seconds` * 1000.

    `subsecond` adds the millisecond phase, without which a herd would become sixty small ones.
    """
    if jitter_seconds == 0:
        return 0
    digest = _sha256(schedule_id)
    offset_seconds = int.from_bytes(digest[:8]) % jitter_seconds
    phase_ms = int.from_bytes(digest[8:12]) % 1000 if subsecond else 0
    return offset_seconds * 1000 + phase_ms


def default_jitter_seconds(
    *, lands_on_hour: bool, interval_seconds: int | None, deadline_seconds: int | None
) -> int:
    """The jitter of a schedule that names none: a tenth of its interval, a minute at most.

    `interval_seconds` is None for a trigger that fires once; `deadline_seconds` None: no deadline.
    """
    if not lands_on_hour or interval_seconds is None:
        return 0
    jitter = min(MAX_DEFAULT_JITTER_SECONDS, interval_seconds // 10)
    return jitter if deadline_seconds is None else min(jitter, deadline_seconds)


def hashed_field(schedule_id: str, field: str, low: int, high: int) -> int:
    """What `H` means in a cron field (`second` .. `weekday`): a value in `low..high`, inclusive."""
    digest = _sha256(f"{schedule_id}/{field}")
    return low + int.from_bytes(digest[:4]) % (high - low + 1)


def format_instant(ms: int) -> str:
    """An instant (0 to `MAX_INSTANT_MS`) as RFC 3339 in UTC; three decimals unless they are 000."""
    second, thousandths = divmod(ms, 1000)
    text = _second_text(second)
    return f"{text}.{thousandths:03}Z" if thousandths else text + "Z"


def parse_instant(text: str) -> int:
    """Read RFC 3339 with an offset or `Z`, from 1970 to 9999 and to the millisecond.

    Raises ValueError with a sentence for a person. Decimals past the third must be 0: an instant
    is never rounded, since its key is made from it.
    """
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text[:40]!r} is not an instant; write it like 2026-11-30T12:00:00Z"
            " or 2026-11-30T13:00:00+01:00"
        )
    fraction = match["fraction"] or ""
    if fraction[3:].strip("0"):
        raise ValueError(f"{text[:40]!r} is finer than a millisecond; keep three decimals")
    if match["second"] == "60":
        raise ValueError(f"{text[:40]!r} is a leap second, which Unix time cannot name; write :59")
    ms = _epoch_ms(text, match) + int(fraction[:3].ljust(3, "0"))
    if not 0 <= ms <= MAX_INSTANT_MS:
        raise ValueError(f"{text[:40]!r} is outside the years 1970 to 9999 in UTC")
    return ms


def idempotency_key(schedule_id: str, scheduled_for_ms: int) -> str:
    """The key that every attempt of one occurrence carries: 64 hexadecimal digits."""
    return hashlib.sha256((schedule_id + format_instant(scheduled_for_ms)).encode()).hexdigest()


def unit_u53(key: str, attempt: int, purpose: str = "retry") -> int:
    """A number of 53 bits that is as good as random, the same at every call.

    Multiply and shift right by 53 for a share of a whole number, with no rounding anywhere.
    """
    return int.from_bytes(_sha256(f"{key}|{attempt}|{purpose}")[:8]) >> 11


def derive_secret(master: bytes, tenant: str, version: int) -> str:
    """The tenant's signing secret number `version`, from the node's master key."""
    key = hmac.digest(master, f"signing|{tenant}|{version}".encode(), "sha256")
    return SECRET_PREFIX + b64encode(key).decode()


class Signer:
    """Signs with every active secret of a tenant, each key set up once and copied per message."""

    __slots__ = ("_keyed",)

    def __init__(self, secrets: Sequence[str]) -> None:
        """`secrets`: `whsec_` texts, newest first. ValueError if one cannot be read."""
        self._keyed = [hmac.new(_secret_key(secret), digestmod="sha256") for secret in secrets]

    def webhook_signature(self, webhook_id: str, timestamp_s: int, body: bytes) -> str:
        """`webhook-signature` of one attempt made at `timestamp_s` (Unix seconds)."""
        message = f"{webhook_id}.{timestamp_s}.".encode() + body
        return " ".join(["v1," + b64encode(mac).decode() for mac in self._macs(message)])

    def scheduler_signature(self, schedule_id: str, scheduled_for: str, body: bytes) -> str:
        """`X-Scheduler-Signature` of an occurrence; `scheduled_for` as `format_instant` writes."""
        message = f"{schedule_id}.{scheduled_for}.".encode() + body
        return " ".join(["v1=" + mac.hex() for mac in self._macs(message)])

    def _macs(self, message: bytes) -> list[bytes]:
        macs = []
        for keyed in self._keyed:
            mac = keyed.copy()
            mac.update(message)
            macs.append(mac.digest())
        return macs


def verify_webhook(
    secrets: Sequence[str],
    *,
    webhook_id: str,
    timestamp: str,
    body: bytes,
    signature: str,
    now_s: int,
    tolerance_seconds: int = WEBHOOK_TOLERANCE_SECONDS,
) -> bool:
    """Whether an attempt is signed by one of `secrets` and fresh at `now_s`.

    The texts are the headers `webhook-id`, `webhook-timestamp`, `webhook-signature` as received.
    """
    if not _UNIX_SECONDS.fullmatch(timestamp):
        return False
    timestamp_s = int(timestamp)
    if abs(now_s - timestamp_s) > tolerance_seconds:
        return False
    expected = Signer(secrets).webhook_signature(webhook_id, timestamp_s, body)
    return _one_matches(expected, signature)


def verify_scheduler(
    secrets: Sequence[str], *, schedule_id: str, scheduled_for: str, body: bytes, signature: str
) -> bool:
    """Whether an occurrence is signed by one of `secrets`. It says nothing of freshness.

    The texts are the headers `X-Schedule-Id`, `X-Scheduled-For`, `X-Scheduler-Signature`.
    """
    expected = Signer(secrets).scheduler_signature(schedule_id, scheduled_for, body)
    return _one_matches(expected, signature)


_RFC_3339 = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt](?P<minute>\d\d:\d\d):(?P<second>\d\d)(\.(?P<fraction>\d+))?"
    r"([Zz]|(?P<sign>[+-])(?P<offset_hours>\d\d):(?P<offset_minutes>\d\d))",
    re.ASCII,
)
_UNIX_SECONDS = re.compile(r"0|[1-9][0-9]{0,11}")  # One spelling each, so the signed text is kept.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# A herd shares its second, and the jittered instants after it share a few hundred: nearly every
# call finds its text made. 4,096 of them take half a megabyte.
@lru_cache(maxsize=4096)
def _second_text(second: int) -> str:
    if not 0 <= second <= MAX_INSTANT_MS // 1000:
        raise ValueError(f"{second} s since 1970 is outside the years 1970 to 9999")
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:19]


def _epoch_ms(text: str, match: re.Match[str]) -> int:
    """The whole seconds of a well-formed instant, as milliseconds since the epoch."""
    try:
        offset = _offset(match)
        wall = datetime.fromisoformat(f"{match['date']}T{match['minute']}:{match['second']}")
    except ValueError as error:
        raise ValueError(f"{text[:40]!r} names no instant: {error}") from None
    return (wall.replace(tzinfo=offset) - _EPOCH) // timedelta(milliseconds=1)


def _offset(match: re.Match[str]) -> timezone:
    if match["sign"] is None:
        return UTC
    hours, minutes = int(match["offset_hours"]), int(match["offset_minutes"])
    if hours > 23 or minutes > 59:
        raise ValueError("an offset ends at 23:59")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if match["sign"] == "-" else offset)


def _secret_key(secret: str) -> bytes:
    # The sentence must not quote what it complains of.
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError(f"a signing secret starts with {SECRET_PREFIX}")
    try:
        key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        raise ValueError(f"what follows {SECRET_PREFIX} in a signing secret is base64") from None
    if len(key) < SECRET_BYTES_MIN:
        raise ValueError(
            f"a signing secret is base64 of {SECRET_BYTES_MIN} bytes or more, and this one of"
            f" {len(key)}; copy it whole, as offbeat secrets prints it"
        )
    return key


def _one_matches(expected: str, received: str) -> bool:
    """Compare every pair in constant time; either side may hold several signatures."""
    candidates = [text.encode(errors="replace") for text in received.split(" ")]
    wanted = [text.encode() for text in expected.split(" ") if text]
    return any(hmac.compare_digest(w, c) for w in wanted for c in candidates)
