-- History is pruned by number where there is too much, which may be one tenant's: from when on an audit or
-- a backfill of its own can be trusted. What is pruned by age raises `progress.history_floor`.
ALTER TABLE tenant ADD COLUMN history_floor INTEGER NOT NULL DEFAULT 0;

-- A tenant's schedules in the order of their ids, which whoever goes through them page by page follows.
CREATE INDEX schedule_tenant_idx ON schedule (tenant);
