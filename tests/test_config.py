"""Settings: who wins, and that every fault is told at once."""

import re
from pathlib import Path

import pytest

from engine.config import Config, load_config
from engine.core.egress import read_opening
from engine.core.errors import ConfigError
from engine.listening import is_private, read_listen


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "offbeat.toml"
    path.write_text(
        '[engine]\ntenant = "from-file"\nlisten = "127.0.0.1:9000"\n'
        "[delivery]\nrate = 10\nburst = 2\n[jitter]\nsubsecond = false\n[history]\ndays = 3\n"
    )
    return path


def test_without_any_source_the_defaults_stand():
    assert load_config({}, {}, None) == Config()


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(toml: Path):
    environ = {"OFFBEAT_DELIVERY__RATE": "20", "OFFBEAT_DELIVERY__BURST": "4"}
    config = load_config({"rate": "30", "burst": None}, environ, toml)
    assert (config.rate, config.burst, config.tenant, config.concurrency) == (
        30,
        4,
        "from-file",
        1_024,
    )
    assert (config.jitter_subsecond, config.history_days) == (False, 3)


def test_the_mark_that_some_editors_put_before_a_file_is_no_part_of_it(toml: Path):
    toml.write_bytes(b"\xef\xbb\xbf" + toml.read_bytes())
    assert load_config({}, {}, toml).rate == 10


def test_every_fault_of_every_source_is_in_one_error(tmp_path: Path):
    path = tmp_path / "offbeat.toml"
    path.write_text("[delivery]\nrate = true\nbrust = 1\n[histroy]\n")
    with pytest.raises(ConfigError) as caught:
        load_config(
            {"listen": ":80", "clock_start_ms": "noon"},
            {"OFFBEAT_HISTORY__DAY": "7", "OFFBEAT_DELIVERY__CONCURRENCY": "0"},
            path,
        )
    text = str(caught.value)
    assert f"{path}: delivery.rate: True is not a whole number from 1 to 1,000,000" in text
    assert f"{path}: no key brust in [delivery] (did you mean burst?)" in text
    assert f"{path}: no section [histroy] (did you mean history?)" in text
    assert "OFFBEAT_HISTORY__DAY is not a setting (did you mean OFFBEAT_HISTORY__DAYS?)" in text
    assert "OFFBEAT_DELIVERY__CONCURRENCY: 0 is not a whole number from 1 to 10,000" in text
    assert "--listen: ':80' has no host: for all addresses write 0.0.0.0 or [::]" in text
    assert "--clock-start: " in text


def test_variables_that_a_container_platform_sets_are_left_alone():
    environ = {"OFFBEAT_PORT": "tcp://10.0.0.1:80", "OFFBEAT_SERVICE_HOST": "10.0.0.1"}
    assert load_config({}, environ, None) == Config()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("OFFBEAT_MASTER_KEY", "OFFBEAT_MASTER_KEY_FILE"),
        ("OFFBEAT_LISTEN", "OFFBEAT_ENGINE__LISTEN"),
        ("OFFBEAT_RATE", "OFFBEAT_DELIVERY__RATE"),
        ("OFFBEAT_ADMIN_KEY_FILE", "OFFBEAT_AUTH__ADMIN_KEY_FILE"),
    ],
)
def test_a_variable_that_lacks_its_section_or_its_file_is_not_passed_over(written: str, meant: str):
    with pytest.raises(ConfigError) as caught:
        load_config({}, {written: "1"}, None)
    assert str(caught.value) == f"{written} is not a setting (did you mean {meant}?)"


def test_the_master_key_file_comes_from_its_own_variable():
    config = load_config({}, {"OFFBEAT_MASTER_KEY_FILE": "/run/secrets/master"}, None)
    assert config.master_key_file == Path("/run/secrets/master")


def test_a_file_that_is_not_there_or_not_toml_is_a_fault(tmp_path: Path):
    with pytest.raises(ConfigError, match="No such file"):
        load_config({}, {}, tmp_path / "missing.toml")
    (tmp_path / "bad.toml").write_text("= 1")
    with pytest.raises(ConfigError, match="not TOML"):
        load_config({}, {}, tmp_path / "bad.toml")


def test_the_demo_keeps_out_of_the_real_data_directory_unless_told():
    assert load_config({"demo": True}, {}, None).data_dir != Config().data_dir
    assert load_config({"demo": True, "data_dir": "d"}, {}, None).data_dir == Path("d")


def test_the_start_of_the_clock_is_an_instant():
    flags = {"clock_start_ms": "2026-11-30T12:00:00Z"}
    assert load_config(flags, {}, None).clock_start_ms == 1_796_040_000_000


@pytest.mark.parametrize(("rate", "burst", "tokens"), [(1_000, None, 100), (5, None, 1), (5, 9, 9)])
def test_the_burst_is_a_tenth_of_the_rate_unless_given(rate: int, burst: int | None, tokens: int):
    assert Config(rate=rate, burst=burst).burst_tokens == tokens


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:8420", ("127.0.0.1", 8420)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:8420", ("::1", 8420)),
        ("0.0.0.0:8420", ("0.0.0.0", 8420)),
        ("example.com:80", ("example.com", 80)),
        ("unix:/run/offbeat.sock", Path("/run/offbeat.sock")),
    ],
)
def test_a_place_to_listen_is_an_address_or_a_socket(text: str, place: object):
    assert read_listen(text) == place


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (":8420", "has no host"),
        ("127.0.0.1", "is not HOST:PORT"),
        ("127.0.0.1:65536", "is not HOST:PORT"),
        ("", "is not HOST:PORT"),
        ("a..b:1", "neither an IP address nor a host's name"),
        ("a b:1", "neither an IP address nor a host's name"),
        (f"{'a' * 64}:1", "neither an IP address nor a host's name"),
        ("[::1", "in brackets"),
        ("::1:8420", "in brackets"),
        ("[127.0.0.1]:1", "in brackets"),
        ("unix:", "needs a path"),
        ("unix:/a\0b", "needs a path"),
        (f"unix:/{'a' * 107}", "107 bytes at most"),
    ],
)
def test_any_other_place_to_listen_is_refused(text: str, says: str):
    with pytest.raises(ValueError, match=says):
        read_listen(text)


@pytest.mark.parametrize(
    ("listen", "private"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("unix:/run/offbeat.sock", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("192.168.0.1:1", False),
        ("localhost.example.com:1", False),
    ],
)
def test_private_is_what_only_this_machine_can_reach(listen: str, private: bool):
    assert is_private(listen) is private


def test_openings_are_a_list_in_the_file_and_commas_in_the_environment(tmp_path: Path):
    path = tmp_path / "offbeat.toml"
    path.write_text('[egress]\nallow = ["10.0.0.0/8:443", "fd00::/8"]\nca_file = "/etc/ca.pem"\n')
    from_file = load_config({}, {}, path)
    assert from_file.egress_allow == tuple(map(read_opening, ("10.0.0.0/8:443", "fd00::/8")))
    assert from_file.egress_ca_file == Path("/etc/ca.pem")
    for text in ("10.0.0.0/8:443,fd00::/8", "10.0.0.0/8:443, fd00::/8,"):
        environ = {"OFFBEAT_EGRESS__ALLOW": text}
        assert load_config({}, environ, None).egress_allow == from_file.egress_allow


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("allow = 5", """egress.allow: 5 is not a list like ["10.0.0.0/8:443"]"""),
        ("allow = [5]", "egress.allow: 5 is not text"),
        ('allow = ["intranet"]', "egress.allow: 'intranet' is not like 10.0.0.0/8"),
        ("alow = []", "no key alow in [egress] (did you mean allow?)"),
        ('ca_file = ""', "egress.ca_file: '' is not a path"),
    ],
)
def test_an_opening_that_cannot_be_read_is_a_fault(tmp_path: Path, line: str, says: str):
    path = tmp_path / "offbeat.toml"
    path.write_text(f"[egress]\n{line}\n")
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {says}")):
        load_config({}, {}, path)
