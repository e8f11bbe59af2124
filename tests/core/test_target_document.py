"""The target of a document: what is sent, and what is found when it is written."""

import json
from pathlib import Path

import pytest

from engine.core.model import Target
from engine.core.target_document import read_target, write_target

CASES = Path(__file__).parent.parent / "cases/cases.jsonl"
[C52] = [case for case in map(json.loads, CASES.read_text().splitlines()) if case["id"] == "C52"]
URL = "http://h/"


def read(**members):
    faults = []
    target = read_target({"url": URL} | members, faults)
    assert faults == []
    return target


def faults(document=None, **members):
    faults = []
    read_target({"url": URL} | members if document is None else document, faults)
    return {fault.pointer: fault.detail for fault in faults}


def test_a_url_alone_is_a_post_without_a_body():
    assert read() == Target(url=URL, method="POST", timeout_seconds=15)


@pytest.mark.parametrize("headers", C52["input"]["headers"], ids=str)
def test_c52_bad_headers_are_found_when_written(headers):
    found = faults(headers=headers)
    assert found
    assert all(pointer.startswith("/target/headers/") for pointer in found)


def test_c52_urls_are_refused_or_sent_as_written():
    userinfo, idn, percent, *rest = C52["input"]["urls"]
    assert read(url=idn).url == "http://xn--bcher-kva.example/%C3%BC"
    assert read(url=percent).url == "http://h/a%2Fb?z=%61&y=a+b&e=%E9"
    for url in (userinfo, userinfo.split()[0], "http://evil\t.com/", *rest):
        assert "/target/url" in faults(url=url)


@pytest.mark.parametrize(
    ("members", "pointer", "said"),
    [
        ({"url": None}, "/target/url", "URL to call"),
        ({"url": 5}, "/target/url", "URL to call"),
        ({"methd": "GET"}, "/target/methd", '"method"'),
        ({"method": "post"}, "/target/method", '"POST"'),
        ({"method": "TRACE"}, "/target/method", '"POST"'),
        ({"method": "GET", "body": ""}, "/target/body", "GET carries no body"),
        ({"method": "HEAD", "json": {}}, "/target/json", "HEAD carries no body"),
        ({"json": 1, "body": "x"}, "/target/body", "not both"),
        ({"body": {}}, "/target/body", "use json"),
        ({"body": "x" * 102_401}, "/target/body", "102,400"),
        ({"body": "\ud800"}, "/target/body", ""),
        ({"json": "x" * 102_399}, "/target/json", "102,400"),
        ({"body_base64": "a b="}, "/target/body_base64", "base64"),
        ({"body_base64": "YQ"}, "/target/body_base64", "base64"),
        ({"body_base64": "_-=="}, "/target/body_base64", "base64"),
        ({"timeout_seconds": 301}, "/target/timeout_seconds", "from 1 to 300"),
        ({"timeout_seconds": "15"}, "/target/timeout_seconds", "from 1 to 300"),
    ],
)
def test_a_fault_is_named_with_its_place_and_the_remedy(members, pointer, said):
    assert said in faults(**members)[pointer]


@pytest.mark.parametrize("document", [None, [], "http://h/"])
def test_a_target_is_an_object(document):
    found = []
    read_target(document, found)
    assert found[0].pointer == "/target"


def test_json_is_serialised_once_and_keeps_its_numbers():
    target = read(json={"big": 18_446_744_073_709_551_616, "f": 10.0, "é": None})
    assert target.body == '{"big":18446744073709551616,"f":10.0,"é":null}'.encode()
    assert target.headers == (("Content-Type", "application/json"),)


def test_bytes_come_back_as_base64():
    target = read(body_base64="AP8=")
    assert target.body == b"\x00\xff"
    assert target.headers == (("Content-Type", "application/octet-stream"),)
    assert write_target(target)["body_base64"] == "AP8="


def test_a_body_fits_to_the_byte():
    assert len(read(body="x" * 102_400).body) == 102_400
    assert len(read(json="x" * 102_398).body) == 102_400


def test_the_tenants_own_content_type_is_kept():
    headers = {"content-type": "application/cloudevents+json", "X-A": "b"}
    target = read(headers=headers, json={})
    assert target.headers == tuple(headers.items())
    assert write_target(target)["headers"] == headers


def test_the_content_type_that_follows_from_the_body_is_not_shown():
    target = read(headers={"Content-Type": "application/json", "X-A": "b"}, json={})
    assert target.headers == (("X-A", "b"), ("Content-Type", "application/json"))
    assert write_target(target)["headers"] == {"X-A": "b"}


def test_null_is_no_body():
    assert read(json=None, body=None).body_kind == "none"


def test_a_json_body_of_null_is_written_as_text():
    headers = {"Content-Type": "application/json"}
    target = read(json=None, body="null", headers=headers)
    assert (target.body, target.headers) == (b"null", tuple(headers.items()))
