-- Up Migration
-- The log `evidence` records everything that a promotion check is decided on (docs/formats.md, "Evidence events"). Checks are decided on
-- this log alone. Databases without it are refused: a log that begins later would not hold what came before.
DO $$
BEGIN
  IF EXISTS (SELECT FROM countersign.tenants) THEN
    RAISE EXCEPTION USING ERRCODE = 'CS001', MESSAGE = 'this database was written by a version without the log of evidence';
  END IF;
END $$;

CREATE TABLE countersign.evidence_events (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  seq bigint NOT NULL CHECK (seq > 0),
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  -- Canonical JSON.
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.evidence_events
  FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change();
ALTER TABLE countersign.evidence_events ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE countersign.evidence_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.evidence_events FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.evidence_events
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);

ALTER TABLE countersign.log_heads DROP CONSTRAINT log_heads_log_check,
  ADD CONSTRAINT log_heads_log_check CHECK (log IN ('audit', 'decisions', 'evidence', 'keys'));
ALTER TABLE countersign.tree_nodes DROP CONSTRAINT tree_nodes_log_check,
  ADD CONSTRAINT tree_nodes_log_check CHECK (log IN ('audit', 'decisions', 'evidence', 'keys'));
ALTER TABLE countersign.checkpoints DROP CONSTRAINT checkpoints_log_check,
  ADD CONSTRAINT checkpoints_log_check CHECK (log IN ('audit', 'decisions', 'evidence', 'keys'));

-- The latest evaluation of each series is part of what the log adds up to.
DROP TABLE countersign.evaluation_series;
DROP FUNCTION countersign.series_identity(text, text, uuid);
ALTER TABLE countersign.agents DROP COLUMN several_series;
-- The times of these rows are those of their events.
ALTER TABLE countersign.evaluations ALTER COLUMN recorded_at DROP DEFAULT;
