"""`offbeat backup` beside a running engine, and what starts from it."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.conftest import Offbeat, running

SCHEDULE = '[schedules.a]\nevery = 60\ntarget = { url = "http://127.0.0.1:9/" }\n'


def test_a_running_engine_is_backed_up_and_another_starts_from_the_copy(
    offbeat: Offbeat, tmp_path: Path
):
    (tmp_path / "a.toml").write_text(SCHEDULE)
    with TemporaryDirectory() as place, running(place) as address:
        offbeat("apply", str(tmp_path / "a.toml"), "--server", address)
        data = f"{place}/data"
        copy = str(tmp_path / "copy.db")
        done = offbeat("backup", copy, "--data-dir", data, "-o", "json")
        assert (done.code, json.loads(done.out)["backup"]) == (0, copy)
        assert done.err.startswith("the master key is not in it: keep it apart")
        again = offbeat("backup", copy, "--data-dir", data)
        assert (again.code, "--force" in again.err) == (5, True)
        assert offbeat("backup", copy, "--data-dir", data, "--force").code == 0
        assert offbeat("check", copy).out == f"{copy} is whole\n"
        [before] = json.loads(offbeat("schedules", "--server", address, "-o", "json").out)
        with TemporaryDirectory() as other:
            (Path(other) / "data").mkdir()
            shutil.copy(copy, f"{other}/data/offbeat.db")
            shutil.copy(f"{data}/master.key", f"{other}/data/master.key")
            with running(other) as restored:
                rows = json.loads(offbeat("schedules", "--server", restored, "-o", "json").out)
    [after] = rows
    assert (after["id"], after["offset_ms"]) == (before["id"], before["offset_ms"])


def test_a_backup_without_a_database_is_not_found(offbeat: Offbeat, tmp_path: Path):
    result = offbeat("backup", str(tmp_path / "copy.db"), "--data-dir", str(tmp_path / "none"))
    assert (result.code, "there is no" in result.err) == (4, True)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_is_checked_by_its_option(offbeat: Offbeat, tmp_path: Path):
    result = offbeat("check", str(tmp_path))
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"offbeat: {tmp_path} is a directory; for an engine's write: --data-dir {tmp_path}\n"
    )
