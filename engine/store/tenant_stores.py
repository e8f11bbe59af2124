"""The stores of one tenant: it reads when it is its turn, and writes as everybody does."""

from dataclasses import dataclass

from engine.store.attribution import SqliteAttributions
from engine.store.audit import SqliteAudit
from engine.store.backfill import SqliteBackfills
from engine.store.dead_letters import SqliteDeadLetters
from engine.store.sqlite import SqliteFlows, SqliteRuns, SqliteSchedules
from engine.store.turns import Turns
from engine.store.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteStores:
    """`services.tenancy.Stores`."""

    schedules: SqliteSchedules
    runs: SqliteRuns
    flows: SqliteFlows
    backfills: SqliteBackfills
    dead_letters: SqliteDeadLetters
    audit: SqliteAudit
    attributions: SqliteAttributions


def stores_of(writer: Writer, turns: Turns, tenant: str) -> SqliteStores:
    """Made in microseconds: they hold nothing of their own."""
    reads = turns.of(tenant)
    return SqliteStores(
        schedules=SqliteSchedules(writer, reads),
        runs=SqliteRuns(writer, reads),
        flows=SqliteFlows(writer, reads),
        backfills=SqliteBackfills(writer, reads),
        dead_letters=SqliteDeadLetters(writer, reads),
        audit=SqliteAudit(reads),
        attributions=SqliteAttributions(reads),
    )
