-- Up Migration
-- Append-only logs and the walls between tenants, kept by the database and not only by the code.

CREATE FUNCTION countersign.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['audit_entries', 'decisions', 'key_events', 'trace_submissions', 'telemetry_submissions'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change()', name);
    -- ALWAYS: session_replication_role = replica does not switch it off.
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ALWAYS TRIGGER append_only', name);
  END LOOP;
END $$;

-- Row-level security behind every statement's own `tenant_id = $1`. FORCE: the owner is held by it too.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['key_last_use', 'log_heads', 'key_events', 'decision_keys', 'idempotency_keys', 'agents', 'traces',
    'trace_submissions', 'spans', 'telemetry_submissions', 'telemetry_events', 'evaluations', 'audit_entries', 'decisions',
    'approvals', 'incidents', 'recertifications'] LOOP
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE countersign.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY of_tenant ON countersign.%I
      USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
      WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)$policy$, name);
  END LOOP;
END $$;
