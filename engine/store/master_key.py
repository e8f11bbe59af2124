"""The node's master key: a file of 0600, made at the first start and never replaced.

Every signing secret is derived from it (SPEC §7). A journal whose key is gone is refused: a fresh
key would sign with secrets that no receiver knows, and say nothing about it.
"""

import os
import secrets
import stat
from pathlib import Path

from engine.core.errors import ConfigError, StoreRefused

KEY_NAME = "master.key"
KEY_BYTES = 32
"""As long as the HMAC-SHA256 output that is derived from it (RFC 2104 §3)."""


def read_master_key(path: Path) -> bytes:
    """The key in an operator's file: 64 hexadecimal digits. Raises `ConfigError`."""
    try:
        text = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the master key file {path} cannot be read: {error}") from None
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ConfigError(f"the master key file {path} is open to others: chmod 600 {path}")
    return _key(text, path)


def own_master_key(directory: Path, *, is_new: bool) -> bytes:
    """The data directory's own key, made when the directory is new.

    Raises `StoreRefused` when the journal is there and its key is not.
    """
    path = directory / KEY_NAME
    if not path.exists():
        if not is_new:
            raise StoreRefused(
                f"{path} is missing beside its journal: restore it from a backup, or name the key "
                "with OFFBEAT_MASTER_KEY_FILE"
            )
        _make(path)
    return read_master_key(path)


def _make(path: Path) -> None:
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _key(text: str, path: Path) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(
            f"the master key file {path} must hold {2 * KEY_BYTES} hexadecimal digits"
        )
    return key
