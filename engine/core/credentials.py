"""Credentials in a target's headers: which they are, what stands for them, and when one is kept.

A credential is stored sealed (`services.credentials`) and shown to nobody: where it was, a document
has `MASK`. A document that is sent back with the mask keeps the value, so that what was read can be
changed and written. But only while it goes to the same scheme, host and port: otherwise whoever may
write a schedule, and was never told the credential, could have it sent to a server of their own.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from engine.core.echoes import without_echoes
from engine.core.errors import Fault, Invalid
from engine.core.fields import member_pointer
from engine.core.flow import default_key
from engine.core.model import Draft, Outcome, Schedule, Target

MASK = "********"

_CREDENTIAL = re.compile(
    r"auth(?!or)|authori[sz]ation|bearer|cookie|credential|jwt|passcode|passphrase|passw|pwd|secret"
    r"|session|token|(?<![a-z])(?:key|pass)s?(?![a-z])|(?:access|account|api|client|private)key"
)
"""Names like X-Api-Key and X-Auth-Token, in lower case. One too many costs nothing but a mask, so
an id of a key and a session's are in; an author, a keyboard and a monkey are not."""


def is_credential(name: str, value: str) -> bool:
    """Whether a header is kept secret; an empty value holds nothing to keep."""
    return bool(value) and _CREDENTIAL.search(name.lower()) is not None


def credentials_of(target: Target) -> Iterator[tuple[str, str]]:
    """The headers of a target that are to be sealed: those whose values it still shows."""
    for name, value in target.headers:
        if value != MASK and is_credential(name, value):
            yield name, value


def masked(target: Target) -> dict[str, str]:
    """The headers as documents show them."""
    return {name: MASK if is_credential(name, value) else value for name, value in target.headers}


def origin(target: Target) -> str:
    """Scheme, host and port: where a credential may go."""
    return f"{target.url.partition(':')[0]}://{default_key(target.url)}"


def keep_credentials(draft: Draft, previous: Schedule | None) -> Draft:
    """`draft` with the values of `previous` where its target has the mask.

    Raises `Invalid` where there is none, or where it would go elsewhere.
    """
    target = draft.definition.target
    kept = kept_target(target, previous.definition.target if previous else None)
    if kept is target:
        return draft
    return replace(draft, definition=replace(draft.definition, target=kept))


def kept_target(target: Target, previous: Target | None) -> Target:
    """The same for a target alone."""
    sealed = {name.lower() for name, _ in target.sealed}
    missing = [
        name
        for name, value in target.headers
        if value == MASK and name.lower() not in sealed and is_credential(name, value)
    ]
    if not missing:
        return target
    if previous is None or origin(previous) != origin(target):
        _refuse(missing, "the mask keeps a stored value while scheme, host and port stay: write it")
    kept = {name.lower(): value for name, value in previous.sealed}
    plain = {name.lower(): value for name, value in previous.headers if value != MASK}
    unknown = [name for name in missing if name.lower() not in kept | plain]
    if unknown:
        _refuse(unknown, "the mask stands for a stored value, and there is none: write the value")
    return replace(
        target,
        # Before credentials were sealed, they were stored as they are.
        headers=tuple(
            (n, plain.get(n.lower(), v) if n in missing else v) for n, v in target.headers
        ),
        sealed=target.sealed
        + tuple((name, kept[name.lower()]) for name in missing if name.lower() in kept),
    )


def without_credentials(outcome: Outcome, target: Target) -> Outcome:
    """`outcome` without the credentials of an opened target, which some receivers echo."""
    names = {name for name, _ in target.sealed}
    values = [value for name, value in target.headers if name in names]
    kept = without_echoes(outcome.response, values, mask=MASK.encode(), is_cut=outcome.response_cut)
    return outcome if kept == outcome.response else outcome._replace(response=kept)


def _refuse(names: list[str], detail: str) -> NoReturn:
    raise Invalid(*(Fault(member_pointer("/target/headers", name), detail) for name in names))
