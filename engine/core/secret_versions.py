"""Which of a tenant's signing secrets are active: one, or two while one takes the place of another.

A secret is made from the master key and a version (`identity.derive_secret`), so a version is all
that a rotation stores. Versions are never given twice: what was retired, perhaps because it had
leaked, does not come back.
"""

from dataclasses import dataclass

from engine.core.errors import Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretVersions:
    """The active versions, `oldest` to `newest`: one or two."""

    oldest: int = 1
    newest: int = 1

    @property
    def active(self) -> range:
        """Newest first."""
        return range(self.newest, self.oldest - 1, -1)

    def rotated(self) -> "SecretVersions":
        """With a newer one beside the one that was. Raises `Conflict` while there are two."""
        if self.newest > self.oldest:
            raise Conflict(
                "two signing secrets are active: give receivers the newer one, retire the older "
                "(POST /v1/secrets:retire, offbeat secrets retire), then rotate"
            )
        return SecretVersions(oldest=self.oldest, newest=self.newest + 1)

    def retired(self) -> "SecretVersions":
        """With the newer one alone. Raises `Conflict` when there is but one."""
        if self.newest == self.oldest:
            raise Conflict(
                "one signing secret is active, and deliveries need it: rotate first "
                "(POST /v1/secrets:rotate, offbeat secrets rotate)"
            )
        return SecretVersions(oldest=self.newest, newest=self.newest)
