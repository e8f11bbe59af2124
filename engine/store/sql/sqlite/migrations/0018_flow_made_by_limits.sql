-- A flow that has limits and that no schedule has ever named is its tenant's alone: counted, and deletable.
ALTER TABLE flow ADD COLUMN named INTEGER NOT NULL DEFAULT 1 CHECK (named IN (0, 1));
CREATE INDEX flow_unnamed_idx ON flow (tenant) WHERE named = 0;
