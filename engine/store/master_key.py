"""The node's master key: a file of 0600, made at the first start and never replaced.

Every signing secret is derived from it (SPEC §7). A journal whose key is gone is refused, and so is
one with another key: either would sign with secrets that no receiver knows, and say nothing about
it. So the journal keeps a fingerprint of its key, from which the key cannot be found.
"""

import hashlib
import hmac
import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from engine.core.errors import ConfigError, StoreRefused
from engine.secret_file import read_secret_file
from engine.store.database import look, refusing
from engine.store.statements import statements

SQL = statements()

KEY_NAME = "master.key"
KEY_BYTES = 32
"""As long as the HMAC-SHA256 output that is derived from it (RFC 2104 §3)."""

FINGERPRINT_DIGITS = 16
"""Hexadecimal: enough to tell keys apart, and nothing to search a key of 256 bits with."""


def master_key(database: Path, file: Path | None, *, is_new: bool) -> bytes:
    """The key in the operator's file, or else the data directory's own; no other than before.

    Raises `ConfigError`, `StoreRefused`; the journal is left as it is.
    """
    key = read_master_key(file) if file else own_master_key(database.parent, is_new=is_new)
    if not is_new:
        _refuse_other_key(database, key)
    return key


def read_master_key(path: Path) -> bytes:
    """The key in an operator's file: 64 hexadecimal digits. Raises `ConfigError`."""
    return _key(read_secret_file(path, "master key"), path)


def remember_key(database: Path, key: bytes) -> None:
    """Keep the fingerprint in a journal that has none. Raises `StoreBusy` at once."""
    with refusing(database), closing(sqlite3.connect(database, timeout=0)) as db, db:
        db.execute(SQL["keep_key_fingerprint"], (_fingerprint(key),))


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
        with refusing(path):
            _make(path)
    return read_master_key(path)


def _refuse_other_key(database: Path, key: bytes) -> None:
    with closing(look(database)) as db:
        # One of before schema 6 knows no key yet.
        knows = any(name == "master_key" for name, _ in db.execute(SQL["list_schema"]))
        known = db.execute(SQL["get_key_fingerprint"]).fetchone() if knows else None
    if known is not None and known[0] != _fingerprint(key):
        raise StoreRefused(
            f"{database} was begun with another master key, and receivers know its secrets alone: "
            "restore that key (docs/how-to-master-key.md says what to do when it is lost)"
        )


def _fingerprint(key: bytes) -> str:
    return hmac.new(key, b"fingerprint", hashlib.sha256).hexdigest()[:FINGERPRINT_DIGITS]


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
