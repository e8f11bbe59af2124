-- Failed runs that somebody deleted become counted ranges, too: SQLite changes a CHECK by a new table.
CREATE TABLE counted (
  schedule_id INTEGER NOT NULL REFERENCES schedule (id),
  after       INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  reason      TEXT NOT NULL CHECK (reason IN ('paused', 'catch_up', 'pruned', 'deleted')),
  count       INTEGER NOT NULL CHECK (count > 0),
  decided_at  INTEGER,
  PRIMARY KEY (schedule_id, reason, after)
) STRICT, WITHOUT ROWID;

INSERT INTO counted (schedule_id, after, until, reason, count, decided_at)
SELECT schedule_id, after, until, reason, count, decided_at FROM counted_range;

DROP TABLE counted_range;

ALTER TABLE counted RENAME TO counted_range;

-- They are pruned with the history that they were part of.
CREATE INDEX counted_range_deleted_idx ON counted_range (until) WHERE reason = 'deleted';
