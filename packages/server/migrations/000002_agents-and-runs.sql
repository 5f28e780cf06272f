-- Up Migration
-- What agents did. Documents are kept as they were received; the columns beside them are for searches, sums and decisions.
-- IDs are UUIDs of version 7, so primary keys are in the order of arrival: lists without a filter need no other index. Each filter of a
-- list in the portal has an index in the order of the list (docs/decisions/0017). trace_id is compared by code point on every database,
-- so that a prefix is a range of its index.
-- A foreign key costs a lookup for each row, so some tables have none. Their rows are written in the transaction that writes or locks the
-- parent row, and the server's role may not delete the parent row. Exception: a row of log_records can arrive before its trace.

CREATE TABLE countersign.agents (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  risk_level text NOT NULL DEFAULT 'low' CHECK (risk_level IN ('low', 'high')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- An archived agent is not in the portal's lists and counts. Its records stay, and promotion checks decide about it as before.
  archived_at timestamptz,
  -- Digests of the two skeletons of the name, by which names that look alike are found (docs/decisions/0040). Null for the agents of a very
  -- large batch: the server computes their digests afterwards.
  name_skeleton bytea CHECK (octet_length(name_skeleton) = 32),
  name_skeleton_caseless bytea CHECK (octet_length(name_skeleton_caseless) = 32),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, name)
);
CREATE INDEX agents_name_skeleton ON countersign.agents (tenant_id, name_skeleton);
CREATE INDEX agents_name_skeleton_caseless ON countersign.agents (tenant_id, name_skeleton_caseless);
CREATE INDEX agents_without_skeleton ON countersign.agents (tenant_id, id) WHERE name_skeleton IS NULL;

-- The merged view of a run. supplied_* is what a sender reported for the whole trace. The columns without the prefix are the totals used.
CREATE TABLE countersign.traces (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  trace_id text COLLATE "C" NOT NULL,
  agent_id uuid,
  -- Null until the root span arrives.
  outcome text CHECK (outcome IN ('success', 'failure', 'escalated', 'blocked')),
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
  -- The source of the outcome: 0 none, 1 the contract's default, 2 the root span, 3 the sender's explicit value.
  outcome_rank smallint NOT NULL DEFAULT 3 CHECK (outcome_rank BETWEEN 0 AND 3),
  -- The source of the agent: 0 none, 1 the root's service, 2 an invoke_agent span, 3 the root span, 4 the sender's explicit value.
  agent_rank smallint NOT NULL DEFAULT 4 CHECK (agent_rank BETWEEN 0 AND 4),
  -- The probable name of the agent before its source is certain. It registers no agent.
  provisional_agent_name text,
  -- When spans last arrived by OpenTelemetry; null for traces without any.
  last_span_at timestamptz,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, trace_id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id)
);
CREATE INDEX traces_of_agent ON countersign.traces (tenant_id, agent_id, id);
-- Most runs succeed and are not in this index. A list of successful runs is read in the order of arrival.
CREATE INDEX traces_not_successful ON countersign.traces (tenant_id, outcome, id) WHERE outcome <> 'success';
CREATE INDEX traces_of_session ON countersign.traces (tenant_id, session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX traces_without_outcome ON countersign.traces (tenant_id, id) WHERE outcome IS NULL;

-- Documents of a batch are compressed together, because those of one agent are similar. A document is either in its own row, or a range of
-- the decompressed bytes of a segment (docs/decisions/0055).
CREATE TABLE countersign.document_segments (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  -- The number of decompressed bytes.
  bytes integer NOT NULL CHECK (bytes > 0),
  -- The bytes, compressed by Brotli.
  compressed bytea NOT NULL,
  PRIMARY KEY (tenant_id, id)
);

-- Every submission of a trace as it was received, with its time and its sender: merging destroys no evidence.
CREATE TABLE countersign.trace_submissions (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  document text,
  -- An array with an array for each span: the columns of the view `spans` from span_id on, without submission and ordinal. If an ordinal
  -- follows them, it replaces the position in the array. Times are in microseconds since 1970. A row for each span costs too much
  -- (docs/performance.md).
  spans text NOT NULL,
  -- The export that the submission was mapped from; null for POST /api/public/traces.
  export uuid,
  segment uuid,
  segment_offset integer,
  segment_length integer,
  PRIMARY KEY (tenant_id, trace, number),
  CONSTRAINT document_in_one_place CHECK (
    num_nonnulls(document, segment) = 1 AND num_nulls(segment, segment_offset, segment_length) IN (0, 3))
);
-- Retention keeps an export while a submission refers to it.
CREATE INDEX trace_submissions_of_export ON countersign.trace_submissions (tenant_id, export) WHERE export IS NOT NULL;

-- A body received by OpenTelemetry. One body may contain spans of several traces.
CREATE TABLE countersign.otlp_exports (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  signal text NOT NULL CHECK (signal IN ('traces', 'logs')),
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  media_type text NOT NULL CHECK (media_type IN ('application/x-protobuf', 'application/json')),
  -- Whether user IDs that were personal data were overwritten before the body was stored.
  redacted boolean NOT NULL,
  body bytea,
  segment uuid,
  segment_offset integer,
  segment_length integer,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT body_in_one_place CHECK (
    num_nonnulls(body, segment) = 1 AND num_nulls(segment, segment_offset, segment_length) IN (0, 3))
);

-- Log records that belong to a span: parts of its conversation, exceptions, and findings. They have no ID, so their hash identifies them.
CREATE TABLE countersign.log_records (
  tenant_id uuid NOT NULL,
  trace_id text COLLATE "C" NOT NULL,
  span_id text COLLATE "C" NOT NULL,
  sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
  kind text NOT NULL CHECK (kind IN ('content', 'exception', 'finding')),
  happened_at timestamptz,
  -- The position of the record in its export, or among the findings of its trace. It orders records with equal times.
  place integer NOT NULL,
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  -- The export that contained the record.
  export uuid,
  document text NOT NULL,
  -- Whether the trace of the record is stored. Records that wait for their trace are limited in number and time.
  joined boolean NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, span_id, sha256)
);
CREATE INDEX log_records_waiting ON countersign.log_records (tenant_id, received_at) WHERE NOT joined;

-- The span that counts for each span_id: the span of the latest submission that has this span_id. A trace with one submission has no rows
-- here. Merging one more submission reads the rows of its own span_ids, and no other submission (docs/decisions/0032).
CREATE TABLE countersign.merged_spans (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  span_id text COLLATE "C" NOT NULL,
  submission integer NOT NULL,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  cost_usd numeric,
  PRIMARY KEY (tenant_id, trace, span_id)
);

-- Sums over the merged spans of a trace, and how many of these spans report each value. If no span reports a value, its sum is unknown and
-- not zero.
CREATE TABLE countersign.merged_traces (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  span_count bigint NOT NULL,
  prompt_tokens numeric NOT NULL,
  prompt_tokens_reported bigint NOT NULL,
  completion_tokens numeric NOT NULL,
  completion_tokens_reported bigint NOT NULL,
  total_tokens numeric NOT NULL,
  total_tokens_reported bigint NOT NULL,
  cost_usd numeric NOT NULL,
  cost_usd_reported bigint NOT NULL,
  PRIMARY KEY (tenant_id, trace)
);

-- Microseconds since 1970 as a time. Days and seconds are separate, because their sum is not exact in a double.
CREATE FUNCTION countersign.instant_of(micros bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (timestamp '1970-01-01' + make_interval(days => (micros / 86400000000)::integer, secs => (micros % 86400000000)::float8 / 1000000))
       AT TIME ZONE 'UTC';

-- The merged spans of traces: for each span_id the span of the latest submission. The complete span is item `ordinal` of the spans in the
-- document of this submission. Select single traces (trace = $1), because the merging reads all submissions that the condition selects.
CREATE VIEW countersign.spans WITH (security_invoker = true) AS
SELECT DISTINCT ON (submission.tenant_id, submission.trace, span.fields ->> 0)
       submission.tenant_id, submission.trace, span.fields ->> 0 AS span_id, submission.number AS submission,
       coalesce((span.fields ->> 13)::integer, span.position::integer - 1) AS ordinal,
       span.fields ->> 1 AS kind, span.fields ->> 2 AS name, span.fields ->> 3 AS status, span.fields ->> 4 AS model,
       span.fields ->> 5 AS provider, (span.fields ->> 6)::bigint AS prompt_tokens, (span.fields ->> 7)::bigint AS completion_tokens,
       (span.fields ->> 8)::bigint AS total_tokens,
       (span.fields ->> 9)::numeric AS cost_usd, (span.fields ->> 10)::bigint AS latency_ms,
       countersign.instant_of((span.fields ->> 11)::bigint) AS started_at, countersign.instant_of((span.fields ->> 12)::bigint) AS ended_at
  FROM countersign.trace_submissions AS submission
 CROSS JOIN LATERAL json_array_elements(submission.spans::json) WITH ORDINALITY AS span (fields, position)
 ORDER BY submission.tenant_id, submission.trace, span.fields ->> 0, submission.number DESC;

CREATE TABLE countersign.telemetry_submissions (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  received_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  document text,
  segment uuid,
  segment_offset integer,
  segment_length integer,
  PRIMARY KEY (tenant_id, id),
  CONSTRAINT document_in_one_place CHECK (
    num_nonnulls(document, segment) = 1 AND num_nulls(segment, segment_offset, segment_length) IN (0, 3))
);

-- One row for each event. The whole event is item `ordinal` of its submission's document.
CREATE TABLE countersign.telemetry_events (
  tenant_id uuid NOT NULL,
  submission uuid NOT NULL,
  ordinal integer NOT NULL,
  trace_id text COLLATE "C" NOT NULL,
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
CREATE INDEX telemetry_events_of_agent ON countersign.telemetry_events (tenant_id, agent_id, submission, ordinal);
CREATE INDEX telemetry_events_not_successful ON countersign.telemetry_events (tenant_id, outcome, submission, ordinal) WHERE outcome <> 'success';
CREATE INDEX telemetry_events_of_session ON countersign.telemetry_events (tenant_id, session_id, submission, ordinal) WHERE session_id IS NOT NULL;
CREATE INDEX telemetry_events_of_run ON countersign.telemetry_events (tenant_id, trace_id, submission, ordinal);

-- The IDs of runs, for the search by any part of them (docs/decisions/0042). A segment contains the IDs of some 500 runs in one text, so
-- that a search through 1,000,000 runs reads about 2,000 rows. Each batch of runs adds a segment in its own transaction, and the server
-- merges small segments while it runs. Every run is in exactly one segment.
CREATE TABLE countersign.run_id_segments (
  tenant_id uuid NOT NULL,
  source text NOT NULL CHECK (source IN ('trace', 'telemetry')),
  -- The lowest and the highest of `runs`. A submission of telemetry is never divided, so the highest one identifies the segment.
  first_run uuid NOT NULL,
  last_run uuid NOT NULL,
  run_count integer NOT NULL,
  -- traces.id, or submissions of telemetry.
  runs uuid[] NOT NULL,
  -- For each of `runs` its trace_id in lower case; for a submission the trace_ids of its events, in the order of the events. chr(29)
  -- separates runs, chr(10) separates events: no trace_id contains control characters.
  trace_ids text NOT NULL,
  PRIMARY KEY (tenant_id, source, last_run)
);
-- Segments to be merged.
CREATE INDEX run_id_segments_small ON countersign.run_id_segments (tenant_id, source, last_run) WHERE run_count < 256;

-- PostgreSQL does not compress these columns. They are compressed already, or compression would cost more than it saves
-- (docs/performance.md).
ALTER TABLE countersign.trace_submissions ALTER COLUMN document SET STORAGE EXTERNAL;
ALTER TABLE countersign.telemetry_submissions ALTER COLUMN document SET STORAGE EXTERNAL;
ALTER TABLE countersign.otlp_exports ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE countersign.document_segments ALTER COLUMN compressed SET STORAGE EXTERNAL;
ALTER TABLE countersign.run_id_segments ALTER COLUMN trace_ids SET STORAGE EXTERNAL, ALTER COLUMN runs SET STORAGE EXTERNAL;
