"""Answers in SQLite: kept with the effect, found by tenant and key (`core.once`).

Of the key its SHA-256 is kept, and of the request a fingerprint under the node's master key: what a
client has put into either is not here. Nor is what is shown once: a new API key's text is no part
of the answer, but computed again from the node's master key (`services.keys`).
"""

import hashlib
import json
import sqlite3
from typing import TypeVar

from engine.core.errors import InProgress, LimitReached
from engine.core.json_text import compact_json
from engine.core.once import IDEMPOTENCY_KEYS_MAX, KEPT_MS, Once, Record, Reply
from engine.store.statements import statements
from engine.store.turns import Turns

SQL = statements()

T = TypeVar("T")

FORGOTTEN_AT_ONCE = 100
"""Answers past their day that leave when one is kept: many more than come."""


class SqliteAnswers:
    """`services.answers.AnswerStore`."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    async def find(self, once: Once, after_ms: int) -> tuple[bytes, Reply] | None:
        return await self._turns.read(once.tenant, lambda db: _find(db, once, after_ms))


def keep(db: sqlite3.Connection, record: Record[T] | None, result: T) -> None:
    """Keep the answer to `result` with the change that made it, if there is a record to keep.

    Raises `LimitReached`, `InProgress`: the change is undone then.
    """
    if record is None:
        return
    once, answer, since_ms = record.once, record.answer(result), record.now_ms - KEPT_MS
    db.execute(SQL["forget_answers"], {"until": since_ms, "limit": FORGOTTEN_AT_ONCE})
    (count,) = db.execute(SQL["count_answers"], (once.tenant, since_ms)).fetchone()
    if count >= IDEMPOTENCY_KEYS_MAX:
        raise LimitReached(
            "idempotency_keys_max",
            IDEMPOTENCY_KEYS_MAX,
            f"{IDEMPOTENCY_KEYS_MAX:,} answers are kept for this tenant, each for a day: send "
            "fewer requests with an Idempotency-Key",
        )
    values = {
        "tenant": once.tenant,
        "key": _digest(once),
        "fingerprint": once.fingerprint,
        "status": answer.status,
        "headers": compact_json(dict(answer.headers)).decode(),
        "document": compact_json(answer.document).decode(),
        "now": record.now_ms,
        "since": since_ms,
    }
    if not db.execute(SQL["keep_answer"], values).rowcount:
        # Its client hung up, and what it had asked for was stored all the same.
        raise InProgress("the same request has just been made: ask again for its answer")


def _find(db: sqlite3.Connection, once: Once, after_ms: int) -> tuple[bytes, Reply] | None:
    row = db.execute(SQL["get_answer"], (once.tenant, _digest(once), after_ms)).fetchone()
    if row is None:
        return None
    fingerprint, status, headers, document = row
    answer = Reply(status=status, document=json.loads(document), headers=json.loads(headers))
    return fingerprint, answer


def _digest(once: Once) -> bytes:
    return hashlib.sha256(once.key.encode()).digest()
