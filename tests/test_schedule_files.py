"""Files of schedules."""

import json
from pathlib import Path

import pytest

from engine.core.errors import Invalid
from engine.schedule_files import read_files


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
        ("a.json", "[]", "one table, schedules"),
        ("a.json", '{"schedules": {}, "more": 1}', "one table, schedules"),
        ("a.json", '{"schedules": {"a": 1}}', "a is not a table"),
        ("a.json", '{"schedules": {"a": {"name": "b"}}}', "a calls itself b"),
        ("a.yaml", "", "one table, schedules"),
        ("a.yaml", "schedules:\n  a: {every: 010}\n", "line 2: 010 means different things"),
        ("a.yml", "schedules: {a: {}, a: {}}", "line 1: a appears twice"),
        ("a.txt", "", "ends in .toml, .json, .yaml or .yml"),
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


def test_every_fault_of_every_file_is_told_at_once(tmp_path: Path):
    (tmp_path / "a.toml").write_text("[schedules.a]\nevery = 1\n")
    (tmp_path / "b.toml").write_text("[schedules.a]\nevery = 2\n")
    with pytest.raises(Invalid) as caught:
        read_files([tmp_path / name for name in ("a.toml", "b.toml", "c.toml")])
    assert len(caught.value.faults) == 2
    assert f"a is in {tmp_path / 'a.toml'} already" in str(caught.value)
