"""Sealing: equal values become equal bytes, and open for their tenant, header and origin alone."""

from dataclasses import replace

import pytest

from engine.core.credentials import MASK
from engine.core.model import Target
from engine.services import credentials
from engine.services.credentials import Credentials

MASTER = bytes(range(32))
TARGET = Target(
    url="https://h.example/a",
    headers=(("X-Kind", "a"), ("Authorization", "Bearer s3cret"), ("X-Api-Key", "k3y")),
)


def test_what_is_sealed_opens_again_and_shows_nothing_meanwhile():
    sealed = Credentials(MASTER).seal("acme", TARGET)
    assert sealed.headers == (("X-Kind", "a"), ("Authorization", MASK), ("X-Api-Key", MASK))
    assert not any(secret in repr(sealed) for secret in ("s3cret", "k3y"))
    assert Credentials(MASTER).open("acme", sealed).headers == TARGET.headers


def test_equal_credentials_are_equal_bytes_for_one_tenant_alone():
    cipher = Credentials(MASTER)
    acme = cipher.seal("acme", TARGET)
    assert cipher.seal("acme", TARGET) == acme
    assert cipher.seal("globex", TARGET).sealed[0] != acme.sealed[0]


def test_it_opens_on_another_path_and_nowhere_else():
    cipher = Credentials(MASTER)
    sealed = cipher.seal("acme", TARGET)
    moved = replace(sealed, url="https://h.example/b")
    assert cipher.open("acme", moved).headers == TARGET.headers
    elsewhere = [
        (cipher, "globex", sealed),
        (cipher, "acme", replace(sealed, url="https://evil.example/a")),
        (cipher, "acme", replace(sealed, url="http://h.example:443/a")),
        (cipher, "acme", replace(sealed, sealed=(("X-Api-Key", sealed.sealed[0][1]),))),
        (Credentials(bytes(32)), "acme", sealed),
    ]
    for opener, tenant, target in elsewhere:
        with pytest.raises(ValueError, match="sealed for another"):
            opener.open(tenant, target)


def test_without_the_package_each_credential_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(credentials, "IS_AVAILABLE", False)
    faults = list(Credentials(MASTER).faults(TARGET))
    pointers = [fault.pointer for fault in faults]
    assert pointers == ["/target/headers/Authorization", "/target/headers/X-Api-Key"]
    assert "offbeat[encryption]" in faults[0].detail
    assert not list(Credentials(MASTER).faults(Target(url="https://h.example/a")))
