-- A target's credentials, JSON [[header, sealed value], ...]; in `headers` a mask stands in their place.
ALTER TABLE target ADD COLUMN sealed TEXT;
