-- Schedules that delete themselves when they are complete, for those whose last occurrence never ran.
CREATE INDEX schedule_completion_idx ON schedule (last_owed)
  WHERE delete_after_completion = 1 AND deleted_at IS NULL AND last_owed IS NOT NULL;
