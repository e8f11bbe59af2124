"""A credential that an answer repeats is masked, in whatever common words it is repeated."""

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.echoes import PARTS_MAX, without_echoes

MASK = b"********"


def kept(response: bytes, *values: str, is_cut: bool = False) -> bytes:
    return without_echoes(response, values, mask=MASK, is_cut=is_cut)


@pytest.mark.parametrize(
    ("value", "response", "stays"),
    [
        ("Bearer s3cret-value", "you sent Bearer s3cret-value", "you sent ********"),
        ("Bearer s3cret-value", "token=s3cret-value.", "token=********."),
        ("Bearer s3cret-value", "the Bearer was wrong", "the Bearer was wrong"),
        ("s3cret-value", "s3cret-values3cret-value", "********"),
        (
            "a=1; session=s3cret-value; b=2",
            "session: s3cret-value, b: 2",
            "session: ********, b: 2",
        ),
        ('session="s3cret-value"', "s3cret-value", "********"),
        ("sid=a1b2", "sid=a1b2; id=a1b2", "********; id=a1b2"),
        ("Digest username=me-myself, nonce=s3cret-value", "<s3cret-value>", "<********>"),
        ("Basic bWU6c3VyZSBzM2NyZXQ=", "me: sure s3cret", "me: ********"),
        ("Basic bWU6c3VyZSBzM2NyZXQ=", "<me:sure s3cret>", "<********>"),
        ("sid=s%3Asecret%2Fvalue", "s:secret/value or s%3Asecret%2Fvalue", "******** or ********"),
        ("Basic no-base64-at-all", "no-base64-at-all", "********"),
        ("short", "short", "short"),
        ("s3cret", "s3cret", "******"),
        ("s3cret-value", "s3cret valu", "s3cret valu"),
        ("s3cret-value", "", ""),
    ],
)
def test_what_of_a_value_is_secret_is_masked_and_the_rest_stays(value, response, stays):
    assert kept(response.encode(), value).decode() == stays


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "JSON of Go": lambda text: (
        json.dumps(text)[1:-1].replace("<", "\\u003c").replace("&", "\\u0026")
    ),
    "JSON of PHP": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "escaped throughout": escaped,
    "escaped in upper case": lambda text: escaped(text).upper().replace("U", "u"),
    "JavaScript": lambda text: "".join(f"\\x{ord(c):02X}" for c in text),
    "a URL": lambda text: quote(text, safe=""),
    "a form": quote_plus,
    "percent throughout": lambda text: "".join(f"%{ord(c):02x}" for c in text),
    "a URL in a URL": lambda text: quote(quote(text, safe=""), safe=""),
    "HTML": html.escape,
    "a URL in HTML": lambda text: html.escape(quote(text, safe="&")),
    "numbers in HTML": lambda text: "".join(f"&#{ord(c)};" for c in text),
    "hexadecimal in HTML": lambda text: "".join(f"&#x{ord(c):X};" for c in text),
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 behind one": lambda text: b64encode(b"?" + text.encode()).decode(),
    "base64 between": lambda text: b64encode(b"??" + text.encode() + b"?").decode(),
    "base64 of URLs": lambda text: urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 in a URL": lambda text: quote(b64encode(text.encode()), safe=""),
    "base64 in JSON of PHP": lambda text: b64encode(text.encode()).decode().replace("/", "\\/"),
    "hexadecimal": lambda text: text.encode().hex(),
    "HEXADECIMAL": lambda text: text.encode().hex().upper(),
}
HARD = "p?>~q/+<&\"'\\%41=\\u0041"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", ["s3cret-value", HARD, "Bearer " + HARD, "Bearer abc?>~/+&xyz=="])
def test_it_is_found_in_other_words(form: str, value: str):
    token = value.removeprefix("Bearer ")
    written = FORMS[form](token)
    response = kept(f"<before> {written} <after>".encode(), value)
    start, end = b"<before> ", b" <after>"
    assert response.startswith(start)
    assert response.endswith(end)
    # Of base64 a character on each side has bits of its neighbours.
    left = response[len(start) : -len(end)].replace(MASK, b"")
    assert len(left) <= (8 if form.startswith("base64") else 0), response


@given(
    secret=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=12, max_size=60),
    form=st.sampled_from(sorted(FORMS)),
    around=st.tuples(st.binary(max_size=30), st.binary(max_size=30)),
    is_cut=st.booleans(),
)
def test_no_answer_holds_what_was_sent_or_grows(secret, form, around, is_cut):
    written = FORMS[form](secret).encode()
    response = around[0] + b" " + written + b" " + around[1]
    masked = kept(response, secret, is_cut=is_cut)
    assert len(masked) <= len(response)
    assert written not in masked
    assert secret.encode() not in masked


@pytest.mark.parametrize("length", range(6, 13))
def test_one_that_is_cut_off_is_masked_as_far_as_it_goes(length: int):
    response = b"x" * 50 + b"s3cret-value"[:length]
    assert kept(response, "s3cret-value", is_cut=True) == b"x" * 50 + MASK[:length]
    if length < 12:
        assert kept(response, "s3cret-value") == response


def test_the_beginning_of_one_that_repeats_itself_is_found_whole():
    assert kept(b"-abcabcabcabc", "abcabcabcabcd", is_cut=True) == b"-" + MASK
    assert kept(b"s3crets3cret-val", "s3cret-value-longer", is_cut=True) == b"s3cret" + MASK


def test_of_an_answer_to_more_credentials_than_are_looked_for_nothing_is_kept():
    def cookies(count: int) -> str:
        return ";".join(f"c=s3cret-{number:04}" for number in range(count))

    answer = b"the last one was s3cret-0042, and this is the answer"
    assert kept(answer, cookies(PARTS_MAX)) == MASK
    assert kept(answer, cookies(PARTS_MAX - 1)) == answer
