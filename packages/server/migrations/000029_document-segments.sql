-- Up Migration
-- Documents of a batch are compressed together, because those of one agent repeat each other. A document is either in its row, or it is a
-- range of the decompressed bytes of a segment (docs/decisions/0055).
CREATE TABLE countersign.document_segments (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  -- Of the decompressed bytes.
  bytes integer NOT NULL CHECK (bytes > 0),
  -- Brotli.
  compressed bytea NOT NULL,
  PRIMARY KEY (tenant_id, id)
);
ALTER TABLE countersign.document_segments ALTER COLUMN compressed SET STORAGE EXTERNAL;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.document_segments
  FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change();
ALTER TABLE countersign.document_segments ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE countersign.document_segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE countersign.document_segments FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON countersign.document_segments
  USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
  WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid);

ALTER TABLE countersign.trace_submissions ALTER COLUMN document DROP NOT NULL,
  ADD COLUMN segment uuid, ADD COLUMN segment_offset integer, ADD COLUMN segment_length integer,
  ADD CONSTRAINT document_in_one_place CHECK (
    num_nonnulls(document, segment) = 1 AND num_nulls(segment, segment_offset, segment_length) IN (0, 3));
ALTER TABLE countersign.telemetry_submissions ALTER COLUMN document DROP NOT NULL,
  ADD COLUMN segment uuid, ADD COLUMN segment_offset integer, ADD COLUMN segment_length integer,
  ADD CONSTRAINT document_in_one_place CHECK (
    num_nonnulls(document, segment) = 1 AND num_nulls(segment, segment_offset, segment_length) IN (0, 3));
ALTER TABLE countersign.otlp_exports ALTER COLUMN body DROP NOT NULL,
  ADD COLUMN segment uuid, ADD COLUMN segment_offset integer, ADD COLUMN segment_length integer,
  ADD CONSTRAINT body_in_one_place CHECK (
    num_nonnulls(body, segment) = 1 AND num_nulls(segment, segment_offset, segment_length) IN (0, 3));

-- Without its document, a row with many spans is mostly this text. PostgreSQL compresses it from 2 KB on.
ALTER TABLE countersign.trace_submissions ALTER COLUMN spans SET STORAGE EXTENDED;
