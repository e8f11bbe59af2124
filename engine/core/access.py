"""API keys and what they allow: the text of a key, scopes, and a tenant's quotas (SPEC §10, §11).

A key reads `obk_<id>_<secret>`. The id is public: it finds the key, and it is what lists and logs
show. The secret is random and is kept as its SHA-256 alone. A password would need a slow hash with
salt, since people choose few of them; nobody can try 2^128 secrets, however fast each try is, so a
fast hash gives nothing away and costs a request a microsecond.
"""

import hashlib
import hmac
import re
from base64 import b32encode
from dataclasses import dataclass, field
from enum import StrEnum

KEY_RULE = (
    "write obk_ID_SECRET: an id of 1 to 32 lower-case letters and digits, a secret of 32 to 128 "
    "letters and digits from a random source (of 128 bits at least)"
)
_KEY = re.compile(r"obk_([a-z0-9]{1,32})_([A-Za-z0-9]{32,128})", re.ASCII)

KEY_LENGTH_MAX = 256
"""Longer than any key: what is longer is not compared."""

_ID_BYTES = 10
_SECRET_BYTES = 20
KEY_RANDOM_BYTES = _ID_BYTES + _SECRET_BYTES
"""Random bytes in a new key: an id of 80 bits, which never meets another, a secret of 160."""

TENANT_LENGTH_MAX = 128
TENANT_RULE = (
    f"write a tenant's name of 1 to {TENANT_LENGTH_MAX} letters, digits, dots, hyphens and "
    "underscores, starting with a letter or digit"
)
# The grammar of schedule names: the id hashes both, and both stand in URLs and logs.
TENANT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")

SCHEDULES_MAX = 1_000_000
"""Schedules of a tenant without a quota of its own: what one node is built for."""

INTERVAL_SECONDS_MIN = 1
"""Least interval of a tenant without a quota of its own: the grain of timetables."""


class Scope(StrEnum):
    """What a key may do; each includes the one before.

    Read sees the tenant's own, write changes it, admin also makes tenants and keys and sees the
    node's figures. An admin's schedules are its own tenant's, as everybody's.
    """

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def allows(self, needed: "Scope") -> bool:
        """Whether what needs the scope `needed` may be done with this one."""
        return _ORDER[self] >= _ORDER[needed]


_ORDER = {scope: place for place, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key without its secret. `last_used_at_ms` is coarse; None: never."""

    key_id: str
    tenant: str
    scope: Scope
    digest: bytes = field(repr=False)
    name: str | None = None
    created_at_ms: int = 0
    last_used_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """What a tenant may have; None: the default above, for the rate no limit but its fair share.

    `rate`: attempts that it may start in a second.
    """

    schedules_max: int | None = None
    interval_seconds_min: int | None = None
    rate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A tenant; `schedules` is how many it has, `revision` that of its quotas."""

    name: str
    quotas: Quotas = Quotas()
    schedules: int = 0
    created_at_ms: int = 0
    revision: int = 1


def is_tenant_name(text: str) -> bool:
    """Whether a tenant may have this name; `TENANT_RULE` says which."""
    return TENANT_NAME.fullmatch(text) is not None


def mint_key(randomness: bytes) -> str:
    """The text of a new key, from `KEY_RANDOM_BYTES` of the system's randomness."""
    assert len(randomness) == KEY_RANDOM_BYTES, "a key with less is not safe"
    key_id, secret = randomness[:_ID_BYTES], randomness[_ID_BYTES:]
    return f"obk_{_letters(key_id)}_{_letters(secret)}"


def key_id_of(text: str) -> str | None:
    """The id in the text of a key; None: that is no key."""
    found = _KEY.fullmatch(text) if len(text) <= KEY_LENGTH_MAX else None
    return found and found[1]


def digest_of(text: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(text.encode()).digest()


def is_key(key: ApiKey, text: str) -> bool:
    """Whether this is the key's text, in a time that does not tell how much of it is right."""
    return hmac.compare_digest(key.digest, digest_of(text))


def _letters(data: bytes) -> str:
    return b32encode(data).decode().lower()
