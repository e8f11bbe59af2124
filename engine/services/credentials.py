"""Credentials in headers, encrypted while they are stored: AES-SIV (RFC 5297), with `cryptography`.

A target's identity is its content, so equal credentials must become equal bytes. SIV is made for
that: it needs no nonce, and tells no more than that two values of one tenant, header and origin
are equal. What is sealed is bound to these: copied into another tenant's target, or into one that
goes to another scheme, host or port, it does not open.

The key is derived from the master key with a label of its own: a journal or a backup without that
key tells nothing but names and lengths. Without the package a credential is refused, never stored.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from engine.core.credentials import MASK, credentials_of, origin
from engine.core.errors import ConfigError, Fault
from engine.core.fields import member_pointer
from engine.core.model import Target

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
except ImportError:
    IS_AVAILABLE = False
else:
    IS_AVAILABLE = True


class Credentials:
    """Seals what is written and opens what is sent."""

    def __init__(self, master: bytes) -> None:
        key = hmac.digest(master, b"header credentials", "sha512")
        self._cipher = AESSIV(key) if IS_AVAILABLE else None

    async def check(self, are_stored: Callable[[], Awaitable[bool]]) -> None:
        """Raise `ConfigError` where sealed ones are stored and there is nothing to open them."""
        if self._cipher is None and await are_stored():
            raise ConfigError(
                "credentials of targets are stored encrypted here: install offbeat[encryption]"
            )

    def faults(self, target: Target) -> Iterator[Fault]:
        """Why a target's credentials cannot be stored here."""
        if self._cipher is None:
            for name, _ in credentials_of(target):
                yield Fault(
                    member_pointer("/target/headers", name),
                    "credentials are stored encrypted or not at all: install offbeat[encryption] "
                    "beside the engine, or leave it out and verify webhook-signature instead",
                )

    def seal(self, tenant: str, target: Target) -> Target:
        """The target with its credentials sealed; one without any is itself."""
        sealed = tuple(
            (name, self._seal(_binding(tenant, name, target), value))
            for name, value in credentials_of(target)
        )
        if not sealed:
            return target
        names = {name for name, _ in sealed}
        headers = tuple((n, MASK if n in names else v) for n, v in target.headers)
        return replace(target, headers=headers, sealed=target.sealed + sealed)

    def open(self, tenant: str, target: Target) -> Target:
        """The target as it is sent. ValueError when it was sealed for another, or changed."""
        if not target.sealed:
            return target
        plain = {
            name: self._open(_binding(tenant, name, target), text) for name, text in target.sealed
        }
        return replace(target, headers=tuple((n, plain.get(n, v)) for n, v in target.headers))

    def _seal(self, binding: list[bytes], value: str) -> str:
        assert self._cipher is not None, "faults() comes first"
        return b64encode(self._cipher.encrypt(value.encode(), binding)).decode()

    def _open(self, binding: list[bytes], text: str) -> str:
        assert self._cipher is not None, "check() comes first"
        try:
            return self._cipher.decrypt(b64decode(text), binding).decode()
        except InvalidTag:
            raise ValueError("a credential was sealed for another target, or changed") from None


def _binding(tenant: str, name: str, target: Target) -> list[bytes]:
    return [text.encode() for text in (tenant, name.lower(), origin(target))]
