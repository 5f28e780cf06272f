-- Up Migration
-- Append-only tables and the separation of tenants, enforced by the database and not only by the code.

CREATE FUNCTION countersign.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

-- For rows that retention or erasure may drop. Both run as the owner of the tables. If the server has another role, that role has no right
-- to delete these rows. The setting only prevents mistakes. The log `traces` shows which traces were dropped.
CREATE FUNCTION countersign.refuse_change_except_dropping() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = ANY (TG_ARGV) AND current_setting('countersign.dropping', true) = 'on' THEN RETURN NULL; END IF;
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

DO $$
DECLARE name text; function_call text;
BEGIN
  FOR name, function_call IN VALUES
    ('audit_entries', 'refuse_change()'),
    ('checkpoints', 'refuse_change()'),
    ('decisions', 'refuse_change()'),
    ('dropped_traces', 'refuse_change()'),
    ('evaluated_runs', 'refuse_change()'),
    ('evaluations', 'refuse_change()'),
    ('evidence_events', 'refuse_change()'),
    ('incidents', 'refuse_change()'),
    ('key_events', 'refuse_change()'),
    ('retention_periods', 'refuse_change()'),
    ('trace_events', 'refuse_change()'),
    ('tree_nodes', 'refuse_change()'),
    ('otlp_exports', 'refuse_change_except_dropping(''DELETE'')'),
    ('telemetry_events', 'refuse_change_except_dropping(''DELETE'')'),
    ('trace_submissions', 'refuse_change_except_dropping(''DELETE'')'),
    -- A segment is written again with zeros for the dropped bytes, and a telemetry request without the dropped events.
    ('document_segments', 'refuse_change_except_dropping(''DELETE'', ''UPDATE'')'),
    ('telemetry_submissions', 'refuse_change_except_dropping(''DELETE'', ''UPDATE'')')
  LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.%I
                    FOR EACH STATEMENT EXECUTE FUNCTION countersign.%s', name, function_call);
    -- ALWAYS: session_replication_role = replica does not disable it.
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ALWAYS TRIGGER append_only', name);
  END LOOP;
END $$;

-- Every statement selects one tenant (`tenant_id = $1`), and row-level security enforces it. FORCE: it applies to the owner too.
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['agents', 'approvals', 'audit_entries', 'checkpoints', 'decision_keys', 'decisions', 'document_segments',
    'dropped_traces', 'evaluated_runs', 'evaluations', 'evidence_events', 'idempotency_keys', 'incidents', 'ingestion_keys', 'key_events',
    'key_last_use', 'log_heads', 'log_records', 'memberships', 'merged_spans', 'merged_traces', 'otlp_exports', 'recertifications',
    'retention_periods', 'run_id_segments', 'telemetry_events', 'telemetry_submissions', 'trace_events', 'trace_submissions', 'traces',
    'tree_nodes'] LOOP
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE countersign.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY of_tenant ON countersign.%I
      USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
      WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)$policy$, name);
  END LOOP;
END $$;

-- Keys are looked up by their prefix in all workspaces, before the tenant is known. In a tenant's transaction, only its keys are visible.
ALTER POLICY of_tenant ON countersign.ingestion_keys
  USING (nullif(current_setting('countersign.tenant_id', true), '') IS NULL
         OR tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);

-- This lookup also reads the heads of key audit trails (docs/decisions/0048).
CREATE POLICY sizes_of_key_trails ON countersign.log_heads FOR SELECT USING (log = 'keys');

-- A person sees their own memberships in all workspaces.
CREATE POLICY of_person ON countersign.memberships FOR SELECT
  USING (person_id = nullif(current_setting('countersign.person_id', true), '')::uuid);
