-- Up Migration
-- Evaluations, what people decided, promotion decisions, and the logs of a workspace. audit_entries and decisions have no foreign key to
-- tenants, because each append locks the head of the log, and log_heads has this foreign key.

-- One sequence numbers evaluations, incidents and approvals, so that their numbers can be compared. The order is a number and not a time,
-- because a wrong clock must not decide which evaluation is the latest, or whether it followed an incident (docs/decisions/0031).
CREATE SEQUENCE countersign.record_order;

CREATE TABLE countersign.evaluations (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  seq bigint NOT NULL DEFAULT nextval('countersign.record_order'),
  -- The time of its event in the log `evidence`.
  recorded_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  agent_id uuid,
  harness_id uuid,
  name text NOT NULL,
  category text,
  status text NOT NULL CHECK (status IN ('scheduled', 'running', 'passing', 'failing')),
  pass_rate double precision CHECK (pass_rate BETWEEN 0 AND 100),
  severity_threshold double precision,
  document text NOT NULL,
  -- The members that only POST /api/v1/evaluations has, if searches, lists or decisions use them. Null for POST /api/public/evaluations.
  evaluated_at timestamptz,
  suite text,
  completeness text CHECK (completeness IN ('complete', 'partial', 'unknown')),
  artifact text,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id)
);
CREATE INDEX evaluations_latest ON countersign.evaluations (tenant_id, agent_id, seq);
CREATE INDEX evaluations_latest_of_harness ON countersign.evaluations (tenant_id, agent_id, harness_id, seq);
CREATE INDEX evaluations_in_order ON countersign.evaluations (tenant_id, seq);
CREATE INDEX evaluations_by_time ON countersign.evaluations (tenant_id, recorded_at DESC, seq DESC);
CREATE INDEX evaluations_by_status ON countersign.evaluations (tenant_id, status, seq);
CREATE INDEX evaluations_of_harness ON countersign.evaluations (tenant_id, harness_id, seq) WHERE harness_id IS NOT NULL;

-- The runs that an evaluation names. Retention keeps them.
CREATE TABLE countersign.evaluated_runs (
  tenant_id uuid NOT NULL,
  trace_id text NOT NULL,
  evaluation uuid NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, evaluation)
);

-- One row for each evaluation of a high-risk agent for which an approval was requested or decided.
CREATE TABLE countersign.approvals (
  tenant_id uuid NOT NULL,
  evaluation_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'approved', 'rejected')),
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  requested_by text NOT NULL,
  decided_at timestamptz,
  decided_by text,
  rationale text,
  requested_seq bigint NOT NULL DEFAULT nextval('countersign.record_order'),
  decided_seq bigint,
  -- The number of decisions when the approval was decided. Later decisions may be based on this approval.
  decisions_size bigint,
  PRIMARY KEY (tenant_id, evaluation_id),
  FOREIGN KEY (tenant_id, evaluation_id) REFERENCES countersign.evaluations (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id),
  CHECK ((status = 'pending') = (decided_at IS NULL)),
  CHECK (status = 'pending' OR (decided_by IS NOT NULL AND rationale IS NOT NULL)),
  CHECK ((decided_at IS NULL) = (decided_seq IS NULL) AND (decided_at IS NULL) = (decisions_size IS NULL))
);
CREATE INDEX approvals_queue ON countersign.approvals (tenant_id, requested_seq, evaluation_id) WHERE status = 'pending';
CREATE INDEX approvals_decided ON countersign.approvals (tenant_id, status, decided_seq, evaluation_id) WHERE status <> 'pending';
CREATE INDEX approvals_of_agent ON countersign.approvals (tenant_id, agent_id, decided_seq);

CREATE TABLE countersign.incidents (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  agent_id uuid NOT NULL,
  severity text NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
  description text NOT NULL CHECK (char_length(description) BETWEEN 1 AND 65536),
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  opened_by text NOT NULL,
  seq bigint NOT NULL DEFAULT nextval('countersign.record_order'),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id)
);
CREATE INDEX incidents_of_agent ON countersign.incidents (tenant_id, agent_id, seq, id);
CREATE INDEX incidents_in_order ON countersign.incidents (tenant_id, seq, id);
CREATE INDEX incidents_by_severity ON countersign.incidents (tenant_id, severity, seq, id);

-- The re-certification that an incident requires. It is open until a person closes it with a passing evaluation that was recorded after
-- the incident.
CREATE TABLE countersign.recertifications (
  tenant_id uuid NOT NULL,
  incident_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  opened_at timestamptz NOT NULL,
  closed_at timestamptz,
  closed_by text,
  rationale text,
  evaluation_id uuid,
  opened_seq bigint NOT NULL,
  PRIMARY KEY (tenant_id, incident_id),
  FOREIGN KEY (tenant_id, incident_id) REFERENCES countersign.incidents (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id),
  FOREIGN KEY (tenant_id, evaluation_id) REFERENCES countersign.evaluations (tenant_id, id),
  CHECK ((closed_at IS NULL) = (evaluation_id IS NULL) AND (closed_at IS NULL) = (closed_by IS NULL) AND (closed_at IS NULL) = (rationale IS NULL))
);
CREATE INDEX recertifications_open ON countersign.recertifications (tenant_id, agent_id) WHERE closed_at IS NULL;
CREATE INDEX recertifications_by_age ON countersign.recertifications (tenant_id, opened_seq, incident_id) WHERE closed_at IS NULL;

-- The head of each log: an append locks its row. That row is created with the workspace, because FOR UPDATE on a missing row locks nothing.
-- Its seal covers the head of the log (docs/formats.md, "Sealed heads").
CREATE TABLE countersign.log_heads (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  log text NOT NULL CHECK (log IN ('audit', 'decisions', 'evidence', 'keys', 'traces')),
  seq bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
  row_hash bytea CHECK (octet_length(row_hash) = 32),
  last_recorded_at timestamptz NOT NULL DEFAULT '-infinity',
  -- The right edge of the log's Merkle tree: the number of rows that it covers, and the roots of its complete subtrees, 32 bytes each.
  tree_size bigint NOT NULL DEFAULT 0 CHECK (tree_size >= 0),
  frontier bytea NOT NULL DEFAULT '' CHECK (octet_length(frontier) % 32 = 0),
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  PRIMARY KEY (tenant_id, log)
);

-- Roots of complete subtrees of 256, 65,536, ... rows: one for each 255 appended rows. A proof computes the levels between the stored ones,
-- from at most 255 hashes each. Storing every node would double the writes.
CREATE TABLE countersign.tree_nodes (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  log text NOT NULL CHECK (log IN ('audit', 'decisions', 'evidence', 'keys', 'traces')),
  level smallint NOT NULL CHECK (level > 0 AND level % 8 = 0),
  index bigint NOT NULL CHECK (index >= 0),
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (tenant_id, log, level, index)
);

-- Signed heads as they were published (C2SP tlog-checkpoint).
CREATE TABLE countersign.checkpoints (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  log text NOT NULL CHECK (log IN ('audit', 'decisions', 'evidence', 'keys', 'traces')),
  size bigint NOT NULL CHECK (size >= 0),
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  signed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  note text NOT NULL,
  PRIMARY KEY (tenant_id, log, size)
);

-- The audit ledger. `document` is the canonical JSON that row_hash is computed from; the columns beside it repeat what is searched.
CREATE TABLE countersign.audit_entries (
  tenant_id uuid NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  id uuid NOT NULL,
  recorded_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  trace_id text,
  agent_id uuid,
  prev_hash bytea CHECK (octet_length(prev_hash) = 32),
  row_hash bytea NOT NULL CHECK (octet_length(row_hash) = 32),
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq),
  -- No two rows have the same predecessor, and there is only one first row.
  CONSTRAINT audit_entries_no_fork UNIQUE NULLS NOT DISTINCT (tenant_id, prev_hash),
  CONSTRAINT audit_entries_first_has_no_prev CHECK ((seq = 1) = (prev_hash IS NULL)),
  UNIQUE (tenant_id, id)
);
CREATE INDEX audit_entries_by_action ON countersign.audit_entries (tenant_id, action, seq);
CREATE INDEX audit_entries_by_actor ON countersign.audit_entries (tenant_id, actor, seq);
CREATE INDEX audit_entries_of_agent ON countersign.audit_entries (tenant_id, agent_id, seq) WHERE agent_id IS NOT NULL;
CREATE INDEX audit_entries_of_run ON countersign.audit_entries (tenant_id, trace_id, seq) WHERE trace_id IS NOT NULL;

-- Promotion decisions. A decision and its evidence together exceed 2 KB. By default, PostgreSQL would compress such rows, which costs more
-- than it saves.
CREATE TABLE countersign.decisions (
  tenant_id uuid NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  id uuid NOT NULL,
  recorded_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  agent_id uuid,
  evaluation_id uuid,
  allowed boolean NOT NULL,
  reason text NOT NULL,
  event text NOT NULL,
  response_sha256 bytea NOT NULL CHECK (octet_length(response_sha256) = 32),
  -- The response as it was signed and sent.
  document text NOT NULL,
  -- What the decision was computed from, as canonical JSON (docs/formats.md, "Evidence"). The decision names its digest.
  evidence text NOT NULL,
  PRIMARY KEY (tenant_id, seq),
  UNIQUE (tenant_id, id)
) WITH (toast_tuple_target = 8160);
CREATE INDEX decisions_of_agent ON countersign.decisions (tenant_id, agent_id, seq);
CREATE INDEX decisions_by_reason ON countersign.decisions (tenant_id, reason, seq);
CREATE INDEX decisions_on_evaluation ON countersign.decisions (tenant_id, evaluation_id, seq) WHERE evaluation_id IS NOT NULL;

-- The log `keys`, the key audit trail. It decides which keys are valid (docs/decisions/0048).
CREATE TABLE countersign.key_events (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  seq bigint NOT NULL CHECK (seq > 0),
  id uuid NOT NULL,
  recorded_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  action text NOT NULL CHECK (action IN ('minted', 'rotated', 'revoked', 'scopes_changed')),
  key_id uuid NOT NULL,
  -- Canonical JSON, here and in the logs below.
  document text NOT NULL,
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  PRIMARY KEY (tenant_id, seq),
  FOREIGN KEY (tenant_id, key_id) REFERENCES countersign.ingestion_keys (tenant_id, id)
);
CREATE INDEX key_events_of_key ON countersign.key_events (tenant_id, key_id, seq);

-- The log `evidence`: everything that promotion checks depend on, and they depend on nothing else (docs/formats.md, "Evidence event").
CREATE TABLE countersign.evidence_events (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  seq bigint NOT NULL CHECK (seq > 0),
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq)
);

-- The log `traces`: which documents were stored as traces, and which were dropped. It has one event for each transaction (docs/formats.md,
-- "Trace event").
CREATE TABLE countersign.trace_events (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  seq bigint NOT NULL CHECK (seq > 0),
  event_hash bytea NOT NULL CHECK (octet_length(event_hash) = 32),
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq)
);
-- Its documents are mostly hashes, which hardly compress.
ALTER TABLE countersign.trace_events ALTER COLUMN document SET STORAGE EXTERNAL;

-- The retention periods of a workspace, one row for each change (docs/decisions/0057). A period applies to what is received from then on.
-- No row changes, so an older period cannot be put back.
CREATE TABLE countersign.retention_periods (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  number integer NOT NULL CHECK (number > 0),
  since timestamptz NOT NULL,
  -- Null: without limit.
  trace_days integer CHECK (trace_days > 0),
  telemetry_days integer CHECK (telemetry_days > 0),
  -- The entry of the audit ledger that recorded the change.
  entry_seq bigint NOT NULL,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  PRIMARY KEY (tenant_id, number)
);

-- Where the log `traces` records that a trace was dropped. This is only an index. If the two differ, the log is right.
CREATE TABLE countersign.dropped_traces (
  tenant_id uuid NOT NULL,
  trace uuid NOT NULL,
  -- The number of the event in the log.
  seq bigint NOT NULL,
  PRIMARY KEY (tenant_id, trace)
);
