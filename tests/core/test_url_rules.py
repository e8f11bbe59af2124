"""Which URLs are accepted, how they go onto the wire, and that the HTTP client agrees."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from engine.core.url_rules import wire_url


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("http://h", "http://h"),
        ("https://example.com/hook?x=1", "https://example.com/hook?x=1"),
        ("HTTP://Example.com/A", "http://Example.com/A"),
        ("http://bücher.example/ü?q=é", "http://xn--bcher-kva.example/%C3%BC?q=%C3%A9"),
        ("http://h/a%2Fb?z=%61&y=a+b&e=%E9", "http://h/a%2Fb?z=%61&y=a+b&e=%E9"),
        ("http://h/a/../b//c;p=1?a?b=/", "http://h/a/../b//c;p=1?a?b=/"),
        ("http://h/x?ids[]=1&ids[]=2", "http://h/x?ids[]=1&ids[]=2"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://[::ffff:192.0.2.1]/", "http://[::ffff:192.0.2.1]/"),
        ("http://my_service:65535/", "http://my_service:65535/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://XN--BCHER-KVA.example./", "http://XN--BCHER-KVA.example./"),
        ("http://a.xn--strae-oqa.xn--fiqs8s/", "http://a.xn--strae-oqa.xn--fiqs8s/"),
        ("http://xn_-a.a--b/", "http://xn_-a.a--b/"),
        ("http://h./", "http://h./"),
    ],
)
def test_a_url_is_sent_as_written_in_ascii(written, sent):
    assert wire_url(written) == sent
    assert wire_url(sent) == sent


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("http://u:p@h.example/", "Authorization"),
        ("http://evil\t.com/", "%20"),
        ("http://evil\\t.com/", "%5C"),
        ("http://h /", "%20"),
        ("http://h/a b", "%20"),
        ("http://h/\x00", "control"),
        ("http://h/\u2028", "blanks"),
        ("http://h:0/", "port from 1 to 65535"),
        ("http://h:99999/", "port"),
        ("http://h:80a/", "port"),
        ("http://h:/", "port"),
        ("http://h:१/", "port"),
        ("http:///x", "with a host"),
        ("http://", "with a host"),
        ("ftp://h/", "http:// or https://"),
        ("//h/x", "http:// or https://"),
        ("h/x", "http:// or https://"),
        ("", "http:// or https://"),
        ("http://[::1", "brackets"),
        ("http://[::1]x/", "port"),
        ("http://[fe80::1%25eth0]/", "without a zone"),
        ("http://h/{id}", "%7B"),
        ("http://h/a|b", "%7C"),
        ("http://h/a\\b", "%5C"),
        ("http://h/%zz", "%25"),
        ("http://h/x#top", "fragment"),
        ("http://h/x?", "remove the ?"),
        ("http://127.1/", "four decimal numbers"),
        ("http://2130706433/", "four decimal numbers"),
        ("http://0177.0.0.1/", "four decimal numbers"),
        ("http://0x7f.0.0.1/", "four decimal numbers"),
        ("http://1.2.3.256/", "four decimal numbers"),
        ("http://127.0.0.1./", "four decimal numbers"),
        ("http://a..b/", "letters, digits, hyphens"),
        ("http://-a/", "letters, digits, hyphens"),
        ("http://" + "a" * 64 + "/", "letters, digits, hyphens"),
        ("http://" + "a." * 127 + "b/", "letters, digits, hyphens"),
        ("http://xn--ü/", "IDNA"),
        ("http://xn--a/", "IDNA"),
        ("http://xn--/", "letters, digits, hyphens"),
        ("http://XN--A.example:80/", "IDNA"),
        ("http://a.xn--zzzzzzzzzzzz/", "xn--zzzzzzzzzzzz stands for no"),
        ("http://xn--a-ecp.example./", "IDNA"),
        ("http://\ud800/", "IDNA"),
        ("http://h/\ud800", "surrogate"),
        ("http://h/" + "a" * 2_040, "2,048"),
        ("http://h/" + "é" * 400, "2,048"),
    ],
)
def test_what_the_client_would_refuse_or_change_is_refused_with_the_remedy(written, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        wire_url(written)


def test_full_width_digits_are_judged_as_what_they_become():
    assert wire_url("http://１２７.0.0.1/") == "http://127.0.0.1/"
    with pytest.raises(ValueError, match="four decimal numbers"):
        wire_url("http://１２７.1/")


URLS = st.one_of(
    st.text(max_size=40),
    st.from_regex(
        r"https?://[a-zé\d.:\[\]@-]{0,12}(/[ -~é]{0,12})?(\?[ -~]{0,12})?", fullmatch=True
    ),
    st.text("htps:/[]@%?#.0x1é\\ ", max_size=20).map("http://".__add__),
)


@given(URLS)
@example("http://[v1.x]/")
def test_whatever_is_accepted_reaches_the_client_unchanged(text):
    try:
        url = wire_url(text)
    except ValueError:
        return
    assert url.isascii()
    assert wire_url(url) == url
    client = URL(url, encoded=True)
    path = url.partition("://")[2].partition("/")[2]
    assert client.host
    if path:
        assert client.raw_path_qs == "/" + path
