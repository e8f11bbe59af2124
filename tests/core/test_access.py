"""Keys, scopes and names of tenants."""

import hashlib

import pytest

from engine.core.access import (
    KEY_RANDOM_BYTES,
    ApiKey,
    Scope,
    digest_of,
    is_key,
    is_tenant_name,
    key_id_of,
    mint_key,
)


def test_a_key_is_its_random_bytes_in_letters():
    text = mint_key(bytes(range(KEY_RANDOM_BYTES)))
    assert text == "obk_aaaqeayeaudaocaj_bifqydiob4ibceqtcqkrmfyydenbwha5"
    assert key_id_of(text) == "aaaqeayeaudaocaj"


def test_what_an_operator_writes_is_a_key_too():
    assert key_id_of("obk_admin_" + "0123456789abcdef" * 2) == "admin"
    assert key_id_of("obk_1_" + "aZ9" * 40) == "1"


@pytest.mark.parametrize(
    "text",
    ["", "obk_", "obk__" + "a" * 32, "obk_x_" + "a" * 31, "obk_x_" + "a" * 129, "OBK_x_" + "a" * 32,
     "obk_X_" + "a" * 32, "obk_x_" + "a" * 32 + "\n", " obk_x_" + "a" * 32, "obk_x_" + "é" * 32,
     "obk_" + "x" * 33 + "_" + "a" * 32, "obk_x_" + "a" * 31 + "_", "a" * 1_000_000],
)  # fmt: skip
def test_anything_else_is_none(text: str):
    assert key_id_of(text) is None


def test_what_is_stored_tells_the_key_and_does_not_show_it():
    text = mint_key(bytes(KEY_RANDOM_BYTES))
    digest = digest_of(text)
    assert digest == hashlib.sha256(text.encode()).digest()
    key = ApiKey(key_id="x", tenant="t", scope=Scope.READ, digest=digest)
    assert is_key(key, text)
    assert not is_key(key, text[:-1] + "b")
    assert digest.hex() not in repr(key)
    assert str(digest) not in repr(key)


def test_each_scope_includes_the_one_before():
    allowed = {(has, needed) for has in Scope for needed in Scope if has.allows(needed)}
    assert allowed == {
        ("read", "read"),
        ("write", "read"),
        ("write", "write"),
        ("admin", "read"),
        ("admin", "write"),
        ("admin", "admin"),
    }


@pytest.mark.parametrize(
    ("name", "good"),
    [("a", True), ("A.b-c_9", True), ("x" * 128, True), ("sch_x", True), ("x" * 129, False),
     ("", False), (".a", False), ("a/b", False), ("a b", False), ("a\n", False), ("ü", False)],
)  # fmt: skip
def test_a_tenants_name_can_stand_in_an_address(name: str, good: bool):
    assert is_tenant_name(name) is good
