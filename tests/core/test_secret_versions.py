"""Which versions of a signing secret are active, and what a rotation makes of them."""

import pytest

from engine.core.errors import Conflict
from engine.core.secret_versions import SecretVersions


def test_one_is_active_or_two_while_they_rotate_and_none_comes_back():
    versions, seen = SecretVersions(), []
    for _ in range(3):
        rotated = versions.rotated()
        versions = rotated.retired()
        seen.append((list(rotated.active), list(versions.active)))
    assert list(SecretVersions().active) == [1]
    assert seen == [([2, 1], [2]), ([3, 2], [3]), ([4, 3], [4])]


def test_a_second_rotation_waits_for_the_first_and_nobody_retires_the_last():
    with pytest.raises(Conflict, match="retire the older"):
        SecretVersions().rotated().rotated()
    with pytest.raises(Conflict, match="rotate first"):
        SecretVersions().retired()
