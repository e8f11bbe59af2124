-- Failed runs, few among many, for who looks at them or sends them again.
CREATE INDEX job_run_failed_idx ON job_run (scheduled_for, schedule_id) WHERE state = 'failed';
