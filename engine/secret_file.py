"""Secrets that an operator keeps in files: read only when nobody else can read them."""

import os
from pathlib import Path

from engine.core.access import KEY_RULE, ApiKey, Scope, digest_of, key_id_of
from engine.core.errors import ConfigError


def read_secret_file(path: Path, what: str) -> str:
    """The text of `path` without the space around it. Raises `ConfigError`; `what` is its name."""
    try:
        text = path.read_text("ascii").strip()
        status = path.stat()
    except (OSError, UnicodeDecodeError) as error:
        # Not the error's own text: that of a decoder shows a byte of the secret.
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII text"
        raise ConfigError(f"the {what} file {path} cannot be read: {reason}") from None
    if is_open_to_others(status):
        raise ConfigError(f"the {what} file {path} is open to others: chmod 600 {path}")
    return text


def is_open_to_others(status: os.stat_result) -> bool:
    """Whether more than its owner, and for a file of root's its group, may do anything with a file.

    So a service that is not root can be given root's files: systemd's credentials and the secrets
    of a pod with an `fsGroup` are 0440. PostgreSQL judges its private keys in the same way.
    """
    return bool(status.st_mode & (0o037 if status.st_uid == 0 else 0o077))


def read_admin_key(path: Path, tenant: str) -> ApiKey:
    """The operator's own key, which acts for `tenant`. Raises `ConfigError`."""
    text = read_secret_file(path, "admin key")
    key_id = key_id_of(text)
    if key_id is None:
        raise ConfigError(
            f"the admin key file {path} holds no key: {KEY_RULE}, as from: "
            'echo "obk_admin_$(openssl rand -hex 32)"'
        )
    return ApiKey(key_id=key_id, tenant=tenant, scope=Scope.ADMIN, digest=digest_of(text))
