-- What requests with an idempotency key were answered, for a day. `key` is the SHA-256 of the client's key,
-- `fingerprint` of what was asked for.
CREATE TABLE answer (
  id          INTEGER PRIMARY KEY,
  tenant      TEXT NOT NULL,
  key         BLOB NOT NULL CHECK (length(key) = 32),
  fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
  status      INTEGER NOT NULL,
  headers     TEXT NOT NULL,
  document    TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  UNIQUE (tenant, key)
) STRICT;

CREATE INDEX answer_tenant_idx ON answer (tenant, created_at);

CREATE INDEX answer_age_idx ON answer (created_at);
