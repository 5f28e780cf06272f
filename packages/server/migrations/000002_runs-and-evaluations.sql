-- Up Migration
-- What agents did and how they were evaluated. The bytes that came in are kept as they came (`document`);
-- the columns beside them are narrow and only for what is searched, summed and decided on.

CREATE TABLE countersign.agents (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  risk_level text NOT NULL DEFAULT 'low' CHECK (risk_level IN ('low', 'high')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, name)
);

-- The merged view of a run. supplied_* is what a sender said at trace level, the totals beside it are what counts.
CREATE TABLE countersign.traces (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  trace_id text NOT NULL,
  agent_id uuid,
  outcome text NOT NULL CHECK (outcome IN ('success', 'failure', 'escalated', 'blocked')),
  session_id text,
  external_user_id text,
  latency_ms bigint,
  has_error boolean NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  supplied_prompt_tokens bigint,
  supplied_completion_tokens bigint,
  supplied_total_tokens bigint,
  supplied_cost_usd numeric,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  cost_usd numeric,
  span_count bigint NOT NULL,
  submission_count integer NOT NULL,
  received_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, trace_id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id)
);

-- Every submission of a trace as it came, with its time and its sender: the merged view never destroys evidence.
CREATE TABLE countersign.trace_submissions (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  document text NOT NULL,
  PRIMARY KEY (tenant_id, trace, number),
  FOREIGN KEY (tenant_id, trace) REFERENCES countersign.traces (tenant_id, id)
);

-- One row a span of the merged view. What the span says at length is item `ordinal` of submission `submission`'s document.
-- No foreign key to traces: checking it costs a lookup a row on the hottest path, and no statement deletes a trace.
CREATE TABLE countersign.spans (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  span_id text NOT NULL,
  submission integer NOT NULL,
  ordinal integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('agent', 'llm', 'tool', 'retrieval', 'guardrail', 'other')),
  name text NOT NULL,
  status text NOT NULL,
  model text,
  provider text,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  cost_usd numeric,
  latency_ms bigint,
  started_at timestamptz,
  ended_at timestamptz,
  PRIMARY KEY (tenant_id, trace, span_id)
);

CREATE TABLE countersign.telemetry_submissions (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  document text NOT NULL,
  PRIMARY KEY (tenant_id, id)
);

-- One row an event: item `ordinal` of its submission's document says the rest. No foreign key, as for spans.
CREATE TABLE countersign.telemetry_events (
  tenant_id uuid NOT NULL,
  submission uuid NOT NULL,
  ordinal integer NOT NULL,
  trace_id text NOT NULL,
  outcome text NOT NULL,
  status text,
  agent_id uuid,
  model text,
  provider text,
  session_id text,
  external_user_id text,
  latency_ms bigint,
  tool_count bigint,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  cost_usd numeric,
  has_error boolean NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  received_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, submission, ordinal)
);

-- The database's clock and the sequence say which evaluation is the latest (decisions.md, "Evaluations").
CREATE TABLE countersign.evaluations (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  recorded_by text NOT NULL,
  agent_id uuid,
  harness_id uuid,
  name text NOT NULL,
  category text,
  status text NOT NULL CHECK (status IN ('scheduled', 'running', 'passing', 'failing')),
  pass_rate double precision CHECK (pass_rate BETWEEN 0 AND 100),
  severity_threshold double precision,
  document text NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id)
);
CREATE INDEX evaluations_latest ON countersign.evaluations (tenant_id, agent_id, recorded_at DESC, seq DESC);
CREATE INDEX evaluations_latest_of_harness ON countersign.evaluations (tenant_id, agent_id, harness_id, recorded_at DESC, seq DESC);

-- Payloads are not compressed by pglz: it costs more than it saves on this path (docs/performance.md).
ALTER TABLE countersign.trace_submissions ALTER COLUMN document SET STORAGE EXTERNAL;
ALTER TABLE countersign.telemetry_submissions ALTER COLUMN document SET STORAGE EXTERNAL;
