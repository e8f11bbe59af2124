"""Tenants and API keys in SQLite (the protocols of `services.tenants` and `services.keys`)."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.core.access import SCHEDULES_MAX, ApiKey, Quotas, Scope, Tenant
from engine.core.errors import NO_KEY, NO_TENANT, ConfigError, Conflict, LimitReached, NotFound
from engine.core.notice import NOTICES
from engine.core.once import Record
from engine.core.revision import NOTHING, Condition, check_revision
from engine.store import answers
from engine.store.database import look
from engine.store.statements import statements
from engine.store.writer import Reader, Writer

SQL = statements()

STRANGERS_NAMED_MAX = 5
"""Tenants named in a refusal, which is one line."""


class SqliteTenants:
    """`services.tenants.TenantStore`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def put(self, name: str, quotas: Quotas, now_ms: int, *, if_match: Condition) -> Tenant:
        return await self._writer.submit(lambda db: put_tenant(db, name, quotas, now_ms, if_match))

    async def get(self, name: str) -> Tenant:
        return await self._reader.read(lambda db: get_tenant(db, name))

    async def page(self, *, limit: int, after_name: str) -> tuple[list[Tenant], str | None]:
        return await self._reader.read(lambda db: page_of_tenants(db, limit, after_name))

    async def delete(self, name: str, *, if_match: Condition) -> None:
        await self._writer.submit(lambda db: delete_tenant(db, name, if_match))


class SqliteKeys:
    """`services.keys.KeyStore`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def all(self) -> list[ApiKey]:
        return await self._reader.read(list_keys)

    async def add(self, key: ApiKey, record: Record[ApiKey] | None) -> None:
        def change(db: sqlite3.Connection) -> None:
            add_key(db, key)
            answers.keep(db, record, key)

        await self._writer.submit(change)

    async def remove(self, key_id: str) -> None:
        await self._writer.submit(lambda db: remove_key(db, key_id))

    async def mark_used(self, used: Mapping[str, int]) -> None:
        rows = [(at_ms, key_id) for key_id, at_ms in used.items()]
        await self._writer.submit(lambda db: db.executemany(SQL["mark_key_used"], rows).rowcount)


def refuse_strangers(path: Path, own: str) -> None:
    """Raises `ConfigError` when a journal without keys holds schedules of tenants but `own`.

    An engine would go on sending them, and nobody could see or stop them. The journal is left as
    it is.
    """
    with closing(look(path)) as db:
        tables = {name for name, _ in db.execute(SQL["list_schema"])}
        if "api_key" in tables and list_keys(db):
            return
        owners = [name for (name,) in db.execute(SQL["list_tenants_with_schedules"])]
    strangers = [name for name in owners if name != own]
    if not strangers:
        return
    named = ", ".join(strangers[:STRANGERS_NAMED_MAX])
    more = f" and {len(strangers) - STRANGERS_NAMED_MAX} more" * (
        len(strangers) > STRANGERS_NAMED_MAX
    )
    alone = f"--tenant {named}, or " if len(owners) == 1 else ""
    raise ConfigError(
        f"{path.parent} holds schedules of other tenants than {own} ({named}{more}), which an "
        f"engine without keys can neither show nor stop: start it with {alone}"
        "OFFBEAT_AUTH__ADMIN_KEY_FILE, which names a file with the first key"
    )


def count_new_schedule(db: sqlite3.Connection, tenant: str, name: str, now_ms: int) -> None:
    """Count a schedule that is about to be stored. Raises `LimitReached`, before any write.

    A tenant's notices are a schedule to the engine, and none of its own.
    """
    values = {
        "tenant": tenant,
        "now": now_ms,
        "counts": name != NOTICES,
        "default_max": SCHEDULES_MAX,
    }
    if db.execute(SQL["count_new_schedule"], values).rowcount == 0:
        quota = get_tenant(db, tenant).quotas.schedules_max
        most = SCHEDULES_MAX if quota is None else quota
        detail = f"schedules_max of this tenant is {most:,}: delete schedules, or ask for more"
        raise LimitReached("schedules_max", most, detail)


def count_deleted_schedule(db: sqlite3.Connection, tenant: str, name: str) -> None:
    """Count one less, if it counted."""
    db.execute(SQL["count_deleted_schedule"], {"tenant": tenant, "counts": name != NOTICES})


def put_tenant(
    db: sqlite3.Connection, name: str, quotas: Quotas, now_ms: int, if_match: Condition
) -> Tenant:
    """Make a tenant, or give one other quotas. Raises `PreconditionFailed`."""
    found = db.execute(SQL["get_tenant"], (name,)).fetchone()
    check_revision(if_match, NOTHING if found is None else _tenant(found).revision)
    values = {
        "name": name,
        "now": now_ms,
        "schedules_max": quotas.schedules_max,
        "interval_seconds_min": quotas.interval_seconds_min,
        "rate": quotas.rate,
    }
    (row,) = db.execute(SQL["put_tenant"], values).fetchall()
    return _tenant(row)


def get_tenant(db: sqlite3.Connection, name: str) -> Tenant:
    """One tenant. Raises `NotFound`."""
    row = db.execute(SQL["get_tenant"], (name,)).fetchone()
    if row is None:
        raise NotFound(NO_TENANT)
    return _tenant(row)


def page_of_tenants(
    db: sqlite3.Connection, limit: int, after_name: str
) -> tuple[list[Tenant], str | None]:
    """Tenants by name, those after `after_name`; and the name to go on after."""
    rows = db.execute(SQL["list_tenants"], {"after": after_name, "limit": limit + 1})
    found = [_tenant(row) for row in rows]
    return found[:limit], found[limit - 1].name if len(found) > limit else None


def delete_tenant(db: sqlite3.Connection, name: str, if_match: Condition) -> None:
    """Delete a tenant that has nothing. Raises `NotFound`, `Conflict`, `PreconditionFailed`."""
    check_revision(if_match, get_tenant(db, name).revision)
    (in_use,) = db.execute(SQL["is_tenant_in_use"], {"name": name}).fetchone()
    if in_use:
        raise Conflict(
            "delete the schedules and revoke the keys of this tenant first; "
            "it can go when the history of its runs has gone"
        )
    db.execute(SQL["delete_flows_of_tenant"], (name,))
    db.execute(SQL["delete_answers_of_tenant"], (name,))
    db.execute(SQL["delete_tenant"], (name,))


def list_keys(db: sqlite3.Connection) -> list[ApiKey]:
    """Every key, by id."""
    return [
        ApiKey(
            key_id=key_id,
            tenant=tenant,
            scope=Scope(scope),
            digest=digest,
            name=name,
            created_at_ms=created_at,
            last_used_at_ms=last_used_at,
        )
        for key_id, tenant, scope, digest, name, created_at, last_used_at in db.execute(
            SQL["list_keys"]
        )
    ]


def add_key(db: sqlite3.Connection, key: ApiKey) -> None:
    """Store a key. Raises `NotFound` when its tenant is not there."""
    values = {
        "id": key.key_id,
        "tenant": key.tenant,
        "scope": key.scope,
        "digest": key.digest,
        "key_name": key.name,
        "now": key.created_at_ms,
    }
    if not db.execute(SQL["insert_key"], values).rowcount:
        raise NotFound("there is no such tenant: make it first")


def remove_key(db: sqlite3.Connection, key_id: str) -> None:
    """Delete a key. Raises `NotFound`."""
    if not db.execute(SQL["delete_key"], (key_id,)).rowcount:
        raise NotFound(NO_KEY)


def _tenant(row: Sequence[Any]) -> Tenant:
    name, created_at, schedules, schedules_max, interval_seconds_min, rate, revision = row
    quotas = Quotas(
        schedules_max=schedules_max, interval_seconds_min=interval_seconds_min, rate=rate
    )
    return Tenant(
        name=name,
        quotas=quotas,
        schedules=schedules,
        created_at_ms=created_at,
        revision=revision,
    )
