-- A tenant, made by an administrator or with its first schedule. `schedules` counts those that are not
-- deleted, so that a quota costs a write nothing that grows with them. A quota that is NULL is the default.
CREATE TABLE tenant (
  name                 TEXT PRIMARY KEY,
  created_at           INTEGER NOT NULL,
  schedules            INTEGER NOT NULL DEFAULT 0,
  schedules_max        INTEGER CHECK (schedules_max >= 0),
  interval_seconds_min INTEGER CHECK (interval_seconds_min > 0)
) STRICT, WITHOUT ROWID;

INSERT INTO tenant (name, created_at, schedules)
SELECT tenant, min(created_at), sum(deleted_at IS NULL) FROM schedule GROUP BY tenant;

-- `id` is the public part of a key, `digest` the SHA-256 of the whole text, which is nowhere.
-- `last_used_at` is rounded down, so that a key in use costs a write now and then.
CREATE TABLE api_key (
  id           TEXT PRIMARY KEY,
  tenant       TEXT NOT NULL REFERENCES tenant (name),
  scope        TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  digest       BLOB NOT NULL CHECK (length(digest) = 32),
  name         TEXT,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_tenant_idx ON api_key (tenant);
