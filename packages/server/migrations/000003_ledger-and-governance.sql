-- Up Migration
-- The audit ledger, the decisions, and what people decided: approvals, incidents, re-certifications.

-- `document` is the canonical text (JCS) that row_hash is the hash of; the columns beside it repeat what is searched by.
CREATE TABLE countersign.audit_entries (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
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
  -- Two rows can never chain to one: not even two first rows.
  CONSTRAINT audit_entries_no_fork UNIQUE NULLS NOT DISTINCT (tenant_id, prev_hash),
  CONSTRAINT audit_entries_first_has_no_prev CHECK ((seq = 1) = (prev_hash IS NULL)),
  UNIQUE (tenant_id, id)
);

CREATE TABLE countersign.decisions (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
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
  -- The answer as it was signed and sent.
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq),
  UNIQUE (tenant_id, id)
);

-- One row an evaluation of a high-risk agent that somebody asked about or decided on.
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
  PRIMARY KEY (tenant_id, evaluation_id),
  FOREIGN KEY (tenant_id, evaluation_id) REFERENCES countersign.evaluations (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id),
  CHECK ((status = 'pending') = (decided_at IS NULL)),
  CHECK (status = 'pending' OR (decided_by IS NOT NULL AND rationale IS NOT NULL))
);
CREATE INDEX approvals_queue ON countersign.approvals (tenant_id, requested_at) WHERE status = 'pending';

CREATE TABLE countersign.incidents (
  tenant_id uuid NOT NULL,
  id uuid NOT NULL,
  agent_id uuid NOT NULL,
  severity text NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
  description text NOT NULL CHECK (char_length(description) BETWEEN 1 AND 65536),
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  opened_by text NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id)
);
CREATE INDEX incidents_of_agent ON countersign.incidents (tenant_id, agent_id, opened_at DESC);

-- Demanded by an incident, open until a person closes it on a passing evaluation recorded since.
CREATE TABLE countersign.recertifications (
  tenant_id uuid NOT NULL,
  incident_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  opened_at timestamptz NOT NULL,
  closed_at timestamptz,
  closed_by text,
  rationale text,
  evaluation_id uuid,
  PRIMARY KEY (tenant_id, incident_id),
  FOREIGN KEY (tenant_id, incident_id) REFERENCES countersign.incidents (tenant_id, id),
  FOREIGN KEY (tenant_id, agent_id) REFERENCES countersign.agents (tenant_id, id),
  FOREIGN KEY (tenant_id, evaluation_id) REFERENCES countersign.evaluations (tenant_id, id),
  CHECK ((closed_at IS NULL) = (evaluation_id IS NULL) AND (closed_at IS NULL) = (closed_by IS NULL) AND (closed_at IS NULL) = (rationale IS NULL))
);
CREATE INDEX recertifications_open ON countersign.recertifications (tenant_id, agent_id) WHERE closed_at IS NULL;
