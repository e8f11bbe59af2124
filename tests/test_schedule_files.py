"""Files of schedules."""

import json
from pathlib import Path

import pytest

from engine.core.errors import Invalid
from engine.schedule_files import find_places, read_files


def test_toml_json_and_yaml_say_the_same(tmp_path: Path):
    toml, as_json, as_yaml = (tmp_path / name for name in ("a.toml", "b.json", "c.yaml"))
    toml.write_text('[schedules."a.b"]\nevery = 60\ntarget = { url = "http://h.example" }\n')
    document = {"every": 60, "target": {"url": "http://h.example"}}
    as_json.write_text(json.dumps({"schedules": {"c": document}}))
    as_yaml.write_text("schedules:\n  d:\n    every: 60\n    target: {url: http://h.example}\n")
    documents = read_files([toml, as_json, as_yaml])
    assert documents == [{"name": name, **document} for name in ("a.b", "c", "d")]


def test_toml_times_become_text(tmp_path: Path):
    path = tmp_path / "a.toml"
    path.write_text("[schedules.a]\nat = 2027-03-28T02:30:00\nstart_at = 2027-01-01T00:00:00Z\n")
    [document] = read_files([path])
    assert (document["at"], document["start_at"]) == (
        "2027-03-28T02:30:00",
        "2027-01-01T00:00:00+00:00",
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.toml", "= 1", "not TOML"),
        ("a.json", "{", "not JSON"),
        ("a.json", '{"schedules": {"a": {}, "a": {}}}', "a appears twice"),
        ("a.toml", "schedules.a.x = 0.10000000000000000555", "would become 0.1; write that"),
        ("a.json", '{"schedules": {"a": {"x": 1e-400}}}', "1e-400 would become 0.0; write that"),
        ("a.toml", "schedules.a.x = nan", "nan is not JSON; write a finite number"),
        ("a.toml", "schedules.a.x = -inf", "-inf is not JSON"),
        ("a.toml", "schedules.a.x = 1e999", "1e999 is too large for a double"),
        ("a.json", '{"schedules": {"a": {"x": NaN}}}', "NaN is not JSON"),
        ("a.json", "[]", "it declares nothing; write one table, schedules"),
        ("a.json", '{"schedules": {}, "more": 1}', "more: unknown field"),
        ("a.toml", "[schedule.a]\nevery = 1\n", 'did you mean "schedules"?'),
        ("a.toml", "[[schedules]]\nname = 'a'\n", "names to documents: [schedules.NAME] in"),
        ("a.json", '{"schedules": {"a": 1}}', "a is not a table"),
        ("a.json", '{"schedules": {"a": {"name": "b"}}}', "a calls itself b"),
        ("a.yaml", "", "it declares nothing; write one table, schedules"),
        ("a.yaml", "schedules:\n  a: {every: 010}\n", "line 2: 010 means different things"),
        ("a.yml", "schedules: {a: {}, a: {}}", "line 1: a appears twice"),
        ("a.toml", f"[schedules.a]\nx = {'[' * 5_000}", "nested deeper than 32 levels"),
        ("a.toml", f"[schedules.a]\n{'x.' * 5_000}x = 1", "nested deeper than 32 levels"),
        ("a.json", f'{{"schedules": {{"a": {"[" * 50_000}', "nested deeper than 32 levels"),
        ("a.txt", "", "end in .toml, .json, .yaml or .yml"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused(
    name: str, content: str, says: str, tmp_path: Path
):
    (tmp_path / name).write_text(content)
    with pytest.raises(Invalid) as caught:
        read_files([tmp_path / name])
    assert f"{tmp_path / name}: " in str(caught.value)
    assert says in str(caught.value)


def test_a_file_in_another_encoding_is_refused_with_its_line_and_a_mark_at_its_start_is_not(
    tmp_path: Path,
):
    (tmp_path / "a.toml").write_bytes(b"[schedules.a]\n# caf\xe9\n")
    with pytest.raises(Invalid, match="line 2 is not UTF-8; save the file as that"):
        read_files([tmp_path / "a.toml"])
    for name, content in (("a.toml", b"[schedules.a]\n"), ("a.json", b'{"schedules": {"a": {}}}')):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + content)
        assert read_files([tmp_path / name]) == [{"name": "a"}]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.toml", "# a:\n[schedules.x]\n[schedules.a]\n", 3),
        ("a.toml", "[schedules.x]\n[ schedules.'a'.target]\n", 2),
        ("a.yaml", "schedules:\n  x:\n    a: 1\n  'a':\n    cron: x\n  b: {}\n", 4),
        ("a.json", '{"schedules": {\n "x": {"a":\n 1},\n "a": {}}}', 4),
    ],
)
def test_a_schedule_is_found_where_a_line_begins_with_its_name(name, content, line, tmp_path: Path):
    (tmp_path / name).write_text(content)
    assert find_places({"a"}, [tmp_path / name]) == {"a": f"{tmp_path / name}:{line}"}


def test_a_schedule_that_begins_no_line_has_no_place(tmp_path: Path):
    (tmp_path / "a.json").write_text('{"schedules": {"a": {}}}')
    assert find_places({"a"}, [tmp_path / "a.json", Path("-")]) == {}


def test_every_fault_of_every_file_is_told_at_once(tmp_path: Path):
    (tmp_path / "a.toml").write_text("[schedules.a]\nevery = 1\n")
    (tmp_path / "b.toml").write_text("[schedules.a]\nevery = 2\n")
    with pytest.raises(Invalid) as caught:
        read_files([tmp_path / name for name in ("a.toml", "b.toml", "c.toml")])
    assert len(caught.value.faults) == 2
    assert f"a is in {tmp_path / 'a.toml'} already" in str(caught.value)
