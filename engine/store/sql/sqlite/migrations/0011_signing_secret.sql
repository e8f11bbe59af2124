-- The active versions of a tenant's signing secrets, `oldest` to `newest`; without a row, version 1. It
-- refers to no tenant and outlives it: what was retired does not sign again when the name is taken again.
CREATE TABLE signing_secret (
  tenant TEXT PRIMARY KEY,
  oldest INTEGER NOT NULL CHECK (oldest > 0),
  newest INTEGER NOT NULL CHECK (newest - oldest IN (0, 1))
) STRICT, WITHOUT ROWID;
