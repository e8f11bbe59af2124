-- When a range was counted, or last extended; NULL in one of before this migration.
ALTER TABLE counted_range ADD COLUMN decided_at INTEGER;
