-- Every statement of the engine, by the noun that it is about.
-- Slices and pages are bounded by keys and never by OFFSET over rows that are written.

-- name: list_schema
-- Litestream puts two tables of its own into each database that it copies.
SELECT name, sql FROM sqlite_master
WHERE sql IS NOT NULL AND name NOT IN ('_litestream_seq', '_litestream_lock');

-- name: get_key_fingerprint
SELECT fingerprint FROM master_key;

-- name: keep_key_fingerprint
INSERT INTO master_key (id, fingerprint) VALUES (1, ?) ON CONFLICT DO NOTHING;

-- name: begin_life
-- The first life starts at its own clock; later ones keep what the former life reached.
INSERT INTO progress (id, alive, watermark, horizon, lives) VALUES (1, :now, :now, :now, 1)
ON CONFLICT (id) DO UPDATE SET lives = lives + 1
RETURNING alive, watermark, horizon, lives;

-- name: get_progress
SELECT alive, watermark, horizon, lives FROM progress WHERE id = 1;

-- name: set_progress
UPDATE progress SET alive = :alive, watermark = :watermark, horizon = :horizon WHERE id = 1;

-- name: last_instant
-- The newest instant of the journal, for a clock that claims to be before it.
SELECT max(coalesce((SELECT alive FROM progress), 0),
           coalesce((SELECT max(scheduled_for) FROM job_run), 0));

-- name: get_shared_ids
-- What a schedule shares with others, each null when it is not there yet, or a flow with no schedule yet.
SELECT (SELECT id FROM timetable WHERE spec = :spec),
  (SELECT id FROM target WHERE digest = :digest),
  (SELECT id FROM flow WHERE tenant = :tenant AND key = :key AND named);

-- name: get_timetable_spec
SELECT spec FROM timetable WHERE id = ?;

-- name: list_timetable_specs
SELECT id, spec FROM timetable ORDER BY id;

-- name: insert_timetable
INSERT INTO timetable (spec) VALUES (?) RETURNING id;

-- name: list_timetables
-- Those that the planner has work with; `reach` is the largest offset among their schedules.
SELECT t.id, t.spec, max(s.offset_ms) AS reach
FROM timetable t CROSS JOIN schedule s INDEXED BY schedule_slice_idx ON s.timetable_id = t.id
WHERE s.deleted_at IS NULL AND s.paused_at IS NULL
GROUP BY t.id;

-- name: insert_target
INSERT INTO target (digest, url, method, headers, body, body_kind, timeout_seconds, sealed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING RETURNING id;

-- name: get_target
SELECT url, method, headers, body, body_kind, timeout_seconds, sealed FROM target WHERE id = ?;

-- name: has_sealed_targets
SELECT EXISTS (SELECT 1 FROM target WHERE sealed IS NOT NULL);

-- name: has_schedule
-- Before `get_schedule`, whose fifty columns are dear to look for in vain: a batch is mostly new.
SELECT 1 FROM schedule WHERE public_id = ?;

-- name: get_schedule
SELECT s.*, t.url, t.method, t.headers, t.body, t.body_kind, t.timeout_seconds, t.sealed, tt.spec
FROM schedule s JOIN target t ON t.id = s.target_id LEFT JOIN timetable tt ON tt.id = s.timetable_id
WHERE s.public_id = ?;

-- name: list_schedules
-- In the order of the ids: json_each is the outer loop.
SELECT s.*, t.url, t.method, t.headers, t.body, t.body_kind, t.timeout_seconds, t.sealed, tt.spec
FROM json_each(?) chosen CROSS JOIN schedule s ON s.id = chosen.value
JOIN target t ON t.id = s.target_id LEFT JOIN timetable tt ON tt.id = s.timetable_id
WHERE s.deleted_at IS NULL;

-- name: list_names
SELECT id, name, labels, paused_at FROM schedule
WHERE tenant = :tenant AND name >= :begin AND name < :end AND deleted_at IS NULL ORDER BY name;

-- name: list_names_at_rest
SELECT id, name, labels, paused_at FROM schedule INDEXED BY schedule_rest_idx
WHERE tenant = :tenant AND name >= :begin AND name < :end AND paused_at IS NOT NULL ORDER BY name;

-- name: list_names_by_label
SELECT s.id, s.name, s.labels, s.paused_at
FROM schedule_label l CROSS JOIN schedule s ON s.tenant = l.tenant AND s.name = l.name
WHERE l.tenant = :tenant AND l.key = :key AND l.name >= :begin AND l.name < :end ORDER BY l.name;

-- name: list_names_by_value
SELECT s.id, s.name, s.labels, s.paused_at
FROM schedule_label l INDEXED BY schedule_label_value_idx
CROSS JOIN schedule s ON s.tenant = l.tenant AND s.name = l.name
WHERE l.tenant = :tenant AND l.key = :key AND l.value = :value AND l.name >= :begin AND l.name < :end
ORDER BY l.name;

-- name: index_labels
INSERT INTO schedule_label (tenant, key, name, value)
SELECT :tenant, key, :name, value FROM json_each(:labels);

-- name: forget_labels
DELETE FROM schedule_label
WHERE tenant = :tenant AND name = :name AND key IN (SELECT key FROM json_each(:labels));

-- name: fault_labels_that_no_selector_finds
SELECT count(*) FROM schedule s, json_each(s.labels) l
WHERE s.labels IS NOT NULL AND s.deleted_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM schedule_label i
  WHERE i.tenant = s.tenant AND i.key = l.key AND i.name = s.name AND i.value = l.value);

-- name: fault_labels_in_the_index_alone
SELECT count(*) FROM schedule_label i WHERE NOT EXISTS (
  SELECT 1 FROM schedule s, json_each(s.labels) l
  WHERE s.tenant = i.tenant AND s.name = i.name AND s.deleted_at IS NULL
    AND l.key = i.key AND l.value = i.value);

-- name: put_schedule
INSERT INTO schedule (
  public_id, tenant, name, labels, timetable_id, at, written, start_at, end_at, max_runs,
  counted_after, owed_after, last_owed, jitter_seconds, jitter_source, offset_ms, deadline_seconds,
  overlap, catch_up, catch_up_window_seconds, target_id, retry, flow_id, flow_key, priority,
  delete_after_completion, pause_after_failures, paused_at, pause_reason, paused_until, revision, created_at, updated_at
) VALUES (
  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
)
ON CONFLICT (public_id) DO UPDATE SET
  labels = excluded.labels, timetable_id = excluded.timetable_id, at = excluded.at,
  written = excluded.written, start_at = excluded.start_at, end_at = excluded.end_at,
  max_runs = excluded.max_runs, counted_after = excluded.counted_after,
  owed_after = excluded.owed_after, last_owed = excluded.last_owed,
  jitter_seconds = excluded.jitter_seconds, jitter_source = excluded.jitter_source,
  offset_ms = excluded.offset_ms, deadline_seconds = excluded.deadline_seconds,
  overlap = excluded.overlap, catch_up = excluded.catch_up,
  catch_up_window_seconds = excluded.catch_up_window_seconds, target_id = excluded.target_id,
  retry = excluded.retry, flow_id = excluded.flow_id, flow_key = excluded.flow_key,
  priority = excluded.priority, delete_after_completion = excluded.delete_after_completion,
  pause_after_failures = excluded.pause_after_failures,
  failures = CASE WHEN excluded.paused_at IS NULL AND paused_at IS NOT NULL THEN 0 ELSE failures END,
  paused_at = excluded.paused_at, pause_reason = excluded.pause_reason,
  paused_until = excluded.paused_until, revision = excluded.revision,
  created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = NULL
RETURNING id;

-- name: delete_schedule
UPDATE schedule SET deleted_at = :now, updated_at = :now, revision = revision + 1,
  paused_at = NULL, pause_reason = NULL, paused_until = NULL WHERE id = :id;

-- name: list_pauses_that_end
-- None ends before it began: what a schedule owed before its pause, or was not yet, is not at issue.
SELECT public_id, id, max(paused_until, paused_at) FROM schedule
WHERE paused_until <= :now ORDER BY paused_until LIMIT :limit;

-- name: count_failure
UPDATE schedule SET failures = failures + 1 WHERE id = ? RETURNING failures;

-- name: clear_failures
UPDATE schedule SET failures = 0 WHERE id = ? AND failures > 0;

-- name: slice_page_end
-- Where a page of `limit` schedules of this slice ends; no row when the rest of it fits in one page.
SELECT offset_ms, id FROM schedule INDEXED BY schedule_slice_idx
WHERE timetable_id = :timetable_id AND (offset_ms, id) > (:offset, :id) AND offset_ms <= :until_offset
ORDER BY offset_ms, id LIMIT 1 OFFSET :limit - 1;

-- name: plan_slice
-- The runs of one occurrence for a range of offsets. A run that was cancelled before its first
-- attempt because its instant had vanished is planned anew when the instant is back. In order of
-- id, which is that of the key: sorting costs less than going to and fro in two trees. When a run
-- was written matters only if that was late; left out otherwise, a herd is written 5 % faster.
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger, target_id, flow_id,
  planned_at)
SELECT :instant, id, :instant + offset_ms, :instant + offset_ms, 'planned', 'schedule', target_id, flow_id,
  CASE WHEN :now > :instant + offset_ms THEN :now END
FROM schedule INDEXED BY schedule_slice_idx
WHERE timetable_id = :timetable_id AND (offset_ms, id) > (:offset, :id)
  AND (offset_ms, id) <= (:until_offset, :until_id)
  AND deleted_at IS NULL AND paused_at IS NULL
  AND owed_after < :instant AND (start_at IS NULL OR start_at <= :instant)
  AND (last_owed IS NULL OR last_owed >= :instant)
ORDER BY id
ON CONFLICT (scheduled_for, schedule_id) DO UPDATE SET
  fire_after = excluded.fire_after, next_attempt_at = excluded.next_attempt_at, state = 'planned',
  reason = NULL, target_id = excluded.target_id,
  flow_id = excluded.flow_id, planned_at = excluded.planned_at, ended_at = NULL
WHERE state = 'cancelled' AND attempt = 0 AND reason IN ('vanished', 'deleted')
RETURNING fire_after - fire_after % 10;

-- name: at_page_end
-- The plain bound is for the planner: a row value over an expression is no range to SQLite.
SELECT at + offset_ms, id FROM schedule INDEXED BY schedule_at_idx
WHERE at + offset_ms >= :after AND at + offset_ms <= :until AND (at + offset_ms, id) > (:after, :id)
  AND deleted_at IS NULL AND paused_at IS NULL AND at IS NOT NULL
ORDER BY at + offset_ms, id LIMIT 1 OFFSET :limit - 1;

-- name: plan_at
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger, target_id, flow_id,
  planned_at)
SELECT at, id, at + offset_ms, at + offset_ms, 'planned', 'schedule', target_id, flow_id,
  :now
FROM schedule INDEXED BY schedule_at_idx
WHERE at + offset_ms >= :after AND at + offset_ms <= :until
  AND (at + offset_ms, id) > (:after, :id) AND (at + offset_ms, id) <= (:until, :until_id)
  AND deleted_at IS NULL AND paused_at IS NULL AND at IS NOT NULL
  AND owed_after < at AND (start_at IS NULL OR start_at <= at) AND (last_owed IS NULL OR last_owed >= at)
ORDER BY at + offset_ms, id
ON CONFLICT (scheduled_for, schedule_id) DO UPDATE SET
  fire_after = excluded.fire_after, next_attempt_at = excluded.next_attempt_at, state = 'planned',
  reason = NULL, target_id = excluded.target_id,
  flow_id = excluded.flow_id, planned_at = excluded.planned_at, ended_at = NULL
WHERE state = 'cancelled' AND attempt = 0 AND reason IN ('vanished', 'deleted')
RETURNING scheduled_for, fire_after - fire_after % 10;

-- name: plan_run
-- One run by itself: an edit's, a catch-up's.
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger, target_id, flow_id,
  planned_at)
VALUES (:scheduled_for, :schedule_id, :fire_after, :next_attempt_at, 'planned', :trigger, :target_id,
  :flow_id, :now)
ON CONFLICT (scheduled_for, schedule_id) DO UPDATE SET
  fire_after = excluded.fire_after, next_attempt_at = excluded.next_attempt_at, state = 'planned',
  reason = NULL, trigger = excluded.trigger, target_id = excluded.target_id,
  flow_id = excluded.flow_id, planned_at = excluded.planned_at, ended_at = NULL
WHERE state = 'cancelled' AND attempt = 0 AND reason IN ('vanished', 'deleted');

-- name: list_taken_instants
-- Those of a schedule that a backfill passes over: they have a run that counts.
SELECT r.scheduled_for FROM schedule s
JOIN job_run r INDEXED BY job_run_schedule_idx ON r.schedule_id = s.id
WHERE s.public_id = :public_id AND r.scheduled_for > :after AND r.scheduled_for <= :until
  AND NOT (r.state = 'cancelled' AND r.attempt = 0 AND r.reason IN ('vanished', 'deleted'));

-- name: plan_backfill_run
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger, target_id, flow_id,
  planned_at)
SELECT :scheduled_for, id, :fire_after, :next_attempt_at, 'planned', 'backfill', target_id, flow_id,
  :now
FROM schedule WHERE public_id = :public_id
ON CONFLICT (scheduled_for, schedule_id) DO UPDATE SET
  fire_after = excluded.fire_after, next_attempt_at = excluded.next_attempt_at, state = 'planned',
  reason = NULL, trigger = excluded.trigger, target_id = excluded.target_id,
  flow_id = excluded.flow_id, planned_at = excluded.planned_at, ended_at = NULL
WHERE state = 'cancelled' AND attempt = 0 AND reason IN ('vanished', 'deleted')
RETURNING next_attempt_at, scheduled_for, schedule_id;

-- name: plan_manual_run
-- The next free millisecond that is not 000.
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger, target_id, flow_id,
  planned_at)
SELECT :scheduled_for, id, :scheduled_for, :scheduled_for, 'planned', 'manual', target_id, flow_id, :now
FROM schedule WHERE id = :schedule_id
ON CONFLICT DO NOTHING;

-- name: list_told_tenants
SELECT t.name FROM tenant t CROSS JOIN schedule s ON s.tenant = t.name AND s.name = ?
WHERE s.deleted_at IS NULL;

-- name: get_notices
SELECT id, target_id, flow_id, priority FROM schedule
WHERE tenant = ? AND name = ? AND deleted_at IS NULL AND paused_at IS NULL;

-- name: list_ends
-- What there is to tell of runs that failed; `:ends` is a JSON array of [kind, scheduled_for, schedule].
SELECT k.value ->> 0, s.public_id, s.name, r.scheduled_for, r.reason, r.attempt, r.ended_at,
  a.outcome, a.status, a.error, s.pause_reason
FROM json_each(:ends) k
CROSS JOIN job_run r ON r.scheduled_for = k.value ->> 1 AND r.schedule_id = k.value ->> 2
CROSS JOIN schedule s ON s.id = r.schedule_id
LEFT JOIN attempt a ON a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id
  AND a.number = r.attempt
WHERE r.state = 'failed' AND r.trigger <> 'notice';

-- name: last_instant_of_schedule
SELECT max(scheduled_for) FROM job_run INDEXED BY job_run_schedule_idx WHERE schedule_id = ?;

-- name: count_waiting_of_flow
-- At most `:limit`.
SELECT count(*) FROM (SELECT 1 FROM job_run INDEXED BY job_run_flow_idx
  WHERE flow_id = :flow_id AND state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL
  LIMIT :limit);

-- name: plan_notice
INSERT INTO job_run (scheduled_for, schedule_id, fire_after, next_attempt_at, state, trigger, target_id, flow_id,
  planned_at)
VALUES (:scheduled_for, :schedule_id, :scheduled_for, :scheduled_for, 'planned', 'notice', :target_id, :flow_id,
  :now);

-- name: list_planned_of_schedule
-- Planned and never attempted: what an edit may still change. Such a run is due at its fire time, so
-- none is older than the oldest that is due anywhere, less the largest offset; history is not read.
SELECT scheduled_for, fire_after FROM job_run
WHERE schedule_id = :schedule_id AND state = 'planned' AND attempt = 0 AND trigger = 'schedule'
  AND scheduled_for >= -901000 + (SELECT min(next_attempt_at) FROM job_run INDEXED BY job_run_claim_idx
    WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL)
ORDER BY scheduled_for;

-- name: move_planned_run
UPDATE job_run SET fire_after = :fire_after, next_attempt_at = :fire_after
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'planned' AND attempt = 0;

-- name: retarget_planned_runs
UPDATE job_run SET target_id = :target_id, flow_id = :flow_id
WHERE schedule_id = :schedule_id AND state = 'planned' AND attempt = 0
  AND (target_id <> :target_id OR flow_id <> :flow_id)
  AND trigger = 'schedule'
  AND scheduled_for >= -901000 + (SELECT min(next_attempt_at) FROM job_run INDEXED BY job_run_claim_idx
    WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL);

-- name: cancel_planned_run
UPDATE job_run SET state = 'cancelled', reason = 'vanished', next_attempt_at = NULL, ended_at = :now
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'planned' AND attempt = 0;

-- name: cancel_runs_of_schedule
-- An attempt under way ends first; its outcome then finds the schedule deleted.
UPDATE job_run SET state = 'cancelled', reason = 'deleted', next_attempt_at = NULL, ended_at = :now
WHERE schedule_id = :schedule_id AND state IN ('planned', 'retry_wait');

-- name: skip_paused_runs
-- On resumption: what was planned for an instant inside the pause.
UPDATE job_run SET state = 'skipped', reason = 'paused', next_attempt_at = NULL, ended_at = :now
WHERE schedule_id = :schedule_id AND state = 'planned' AND attempt = 0 AND trigger <> 'manual'
  AND scheduled_for > :paused_at AND scheduled_for <= :now;

-- name: release_held_runs
UPDATE job_run SET next_attempt_at = max(:now, fire_after)
WHERE schedule_id = :schedule_id AND state = 'retry_wait' AND next_attempt_at IS NULL
RETURNING next_attempt_at, scheduled_for, schedule_id;

-- name: list_runs_between
SELECT scheduled_for FROM job_run INDEXED BY job_run_schedule_idx
WHERE schedule_id = :schedule_id AND scheduled_for > :after AND scheduled_for <= :until
ORDER BY scheduled_for;

-- name: list_runs_beside_count
-- What a counted range leaves out: not backfills, which came later to what had been counted.
SELECT scheduled_for FROM job_run INDEXED BY job_run_schedule_idx
WHERE schedule_id = :schedule_id AND scheduled_for > :after AND scheduled_for <= :until
  AND trigger <> 'backfill';

-- name: count_range
-- Counted twice it stays as it is; a pause that begins at the same instant again may last longer.
INSERT INTO counted_range (schedule_id, after, until, reason, count, decided_at)
VALUES (:schedule_id, :after, :until, :reason, :count, :now)
ON CONFLICT DO UPDATE SET until = max(until, excluded.until), count = max(count, excluded.count),
  decided_at = excluded.decided_at;

-- name: get_counted
-- The range in which an occurrence is that has no run of its own. Where two overlap, what became of it says
-- most, and that its history is gone least.
SELECT c.reason, c.after, c.until, c.count, c.decided_at
FROM schedule s JOIN counted_range c ON c.schedule_id = s.id
WHERE s.public_id = :public_id AND s.tenant = :tenant
  AND c.after < :scheduled_for AND c.until >= :scheduled_for
ORDER BY c.reason = 'deleted' DESC, c.reason = 'pruned' LIMIT 1;

-- name: forget_ranges_after
DELETE FROM counted_range
WHERE schedule_id = :schedule_id AND after >= :after AND reason IN ('paused', 'catch_up');

-- name: cut_range
-- The count stays what it was, for want of a better one: of too many no loss is made.
UPDATE counted_range SET until = :after
WHERE schedule_id = :schedule_id AND until > :after AND reason IN ('paused', 'catch_up');

-- name: keep_revision
-- Rules that began after they ended, by a clock that was set back, have owed nothing.
INSERT INTO revision (schedule_id, number, after, until, spec, at, offset_ms, start_at, last_owed)
SELECT s.id, s.revision, s.owed_after, :until, t.spec, s.at, s.offset_ms, s.start_at, s.last_owed
FROM schedule s LEFT JOIN timetable t ON t.id = s.timetable_id
WHERE s.id = :id AND s.owed_after < :until;

-- name: get_history_floor
-- Of a tenant: what was pruned of its own, or by age of everybody's.
SELECT max(history_floor, coalesce((SELECT history_floor FROM tenant WHERE name = ?), 0)) FROM progress;

-- name: list_audited
-- The rules in force of each schedule, deleted ones included.
SELECT s.id, s.public_id, s.name, s.deleted_at, s.paused_at, t.spec, s.at, s.offset_ms, s.owed_after,
  s.start_at, s.last_owed
FROM schedule s LEFT JOIN timetable t ON t.id = s.timetable_id
WHERE s.id > :after AND s.tenant = :tenant
ORDER BY s.id LIMIT :limit;

-- name: list_revisions
SELECT schedule_id, until, spec, at, offset_ms, after, start_at, last_owed FROM revision
WHERE schedule_id >= :first AND schedule_id <= :last ORDER BY schedule_id, number;

-- name: list_counted
SELECT schedule_id, after, until, count FROM counted_range
WHERE schedule_id >= :first AND schedule_id <= :last AND reason <> 'pruned'
  AND until > :after AND after < :until;

-- name: list_due
-- What to hold in memory next, in the order in which it becomes due. Class 0: fresh, 1: a retry,
-- 2: catch-up, backfill and notices.
SELECT r.next_attempt_at, r.scheduled_for, r.schedule_id, r.flow_id,
  CASE WHEN r.trigger IN ('catch_up', 'backfill', 'notice') THEN 2 WHEN r.state = 'retry_wait' THEN 1 ELSE 0 END, s.priority
FROM job_run r INDEXED BY job_run_claim_idx CROSS JOIN schedule s ON s.id = r.schedule_id
WHERE r.state IN ('planned', 'retry_wait') AND r.next_attempt_at IS NOT NULL
  AND (r.next_attempt_at, r.scheduled_for, r.schedule_id) > (:due, :scheduled_for, :schedule_id)
  AND r.next_attempt_at <= :until
ORDER BY r.next_attempt_at, r.scheduled_for, r.schedule_id LIMIT :limit;

-- name: list_due_of_flow
-- The same for one flow's backlog, from `due` on and its own key order.
SELECT r.next_attempt_at, r.scheduled_for, r.schedule_id, r.flow_id,
  CASE WHEN r.trigger IN ('catch_up', 'backfill', 'notice') THEN 2 WHEN r.state = 'retry_wait' THEN 1 ELSE 0 END, s.priority
FROM job_run r INDEXED BY job_run_flow_idx CROSS JOIN schedule s ON s.id = r.schedule_id
WHERE r.flow_id = :flow_id AND r.state IN ('planned', 'retry_wait') AND r.next_attempt_at IS NOT NULL
  AND (r.next_attempt_at, r.scheduled_for, r.schedule_id) > (:due, :scheduled_for, :schedule_id)
  AND r.next_attempt_at <= :until
ORDER BY r.next_attempt_at, r.scheduled_for, r.schedule_id LIMIT :limit;

-- name: get_flow
SELECT id, tenant, key, rate, parallelism, paused, revision FROM flow WHERE id = ?;

-- name: intern_flow
INSERT INTO flow (tenant, key) VALUES (:tenant, :key) ON CONFLICT DO UPDATE SET named = 1 RETURNING id;

-- name: get_flow_of_schedule
SELECT f.id, f.rate FROM schedule s JOIN flow f ON f.id = s.flow_id WHERE s.public_id = ?;

-- name: count_unnamed_flows
SELECT count(*) FROM flow INDEXED BY flow_unnamed_idx WHERE tenant = ? AND named = 0;

-- name: delete_unnamed_flow
DELETE FROM flow WHERE tenant = :tenant AND key = :key AND named = 0;

-- name: set_flow
-- As with tenants, revisions begin at the instant of birth.
INSERT INTO flow (tenant, key, rate, parallelism, paused, named, revision)
VALUES (:tenant, :key, :rate, :parallelism, :paused, 0, :now)
ON CONFLICT (tenant, key) DO UPDATE SET rate = excluded.rate, parallelism = excluded.parallelism,
  paused = excluded.paused, revision = revision
    + ((rate, parallelism, paused) IS NOT (excluded.rate, excluded.parallelism, excluded.paused))
RETURNING id, tenant, key, rate, parallelism, paused, revision;

-- name: list_flows
SELECT id, tenant, key, rate, parallelism, paused, revision FROM flow
WHERE tenant = :tenant AND key > :after ORDER BY key LIMIT :limit;

-- name: get_flow_by_key
SELECT id, tenant, key, rate, parallelism, paused, revision FROM flow WHERE tenant = ? AND key = ?;

-- name: list_backlog
-- For spreading a flow's backlog again. What the catch-up policy is still to judge keeps its time: the
-- judgement goes by it, and spreads what it lets run.
SELECT r.next_attempt_at, r.scheduled_for, r.schedule_id, r.attempt, s.public_id, s.deadline_seconds,
  r.state = 'planned' AND s.overlap <> 'allow'
FROM job_run r INDEXED BY job_run_flow_idx CROSS JOIN schedule s ON s.id = r.schedule_id
WHERE r.flow_id = :flow_id AND r.state IN ('planned', 'retry_wait') AND r.next_attempt_at IS NOT NULL
  AND (r.next_attempt_at, r.scheduled_for, r.schedule_id) > (:due, :scheduled_for, :schedule_id)
  AND r.next_attempt_at <= :until
  AND NOT (r.state = 'planned' AND r.attempt = 0 AND r.trigger = 'schedule'
    AND r.next_attempt_at <= (SELECT coalesce(max(until), -1) FROM downtime))
ORDER BY r.next_attempt_at, r.scheduled_for, r.schedule_id LIMIT :limit;

-- name: count_backlogs
-- The same of every flow, or of one.
SELECT r.flow_id, count(*), (SELECT rate FROM flow f WHERE f.id = r.flow_id)
FROM job_run r INDEXED BY job_run_flow_idx
WHERE r.state IN ('planned', 'retry_wait') AND r.next_attempt_at IS NOT NULL
  AND r.flow_id >= :first AND r.flow_id <= :last AND r.next_attempt_at <= :until
  AND NOT (r.state = 'planned' AND r.attempt = 0 AND r.trigger = 'schedule'
    AND r.next_attempt_at <= (SELECT coalesce(max(until), -1) FROM downtime))
GROUP BY r.flow_id;

-- name: postpone_run
UPDATE job_run SET next_attempt_at = :next_attempt_at
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id
  AND state IN ('planned', 'retry_wait');

-- name: list_claims
-- One row, a JSON array of arrays. Statements of the hot path take and give whole batches: each row
-- stepped from Python lets the interpreter's lock go and queues for it again behind a busy loop.
SELECT json_group_array(json_array(r.scheduled_for, r.schedule_id, r.fire_after, r.trigger,
  r.attempt + 1, r.granted_from, r.first_attempt_at, s.public_id, s.name, s.tenant,
  s.deadline_seconds, s.pause_after_failures, r.next_attempt_at, s.delete_after_completion,
  s.overlap, s.retry, r.target_id, r.state, s.paused_at IS NOT NULL, s.catch_up))
FROM json_each(:keys) k
CROSS JOIN job_run r ON r.scheduled_for = k.value ->> 0 AND r.schedule_id = k.value ->> 1
CROSS JOIN schedule s ON s.id = r.schedule_id;

-- name: claim_runs
UPDATE job_run SET state = 'attempting', attempt = attempt + 1, attempt_started_at = :now,
  first_attempt_at = coalesce(first_attempt_at, :now), next_attempt_at = NULL
WHERE (scheduled_for, schedule_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:keys));

-- name: end_waiting_run
-- A run that never gets its attempt: skipped or expired.
UPDATE job_run SET state = :state, reason = :reason, next_attempt_at = NULL, ended_at = :now,
  failed_of = CASE WHEN :state = 'failed' THEN (SELECT tenant FROM schedule s WHERE s.id = :schedule_id) END
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state IN ('planned', 'retry_wait');

-- name: expire_claimed_run
-- Its deadline went by while its claim was committed. No attempt was made, so none is counted.
UPDATE job_run SET state = 'failed', reason = 'expired', attempt = attempt - 1,
  attempt_started_at = NULL, first_attempt_at = :first_attempt_at, ended_at = :now,
  failed_of = (SELECT tenant FROM schedule s WHERE s.id = :schedule_id)
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'attempting'
  AND attempt = :number;

-- name: hold_run
UPDATE job_run SET next_attempt_at = NULL
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'retry_wait';

-- name: mark_exclusive_run
UPDATE job_run SET exclusive = 1 WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id;

-- name: mark_runs_under_way
-- When a policy begins to forbid overlap: what is under way counts.
UPDATE job_run SET exclusive = 1
WHERE schedule_id = ? AND state IN ('attempting', 'retry_wait');

-- name: is_exclusive_run_under_way
-- A replay that has not begun waits for its turn like a planned run.
SELECT EXISTS (SELECT 1 FROM job_run INDEXED BY job_run_exclusive_idx
  WHERE exclusive = 1 AND state IN ('planned', 'attempting', 'retry_wait')
    AND schedule_id = ? AND state IN ('attempting', 'retry_wait')
    AND (state = 'attempting' OR first_attempt_at IS NOT NULL));

-- name: list_line
-- The runs of one schedule that wait for their turn, in its order; columns as in list_due. Planned ones and
-- replays each come in the order of the index, so that the first of a long line is found without sorting it.
SELECT next_attempt_at, scheduled_for, schedule_id, flow_id,
  CASE WHEN trigger IN ('catch_up', 'backfill') THEN 2 ELSE 0 END,
  (SELECT priority FROM schedule s WHERE s.id = schedule_id)
FROM job_run INDEXED BY job_run_exclusive_idx
WHERE exclusive = 1 AND state IN ('planned', 'attempting', 'retry_wait')
  AND schedule_id = :schedule_id AND state = 'planned'
UNION ALL
SELECT next_attempt_at, scheduled_for, schedule_id, flow_id,
  CASE WHEN trigger IN ('catch_up', 'backfill') THEN 2 ELSE 1 END,
  (SELECT priority FROM schedule s WHERE s.id = schedule_id)
FROM job_run INDEXED BY job_run_exclusive_idx
WHERE exclusive = 1 AND state IN ('planned', 'attempting', 'retry_wait')
  AND schedule_id = :schedule_id AND state = 'retry_wait' AND first_attempt_at IS NULL
  AND next_attempt_at IS NOT NULL
ORDER BY 1, 2 LIMIT :limit;

-- name: get_buffered_run
-- From the end of the line, where it usually is.
SELECT scheduled_for FROM job_run INDEXED BY job_run_exclusive_idx
WHERE exclusive = 1 AND state IN ('planned', 'attempting', 'retry_wait')
  AND schedule_id = :schedule_id AND state = 'planned' AND scheduled_for <> :scheduled_for
  AND (trigger = 'schedule' OR trigger = 'catch_up' AND :catch_up <> 'all')
ORDER BY next_attempt_at DESC, scheduled_for DESC LIMIT 1;

-- name: insert_attempts
-- `:ended` is a JSON array of arrays. Of `:pieces` each has its share: the 28 bytes of its timing and
-- its response. A column of its own in the JSON would take as long as both of them together.
WITH ended (scheduled_for, schedule_id, number, started_at, ended_at, outcome, status, error,
  response_at, response_length, response_cut) AS (
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8, value ->> 9, value ->> 10 FROM json_each(:ended))
INSERT INTO attempt (scheduled_for, schedule_id, number, started_at, ended_at, outcome, status, error,
  response, response_cut, timing)
SELECT scheduled_for, schedule_id, number, started_at, ended_at, outcome, status, error,
  nullif(substr(:pieces, response_at, response_length), x''), response_cut,
  substr(:pieces, response_at - 28, 28)
FROM ended WHERE TRUE
ON CONFLICT DO NOTHING;

-- name: end_attempts
-- A retry of a schedule deleted meanwhile is not due any more, nor one of a run that was asked to stop:
-- cancelled instead. Only then has a run under way a reason.
WITH ended (scheduled_for, schedule_id, number, state, reason, next_attempt_at, first_attempt_at,
  ended_at, is_probe) AS (
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8 FROM json_each(:ended))
UPDATE job_run SET
  state = CASE WHEN e.state = 'retry_wait' AND (job_run.reason IS NOT NULL OR EXISTS
    (SELECT 1 FROM schedule s WHERE s.id = e.schedule_id AND s.deleted_at IS NOT NULL))
    THEN 'cancelled' ELSE e.state END,
  reason = CASE WHEN e.state = 'retry_wait' THEN coalesce(job_run.reason,
    (SELECT 'deleted' FROM schedule s WHERE s.id = e.schedule_id AND s.deleted_at IS NOT NULL))
    ELSE e.reason END,
  next_attempt_at = CASE WHEN e.state = 'retry_wait' AND (job_run.reason IS NOT NULL OR EXISTS
    (SELECT 1 FROM schedule s WHERE s.id = e.schedule_id AND s.deleted_at IS NOT NULL))
    THEN NULL ELSE e.next_attempt_at END,
  attempt_started_at = NULL,
  first_attempt_at = e.first_attempt_at, granted_from = granted_from + e.is_probe,
  ended_at = CASE WHEN e.state <> 'retry_wait' OR job_run.reason IS NOT NULL OR EXISTS
    (SELECT 1 FROM schedule s WHERE s.id = e.schedule_id AND s.deleted_at IS NOT NULL)
    THEN e.ended_at END,
  failed_of = CASE WHEN e.state = 'failed' THEN (SELECT tenant FROM schedule s WHERE s.id = e.schedule_id) END
FROM ended e
WHERE job_run.scheduled_for = e.scheduled_for AND job_run.schedule_id = e.schedule_id
  AND job_run.state = 'attempting' AND job_run.attempt = e.number;

-- name: count_cancelled
-- Of `:runs`, a JSON array of keys.
SELECT count(*) FROM json_each(:runs) JOIN job_run
  ON job_run.scheduled_for = value ->> 0 AND job_run.schedule_id = value ->> 1
WHERE job_run.state = 'cancelled';

-- name: record_crashed_attempts
INSERT INTO attempt (scheduled_for, schedule_id, number, started_at, outcome, error)
SELECT scheduled_for, schedule_id, attempt, attempt_started_at, 'crash',
  'the engine ended during this attempt; its outcome is unknown'
FROM job_run WHERE state = 'attempting'
ON CONFLICT DO NOTHING;

-- name: recover_attempting_runs
-- Attempts of an earlier life: the receiver may have seen them or not, so they are made again.
UPDATE job_run SET state = 'retry_wait', next_attempt_at = max(:now, fire_after), attempt_started_at = NULL
WHERE state = 'attempting';

-- name: cancel_recovered_runs
UPDATE job_run SET state = 'cancelled', reason = coalesce(reason, 'deleted'), next_attempt_at = NULL,
  ended_at = :now
WHERE state = 'retry_wait' AND (reason IS NOT NULL
  OR schedule_id IN (SELECT id FROM schedule WHERE deleted_at IS NOT NULL));

-- name: count_unfinished_of_schedule
SELECT count(*) FROM job_run
WHERE schedule_id = ? AND state IN ('planned', 'retry_wait', 'attempting');

-- name: get_completion
-- Whether a schedule that deletes itself has had its last occurrence.
SELECT last_owed IS NOT NULL AND last_owed <= :now AND last_owed + offset_ms <=
  (SELECT watermark FROM progress) FROM schedule
WHERE id = :id AND deleted_at IS NULL AND delete_after_completion = 1;

-- name: list_complete
-- Schedules that delete themselves and have nothing left to do, whatever became of their occurrences.
SELECT s.public_id FROM schedule s INDEXED BY schedule_completion_idx
WHERE s.delete_after_completion = 1 AND s.deleted_at IS NULL AND s.last_owed IS NOT NULL
  AND s.last_owed <= :now AND s.paused_at IS NULL
  AND s.last_owed + s.offset_ms <= (SELECT watermark FROM progress)
  AND NOT EXISTS (SELECT 1 FROM downtime)
  AND NOT EXISTS (SELECT 1 FROM job_run r INDEXED BY job_run_schedule_idx WHERE r.schedule_id = s.id
    AND r.state IN ('planned', 'retry_wait', 'attempting'))
LIMIT :limit;

-- name: get_run
-- A replay counts its age from its own first attempt; `began_at` is the first of all.
SELECT r.*, s.public_id, s.name, iif(r.granted_from, (SELECT a.started_at FROM attempt a
  WHERE a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id AND a.number = 1), NULL) AS began_at
FROM schedule s
JOIN job_run r ON r.schedule_id = s.id AND r.scheduled_for = :scheduled_for
WHERE s.public_id = :public_id AND s.tenant = :tenant;

-- name: get_target_of_run
SELECT t.url, t.method, t.headers, t.body, t.body_kind, t.timeout_seconds, t.sealed
FROM schedule s
JOIN job_run r ON r.schedule_id = s.id AND r.scheduled_for = :scheduled_for
JOIN target t ON t.id = r.target_id
WHERE s.public_id = :public_id AND s.tenant = :tenant;

-- name: list_attempts
SELECT number, started_at, ended_at, outcome, status, error, response, response_cut, timing
FROM attempt
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id
  AND (number = 1 OR number > :older)
ORDER BY number;

-- name: list_timings
-- A page of runs as one JSON array; attempts only where the run is to be attributed: its first one,
-- and its last one that ended.
SELECT json_group_array(json_array(r.scheduled_for, r.schedule_id, r.fire_after, r.planned_at,
  f.started_at, hex(f.timing), l.started_at, l.ended_at, hex(l.timing)))
FROM (
  SELECT scheduled_for, schedule_id, fire_after, planned_at, trigger FROM job_run
  WHERE (scheduled_for, schedule_id) > (:after, :after_id) AND scheduled_for < :to
  ORDER BY scheduled_for, schedule_id LIMIT :limit
) r
LEFT JOIN schedule s ON s.id = r.schedule_id AND s.tenant = :tenant AND r.trigger = 'schedule'
LEFT JOIN attempt f ON f.scheduled_for = r.scheduled_for AND f.schedule_id = s.id AND f.number = 1
LEFT JOIN attempt l ON l.scheduled_for = r.scheduled_for AND l.schedule_id = s.id AND l.number =
  (SELECT max(number) FROM attempt a
   WHERE a.scheduled_for = r.scheduled_for AND a.schedule_id = s.id AND a.ended_at IS NOT NULL);

-- name: slice_of_runs_end
-- The last of `looked_at` runs before a key, newest first, whosever they are; no row when there are fewer.
SELECT scheduled_for, schedule_id FROM job_run
WHERE (scheduled_for, schedule_id) < (:before, :before_id) AND scheduled_for >= :from
ORDER BY scheduled_for DESC, schedule_id DESC LIMIT 1 OFFSET :looked_at - 1;

-- name: slice_of_runs_of_schedule_end
SELECT r.scheduled_for, r.schedule_id
FROM schedule s CROSS JOIN job_run r INDEXED BY job_run_schedule_idx ON r.schedule_id = s.id
WHERE s.public_id = :public_id AND s.tenant = :tenant
  AND (r.scheduled_for, r.schedule_id) < (:before, :before_id) AND r.scheduled_for >= :from
ORDER BY r.scheduled_for DESC LIMIT 1 OFFSET :looked_at - 1;

-- name: slice_of_failed_runs_end
-- Of a tenant's failed runs alone.
SELECT scheduled_for, schedule_id FROM job_run INDEXED BY job_run_failed_idx
WHERE failed_of = :tenant AND (scheduled_for, schedule_id) < (:before, :before_id) AND scheduled_for >= :from
ORDER BY scheduled_for DESC, schedule_id DESC LIMIT 1 OFFSET :looked_at - 1;

-- name: newest_run_of_tenant
-- At most `:limit` schedules are looked at. `:before` is an instant.
SELECT count(*), max((SELECT max(r.scheduled_for) FROM job_run r INDEXED BY job_run_schedule_idx
  WHERE r.schedule_id = s.id AND r.scheduled_for <= :before))
FROM (SELECT id FROM schedule WHERE tenant = :tenant LIMIT :limit) s;

-- name: list_runs
-- Of such a slice.
SELECT r.*, s.public_id, s.name, iif(r.granted_from, (SELECT a.started_at FROM attempt a
  WHERE a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id AND a.number = 1), NULL) AS began_at
FROM job_run r CROSS JOIN schedule s ON s.id = r.schedule_id
WHERE s.tenant = :tenant AND (r.scheduled_for, r.schedule_id) < (:before, :before_id)
  AND (r.scheduled_for, r.schedule_id) >= (:begin, :begin_id) AND (:state IS NULL OR r.state = :state)
ORDER BY r.scheduled_for DESC, r.schedule_id DESC LIMIT :limit;

-- name: list_runs_of_schedule
SELECT r.*, s.public_id, s.name, iif(r.granted_from, (SELECT a.started_at FROM attempt a
  WHERE a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id AND a.number = 1), NULL) AS began_at
FROM schedule s
JOIN job_run r INDEXED BY job_run_schedule_idx ON r.schedule_id = s.id
WHERE s.public_id = :public_id AND s.tenant = :tenant AND (r.scheduled_for, r.schedule_id) < (:before, :before_id)
  AND r.scheduled_for >= :begin AND (:state IS NULL OR r.state = :state)
ORDER BY r.scheduled_for DESC, r.schedule_id DESC LIMIT :limit;

-- name: list_failed_runs
SELECT r.*, s.public_id, s.name, iif(r.granted_from, (SELECT a.started_at FROM attempt a
  WHERE a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id AND a.number = 1), NULL) AS began_at
FROM job_run r INDEXED BY job_run_failed_idx CROSS JOIN schedule s ON s.id = r.schedule_id
WHERE r.failed_of = :tenant AND (r.scheduled_for, r.schedule_id) < (:before, :before_id)
  AND (r.scheduled_for, r.schedule_id) >= (:begin, :begin_id)
ORDER BY r.scheduled_for DESC, r.schedule_id DESC LIMIT :limit;

-- name: mark_cancelled_run
-- Its attempt under way is not broken off; what it ends with finds the reason.
UPDATE job_run SET reason = 'requested'
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'attempting';

-- name: cancel_run
UPDATE job_run SET state = :state, reason = 'requested', next_attempt_at = NULL, ended_at = :now
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id
  AND state IN ('planned', 'retry_wait');

-- name: get_deadline
-- What may stand against a replay: the schedule's end, and the deadline that it has now.
SELECT deleted_at, deadline_seconds FROM schedule WHERE id = ?;

-- name: replay_runs
-- Of `:runs`, a JSON array of keys with their due times, those that are still in one of `:states`.
-- Attempts and age are granted anew, and a run of a schedule that forbids overlap has left its line.
WITH replayed (scheduled_for, schedule_id, due) AS (
  SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:runs))
UPDATE job_run SET state = :state, reason = NULL, next_attempt_at = max(e.due, fire_after),
  granted_from = attempt, first_attempt_at = NULL, exclusive = 0, ended_at = NULL, failed_of = NULL
FROM replayed e
WHERE job_run.scheduled_for = e.scheduled_for AND job_run.schedule_id = e.schedule_id
  AND job_run.state IN (SELECT value FROM json_each(:states))
  AND (SELECT deleted_at FROM schedule s WHERE s.id = e.schedule_id) IS NULL
RETURNING next_attempt_at, scheduled_for, schedule_id;

-- name: get_schedule_row
-- A deleted schedule keeps its row, and its runs, for a while.
SELECT id FROM schedule WHERE public_id = :public_id AND tenant = :tenant;

-- name: history_page_end
-- Where a page of `limit` runs of history ends, whatever state they are in; no row when the rest fits in one.
SELECT scheduled_for, schedule_id FROM job_run
WHERE (scheduled_for, schedule_id) > (:after, :after_id) AND scheduled_for < :to
ORDER BY scheduled_for, schedule_id LIMIT 1 OFFSET :limit - 1;

-- name: history_page_end_of_failed
-- The same of a tenant's failed runs alone.
SELECT scheduled_for, schedule_id FROM job_run INDEXED BY job_run_failed_idx
WHERE failed_of = :tenant AND (scheduled_for, schedule_id) > (:after, :after_id) AND scheduled_for < :to
ORDER BY scheduled_for, schedule_id LIMIT 1 OFFSET :limit - 1;

-- name: history_page_end_of_schedule
SELECT scheduled_for, schedule_id FROM job_run INDEXED BY job_run_schedule_idx
WHERE schedule_id = :schedule_id AND scheduled_for > :after AND scheduled_for < :to
ORDER BY scheduled_for LIMIT 1 OFFSET :limit - 1;

-- name: list_failed
-- The failed runs of such a page that are meant. `:labels` is a JSON object, all of which must be there.
SELECT r.scheduled_for, r.schedule_id, s.public_id, s.deadline_seconds, s.deleted_at IS NOT NULL, t.url
FROM job_run r INDEXED BY job_run_failed_idx CROSS JOIN schedule s ON s.id = r.schedule_id
JOIN target t ON t.id = r.target_id
WHERE r.failed_of = :tenant AND (r.scheduled_for, r.schedule_id) > (:after, :after_id)
  AND (r.scheduled_for, r.schedule_id) <= (:until, :until_id) AND (:reason IS NULL OR r.reason = :reason)
  AND NOT EXISTS (SELECT 1 FROM json_each(:labels) w WHERE NOT EXISTS
    (SELECT 1 FROM json_each(s.labels) l WHERE l.key = w.key AND l.value = w.value))
  AND (:outcome IS NULL OR :outcome = coalesce((SELECT outcome FROM attempt a WHERE a.number = r.attempt
    AND a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id), 'none'))
  AND (:status IS NULL OR :status = (SELECT status FROM attempt a WHERE a.number = r.attempt
    AND a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id))
ORDER BY r.scheduled_for, r.schedule_id;

-- name: list_failed_of_schedule
SELECT r.scheduled_for, r.schedule_id, s.public_id, s.deadline_seconds, s.deleted_at IS NOT NULL, t.url
FROM job_run r INDEXED BY job_run_schedule_idx CROSS JOIN schedule s ON s.id = r.schedule_id
JOIN target t ON t.id = r.target_id
WHERE r.schedule_id = :schedule_id AND r.scheduled_for > :after AND r.scheduled_for <= :until
  AND r.state = 'failed' AND s.tenant = :tenant AND (:reason IS NULL OR r.reason = :reason)
  AND NOT EXISTS (SELECT 1 FROM json_each(:labels) w WHERE NOT EXISTS
    (SELECT 1 FROM json_each(s.labels) l WHERE l.key = w.key AND l.value = w.value))
  AND (:outcome IS NULL OR :outcome = coalesce((SELECT outcome FROM attempt a WHERE a.number = r.attempt
    AND a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id), 'none'))
  AND (:status IS NULL OR :status = (SELECT status FROM attempt a WHERE a.number = r.attempt
    AND a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id))
ORDER BY r.scheduled_for;

-- name: failed_page_end
-- Where a page of `limit` failed runs of a tenant ends, newest first; no row when the rest fits in one.
SELECT scheduled_for, schedule_id FROM job_run INDEXED BY job_run_failed_idx
WHERE failed_of = :tenant AND (scheduled_for, schedule_id) < (:before, :before_id)
ORDER BY scheduled_for DESC, schedule_id DESC LIMIT 1 OFFSET :limit - 1;

-- name: count_failures
-- Of such a page, the failed runs by schedule, target and end; `error` is the newest run's (of a
-- query with max() SQLite takes other columns from the row that has it).
SELECT t.url, r.reason, coalesce(a.outcome, 'none'), a.status, s.public_id, s.name, count(*),
  max(r.scheduled_for), a.error
FROM job_run r INDEXED BY job_run_failed_idx CROSS JOIN schedule s ON s.id = r.schedule_id
JOIN target t ON t.id = r.target_id
LEFT JOIN attempt a ON a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id AND a.number = r.attempt
WHERE r.failed_of = :tenant AND (r.scheduled_for, r.schedule_id) < (:before, :before_id)
  AND (r.scheduled_for, r.schedule_id) >= (:from, :from_id)
GROUP BY r.schedule_id, r.target_id, r.reason, a.outcome, a.status
ORDER BY max(r.scheduled_for) DESC;

-- name: delete_failed_run
DELETE FROM job_run
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'failed' RETURNING trigger;

-- name: count_into_range
-- A range that left this run out, since it was there, has to count it now.
UPDATE counted_range SET count = count + 1
WHERE schedule_id = :schedule_id AND reason IN ('paused', 'catch_up')
  AND after < :scheduled_for AND until >= :scheduled_for;

-- name: extend_deleted_range
-- The last one before this run, if nothing lies between them: no run, and no other range.
UPDATE counted_range AS c SET until = :scheduled_for, count = count + 1, decided_at = :now
WHERE c.schedule_id = :schedule_id AND c.reason = 'deleted' AND c.until < :scheduled_for
  AND c.after = (SELECT max(after) FROM counted_range
    WHERE schedule_id = :schedule_id AND reason = 'deleted' AND after < :scheduled_for)
  AND NOT EXISTS (SELECT 1 FROM job_run r INDEXED BY job_run_schedule_idx
    WHERE r.schedule_id = :schedule_id AND r.scheduled_for > c.until AND r.scheduled_for < :scheduled_for)
  AND NOT EXISTS (SELECT 1 FROM counted_range o WHERE o.schedule_id = :schedule_id
    AND o.reason <> 'deleted' AND o.until > c.until AND o.after < :scheduled_for);

-- name: insert_deleted_range
INSERT INTO counted_range (schedule_id, after, until, reason, count, decided_at)
VALUES (:schedule_id, :scheduled_for - 1, :scheduled_for, 'deleted', 1, :now)
ON CONFLICT DO NOTHING;

-- name: list_deleted_ranges
SELECT c.after, c.until FROM schedule s JOIN counted_range c ON c.schedule_id = s.id
WHERE s.public_id = :public_id AND c.reason = 'deleted' AND c.until > :after AND c.after < :until
ORDER BY c.after;

-- name: count_backlog
SELECT count(*), min(next_attempt_at) FROM job_run INDEXED BY job_run_claim_idx
WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL AND next_attempt_at <= :now;

-- name: count_backlog_of_tenant
SELECT count(*), min(r.next_attempt_at)
FROM flow f CROSS JOIN job_run r INDEXED BY job_run_flow_idx ON r.flow_id = f.id
WHERE f.tenant = :tenant AND r.state IN ('planned', 'retry_wait') AND r.next_attempt_at IS NOT NULL
  AND r.next_attempt_at <= :now;

-- name: open_downtime
INSERT INTO downtime (after, until, resume, spread_ms, slow_flows)
VALUES (:after, :until, :resume, :spread_ms, :slow_flows);

-- name: list_downtime
SELECT id, after, until, resume, spread_ms, slow_flows, timetable_id, offset_ms, schedule_id
FROM downtime ORDER BY id;

-- name: get_unjudged
-- What was due by then and never attempted is not claimed before it is judged.
SELECT coalesce(max(until), -1) FROM downtime;

-- name: advance_downtime
UPDATE downtime SET timetable_id = :timetable_id, offset_ms = :offset, schedule_id = :schedule_id
WHERE id = :id;

-- name: close_downtime
DELETE FROM downtime WHERE id = ?;

-- name: count_caught_up_latest
SELECT flow_id, count(*) FROM schedule INDEXED BY schedule_slice_idx
WHERE timetable_id = ? AND deleted_at IS NULL AND paused_at IS NULL
  AND catch_up = 'latest'
GROUP BY flow_id;

-- name: list_flow_rates
SELECT id, rate FROM flow WHERE rate IS NOT NULL;

-- name: list_caught_up_all
-- Schedules that run every missed occurrence weigh more than one run each.
SELECT id, timetable_id, at, offset_ms, owed_after, start_at, last_owed, catch_up, catch_up_window_seconds,
  target_id, public_id, flow_id
FROM schedule INDEXED BY schedule_slice_idx
WHERE timetable_id = ? AND deleted_at IS NULL AND paused_at IS NULL
  AND catch_up = 'all';

-- name: list_missed_planned
-- Schedules with rows planned before the downtime and never attempted.
SELECT s.id, s.timetable_id, s.at, s.offset_ms, s.owed_after, s.start_at, s.last_owed, s.catch_up,
  s.catch_up_window_seconds, s.target_id, s.public_id, s.flow_id
FROM (
  SELECT DISTINCT schedule_id FROM (
    SELECT schedule_id FROM job_run INDEXED BY job_run_claim_idx
    WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL AND next_attempt_at <= :until
      AND state = 'planned' AND attempt = 0 AND trigger = 'schedule'
    ORDER BY next_attempt_at LIMIT :limit)
) r CROSS JOIN schedule s ON s.id = r.schedule_id;

-- name: list_missed_rows_of_schedule
SELECT scheduled_for, fire_after FROM job_run
WHERE schedule_id = :schedule_id AND state = 'planned' AND attempt = 0 AND trigger = 'schedule'
  AND next_attempt_at <= :until
ORDER BY scheduled_for;

-- name: list_missed_at
SELECT id, timetable_id, at, offset_ms, owed_after, start_at, last_owed, catch_up, catch_up_window_seconds,
  target_id, public_id, flow_id
FROM schedule INDEXED BY schedule_at_idx
WHERE at + offset_ms > :after AND at + offset_ms <= :until
  AND deleted_at IS NULL AND paused_at IS NULL AND at IS NOT NULL
  AND owed_after < at AND (start_at IS NULL OR start_at <= at) AND last_owed >= at
  AND NOT EXISTS (SELECT 1 FROM job_run r WHERE r.schedule_id = schedule.id AND r.scheduled_for = at)
  AND NOT EXISTS (SELECT 1 FROM counted_range c WHERE c.schedule_id = schedule.id
    AND c.reason = 'catch_up' AND c.after < at AND at <= c.until)
ORDER BY at + offset_ms LIMIT :limit;

-- name: get_missed
SELECT id, timetable_id, at, offset_ms, owed_after, start_at, last_owed, catch_up, catch_up_window_seconds,
  target_id, public_id, flow_id
FROM schedule WHERE id = ?;

-- name: list_missed_of_timetable
SELECT id, timetable_id, at, offset_ms, owed_after, start_at, last_owed, catch_up, catch_up_window_seconds,
  target_id, public_id, flow_id
FROM schedule INDEXED BY schedule_slice_idx
WHERE timetable_id = :timetable_id AND (offset_ms, id) > (:offset, :schedule_id)
  AND deleted_at IS NULL AND paused_at IS NULL
ORDER BY offset_ms, id LIMIT :limit;

-- name: next_timetable
SELECT id, spec FROM timetable WHERE id >= ? ORDER BY id LIMIT 1;

-- name: catch_up_planned_run
UPDATE job_run SET trigger = 'catch_up', next_attempt_at = :next_attempt_at
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'planned' AND attempt = 0;

-- name: skip_planned_run
UPDATE job_run SET state = 'skipped', reason = 'catch_up', next_attempt_at = NULL, ended_at = :now
WHERE scheduled_for = :scheduled_for AND schedule_id = :schedule_id AND state = 'planned' AND attempt = 0;

-- name: list_prunable_by_age
SELECT scheduled_for, schedule_id FROM job_run
WHERE scheduled_for < :before AND state IN ('succeeded', 'failed', 'skipped', 'cancelled')
ORDER BY scheduled_for, schedule_id LIMIT :limit;

-- name: count_runs
SELECT count(*) FROM job_run;

-- name: count_runs_of_tenants
SELECT s.tenant, sum(r.runs) FROM (SELECT schedule_id, count(*) AS runs
  FROM job_run INDEXED BY job_run_schedule_idx GROUP BY schedule_id) r
CROSS JOIN schedule s ON s.id = r.schedule_id GROUP BY s.tenant;

-- name: list_finished
-- Those of some tenants in a page of history.
SELECT r.scheduled_for, r.schedule_id, s.tenant
FROM job_run r CROSS JOIN schedule s ON s.id = r.schedule_id
WHERE (r.scheduled_for, r.schedule_id) > (:after, :after_id)
  AND (r.scheduled_for, r.schedule_id) <= (:until, :until_id)
  AND r.state IN ('succeeded', 'failed', 'skipped', 'cancelled')
  AND s.tenant IN (SELECT value FROM json_each(:tenants))
ORDER BY r.scheduled_for, r.schedule_id;

-- name: prune_run
DELETE FROM job_run WHERE scheduled_for = ? AND schedule_id = ?;

-- name: prune_attempts
DELETE FROM attempt WHERE scheduled_for = ? AND schedule_id = ?;

-- name: count_pruned
-- One range a schedule: pruning goes from the oldest on, so it only grows at its end.
INSERT INTO counted_range (schedule_id, after, until, reason, count, decided_at)
VALUES (:schedule_id, :after, :until, 'pruned', :count, (SELECT alive FROM progress))
ON CONFLICT (schedule_id, reason, after) DO UPDATE SET
  until = max(until, excluded.until), count = count + excluded.count, decided_at = excluded.decided_at;

-- name: list_prunable_ranges
SELECT schedule_id, after, until, count FROM counted_range INDEXED BY counted_range_deleted_idx
WHERE reason = 'deleted' AND until < :before ORDER BY until LIMIT :limit;

-- name: prune_range
DELETE FROM counted_range WHERE schedule_id = ? AND reason = 'deleted' AND after = ?;

-- name: raise_history_floor
UPDATE progress SET history_floor = max(history_floor, :floor);

-- name: raise_history_floor_of_tenant
UPDATE tenant SET history_floor = max(history_floor, :floor) WHERE name = :tenant;

-- name: list_prunable_revisions
SELECT schedule_id, number, until FROM revision WHERE until < :before ORDER BY until LIMIT :limit;

-- name: prune_revision
DELETE FROM revision WHERE schedule_id = ? AND number = ?;

-- name: get_pruned_after
SELECT after FROM counted_range WHERE schedule_id = ? AND reason = 'pruned';

-- name: list_forgotten_schedules
-- Deleted, and no run left that remembers them: made again they cannot repeat anything. While
-- history lasts they can still be audited.
SELECT s.id FROM schedule s
WHERE s.id > :after AND s.id <= :until AND s.deleted_at < :before
  AND NOT EXISTS (SELECT 1 FROM job_run r INDEXED BY job_run_schedule_idx WHERE r.schedule_id = s.id);

-- name: forget_ranges
DELETE FROM counted_range WHERE schedule_id = ?;

-- name: forget_revisions
DELETE FROM revision WHERE schedule_id = ?;

-- name: forget_schedule
DELETE FROM schedule WHERE id = ?;

-- name: forget_timetables
DELETE FROM timetable WHERE id > :after AND id <= :until
  AND NOT EXISTS (SELECT 1 FROM schedule s WHERE s.timetable_id = timetable.id);

-- name: list_loose_targets
-- No schedule has them; whether a run of the past still does takes a look through all of them.
SELECT t.id FROM target t
WHERE t.id > :after AND t.id <= :until
  AND NOT EXISTS (SELECT 1 FROM schedule s WHERE s.target_id = t.id);

-- name: list_targets_of_runs
SELECT DISTINCT target_id FROM job_run
WHERE target_id IN (SELECT value FROM json_each(:targets));

-- name: forget_targets
-- Looked at again where it may have changed since: in schedules and in the runs that wait.
DELETE FROM target WHERE id IN (SELECT value FROM json_each(:targets))
  AND NOT EXISTS (SELECT 1 FROM schedule s WHERE s.target_id = target.id)
  AND id NOT IN (SELECT target_id FROM job_run INDEXED BY job_run_claim_idx
    WHERE state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL)
  AND id NOT IN (SELECT target_id FROM job_run INDEXED BY job_run_attempting_idx
    WHERE state = 'attempting');

-- name: last_swept_id
SELECT max(coalesce((SELECT max(id) FROM schedule), 0), coalesce((SELECT max(id) FROM target), 0),
           coalesce((SELECT max(id) FROM timetable), 0));

-- name: fault_runs_in_a_waiting_state_without_a_due_time
SELECT count(*) FROM job_run WHERE state = 'planned' AND next_attempt_at IS NULL;

-- name: fault_finished_runs_with_a_due_time
SELECT count(*) FROM job_run
WHERE state IN ('succeeded', 'failed', 'skipped', 'cancelled') AND next_attempt_at IS NOT NULL;

-- name: fault_failed_runs_that_their_tenant_does_not_find
SELECT count(*) FROM job_run r JOIN schedule s ON s.id = r.schedule_id
WHERE r.failed_of IS NOT iif(r.state = 'failed', s.tenant, NULL);

-- name: fault_runs_due_before_their_fire_time
SELECT count(*) FROM job_run WHERE next_attempt_at < fire_after;

-- name: fault_attempts_before_their_fire_time
SELECT count(*) FROM attempt a JOIN job_run r USING (scheduled_for, schedule_id)
WHERE a.started_at < r.fire_after;

-- name: fault_attempts_beyond_the_count_of_their_run
SELECT count(*) FROM attempt a JOIN job_run r USING (scheduled_for, schedule_id)
WHERE a.number > r.attempt;

-- name: fault_finished_runs_without_all_of_their_attempts
SELECT count(*) FROM job_run r
WHERE r.state IN ('succeeded', 'failed') AND r.attempt <>
  (SELECT count(*) FROM attempt a WHERE a.scheduled_for = r.scheduled_for AND a.schedule_id = r.schedule_id);

-- name: put_herd_record
-- Runs planned late may make a second record of an instant; the larger one has seen the herd.
INSERT INTO herd_record (instant, seconds, runs, offsets, timetables, busiest_demand, busiest_planned,
  busiest_served, amplification, noise_floor, volume, verdict, period_seconds, sentence, advice, forecast)
VALUES (:instant_ms, :seconds, :runs, :offsets, :timetables, :busiest_demand, :busiest_planned,
  :busiest_served, :amplification, :noise_floor, :volume, :verdict, :period_seconds, :sentence, :advice,
  :forecast)
ON CONFLICT (instant) DO UPDATE SET seconds = excluded.seconds, runs = excluded.runs,
  offsets = excluded.offsets, timetables = excluded.timetables, busiest_demand = excluded.busiest_demand,
  busiest_planned = excluded.busiest_planned, busiest_served = excluded.busiest_served,
  amplification = excluded.amplification, noise_floor = excluded.noise_floor, volume = excluded.volume,
  verdict = excluded.verdict, period_seconds = excluded.period_seconds, sentence = excluded.sentence,
  advice = excluded.advice, forecast = coalesce(excluded.forecast, forecast)
WHERE excluded.runs > runs;

-- name: forget_herd_records
DELETE FROM herd_record WHERE instant < ?;

-- name: list_herd_records
SELECT instant AS instant_ms, seconds, runs, offsets, timetables, busiest_demand, busiest_planned,
  busiest_served, amplification, noise_floor, volume, verdict, period_seconds, sentence, advice, forecast
FROM herd_record ORDER BY instant DESC LIMIT ?;

-- name: count_offsets
-- How many schedules each timetable has at each second of offset, from the index alone. Paused and
-- deleted ones are in it; `list_offset_exceptions` takes them out again. A line of JSON a timetable
-- and all of them one row: each row waits for the interpreter's lock beside a busy loop.
SELECT group_concat(line, char(10)) FROM (
  SELECT json_array(t.id, t.spec, json_group_array(c.second), json_group_array(c.schedules)) AS line
  FROM (
    SELECT timetable_id, offset_ms / 1000 AS second, count(*) AS schedules
    FROM schedule INDEXED BY schedule_slice_idx WHERE timetable_id IS NOT NULL GROUP BY 1, 2
  ) c CROSS JOIN timetable t ON t.id = c.timetable_id
  GROUP BY c.timetable_id);

-- name: count_offsets_of_tenant
-- The same for one tenant, from its own rows.
SELECT group_concat(line, char(10)) FROM (
  SELECT json_array(t.id, t.spec, json_group_array(c.second), json_group_array(c.schedules)) AS line
  FROM (
    SELECT timetable_id, offset_ms / 1000 AS second, count(*) AS schedules
    FROM schedule WHERE tenant = :tenant AND timetable_id IS NOT NULL GROUP BY 1, 2
  ) c CROSS JOIN timetable t ON t.id = c.timetable_id
  GROUP BY c.timetable_id);

-- name: list_flow_limits
-- Flows that somebody limited, and those that sent lately, with the mean time of their requests: of
-- the newest attempts, a sample that is large enough and read at once.
SELECT group_concat(line, char(10)) FROM (
  WITH newest AS (
    SELECT scheduled_for, schedule_id, ended_at - started_at AS ms FROM attempt
    WHERE scheduled_for >= :since AND ended_at IS NOT NULL ORDER BY scheduled_for DESC LIMIT :limit),
  latency AS (
    SELECT r.flow_id, sum(n.ms) / count(*) AS ms
    FROM newest n CROSS JOIN job_run r USING (scheduled_for, schedule_id) GROUP BY 1)
  SELECT json_array(f.id, f.tenant, f.key, f.rate, f.parallelism, f.paused, l.ms) AS line
  FROM flow f LEFT JOIN latency l ON l.flow_id = f.id
  WHERE (f.rate IS NOT NULL OR f.paused = 1 OR l.flow_id IS NOT NULL)
    AND (:tenant IS NULL OR f.tenant = :tenant));

-- name: count_schedules_of_flows
-- `:flows` is a JSON array of flow ids.
SELECT group_concat(json_array(flow_id, schedules), char(10)) FROM (
  SELECT flow_id, count(*) AS schedules FROM schedule NOT INDEXED
  WHERE flow_id IN (SELECT value FROM json_each(:flows)) AND deleted_at IS NULL GROUP BY 1);

-- name: count_due_of_flow
SELECT count(*) FROM job_run INDEXED BY job_run_flow_idx
WHERE flow_id = :flow_id AND state IN ('planned', 'retry_wait') AND next_attempt_at IS NOT NULL
  AND next_attempt_at <= :now;

-- name: list_offset_exceptions
-- Schedules that are counted by themselves: of the flows of `:flows`, a JSON array of ids, and those
-- that do not owe all of a span: deleted, paused, or beginning or ending within it. A clock that was
-- set back leaves schedules that owe nothing before an instant to come.
SELECT group_concat(json_array(timetable_id, second, live, after, until, flow_id, schedules), char(10))
FROM (
  SELECT timetable_id, offset_ms / 1000 AS second,
    deleted_at IS NULL AND (paused_at IS NULL OR paused_until IS NOT NULL) AS live,
    nullif(max(CASE WHEN start_at > :start THEN start_at - 1 ELSE 0 END, coalesce(paused_until, 0),
      CASE WHEN owed_after >= :start THEN owed_after ELSE 0 END) / 1000, 0) AS after,
    CASE WHEN last_owed < :end THEN last_owed / 1000 END AS until,
    CASE WHEN flow_id IN (SELECT value FROM json_each(:flows)) THEN flow_id END AS flow_id,
    count(*) AS schedules
  FROM schedule NOT INDEXED
  WHERE timetable_id IS NOT NULL
    AND (deleted_at IS NOT NULL OR paused_at IS NOT NULL OR start_at > :start OR last_owed < :end
      OR owed_after >= :start OR flow_id IN (SELECT value FROM json_each(:flows)))
    AND (:tenant IS NULL OR tenant = :tenant)
  GROUP BY 1, 2, 3, 4, 5, 6);

-- name: count_under_way
-- Of an occurrence that is past, the runs that are not due yet.
SELECT group_concat(json_array(second, flow_id, schedules), char(10)) FROM (
  SELECT (:instant + offset_ms) / 1000 AS second,
    CASE WHEN flow_id IN (SELECT value FROM json_each(:flows)) THEN flow_id END AS flow_id,
    count(*) AS schedules
  FROM schedule INDEXED BY schedule_slice_idx
  WHERE timetable_id = :timetable_id AND offset_ms > :now - :instant
    AND deleted_at IS NULL AND paused_at IS NULL
    AND owed_after < :instant AND (start_at IS NULL OR start_at <= :instant)
    AND (last_owed IS NULL OR last_owed >= :instant)
    AND (:tenant IS NULL OR tenant = :tenant)
  GROUP BY 1, 2);

-- name: count_due_of_second
-- Runs that were scheduled for a second and are due, whatever has become of them.
SELECT count(*) FROM job_run
WHERE scheduled_for >= :second AND scheduled_for < :second + 1000
  AND fire_after <= :now AND trigger = 'schedule' AND (:tenant IS NULL
    OR :tenant = (SELECT tenant FROM schedule WHERE id = job_run.schedule_id));

-- name: count_one_shots
-- By the seconds of both of their instants.
SELECT group_concat(json_array(scheduled_for, fire_after, flow_id, schedules), char(10)) FROM (
  SELECT at / 1000 AS scheduled_for, (at + offset_ms) / 1000 AS fire_after,
    CASE WHEN flow_id IN (SELECT value FROM json_each(:flows)) THEN flow_id END AS flow_id,
    count(*) AS schedules
  FROM schedule INDEXED BY schedule_at_idx
  WHERE at + offset_ms > :after AND at + offset_ms <= :until
    AND deleted_at IS NULL AND paused_at IS NULL AND at IS NOT NULL
    AND owed_after < at AND (start_at IS NULL OR start_at <= at) AND last_owed >= at
    AND (:tenant IS NULL OR tenant = :tenant)
  GROUP BY 1, 2, 3);

-- name: count_deadlines
-- Deadlines shorter than the largest jitter, those of the flows of `:flows` by themselves.
SELECT group_concat(json_array(timetable_id, flow_id, deadline_seconds, schedules), char(10)) FROM (
  SELECT timetable_id, CASE WHEN flow_id IN (SELECT value FROM json_each(:flows)) THEN flow_id END
    AS flow_id, deadline_seconds, count(*) AS schedules
  FROM schedule NOT INDEXED
  WHERE deadline_seconds < :below AND timetable_id IS NOT NULL AND deleted_at IS NULL
    AND paused_at IS NULL AND owed_after < :start AND (start_at IS NULL OR start_at <= :start)
    AND (last_owed IS NULL OR last_owed >= :end)
    AND (:tenant IS NULL OR tenant = :tenant)
  GROUP BY 1, 2, 3);

-- name: count_impatient
-- Schedules whose runs may expire within `:wait` milliseconds of becoming due, a line for those with the same
-- timetable, flow and deadline; the flows of `:flows` by themselves.
SELECT group_concat(line, char(10)) FROM (
  SELECT json_array(t.id, t.spec, c.flow_id, c.deadline_seconds, json_group_array(c.second),
    json_group_array(c.schedules)) AS line
  FROM (
    SELECT timetable_id, CASE WHEN flow_id IN (SELECT value FROM json_each(:flows)) THEN flow_id END
      AS flow_id, deadline_seconds, offset_ms / 1000 AS second, count(*) AS schedules
    FROM schedule NOT INDEXED
    WHERE deadline_seconds * 1000 < offset_ms + :wait AND timetable_id IS NOT NULL AND deleted_at IS NULL
      AND paused_at IS NULL AND owed_after < :start AND (start_at IS NULL OR start_at <= :start)
      AND (last_owed IS NULL OR last_owed >= :end)
      AND (:tenant IS NULL OR tenant = :tenant)
    GROUP BY 1, 2, 3, 4
  ) c CROSS JOIN timetable t ON t.id = c.timetable_id
  GROUP BY c.timetable_id, c.flow_id, c.deadline_seconds);

-- name: list_identities
-- A page of a timetable's schedules that owe all of a span, in the order of the index: what other
-- offsets are computed from. Those of one of the flows of `:flows`, or with a NULL `:flow` all others.
SELECT group_concat(json_array(offset_ms, id, public_id, deadline_seconds), char(10)) FROM (
  SELECT offset_ms, id, public_id, deadline_seconds FROM schedule INDEXED BY schedule_slice_idx
  WHERE timetable_id = :timetable_id AND (offset_ms, id) > (:offset, :id)
    AND CASE WHEN flow_id IN (SELECT value FROM json_each(:flows)) THEN flow_id END IS :flow
    AND deleted_at IS NULL AND paused_at IS NULL AND owed_after < :start
    AND (start_at IS NULL OR start_at <= :start)
    AND (last_owed IS NULL OR last_owed >= :end)
    AND (:tenant IS NULL OR tenant = :tenant)
  ORDER BY offset_ms, id LIMIT :limit);

-- name: list_changed_schedules
-- The names of some, the newest first, and beside each how many there are in all.
SELECT name, count(*) OVER () FROM schedule NOT INDEXED WHERE updated_at > :since
ORDER BY updated_at DESC LIMIT :limit;

-- name: last_schedule_id
SELECT coalesce(max(id), 0) FROM schedule;

-- name: sample_schedules
-- `limit` row ids out of 1 .. `last`, scattered by multiplication with a prime: every `n`-th one
-- would follow the patterns in which schedules are made. `after` and `until` are those of
-- `list_offset_exceptions`.
WITH RECURSIVE pick (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM pick WHERE k < :limit)
SELECT group_concat(json_array(timetable_id, after, until, tenant, url, schedules), char(10)) FROM (
  SELECT s.timetable_id,
    nullif(max(CASE WHEN s.start_at > :start THEN s.start_at - 1 ELSE 0 END, coalesce(s.paused_until, 0),
      CASE WHEN s.owed_after >= :start THEN s.owed_after ELSE 0 END) / 1000, 0) AS after,
    CASE WHEN s.last_owed < :end THEN s.last_owed / 1000 END AS until,
    s.tenant, t.url, count(*) AS schedules
  FROM pick CROSS JOIN schedule s ON s.id = (pick.k * 2654435761) % :last + 1
  CROSS JOIN target t ON t.id = s.target_id
  WHERE s.timetable_id IS NOT NULL AND s.deleted_at IS NULL
    AND (s.paused_at IS NULL OR s.paused_until IS NOT NULL)
  GROUP BY 1, 2, 3, 4, 5);

-- name: sample_schedules_of_tenant
-- Its first ones by name, which is all of them for most.
SELECT group_concat(json_array(timetable_id, after, until, tenant, url, schedules), char(10)) FROM (
  SELECT s.timetable_id,
    nullif(max(CASE WHEN s.start_at > :start THEN s.start_at - 1 ELSE 0 END, coalesce(s.paused_until, 0),
      CASE WHEN s.owed_after >= :start THEN s.owed_after ELSE 0 END) / 1000, 0) AS after,
    CASE WHEN s.last_owed < :end THEN s.last_owed / 1000 END AS until,
    s.tenant, t.url, count(*) AS schedules
  FROM (SELECT * FROM schedule WHERE tenant = :tenant ORDER BY name LIMIT :limit) s
  CROSS JOIN target t ON t.id = s.target_id
  WHERE s.timetable_id IS NOT NULL AND s.deleted_at IS NULL
    AND (s.paused_at IS NULL OR s.paused_until IS NOT NULL)
  GROUP BY 1, 2, 3, 4, 5);

-- name: count_new_schedule
-- Of no effect when the tenant has as many as it may have. `:counts` is 0 for that of its notices.
INSERT INTO tenant (name, created_at, schedules) VALUES (:tenant, :now, :counts)
ON CONFLICT (name) DO UPDATE SET schedules = schedules + :counts
WHERE schedules + :counts <= max(schedules, coalesce(schedules_max, :default_max));

-- name: count_deleted_schedule
UPDATE tenant SET schedules = schedules - :counts WHERE name = :tenant;

-- name: put_tenant
-- Revisions begin at the instant of birth: nobody's who was deleted and made again repeat. (A change takes
-- longer than a millisecond.)
INSERT INTO tenant (name, created_at, schedules_max, interval_seconds_min, rate, revision)
VALUES (:name, :now, :schedules_max, :interval_seconds_min, :rate, :now)
ON CONFLICT (name) DO UPDATE SET schedules_max = excluded.schedules_max,
  interval_seconds_min = excluded.interval_seconds_min, rate = excluded.rate, revision = revision
    + ((schedules_max, interval_seconds_min, rate)
      IS NOT (excluded.schedules_max, excluded.interval_seconds_min, excluded.rate))
RETURNING name, created_at, schedules, schedules_max, interval_seconds_min, rate, revision;

-- name: get_tenant
SELECT name, created_at, schedules, schedules_max, interval_seconds_min, rate, revision FROM tenant
WHERE name = ?;

-- name: list_tenants
SELECT name, created_at, schedules, schedules_max, interval_seconds_min, rate, revision FROM tenant
WHERE name > :after ORDER BY name LIMIT :limit;

-- name: list_tenants_with_schedules
-- From one tenant to the next by the index, whatever each has; without the table of tenants, which
-- a journal of before schema 7 lacks.
WITH RECURSIVE owner (name) AS (
  SELECT min(tenant) FROM schedule
  UNION ALL
  SELECT (SELECT min(tenant) FROM schedule WHERE tenant > owner.name) FROM owner WHERE owner.name IS NOT NULL)
SELECT owner.name FROM owner
WHERE EXISTS (SELECT 1 FROM schedule WHERE tenant = owner.name AND deleted_at IS NULL);

-- name: is_tenant_in_use
-- Deleted schedules count while runs of theirs remain: the next owner of the name would see them.
SELECT EXISTS (SELECT 1 FROM schedule WHERE tenant = :name)
  OR EXISTS (SELECT 1 FROM api_key WHERE tenant = :name);

-- name: delete_tenant
DELETE FROM tenant WHERE name = ?;

-- name: delete_flows_of_tenant
DELETE FROM flow WHERE tenant = ?;

-- name: list_keys
SELECT id, tenant, scope, digest, name, created_at, last_used_at FROM api_key ORDER BY id;

-- name: insert_key
INSERT INTO api_key (id, tenant, scope, digest, name, created_at)
SELECT :id, name, :scope, :digest, :key_name, :now FROM tenant WHERE name = :tenant;

-- name: delete_key
DELETE FROM api_key WHERE id = ?;

-- name: mark_key_used
UPDATE api_key SET last_used_at = ? WHERE id = ?;

-- name: list_secret_versions
SELECT tenant, oldest, newest FROM signing_secret;

-- name: get_secret_versions
SELECT oldest, newest FROM signing_secret WHERE tenant = ?;

-- name: put_secret_versions
INSERT INTO signing_secret (tenant, oldest, newest) VALUES (:tenant, :oldest, :newest)
ON CONFLICT (tenant) DO UPDATE SET oldest = excluded.oldest, newest = excluded.newest;

-- name: fault_tenants_with_another_number_of_schedules_than_is_said
SELECT count(*) FROM tenant t WHERE t.schedules <>
  (SELECT count(*) FROM schedule s
   WHERE s.tenant = t.name AND s.deleted_at IS NULL AND s.name <> 'sch_notices');

-- name: fault_schedules_of_a_tenant_that_is_not_there
SELECT count(*) FROM schedule s WHERE NOT EXISTS (SELECT 1 FROM tenant t WHERE t.name = s.tenant);

-- name: get_answer
SELECT fingerprint, status, headers, document FROM answer
WHERE tenant = ? AND key = ? AND created_at > ?;

-- name: count_answers
SELECT count(*) FROM answer WHERE tenant = ? AND created_at > ?;

-- name: keep_answer
-- Of no effect where there is one that is still kept.
INSERT INTO answer (tenant, key, fingerprint, status, headers, document, created_at)
VALUES (:tenant, :key, :fingerprint, :status, :headers, :document, :now)
ON CONFLICT (tenant, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
  headers = excluded.headers, document = excluded.document, created_at = excluded.created_at
WHERE created_at <= :since;

-- name: forget_answers
DELETE FROM answer
WHERE id IN (SELECT id FROM answer WHERE created_at <= :until ORDER BY created_at LIMIT :limit);

-- name: delete_answers_of_tenant
-- The next owner of the name would be answered with them.
DELETE FROM answer WHERE tenant = ?;
