-- Up Migration
-- The log `traces` records which documents were stored as traces, one event a transaction (docs/formats.md, "Trace event"). Databases without it are
-- refused: a log that begins later would not hold what came before.
DO $$
BEGIN
  IF EXISTS (SELECT FROM countersign.tenants) THEN
    RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = 'this database was written by a version without the log of traces';
  END IF;
END $$;

CREATE TABLE countersign.trace_events (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  seq bigint NOT NULL CHECK (seq > 0),
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  -- Canonical JSON.
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq)
);
-- Hashes hardly compress.
ALTER TABLE countersign.trace_events ALTER COLUMN document SET STORAGE EXTERNAL;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.trace_events
  FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change();
ALTER TABLE countersign.trace_events ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE countersign.trace_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.trace_events FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.trace_events
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);

ALTER TABLE countersign.log_heads DROP CONSTRAINT log_heads_log_check,
  ADD CONSTRAINT log_heads_log_check CHECK (log IN ('audit', 'decisions', 'evidence', 'keys', 'traces'));
ALTER TABLE countersign.tree_nodes DROP CONSTRAINT tree_nodes_log_check,
  ADD CONSTRAINT tree_nodes_log_check CHECK (log IN ('audit', 'decisions', 'evidence', 'keys', 'traces'));
ALTER TABLE countersign.checkpoints DROP CONSTRAINT checkpoints_log_check,
  ADD CONSTRAINT checkpoints_log_check CHECK (log IN ('audit', 'decisions', 'evidence', 'keys', 'traces'));
