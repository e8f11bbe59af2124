-- When a run was written, for those that were planned late; NULL in runs of before.
ALTER TABLE job_run ADD COLUMN planned_at INTEGER;

-- Where an attempt's time went: seven unsigned little-endian integers of 32 bits, in milliseconds, in
-- the order of `core.model.Timing`. As columns of their own they would take a tenth of the time in
-- which a delivery is journaled. NULL in attempts of before, and in those that a crash broke off.
ALTER TABLE attempt ADD COLUMN timing BLOB;
