-- Whose failed run it is, and NULL in any other state: a tenant's are found in an index of failed runs
-- alone, however many the others have. It takes the place of one without the tenant.
ALTER TABLE job_run ADD COLUMN failed_of TEXT;

UPDATE job_run SET failed_of = (SELECT tenant FROM schedule s WHERE s.id = job_run.schedule_id)
WHERE state = 'failed';

DROP INDEX job_run_failed_idx;

CREATE INDEX job_run_failed_idx ON job_run (failed_of, scheduled_for, schedule_id) WHERE failed_of IS NOT NULL;
