-- Up Migration
-- Traces that arrive by OpenTelemetry: in pieces, without an outcome until their root span is there, and with log records beside them.

-- An export as it came. Its traces are submissions of theirs; one body may hold spans of several traces.
CREATE TABLE countersign.otlp_exports (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  signal text NOT NULL CHECK (signal IN ('traces', 'logs')),
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  media_type text NOT NULL CHECK (media_type IN ('application/x-protobuf', 'application/json')),
  -- User ids that were personal data were overwritten before the body was kept.
  redacted boolean NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (tenant_id, id)
);
ALTER TABLE countersign.otlp_exports ALTER COLUMN body SET STORAGE EXTERNAL;

-- The export that a submission was mapped from; null for those of POST /api/public/traces, whose document is what came.
ALTER TABLE countersign.trace_submissions ADD COLUMN export uuid;

-- Null until the root span arrives. The rank says how sure it is: 0 nothing, 1 the contract's default, 2 the root span, 3 the sender's own word.
ALTER TABLE countersign.traces ALTER COLUMN outcome DROP NOT NULL;
ALTER TABLE countersign.traces ADD COLUMN outcome_rank smallint NOT NULL DEFAULT 3 CHECK (outcome_rank BETWEEN 0 AND 3);
-- How sure the agent is: 0 none, 1 the root's service, 2 an invoke_agent span, 3 the root span, 4 the sender's own word.
ALTER TABLE countersign.traces ADD COLUMN agent_rank smallint NOT NULL DEFAULT 4 CHECK (agent_rank BETWEEN 0 AND 4);
-- What the agent may be called before it is sure. Nothing is registered by it.
ALTER TABLE countersign.traces ADD COLUMN provisional_agent_name text;
-- When spans last came by OpenTelemetry; null for traces that never had any.
ALTER TABLE countersign.traces ADD COLUMN last_span_at timestamptz;
CREATE INDEX traces_without_outcome ON countersign.traces (tenant_id, id) WHERE outcome IS NULL;

-- Log records that belong to a span: parts of its conversation, exceptions, and findings. They have no id of their own, so they are one by their hash.
CREATE TABLE countersign.log_records (
  tenant_id uuid NOT NULL,
  trace_id text COLLATE "C" NOT NULL,
  span_id text COLLATE "C" NOT NULL,
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  kind text NOT NULL CHECK (kind IN ('content', 'exception', 'finding')),
  happened_at timestamptz,
  -- Its place in its export: the order where times are equal.
  place integer NOT NULL,
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  -- Null for a finding in an event of a span.
  export uuid,
  document text NOT NULL,
  -- Whether its trace is there. Those that wait are bounded in number and in time.
  joined boolean NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, span_id, sha256)
);
CREATE INDEX log_records_waiting ON countersign.log_records (tenant_id, received_at) WHERE NOT joined;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON countersign.otlp_exports
  FOR EACH STATEMENT EXECUTE FUNCTION countersign.refuse_change();
ALTER TABLE countersign.otlp_exports ENABLE ALWAYS TRIGGER append_only;

DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['otlp_exports', 'log_records'] LOOP
    EXECUTE format('ALTER TABLE countersign.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE countersign.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$CREATE POLICY of_tenant ON countersign.%I
      USING (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)
      WITH CHECK (tenant_id = nullif(current_setting('countersign.tenant_id', true), '')::uuid)$policy$, name);
  END LOOP;
END $$;
