-- A change of a flow's limits or a tenant's quotas may ask for the revision that it was made from.
ALTER TABLE flow ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tenant ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
