"""Whose eyes a file of a secret may be open to."""

import os
import stat

import pytest

from engine.secret_file import is_open_to_others

ROOT, SOMEBODY = 0, 1000


def file_of(owner: int, mode: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | mode, 1, 1, 1, owner, owner, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("owner", "mode", "is_open"),
    [
        (SOMEBODY, 0o600, False),
        (SOMEBODY, 0o400, False),
        (SOMEBODY, 0o640, True),
        (SOMEBODY, 0o604, True),
        (ROOT, 0o400, False),
        (ROOT, 0o440, False),  # As systemd (LoadCredential) and Kubernetes (fsGroup) make them.
        (ROOT, 0o640, False),
        (ROOT, 0o660, True),
        (ROOT, 0o644, True),
        (ROOT, 0o444, True),
    ],
)
def test_a_group_may_read_what_is_roots_and_nobody_else_what_is_a_users(
    owner: int, mode: int, is_open: bool
) -> None:
    assert is_open_to_others(file_of(owner, mode)) == is_open
