-- Up Migration
-- What the gate decides on, and what people read of runs and incidents, is appended to and never changed, as the logs are: an evaluation's
-- pass rate cannot be raised afterwards, not even by the owner of the tables in passing.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['evaluations', 'telemetry_events', 'incidents'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change()', name);
    -- ALWAYS: session_replication_role = replica does not switch it off.
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ALWAYS TRIGGER append_only', name);
  END LOOP;
END $$;
