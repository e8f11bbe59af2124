"""API keys: who is asking, and how often they may.

All keys are in memory, so a request costs a look-up and a hash and no read of the journal, and a
key that was revoked is unknown from the next request on. When a key was last used is rounded down
to `LAST_USE_GRAIN_MS` and written that often at most.
"""

import asyncio
import hmac
import secrets
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import structlog

from engine.clock import Clock
from engine.core.access import (
    KEY_RANDOM_BYTES,
    ApiKey,
    Scope,
    digest_of,
    is_key,
    key_id_of,
    mint_key,
)
from engine.core.bucket import TokenBucket
from engine.core.errors import NO_KEY, Conflict, LimitReached, NotFound, OffbeatError, Unavailable
from engine.core.once import Once, Record

KEYS_MAX = 10_000
"""Keys in memory: a few megabytes, and more than tenants that one node can serve."""

REQUESTS_PER_SECOND = 100
"""Requests of one key. A request takes a millisecond of the loop that also sends webhooks, so that
one key cannot take more than a tenth of it; many schedules go into one request,
`schedules:batch`."""

REQUESTS_BURST = 500
"""Requests of a key that was quiet: a deployment that puts its schedules one by one."""

LAST_USE_GRAIN_MS = 10 * 60_000
"""Precise enough to see that a key is still in use, and six writes an hour at most."""

log = structlog.get_logger("offbeat.keys")


class KeyStore(Protocol):
    """Keys on disk. A write is durable."""

    async def all(self) -> list[ApiKey]: ...

    async def add(self, key: ApiKey, record: Record[ApiKey] | None) -> None:
        """Raises `NotFound` when its tenant is not there."""
        ...

    async def remove(self, key_id: str) -> None: ...

    async def mark_used(self, used: Mapping[str, int]) -> None:
        """Instants by key id; a key that is gone is passed over."""
        ...


class Keys:
    """All keys of one engine."""

    def __init__(
        self, clock: Clock, store: KeyStore, *, of_file: ApiKey | None, master: bytes
    ) -> None:
        """`of_file`: the operator's own key; it is nowhere but in its file and here.

        `master`: the node's master key, with which a key that was asked for once is computed again.
        """
        self._clock = clock
        self._store = store
        self._of_file = of_file
        self._master = master
        self._keys: dict[str, ApiKey] = {}
        self._buckets: dict[str, TokenBucket] = {}
        self._used: dict[str, int] = {}
        self.required = False

    async def load(self) -> None:
        """Read the keys. `required` says for this life whether there are any."""
        self._keys = {key.key_id: key for key in await self._store.all()}
        self.required = bool(self._keys or self._of_file)

    def find(self, text: str) -> ApiKey | None:
        """The key with this text, if there is one and it was not revoked."""
        key_id = key_id_of(text)
        if key_id is None:
            return None
        for key in (self._of_file, self._keys.get(key_id)):
            if key is not None and key.key_id == key_id and is_key(key, text):
                self._note_use(key)
                return key
        return None

    def knows(self, key: ApiKey) -> bool:
        """Whether a key that was found is still one: it may have been revoked since."""
        return key is self._of_file or key.key_id in self._keys

    def wait_ms(self, key: ApiKey) -> int:
        """Count a request of a key: 0, or how long it has to wait for the next."""
        now_ms = self._clock.monotonic_ms()
        bucket = self._buckets.get(key.key_id)
        if bucket is None:
            # Buckets begin empty; nobody is made to wait for the first request.
            full_since_ms = now_ms - 1_000 * REQUESTS_BURST // REQUESTS_PER_SECOND
            bucket = TokenBucket(REQUESTS_PER_SECOND, REQUESTS_BURST, full_since_ms)
            self._buckets[key.key_id] = bucket
        return 0 if bucket.reserve(now_ms, 1) else bucket.wait_ms(now_ms, 1)

    async def create(
        self,
        *,
        tenant: str,
        scope: Scope,
        name: str | None,
        record: Record[ApiKey] | None = None,
    ) -> tuple[ApiKey, str]:
        """A new key and its text. Raises `NotFound`.

        The text is never to be had again, except by the request of `record`: `text_of`.
        """
        if not self.required:
            raise Conflict(
                "this engine runs without keys: start it with OFFBEAT_AUTH__ADMIN_KEY_FILE, which "
                "names a file with the first one"
            )
        if len(self._keys) >= KEYS_MAX:
            raise LimitReached("keys_max", KEYS_MAX, f"there are {KEYS_MAX:,} keys: revoke some")
        now_ms = self._clock.now_ms() if record is None else record.now_ms
        if record is None:
            text = mint_key(secrets.token_bytes(KEY_RANDOM_BYTES))
        else:
            text = self.text_of(record.once, now_ms)
        key_id = key_id_of(text)
        assert key_id is not None, "what was minted is a key"
        key = ApiKey(
            key_id=key_id,
            tenant=tenant,
            scope=scope,
            digest=digest_of(text),
            name=name,
            created_at_ms=now_ms,
        )
        await self._store.add(key, record)
        self._keys[key_id] = key
        log.info("key_created", key=key_id, tenant=tenant, scope=scope)
        return key, text

    def text_of(self, once: Once, created_at_ms: int) -> str:
        """The text of the key that this request made at that instant, which is kept nowhere.

        From the master key, so that nobody else can compute it. The instant keeps apart what one
        client calls by one name on two days.
        """
        made = f"api-key|{once.tenant}|{created_at_ms}|{once.key}".encode()
        return mint_key(hmac.digest(self._master, made, "sha256")[:KEY_RANDOM_BYTES])

    def text_again(self, once: Once, created_at_ms: int) -> str:
        """The same for who asks once more. Raises `Conflict` when it was revoked since."""
        text = self.text_of(once, created_at_ms)
        if key_id_of(text) not in self._keys:
            raise Conflict(
                "the key that this request made was revoked: send it under another Idempotency-Key"
            )
        return text

    def page(self, *, limit: int, after_id: str | None) -> tuple[list[ApiKey], str | None]:
        """Up to `limit` keys by id, and the id after which to go on; not the file's own."""
        ids = sorted(self._keys)
        begin = bisect_right(ids, after_id or "")
        page = [self._keys[key_id] for key_id in ids[begin : begin + limit]]
        return page, page[-1].key_id if len(ids) > begin + limit else None

    async def revoke(self, key_id: str) -> None:
        """Forget a key at once. Raises `NotFound`; `Conflict` for the last way in."""
        key = self._keys.get(key_id)
        if key is None:
            raise NotFound(NO_KEY)
        admins = sum(key.scope is Scope.ADMIN for key in self._keys.values())
        if key.scope is Scope.ADMIN and admins == 1 and self._of_file is None:
            raise Conflict("this is the last admin key: create another one first")
        # Before it is written: of two calls at once one sees what the other leaves.
        del self._keys[key_id]
        try:
            await self._store.remove(key_id)
        except OffbeatError:  # It is on disk, and would be back with the next start.
            self._keys[key_id] = key
            raise
        self._buckets.pop(key_id, None)
        self._used.pop(key_id, None)
        log.info("key_revoked", key=key_id, tenant=key.tenant)

    async def run(self) -> None:
        """Write down from time to time when keys were used."""
        while True:
            await asyncio.sleep(LAST_USE_GRAIN_MS / 1_000)
            with suppress(Unavailable):  # The next round tries again.
                await self.run_once()

    async def run_once(self) -> None:
        if self._used:
            used = dict(self._used)
            await self._store.mark_used(used)
            self._used = {k: at for k, at in self._used.items() if used.get(k) != at}

    def _note_use(self, key: ApiKey) -> None:
        now_ms = self._clock.now_ms()
        # Rounded down, but not to before there was a key.
        used_ms = max(now_ms - now_ms % LAST_USE_GRAIN_MS, key.created_at_ms)
        if key is not self._of_file and key.last_used_at_ms != used_ms:
            self._keys[key.key_id] = replace(key, last_used_at_ms=used_ms)
            self._used[key.key_id] = used_ms
