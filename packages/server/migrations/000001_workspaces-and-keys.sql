-- Up Migration
-- Workspaces (= tenants), the instance's own facts, and ingestion keys with their audit trail.
-- Every table of a tenant has tenant_id first in its primary key and in every foreign key (ARCHITECTURE.md, "The database").

-- Facts of this installation: one row. Holds fingerprints of the secrets, never the secrets.
CREATE TABLE countersign.instance (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  id uuid NOT NULL,
  master_secret_fingerprint text NOT NULL,
  signing_key_fingerprint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE countersign.tenants (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (char_length(name) BETWEEN 1 AND 512),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Looked up across tenants by every request, so without row-level security, and read-mostly: last use is kept elsewhere.
CREATE TABLE countersign.ingestion_keys (
  prefix text PRIMARY KEY CHECK (prefix ~ '^[0-9a-f]{12}$'),
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['telemetry', 'evaluations', 'audit', 'governance']),
  secret_sha256 bytea NOT NULL CHECK (octet_length(secret_sha256) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  rotated_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  UNIQUE (tenant_id, id)
);
CREATE INDEX ingestion_keys_of_tenant ON countersign.ingestion_keys (tenant_id, created_at);

CREATE TABLE countersign.key_last_use (
  tenant_id uuid NOT NULL,
  key_id uuid NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, key_id),
  FOREIGN KEY (tenant_id, key_id) REFERENCES countersign.ingestion_keys (tenant_id, id)
);

-- Where each of a tenant's three logs stands: the row that an append locks. Made with the workspace, because
-- FOR UPDATE on a missing row locks nothing.
CREATE TABLE countersign.log_heads (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  log text NOT NULL CHECK (log IN ('audit', 'decisions', 'keys')),
  seq bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
  row_hash bytea CHECK (octet_length(row_hash) = 32),
  last_recorded_at timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (tenant_id, log)
);

-- The key audit trail: minted, rotated, revoked, scopes_changed. `document` is the canonical event (docs/formats.md).
CREATE TABLE countersign.key_events (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  seq bigint NOT NULL CHECK (seq > 0),
  id uuid NOT NULL,
  recorded_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  action text NOT NULL CHECK (action IN ('minted', 'rotated', 'revoked', 'scopes_changed')),
  key_id uuid NOT NULL,
  document text NOT NULL,
  PRIMARY KEY (tenant_id, seq),
  FOREIGN KEY (tenant_id, key_id) REFERENCES countersign.ingestion_keys (tenant_id, id)
);

-- Which decision-signing keys a tenant has. The key itself is derived from the master secret and stands nowhere.
CREATE TABLE countersign.decision_keys (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  key_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz,
  PRIMARY KEY (tenant_id, key_id)
);

-- First answers of requests that came with an Idempotency-Key, kept for 24 hours.
CREATE TABLE countersign.idempotency_keys (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  path text NOT NULL,
  key text NOT NULL,
  body_sha256 bytea NOT NULL CHECK (octet_length(body_sha256) = 32),
  answer text NOT NULL,
  headers text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (tenant_id, path, key)
);
CREATE INDEX idempotency_keys_by_age ON countersign.idempotency_keys (tenant_id, created_at);
