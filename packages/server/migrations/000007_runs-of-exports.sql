-- Up Migration
-- The stored body of an OpenTelemetry export can contain parts of runs that neither a submission nor a stored log record names: log records
-- that are not kept, log records that an earlier export also had, and spans without a span_id. This index finds the exports of a run that
-- is erased (docs/decisions/0057).
CREATE TABLE countersign.export_runs (
  tenant_id uuid NOT NULL,
  trace_id text COLLATE "C" NOT NULL,
  export uuid NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, export)
);
CREATE INDEX export_runs_by_export ON countersign.export_runs (tenant_id, export);

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.export_runs
  FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change_except_dropping('DELETE');
ALTER TABLE countersign.export_runs ENABLE ALWAYS TRIGGER append_only;

ALTER TABLE countersign.export_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.export_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.export_runs
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);
