-- The rules by which a schedule owed the occurrences with after < scheduled_for <= until, kept when
-- an edit, a resumption or a deletion made an end of them. The rules in force are the schedule's own
-- row's, from its `owed_after` on, so a schedule that never changed needs no row here.
-- `spec` is the text of its timetable, which may be gone by now.
CREATE TABLE revision (
  schedule_id INTEGER NOT NULL REFERENCES schedule (id),
  number      INTEGER NOT NULL,
  after       INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  spec        TEXT,
  at          INTEGER,
  offset_ms   INTEGER NOT NULL,
  start_at    INTEGER,
  last_owed   INTEGER,
  PRIMARY KEY (schedule_id, number),
  CHECK (after < until),
  CHECK ((spec IS NULL) <> (at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX revision_until_idx ON revision (until);

-- The oldest instant that can be audited: older runs were pruned, older revisions forgotten. A
-- journal of before this migration did not keep its revisions.
ALTER TABLE progress ADD COLUMN history_floor INTEGER NOT NULL DEFAULT 0;

UPDATE progress SET history_floor = alive + 1;
