"""Signing secrets: each tenant's active ones, and how one takes the place of another.

While two are active every delivery carries a signature by each, so a receiver that knows either
verifies all of them. Rotate, give receivers both, retire: at no instant, a crash included, is
anything signed without a secret that was shown before. What is in memory follows the journal, so a
secret never signs before it would survive a restart.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import structlog

from engine.core.identity import Signer, derive_secret
from engine.core.secret_versions import SecretVersions

SIGNERS_KEPT = 1_024
"""Tenants whose HMAC keys are kept ready; to make them again takes 5 us."""

log = structlog.get_logger("offbeat.secrets")


class SecretStore(Protocol):
    """Active versions on disk, of the tenants that ever rotated."""

    async def all(self) -> dict[str, SecretVersions]: ...

    async def change(
        self, tenant: str, change: Callable[[SecretVersions], SecretVersions]
    ) -> SecretVersions:
        """Read, change and store in one transaction; durable, and what it is now."""
        ...


class SigningSecrets:
    """The signing secrets of all tenants."""

    def __init__(self, store: SecretStore, master: bytes) -> None:
        self._store = store
        self._master = master
        self._versions: dict[str, SecretVersions] = {}
        self.signer = lru_cache(SIGNERS_KEPT)(self._signer)
        """The signer of a tenant, with all its active secrets; asked for each attempt."""

    async def load(self) -> None:
        """Read which are active."""
        self._versions = await self._store.all()

    def of(self, tenant: str) -> "TenantSecrets":
        """One tenant's."""
        return TenantSecrets(self, tenant)

    def active(self, tenant: str) -> list[str]:
        """Newest first."""
        versions = self._versions.get(tenant, SecretVersions())
        return [derive_secret(self._master, tenant, version) for version in versions.active]

    async def change(
        self, tenant: str, change: Callable[[SecretVersions], SecretVersions]
    ) -> SecretVersions:
        """Store a change of a tenant's versions; the next attempt is signed by it."""
        versions = self._versions[tenant] = await self._store.change(tenant, change)
        self.signer.cache_clear()
        return versions

    def _signer(self, tenant: str) -> Signer:
        return Signer(self.active(tenant))


class TenantSecrets:
    """One tenant's signing secrets."""

    def __init__(self, secrets: SigningSecrets, tenant: str) -> None:
        self._secrets = secrets
        self._tenant = tenant

    @property
    def active(self) -> list[str]:
        """`whsec_` texts, newest first: two while they rotate."""
        return self._secrets.active(self._tenant)

    async def rotate(self) -> None:
        """Sign with a new secret, too. Raises `Conflict` while two are active."""
        versions = await self._secrets.change(self._tenant, SecretVersions.rotated)
        log.info("secret_rotated", tenant=self._tenant, version=versions.newest)

    async def retire(self) -> None:
        """Sign with the newer one alone. Raises `Conflict` when there is but one."""
        versions = await self._secrets.change(self._tenant, SecretVersions.retired)
        log.info("secret_retired", tenant=self._tenant, version=versions.newest - 1)
