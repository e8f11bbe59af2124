-- A run of a schedule that wants one run at a time is marked when it comes to its claim, whether it goes
-- or waits. The index holds those that have not ended: the line of each such schedule, those under way
-- and those that wait. Schedules that allow overlap pay nothing for it.
ALTER TABLE job_run ADD COLUMN exclusive INTEGER NOT NULL DEFAULT 0 CHECK (exclusive IN (0, 1));

CREATE INDEX job_run_exclusive_idx ON job_run (schedule_id, state, next_attempt_at)
  WHERE exclusive = 1 AND state IN ('planned', 'attempting', 'retry_wait');
