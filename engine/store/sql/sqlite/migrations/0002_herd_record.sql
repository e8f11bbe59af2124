-- What was seen of each herd: one row after each full hour, each herd, and each shock when first seen.
-- `instant` is the herd's `scheduled_for`, of a shock the beginning of the window it was seen in;
-- `seconds` the window over which the figures were taken. `busiest_*` are runs in the busiest second,
-- `noise_floor` is what a perfect spread would have. `offsets` and `timetables` are JSON:
-- [[upper bound in seconds or null, runs], ...] and [[timetable id, runs], ...], the largest first.
CREATE TABLE herd_record (
  instant         INTEGER PRIMARY KEY,
  seconds         INTEGER NOT NULL,
  runs            INTEGER NOT NULL,
  offsets         TEXT NOT NULL,
  timetables      TEXT NOT NULL,
  busiest_demand  INTEGER NOT NULL,
  busiest_planned INTEGER NOT NULL,
  busiest_served  INTEGER NOT NULL,
  amplification   REAL NOT NULL,
  noise_floor     REAL NOT NULL,
  volume          REAL NOT NULL,
  verdict         TEXT NOT NULL CHECK (verdict IN ('quiet', 'normal', 'flattened', 'alignment', 'volume',
    'retry_storm', 'catch_up', 'downstream')),
  period_seconds  INTEGER,
  sentence        TEXT NOT NULL,
  advice          TEXT NOT NULL,
  forecast        TEXT
) STRICT;
