-- Instants are integer milliseconds since the epoch. Row ids stay inside; text ids are for the edges.
-- References are declared for the reader and for `offbeat check`; they are not enforced row by row,
-- since the hot tables would pay two look-ups an insert for what the statements already guarantee.

-- One row: how far the engine has come. `alive` is the last instant at which the engine is known to
-- have run, `watermark` the instant up to which every owed run is planned, `horizon` the end of the
-- slice being planned now (equal to `watermark` between slices), `lives` the number of starts.
CREATE TABLE progress (
  id        INTEGER PRIMARY KEY CHECK (id = 1),
  alive     INTEGER NOT NULL,
  watermark INTEGER NOT NULL,
  horizon   INTEGER NOT NULL,
  lives     INTEGER NOT NULL
) STRICT;

-- A distinct trigger: ["cron", expression, zone, dst_gap, dst_fold] or ["interval", every, phase].
-- An id is never given twice (AUTOINCREMENT): the planner keeps timetables in memory by id.
CREATE TABLE timetable (
  id   INTEGER PRIMARY KEY AUTOINCREMENT,
  spec TEXT NOT NULL UNIQUE
) STRICT;

-- Content-addressed and immutable: every attempt of a run sends the same bytes.
-- An id is never given twice (AUTOINCREMENT): the journal keeps targets in memory by id.
CREATE TABLE target (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  digest          BLOB NOT NULL UNIQUE,
  url             TEXT NOT NULL,
  method          TEXT NOT NULL,
  headers         TEXT NOT NULL,
  body            BLOB NOT NULL,
  body_kind       TEXT NOT NULL CHECK (body_kind IN ('none', 'text', 'json', 'base64')),
  timeout_seconds INTEGER NOT NULL
) STRICT;

-- What is limited, fair and broken together: a tenant's runs under one key, by default the host and
-- port that they go to. A row is made when a schedule first names it, or somebody sets its limits.
CREATE TABLE flow (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant      TEXT NOT NULL,
  key         TEXT NOT NULL,
  rate        INTEGER CHECK (rate > 0),
  parallelism INTEGER NOT NULL DEFAULT 20 CHECK (parallelism > 0),
  paused      INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
  UNIQUE (tenant, key)
) STRICT;

-- A deleted schedule keeps its row while runs of it remain, so that made again it is the same one.
CREATE TABLE schedule (
  id                      INTEGER PRIMARY KEY,
  public_id               TEXT NOT NULL UNIQUE,
  tenant                  TEXT NOT NULL,
  name                    TEXT NOT NULL,
  labels                  TEXT,
  timetable_id            INTEGER REFERENCES timetable (id),
  at                      INTEGER,
  written                 TEXT,
  start_at                INTEGER,
  end_at                  INTEGER,
  max_runs                INTEGER,
  counted_after           INTEGER NOT NULL,
  owed_after              INTEGER NOT NULL,
  last_owed               INTEGER,
  jitter_seconds          INTEGER NOT NULL CHECK (jitter_seconds BETWEEN 0 AND 900),
  jitter_source           TEXT NOT NULL CHECK (jitter_source IN ('default', 'explicit')),
  offset_ms               INTEGER NOT NULL CHECK (offset_ms BETWEEN 0 AND 900999),
  deadline_seconds        INTEGER,
  overlap                 TEXT NOT NULL CHECK (overlap IN ('allow', 'skip', 'buffer_one')),
  catch_up                TEXT NOT NULL CHECK (catch_up IN ('latest', 'skip', 'all')),
  catch_up_window_seconds INTEGER,
  target_id               INTEGER NOT NULL REFERENCES target (id),
  retry                   TEXT,
  flow_id                 INTEGER NOT NULL REFERENCES flow (id),
  flow_key                TEXT,
  priority                INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
  delete_after_completion INTEGER NOT NULL CHECK (delete_after_completion IN (0, 1)),
  pause_after_failures    INTEGER NOT NULL,
  failures                INTEGER NOT NULL DEFAULT 0,
  paused_at               INTEGER,
  pause_reason            TEXT,
  paused_until            INTEGER,
  revision                INTEGER NOT NULL,
  created_at              INTEGER NOT NULL,
  updated_at              INTEGER NOT NULL,
  deleted_at              INTEGER,
  UNIQUE (tenant, name),
  CHECK ((timetable_id IS NULL) <> (at IS NULL))
) STRICT;

-- The planner's slice: one occurrence of a timetable, a range of offsets.
CREATE INDEX schedule_slice_idx ON schedule (timetable_id, offset_ms);

-- One-shots have no timetable (a million of them would be a million timetables): their slice is a
-- range of fire instants.
CREATE INDEX schedule_at_idx ON schedule (at + offset_ms)
  WHERE deleted_at IS NULL AND paused_at IS NULL AND at IS NOT NULL;

CREATE INDEX schedule_paused_until_idx ON schedule (paused_until) WHERE paused_until IS NOT NULL;

CREATE INDEX schedule_target_idx ON schedule (target_id);

-- The journal. Its key is uniqueness, clustering, history order and (later) partition in one.
-- `next_attempt_at` is NULL in a terminal run, and in one that waits for its schedule's resumption.
-- `granted_from` is the attempt number after which `max_attempts` counts (a replay moves it).
CREATE TABLE job_run (
  scheduled_for      INTEGER NOT NULL,
  schedule_id        INTEGER NOT NULL REFERENCES schedule (id),
  fire_after         INTEGER NOT NULL,
  next_attempt_at    INTEGER,
  state              TEXT NOT NULL CHECK (state IN
    ('planned', 'attempting', 'retry_wait', 'succeeded', 'failed', 'skipped', 'cancelled')),
  reason             TEXT,
  trigger            TEXT NOT NULL CHECK (trigger IN ('schedule', 'manual', 'backfill', 'catch_up')),
  target_id          INTEGER NOT NULL REFERENCES target (id),
  flow_id            INTEGER NOT NULL REFERENCES flow (id),
  attempt            INTEGER NOT NULL DEFAULT 0,
  granted_from       INTEGER NOT NULL DEFAULT 0,
  first_attempt_at   INTEGER,
  attempt_started_at INTEGER,
  ended_at           INTEGER,
  PRIMARY KEY (scheduled_for, schedule_id),
  CHECK (next_attempt_at >= fire_after)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_run_claim_idx ON job_run (next_attempt_at)
  WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL;

-- One flow's backlog, in the order in which it became due: it is read back flow by flow.
CREATE INDEX job_run_flow_idx ON job_run (flow_id, next_attempt_at)
  WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL;

CREATE INDEX job_run_attempting_idx ON job_run (attempt_started_at) WHERE state = 'attempting';

CREATE INDEX job_run_schedule_idx ON job_run (schedule_id, scheduled_for);

-- Finished attempts. The one under way is `job_run.attempt`, on disk before its first byte leaves.
CREATE TABLE attempt (
  scheduled_for INTEGER NOT NULL,
  schedule_id   INTEGER NOT NULL,
  number        INTEGER NOT NULL,
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER,
  outcome       TEXT NOT NULL,
  status        INTEGER,
  error         TEXT,
  response      BLOB,
  response_cut  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scheduled_for, schedule_id, number)
) STRICT, WITHOUT ROWID;

-- Occurrences that have no run of their own: after < scheduled_for <= until, `count` of them.
CREATE TABLE counted_range (
  schedule_id INTEGER NOT NULL REFERENCES schedule (id),
  after       INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  reason      TEXT NOT NULL CHECK (reason IN ('paused', 'catch_up', 'pruned')),
  count       INTEGER NOT NULL CHECK (count > 0),
  PRIMARY KEY (schedule_id, reason, after)
) STRICT, WITHOUT ROWID;

-- A stretch of downtime whose missed occurrences are still being judged, slice by slice. What was
-- owed with after < fire_after <= until was never planned; (`timetable_id`, `offset_ms`,
-- `schedule_id`) is how far the judging has come.
CREATE TABLE downtime (
  id           INTEGER PRIMARY KEY,
  after        INTEGER NOT NULL,
  until        INTEGER NOT NULL,
  resume       INTEGER NOT NULL,
  spread_ms    INTEGER NOT NULL,
  timetable_id INTEGER NOT NULL DEFAULT 0,
  offset_ms    INTEGER NOT NULL DEFAULT -1,
  schedule_id  INTEGER NOT NULL DEFAULT 0
) STRICT;
