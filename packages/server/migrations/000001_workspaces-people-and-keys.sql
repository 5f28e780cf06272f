-- Up Migration
-- The installation, its workspaces (tenants), people, and keys. In tables with rows of a tenant, the primary key begins with tenant_id,
-- except in ingestion_keys. So does every foreign key between two such tables (ARCHITECTURE.md, "The database").
-- A seal is a message authentication code by a key that is not in the database (docs/formats.md, "Sealed rows"). Times under a seal have
-- no default, so that they come from the server.

-- Facts of this installation: one row. It contains fingerprints of the secrets, and no secret.
CREATE TABLE countersign.instance (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  id uuid NOT NULL,
  master_secret_fingerprint text NOT NULL,
  signing_key_fingerprint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seal bytea NOT NULL CHECK (octet_length(seal) = 33)
);

-- The public halves of the installation's Ed25519 keys. Two keys may be live during a rotation. Retired keys stay listed.
CREATE TABLE countersign.signing_keys (
  kid text PRIMARY KEY,
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  created_at timestamptz NOT NULL,
  retired_at timestamptz,
  -- When a server first signed with this key. Until then, its predecessor must not be retired.
  signs_since timestamptz,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  -- A key is trusted only with its predecessor's signature (docs/decisions/0049). The first key, and a key after a reset, has no
  -- predecessor.
  predecessor text,
  predecessor_signature bytea CHECK (octet_length(predecessor_signature) = 64),
  -- The lost key that this key replaces.
  reset_from text
);

-- Names are not unique: a unique constraint would show a tenant which names other tenants use.
CREATE TABLE countersign.tenants (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  created_at timestamptz NOT NULL,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33)
);

-- A person belongs to the installation and may be a member of several workspaces, so there is no tenant_id (docs/decisions/0014 to 0016).
CREATE TABLE countersign.people (
  id uuid PRIMARY KEY,
  -- In the form in which addresses are compared, without regard to case.
  email text NOT NULL UNIQUE CHECK (char_length(email) BETWEEN 3 AND 254),
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  -- An argon2id hash as a PHC string; null for a person who signs in by link only.
  password text CHECK (password LIKE '$argon2id$%'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  password_changed_at timestamptz,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33)
);

CREATE TABLE countersign.memberships (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  person_id uuid NOT NULL REFERENCES countersign.people (id),
  role text NOT NULL CHECK (role IN ('viewer', 'approver', 'admin')),
  joined_at timestamptz NOT NULL,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  PRIMARY KEY (tenant_id, person_id)
);
CREATE INDEX memberships_of_person ON countersign.memberships (person_id, tenant_id);

-- A session is found by the hash of its cookie's token; the token itself is not stored. A session ends when its row is deleted.
CREATE TABLE countersign.sessions (
  token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
  id uuid NOT NULL UNIQUE,
  person_id uuid NOT NULL REFERENCES countersign.people (id),
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  user_agent text,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33)
);
CREATE INDEX sessions_of_person ON countersign.sessions (person_id, created_at);
CREATE INDEX sessions_by_end ON countersign.sessions (expires_at);

-- A link is found by the hash of its token, before the workspace is known. So this table has no row-level security. Using a link deletes
-- its row, which only one of two concurrent requests can do.
CREATE TABLE countersign.one_time_links (
  token_sha256 bytea PRIMARY KEY CHECK (octet_length(token_sha256) = 32),
  id uuid NOT NULL UNIQUE,
  purpose text NOT NULL CHECK (purpose IN ('set_up', 'invitation', 'password_reset', 'sign_in')),
  -- Null for the set-up of the installation, which creates the workspace, and for links that concern only a person.
  tenant_id uuid REFERENCES countersign.tenants (id),
  person_id uuid REFERENCES countersign.people (id),
  email text,
  role text CHECK (role IN ('viewer', 'approver', 'admin')),
  -- `operator`, or `user:<id>`.
  made_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  CHECK (CASE purpose
    WHEN 'set_up' THEN person_id IS NULL
    WHEN 'invitation' THEN tenant_id IS NOT NULL AND email IS NOT NULL AND role IS NOT NULL
    ELSE person_id IS NOT NULL END)
);
CREATE INDEX one_time_links_of_tenant ON countersign.one_time_links (tenant_id, purpose, created_at);
CREATE INDEX one_time_links_of_person ON countersign.one_time_links (person_id);
CREATE INDEX one_time_links_by_end ON countersign.one_time_links (expires_at);

-- Attempts to sign in within the current window, by the hash of the network address or of the account.
CREATE TABLE countersign.sign_in_attempts (
  subject bytea PRIMARY KEY CHECK (octet_length(subject) = 32),
  window_began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts integer NOT NULL DEFAULT 1 CHECK (attempts >= 0)
);
CREATE INDEX sign_in_attempts_by_age ON countersign.sign_in_attempts (window_began_at);

-- Ingestion keys, and read tokens, which are stored, rotated and revoked in the same way but have only the scope `read`. Every request
-- reads this table, and few requests change it, so the last use of a key has its own table.
CREATE TABLE countersign.ingestion_keys (
  prefix text PRIMARY KEY CHECK (prefix ~ '^[0-9a-f]{12}$'),
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  id uuid NOT NULL,
  name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 512),
  scopes text[] NOT NULL,
  secret_sha256 bytea NOT NULL CHECK (octet_length(secret_sha256) = 32),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  rotated_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  kind text NOT NULL DEFAULT 'live' CHECK (kind IN ('live', 'read')),
  UNIQUE (tenant_id, id),
  CONSTRAINT ingestion_keys_scopes_check CHECK (
    cardinality(scopes) > 0 AND CASE kind
      WHEN 'live' THEN scopes <@ ARRAY['telemetry', 'evaluations', 'audit', 'governance']
      ELSE scopes = ARRAY['read'] END)
);
CREATE INDEX ingestion_keys_of_tenant ON countersign.ingestion_keys (tenant_id, created_at);

CREATE TABLE countersign.key_last_use (
  tenant_id uuid NOT NULL,
  key_id uuid NOT NULL,
  last_used_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, key_id),
  FOREIGN KEY (tenant_id, key_id) REFERENCES countersign.ingestion_keys (tenant_id, id)
);

-- Which decision-signing keys a tenant has. The keys themselves are derived from the master secret and not stored.
CREATE TABLE countersign.decision_keys (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  key_id text NOT NULL,
  created_at timestamptz NOT NULL,
  retired_at timestamptz,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  PRIMARY KEY (tenant_id, key_id)
);

-- First responses to requests with an Idempotency-Key, kept for 24 hours.
CREATE TABLE countersign.idempotency_keys (
  tenant_id uuid NOT NULL REFERENCES countersign.tenants (id),
  path text NOT NULL,
  key text NOT NULL,
  body_sha256 bytea NOT NULL CHECK (octet_length(body_sha256) = 32),
  answer text NOT NULL,
  headers text NOT NULL,
  created_at timestamptz NOT NULL,
  seal bytea NOT NULL CHECK (octet_length(seal) = 33),
  PRIMARY KEY (tenant_id, path, key)
);
CREATE INDEX idempotency_keys_by_age ON countersign.idempotency_keys (tenant_id, created_at);
