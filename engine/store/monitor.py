"""Records of herds in SQLite (the protocol `store.HerdRecords`)."""

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict

import orjson

from engine.core.forecast_audit import Digest
from engine.core.forecast_words import label
from engine.core.herd_record import HerdRecord
from engine.store.rows import named_rows, trigger_of
from engine.store.statements import statements
from engine.store.writer import Reader, Writer

SQL = statements()


class SqliteHerdRecords:
    """`store.HerdRecords`."""

    def __init__(self, writer: Writer, reader: Reader) -> None:
        self._writer = writer
        self._reader = reader

    async def add(self, record: HerdRecord, *, forget_before_ms: int) -> None:
        await self._writer.submit(lambda db: _add(db, record, forget_before_ms))

    async def newest(self, limit: int) -> list[HerdRecord]:
        return await self._reader.read(lambda db: _newest(db, limit))

    async def names(self, timetables: Sequence[int]) -> dict[int, str]:
        return await self._reader.read(lambda db: _names(db, timetables))


def _add(db: sqlite3.Connection, record: HerdRecord, forget_before_ms: int) -> None:
    lists = {
        "offsets": orjson.dumps(record.offsets).decode(),
        "timetables": orjson.dumps(record.timetables).decode(),
        "forecast": orjson.dumps(record.forecast).decode() if record.forecast else None,
    }
    db.execute(SQL["put_herd_record"], asdict(record) | lists)
    db.execute(SQL["forget_herd_records"], (forget_before_ms,))


def _newest(db: sqlite3.Connection, limit: int) -> list[HerdRecord]:
    return [_record_of(row) for row in named_rows(db, SQL["list_herd_records"], (limit,))]


def _record_of(row: sqlite3.Row) -> HerdRecord:
    values = {key: row[key] for key in row.keys()}  # noqa: SIM118  # a Row iterates over values
    lists = {key: tuple(map(tuple, orjson.loads(row[key]))) for key in ("offsets", "timetables")}
    digest = Digest(**orjson.loads(row["forecast"])) if row["forecast"] else None
    return HerdRecord(**values | lists | {"forecast": digest})


def _names(db: sqlite3.Connection, timetables: Sequence[int]) -> dict[int, str]:
    found = ((id_, db.execute(SQL["get_timetable_spec"], (id_,)).fetchone()) for id_ in timetables)
    return {id_: label(trigger_of(row[0], None)) for id_, row in found if row}
