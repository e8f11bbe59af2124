-- The labels of schedules that are not deleted, once more, so that an index answers a selector in the
-- order of names: by key in the table's own, by key and value in the one below. A schedule without
-- labels has no row here and costs nothing.
CREATE TABLE schedule_label (
  tenant TEXT NOT NULL,
  key    TEXT NOT NULL,
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (tenant, key, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedule_label_value_idx ON schedule_label (tenant, key, value, name);

INSERT INTO schedule_label (tenant, key, name, value)
SELECT s.tenant, l.key, s.name, l.value FROM schedule s, json_each(s.labels) l
WHERE s.labels IS NOT NULL AND s.deleted_at IS NULL;

-- Who rests: few among many.
CREATE INDEX schedule_rest_idx ON schedule (tenant, name) WHERE paused_at IS NOT NULL;
