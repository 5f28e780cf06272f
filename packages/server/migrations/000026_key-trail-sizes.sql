-- Up Migration
-- Keys are believed on the key audit trail alone (docs/decisions/0048). Whoever looks up keys of all tenants also reads how many events
-- their trails have. Events commit to the key's secret, so those of before cannot be carried over.
DO $$
BEGIN
  IF EXISTS (SELECT FROM countersign.tenants) THEN
    RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = 'this database was written by a version whose key events do not commit to the keys';
  END IF;
END $$;
CREATE POLICY sizes_of_key_trails ON countersign.log_heads FOR SELECT USING (log = 'keys');
ALTER TABLE countersign.key_events ALTER COLUMN event_hash SET NOT NULL;
