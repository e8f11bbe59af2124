"""Versions of signing secrets in SQLite (the protocol of `services.signing_secrets`)."""

import sqlite3
from collections.abc import Callable

from engine.core.secret_versions import SecretVersions
from engine.store.statements import statements
from engine.store.writer import Reader, Writer

SQL = statements()


class SqliteSecrets:
    """`services.signing_secrets.SecretStore`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def all(self) -> dict[str, SecretVersions]:
        return await self._reader.read(list_versions)

    async def change(
        self, tenant: str, change: Callable[[SecretVersions], SecretVersions]
    ) -> SecretVersions:
        return await self._writer.submit(lambda db: change_versions(db, tenant, change))


def list_versions(db: sqlite3.Connection) -> dict[str, SecretVersions]:
    """By tenant."""
    return {
        tenant: SecretVersions(oldest=oldest, newest=newest)
        for tenant, oldest, newest in db.execute(SQL["list_secret_versions"])
    }


def change_versions(
    db: sqlite3.Connection, tenant: str, change: Callable[[SecretVersions], SecretVersions]
) -> SecretVersions:
    """Change a tenant's versions; what `change` raises leaves them as they are."""
    row = db.execute(SQL["get_secret_versions"], (tenant,)).fetchone()
    changed = change(SecretVersions(oldest=row[0], newest=row[1]) if row else SecretVersions())
    values = {"tenant": tenant, "oldest": changed.oldest, "newest": changed.newest}
    db.execute(SQL["put_secret_versions"], values)
    return changed
