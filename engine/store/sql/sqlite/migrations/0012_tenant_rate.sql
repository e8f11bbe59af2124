-- Attempts that a tenant may start in a second; NULL: as many as its fair share allows.
ALTER TABLE tenant ADD COLUMN rate INTEGER CHECK (rate > 0);
