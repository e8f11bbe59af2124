"""What Litestream is told to copy is where the unit for systemd has an engine's journal."""

from pathlib import Path

import yaml

from engine.store.database import DATABASE_NAME

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_it_copies_the_journal_of_the_systemd_unit() -> None:
    (database,) = yaml.safe_load((EXAMPLES / "litestream" / "litestream.yml").read_text())["dbs"]
    unit = (EXAMPLES / "systemd" / "offbeat.service").read_text().splitlines()
    (state,) = (line.partition("=")[2] for line in unit if line.startswith("StateDirectory="))
    assert Path(database["path"]) == Path("/var/lib", state, DATABASE_NAME)
    assert database["replicas"]
