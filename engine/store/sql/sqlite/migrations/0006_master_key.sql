-- One row: a check value of the master key from which the signing secrets of this journal are derived.
-- It tells whether a key is that one, and nothing about the key.
CREATE TABLE master_key (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  fingerprint TEXT NOT NULL
) STRICT;
