-- Flows whose own limit makes catching up take longer than `spread_ms`: [[flow id, milliseconds], ...].
ALTER TABLE downtime ADD COLUMN slow_flows TEXT NOT NULL DEFAULT '[]';
